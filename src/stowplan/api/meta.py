"""What all objects share: the record base, metadata, owners, conditions, references, times.

Upstream: staging/src/k8s.io/apimachinery/pkg/apis/meta/v1 (v1.36.4).
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, ClassVar

from msgspec import Meta, Struct

Int32 = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]
Int64 = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
RawQuantity = str | int | float
ResourceList = dict[str, RawQuantity]


# perf: gc=False is safe because a frozen tree has no cycles; a full list of pods then costs the collector nothing
class Record(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    """Base of every record: frozen, keyword-only, camelCase on the wire, unknown fields skipped."""


class OwnerReference(Record, frozen=True):
    """One owner of an object."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class ObjectMeta(Record, frozen=True):
    """Identity, labels and life-cycle marks of an object."""

    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: Int64 = 0
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: Int64 | None = None
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    owner_references: tuple[OwnerReference, ...] = ()
    finalizers: tuple[str, ...] = ()


class KubeObject(Record, frozen=True):
    """Base of every object that has a kind; `api_version` and `kind` belong to the type, not to the value."""

    api_version: ClassVar[str] = ""
    kind: ClassVar[str] = ""

    metadata: ObjectMeta = ObjectMeta()

    @property
    def name(self) -> str:
        """`metadata.name`."""
        return self.metadata.name

    @property
    def namespace(self) -> str:
        """`metadata.namespace`, empty for cluster-wide kinds."""
        return self.metadata.namespace

    @property
    def uid(self) -> str:
        """`metadata.uid`."""
        return self.metadata.uid

    @property
    def labels(self) -> Mapping[str, str]:
        """`metadata.labels`."""
        return self.metadata.labels

    @property
    def key(self) -> str:
        """`namespace/name`, or the name alone for cluster-wide kinds, as upstream's logs and errors name objects."""
        return f"{self.metadata.namespace}/{self.metadata.name}" if self.metadata.namespace else self.metadata.name


class Condition(Record, frozen=True):
    """A condition of an object; pods, nodes and claims use the same fields."""

    type: str = ""
    status: str = ""
    observed_generation: Int64 = 0
    last_transition_time: str | None = None
    reason: str = ""
    message: str = ""


class LabelSelectorRequirement(Record, frozen=True):
    """One expression of a label selector."""

    key: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


class LabelSelector(Record, frozen=True):
    """A label selector as written; `selectors.compile_label_selector` makes it matchable."""

    match_labels: dict[str, str] = {}
    match_expressions: tuple[LabelSelectorRequirement, ...] = ()


class ObjectReference(Record, frozen=True):
    """A reference to an object by kind, name and uid."""

    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    api_version: str = ""
    resource_version: str = ""
    field_path: str = ""


class LocalObjectReference(Record, frozen=True):
    """A reference by name within the namespace."""

    name: str = ""


class SecretReference(Record, frozen=True):
    """A reference to a secret in any namespace."""

    name: str = ""
    namespace: str = ""


class TypedObjectReference(Record, frozen=True):
    """A reference by group, kind and name, perhaps in another namespace."""

    api_group: str | None = None
    kind: str = ""
    name: str = ""
    namespace: str | None = None


class NamespaceStatus(Record, frozen=True):
    """The life-cycle phase of a namespace."""

    phase: str = ""


class Namespace(KubeObject, frozen=True):
    """A namespace; its labels are what namespace selectors read."""

    api_version: ClassVar[str] = "v1"
    kind: ClassVar[str] = "Namespace"

    status: NamespaceStatus = NamespaceStatus()


def controller_of(meta: ObjectMeta) -> OwnerReference | None:
    """The owner that controls the object, if any."""
    for owner in meta.owner_references:
        if owner.controller:
            return owner
    return None


def time_seconds(text: str) -> float:
    """Seconds since the epoch of an RFC 3339 time; ValueError when it is none."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"{text!r} is not an RFC 3339 time: the zone is missing")
    return moment.timestamp()


def time_text(seconds: float) -> str:
    """The RFC 3339 text of a moment, in whole seconds of UTC as the API writes `Time`."""
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def micro_time_text(seconds: float) -> str:
    """The RFC 3339 text of a moment with six decimals, as the API writes `MicroTime`."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
