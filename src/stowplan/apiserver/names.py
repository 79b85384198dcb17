"""The syntax of names, labels and annotations, with the texts that users know.

Upstream: staging/src/k8s.io/apimachinery/pkg/util/validation/validation.go, pkg/api/validation/objectmeta.go (v1.36.4).
"""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import msgspec

from stowplan.apiserver.errors import Cause

LABEL_1123 = re.compile(r"^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$")
SUBDOMAIN = re.compile(r"^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$")
LABEL_1035 = re.compile(r"^[a-z](?:[-a-z0-9]*[a-z0-9])?$")
QUALIFIED = re.compile(r"^(?:[A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$")
LABEL_VALUE = re.compile(r"^(?:(?:[A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$")

LABEL_TEXT = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    "an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
SUBDOMAIN_TEXT = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start "
    "and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
LABEL_1035_TEXT = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    "'[a-z]([-a-z0-9]*[a-z0-9])?')"
)
QUALIFIED_TEXT = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
LABEL_VALUE_TEXT = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
ANNOTATIONS_LIMIT = 256 * 1024
PLAIN_FINALIZERS = frozenset({"kubernetes", "orphan", "foregroundDeletion"})
PORT_LETTERS = re.compile(r"^[-a-z0-9]+$")

SHORT_LABEL_NAMES = frozenset({"namespaces", "services"})
PATH_NAMES = frozenset(
    {
        "roles.rbac.authorization.k8s.io", "clusterroles.rbac.authorization.k8s.io",
        "rolebindings.rbac.authorization.k8s.io", "clusterrolebindings.rbac.authorization.k8s.io",
    }
)  # fmt: skip
"""Kinds whose names are only path segments."""


def name_faults(storage: str, name: str) -> Iterator[str]:
    """What is wrong with the name of an object of this kind."""
    if storage in PATH_NAMES:
        if name in (".", "..") or "/" in name or "%" in name:
            yield "may not be '.' or '..' or contain '/' or '%'"
    elif storage in SHORT_LABEL_NAMES:
        yield from label_name_faults(name)
    else:
        yield from subdomain_faults(name)


def invalid_value(field: str, value: Any, why: str) -> Cause:
    """The cause `Invalid value`."""
    shown = f'"{value}"' if isinstance(value, str) else value
    return Cause("FieldValueInvalid", f"Invalid value: {shown}: {why}", field)


def forbidden_field(field: str, why: str) -> Cause:
    """The cause `Forbidden`."""
    return Cause("FieldValueForbidden", f"Forbidden: {why}", field)


def duplicate(field: str, value: str) -> Cause:
    """The cause `Duplicate value`."""
    return Cause("FieldValueDuplicate", f'Duplicate value: "{value}"', field)


def required(field: str, why: str = "") -> Cause:
    """The cause `Required value`."""
    return Cause("FieldValueRequired", f"Required value: {why}" if why else "Required value", field)


def unsupported(field: str, value: Any, supported: tuple[str, ...]) -> Cause:
    """The cause `Unsupported value`; the choices are told in the order given."""
    listed = ", ".join(f'"{choice}"' for choice in supported)
    return Cause("FieldValueNotSupported", f'Unsupported value: "{value}": supported values: {listed}', field)


def immutable(field: str, value: Any) -> Cause:
    """The cause that a field cannot change."""
    shown = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    shown = f'"{shown}"' if isinstance(value, str) else shown
    return Cause("FieldValueInvalid", f"Invalid value: {shown}: field is immutable", field)


def label_name_faults(name: str) -> Iterator[str]:
    """What is wrong with a name that must be a label: a container's, a volume's, a host's."""
    if len(name) > 63:
        yield "must be no more than 63 characters"
    if not LABEL_1123.match(name):
        yield LABEL_TEXT


def subdomain_faults(name: str) -> Iterator[str]:
    """What is wrong with the name of an object that is referred to."""
    if len(name) > 253:
        yield "must be no more than 253 characters"
    if not SUBDOMAIN.match(name):
        yield SUBDOMAIN_TEXT


def port_name_faults(name: str) -> Iterator[str]:
    """What is wrong with the name of a port."""
    if len(name) > 15:
        yield "must be no more than 15 characters"
    if not PORT_LETTERS.match(name):
        yield "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)"
    if not any("a" <= letter <= "z" for letter in name):
        yield "must contain at least one letter (a-z)"
    if "--" in name:
        yield "must not contain consecutive hyphens"
    if name.startswith("-") or name.endswith("-"):
        yield "must not begin or end with a hyphen"


def port_faults(field: str, port: object) -> Iterator[Cause]:
    """What is wrong with a port that is a number or a name."""
    if isinstance(port, str):
        for why in port_name_faults(port):
            yield invalid_value(field, port, why)
    elif not isinstance(port, int) or not 1 <= port <= 65535:
        yield invalid_value(field, port or 0, "must be between 1 and 65535, inclusive")


def metadata_faults(storage: str, meta: Mapping[str, Any]) -> Iterator[Cause]:
    """What is wrong with the metadata of a new or changed object."""
    name = meta.get("name", "")
    if not name:
        yield required("metadata.name", "name or generateName is required")
    else:
        for why in name_faults(storage, name):
            yield invalid_value("metadata.name", name, why)
    yield from label_faults(meta.get("labels") or {}, "metadata.labels")
    annotations = meta.get("annotations") or {}
    size = 0
    for key, value in annotations.items():
        for why in qualified_faults(key.lower()):
            yield invalid_value("metadata.annotations", key, why)
        size += len(key) + len(value)
    if size > ANNOTATIONS_LIMIT:
        yield Cause("FieldValueTooLong", f"Too long: may not be more than {ANNOTATIONS_LIMIT} bytes",
                    "metadata.annotations")  # fmt: skip
    for index, finalizer in enumerate(meta.get("finalizers") or ()):
        where = f"metadata.finalizers[{index}]"
        for why in qualified_faults(finalizer):
            yield invalid_value(where, finalizer, why)
        if "." not in storage and "/" not in finalizer and finalizer not in PLAIN_FINALIZERS:
            yield invalid_value(where, finalizer, "name is neither a standard finalizer name nor is it fully qualified")
    yield from _owner_faults(meta.get("ownerReferences") or ())


def _owner_faults(owners: Any) -> Iterator[Cause]:
    controllers = 0
    for owner in owners:
        for member in ("apiVersion", "kind", "name", "uid"):
            if not owner.get(member):
                why = "version must not be empty" if member == "apiVersion" else "must not be empty"
                yield invalid_value(f"metadata.ownerReferences.{member}", "", why)
        controllers += bool(owner.get("controller"))
    if controllers > 1:
        yield Cause("FieldValueInvalid", "Invalid value: Only one reference can have Controller set to true",
                    "metadata.ownerReferences")  # fmt: skip


def label_faults(labels: Mapping[str, str], field: str) -> Iterator[Cause]:
    """What is wrong with a set of labels."""
    for key, value in labels.items():
        for why in qualified_faults(key):
            yield invalid_value(field, key, why)
        if len(value) > 63:
            yield invalid_value(field, value, "must be no more than 63 characters")
        if not LABEL_VALUE.match(value):
            yield invalid_value(field, value, LABEL_VALUE_TEXT)


@lru_cache(maxsize=4096)
def qualified_faults(key: str) -> tuple[str, ...]:
    """What is wrong with the key of a label, an annotation or a taint."""
    # perf: the same few keys come with every object
    return tuple(_qualified_faults(key))


def _qualified_faults(key: str) -> Iterator[str]:
    prefix, slash, name = key.rpartition("/")
    if "/" in prefix:
        yield "a valid label key must consist of alphanumeric characters, '-', '_' or '.', with an optional DNS subdomain prefix and '/'"  # noqa: E501
        return
    if slash:
        if not prefix:
            yield "prefix part must be non-empty"
        elif len(prefix) > 253 or not SUBDOMAIN.match(prefix):
            yield f"prefix part {SUBDOMAIN_TEXT}"
    if not name:
        yield "name part must be non-empty"
    elif len(name) > 63:
        yield "name part must be no more than 63 characters"
    if not QUALIFIED.match(name):
        yield QUALIFIED_TEXT
