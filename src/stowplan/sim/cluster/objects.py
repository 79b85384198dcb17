"""Reading plain objects: what controllers ask of anything that has metadata.

Upstream: staging/src/k8s.io/apimachinery/pkg/apis/meta/v1 (v1.36.4).
"""

from collections.abc import Iterable
from typing import Any

import msgspec

from stowplan.api.meta import LabelSelector
from stowplan.api.selectors import Selector, compile_label_selector

Json = dict[str, Any]


def name_of(obj: Json) -> str:
    """`metadata.name`."""
    name: str = obj["metadata"]["name"]
    return name


def namespace_of(obj: Json) -> str:
    """`metadata.namespace`, empty for cluster-wide kinds."""
    namespace: str = obj["metadata"].get("namespace", "")
    return namespace


def key_of(obj: Json) -> str:
    """`namespace/name`, or the name alone."""
    namespace = namespace_of(obj)
    return f"{namespace}/{name_of(obj)}" if namespace else name_of(obj)


def split_key(key: str) -> tuple[str, str]:
    """Namespace and name."""
    namespace, _, name = key.rpartition("/")
    return namespace, name


def uid_of(obj: Json) -> str:
    """`metadata.uid`."""
    uid: str = obj["metadata"].get("uid", "")
    return uid


def labels_of(obj: Json) -> dict[str, str]:
    """`metadata.labels`."""
    return obj["metadata"].get("labels") or {}


def annotations_of(obj: Json) -> dict[str, str]:
    """`metadata.annotations`."""
    return obj["metadata"].get("annotations") or {}


def created_of(obj: Json) -> str:
    """`metadata.creationTimestamp`, which sorts as text."""
    return obj["metadata"].get("creationTimestamp") or ""


def generation_of(obj: Json) -> int:
    """`metadata.generation`."""
    return obj["metadata"].get("generation") or 0


def is_deleting(obj: Json) -> bool:
    """Whether the object is on its way out."""
    return bool(obj["metadata"].get("deletionTimestamp"))


def controller_of(obj: Json) -> Json | None:
    """The owner that controls the object."""
    for owner in obj["metadata"].get("ownerReferences") or ():
        if owner.get("controller"):
            found: Json = owner
            return found
    return None


def controller_uid(obj: Json) -> str:
    """The uid of the owner that controls the object, empty without one."""
    owner = controller_of(obj)
    return owner["uid"] if owner is not None else ""


def spec_of(obj: Json) -> Json:
    """`spec`."""
    return obj.get("spec") or {}


def status_of(obj: Json) -> Json:
    """`status`."""
    return obj.get("status") or {}


def selector_of(value: Json | None) -> Selector:
    """A label selector, matchable; None selects nothing."""
    if value is None:
        return compile_label_selector(None)
    return compile_label_selector(msgspec.convert(value, LabelSelector))


def find_condition(conditions: Iterable[Json] | None, type_: str) -> Json | None:
    """The condition of this type."""
    return next((condition for condition in conditions or () if condition.get("type") == type_), None)


def with_condition(conditions: Iterable[Json] | None, wanted: Json, now: str) -> list[Json]:
    """The conditions with one set; its time of transition stays when its status does."""
    present = list(conditions or ())
    before = find_condition(present, wanted["type"])
    since = now
    if before is not None and before.get("status") == wanted["status"]:
        since = before.get("lastTransitionTime") or now
    made = {**wanted, "lastTransitionTime": since}
    if before is None:
        return [*present, made]
    return [made if condition is before else condition for condition in present]
