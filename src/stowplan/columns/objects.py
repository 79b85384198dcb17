"""Objects that are neither nodes nor placed pods: volumes, claims, services, budgets, namespaces, devices."""

from collections import deque
from collections.abc import Mapping
from itertools import islice
from typing import Any, Final, TypeVar, final

from stowplan.api.meta import KubeObject

K = TypeVar("K", bound=KubeObject)

EMPTY: Final[Mapping[str, Any]] = {}
KEPT: Final = 65_536
"""How many changes per type are remembered."""


@final
class ObjectStore:
    """Per type, key to record, with a generation per type for whoever derives something from it."""

    __slots__ = ("_by_type", "_changed", "_generations")

    def __init__(self) -> None:
        self._by_type: dict[type[KubeObject], dict[str, KubeObject]] = {}
        self._generations: dict[type[KubeObject], int] = {}
        self._changed: dict[type[KubeObject], deque[str]] = {}

    def put(self, obj: KubeObject) -> KubeObject | None:
        """Store an object; returns the one it replaces."""
        kind = type(obj)
        stored = self._by_type.setdefault(kind, {})
        old = stored.get(obj.key)
        stored[obj.key] = obj
        self._count(kind, obj.key)
        return old

    def drop(self, kind: type[K], key: str) -> K | None:
        """Remove an object; returns it if it was there."""
        old = self._by_type.get(kind, {}).pop(key, None)
        if old is None:
            return None
        self._count(kind, key)
        assert isinstance(old, kind)
        return old

    def all(self, kind: type[K]) -> Mapping[str, K]:
        """Key to record of one type, in order of arrival."""
        found: Mapping[str, Any] = self._by_type.get(kind, EMPTY)
        return found

    def get(self, kind: type[K], key: str) -> K | None:
        """One object by key (namespace/name, or name for cluster-wide kinds)."""
        return self.all(kind).get(key)

    def generation(self, kind: type[KubeObject]) -> int:
        """Grows with every change to objects of a type."""
        return self._generations.get(kind, 0)

    def changed_since(self, kind: type[KubeObject], generation: int) -> list[str] | None:
        """Keys of objects that came, changed or went after a generation, oldest first; None when no longer known."""
        missing = self.generation(kind) - generation
        if not missing:
            return []
        changed = self._changed[kind]
        if missing > len(changed):
            return None
        keys = list(islice(reversed(changed), missing))
        keys.reverse()
        return keys

    def _count(self, kind: type[KubeObject], key: str) -> None:
        self._generations[kind] = self._generations.get(kind, 0) + 1
        self._changed.setdefault(kind, deque(maxlen=KEPT)).append(key)
