"""Field selectors: which fields of which kind can be selected by, and how they are read.

Upstream: SelectableFields of the registries under pkg/registry, pkg/apis/core/v1/conversion.go (v1.36.4).
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

from stowplan.apiserver.storage.entry import Entry

NAME = "metadata.name"
NAMESPACE = "metadata.namespace"

SELECTABLE: Mapping[str, tuple[str, ...]] = {
    "pods": (
        "spec.nodeName", "status.phase", "spec.schedulerName", "spec.restartPolicy", "spec.serviceAccountName",
        "spec.hostNetwork", "status.podIP", "status.nominatedNodeName",
    ),
    "nodes": ("spec.unschedulable",),
    "namespaces": ("status.phase",),
    "secrets": ("type",),
    "services": ("spec.clusterIP", "spec.type"),
    "events": (
        "involvedObject.kind", "involvedObject.namespace", "involvedObject.name", "involvedObject.uid",
        "involvedObject.apiVersion", "involvedObject.resourceVersion", "involvedObject.fieldPath", "reason",
        "reportingComponent", "source.component", "type",
    ),
    "replicationcontrollers": ("status.replicas",),
    "replicasets.apps": ("status.replicas",),
    "jobs.batch": ("status.succeeded",),
    "resourceslices.resource.k8s.io": ("spec.nodeName", "spec.driver"),
    "certificatesigningrequests.certificates.k8s.io": ("spec.signerName",),
}  # fmt: skip

SPOKEN_AS: Mapping[str, Mapping[str, str]] = {
    "events": {
        "source": "source.component",
        "reportingController": "reportingComponent",
        **{f"regarding.{name}": f"involvedObject.{name}"
           for name in ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")},
    },
    "namespaces": {"name": NAME},
    "jobs.batch": {"status.successful": "status.succeeded"},
}  # fmt: skip

DEFAULTS: Mapping[str, str] = {"spec.unschedulable": "false", "spec.hostNetwork": "false", "status.replicas": "0"}
"""What a selector sees where the object says nothing."""


class BadFieldSelectorError(ValueError):
    """Raised when a field selector cannot be read or names a field that cannot be selected by."""


@dataclass(frozen=True, slots=True)
class FieldTerm:
    """One condition; `index` is the place in Entry.fields, or -1 for the name and -2 for the namespace."""

    index: int
    value: str
    equal: bool

    def matches(self, entry: Entry) -> bool:
        """True when the entry meets the condition."""
        if self.index == -1:
            found = entry.name
        elif self.index == -2:
            found = entry.namespace
        else:
            found = entry.fields[self.index]
        return (found == self.value) == self.equal


@dataclass(frozen=True, slots=True)
class FieldSelector:
    """All terms must hold."""

    terms: tuple[FieldTerm, ...] = ()

    def matches(self, entry: Entry) -> bool:
        """True when all terms hold."""
        return all(term.matches(entry) for term in self.terms)

    @property
    def single_name(self) -> str | None:
        """The one name that can match, when the selector says so."""
        return next((term.value for term in self.terms if term.index == -1 and term.equal), None)


@final
class FieldIndex:
    """Reads the selectable fields of objects; custom kinds add theirs at run time."""

    def __init__(self) -> None:
        self._names: dict[str, tuple[str, ...]] = dict(SELECTABLE)
        self._readers = {storage: _readers(names) for storage, names in SELECTABLE.items()}

    def define(self, storage: str, names: tuple[str, ...]) -> None:
        """Say what a custom kind can be selected by."""
        self._names[storage] = names
        self._readers[storage] = _readers(names)

    def read(self, storage: str, value: dict[str, Any]) -> tuple[str, ...]:
        """The fields of one object."""
        readers = self._readers.get(storage)
        if readers is None:
            return ()
        return tuple([reader(value) for reader in readers])

    def parse(self, storage: str, text: str) -> FieldSelector:
        """Read a selector for one kind."""
        names = self._names.get(storage, ())
        spoken = SPOKEN_AS.get(storage, {})
        terms = []
        for part in _parts(text):
            key, value, equal = _term(part)
            key = spoken.get(key, key)
            if key == NAME:
                index = -1
            elif key == NAMESPACE:
                index = -2
            elif key in names:
                index = names.index(key)
            else:
                raise BadFieldSelectorError(f"field label not supported: {key}")
            terms.append(FieldTerm(index, value, equal))
        return FieldSelector(tuple(terms))


def _parts(text: str) -> list[str]:
    parts, current, escaped = [], "", False
    for letter in text:
        if escaped:
            current += "\\" + letter
            escaped = False
        elif letter == "\\":
            escaped = True
        elif letter == ",":
            parts.append(current)
            current = ""
        else:
            current += letter
    if escaped:
        raise BadFieldSelectorError(f"invalid field selector: {text}: ends with a backslash")
    parts.append(current)
    return [part for part in parts if part.strip()]


def _term(part: str) -> tuple[str, str, bool]:
    for sign, equal in (("!=", False), ("==", True), ("=", True)):
        key, found, value = part.partition(sign)
        if found:
            if sign == "=" and "=" in value.replace("\\=", ""):
                break
            return key.strip(), _unescape(value.strip()), equal
    raise BadFieldSelectorError(f"invalid selector: '{part}'; can't understand '{part}'")


def _unescape(text: str) -> str:
    return text.replace("\\,", ",").replace("\\=", "=").replace("\\\\", "\\")


def _readers(names: Sequence[str]) -> tuple[Callable[[dict[str, Any]], str], ...]:
    return tuple(_reader(name) for name in names)


def _reader(name: str) -> Callable[[dict[str, Any]], str]:
    path = name.split(".")
    absent = DEFAULTS.get(name, "")

    def read(value: Any) -> str:
        for part in path:
            value = value.get(part) if type(value) is dict else None
            if value is None:
                return absent
        # perf: a handful of node names and phases repeat in every pod
        return sys.intern(value) if type(value) is str else _text(value)

    return read


def _text(value: Any) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else str(value)
