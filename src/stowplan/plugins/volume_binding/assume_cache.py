"""AssumeCache: objects as the watch shows them, with versions on top that are not written yet.

Upstream: pkg/scheduler/framework/plugins/volumebinding/passive_assume_cache.go (v1.36.4).
"""

from typing import Generic, TypeVar, final

from stowplan.api.meta import KubeObject
from stowplan.columns.objects import ObjectStore

K = TypeVar("K", bound=KubeObject)


class AssumeError(Exception):
    """Raised when an object cannot be assumed: it is gone, or changed meanwhile. The text is upstream's."""


@final
class AssumeCache(Generic[K]):
    """An assumed version counts as long as the stored one is the one it was made from."""

    __slots__ = ("_assumed", "_generation", "_kind", "_objects", "_plural", "touched")

    def __init__(self, kind: type[K], plural: str) -> None:
        self._kind = kind
        self._plural = plural
        self._assumed: dict[str, K] = {}
        self._objects: ObjectStore | None = None
        self._generation = 0
        self.touched: set[str] = set()
        """Keys assumed or restored; whoever derives something from the cache takes them out."""

    def watch(self, objects: ObjectStore) -> None:
        """Stand on these objects, and forget versions that they have overtaken."""
        if objects is not self._objects:
            self._objects = objects
            self._assumed.clear()
        # perf: thousands of claims are assumed while volumes are made; only those that changed may be overtaken
        changed = objects.changed_since(self._kind, self._generation)
        self._generation = objects.generation(self._kind)
        for key in tuple(self._assumed) if changed is None else changed:
            assumed = self._assumed.get(key)
            if assumed is not None and self._overtaken(assumed):
                del self._assumed[key]

    def get(self, key: str) -> K | None:
        """The object as it is assumed to be."""
        stored = self.stored(key)
        assumed = self._assumed.get(key)
        if stored is None or assumed is None or self._overtaken(assumed):
            return stored
        return assumed

    def stored(self, key: str) -> K | None:
        """The object as the API has it."""
        return None if self._objects is None else self._objects.get(self._kind, key)

    def assume(self, obj: K) -> None:
        """Put a version on top of the stored one it was made from. Raises AssumeError."""
        stored = self.stored(obj.key)
        if stored is None:
            raise AssumeError(self.not_found(obj.key))
        have, want = stored.metadata.resource_version, obj.metadata.resource_version
        if have != want:
            raise AssumeError(f'"{obj.key}" is out of sync (stored: {have}, assume: {want})')
        self._assumed[obj.key] = obj
        self.touched.add(obj.key)

    def restore(self, obj: K) -> None:
        """Take back an assumed version, unless it was made from another stored one than this."""
        assumed = self._assumed.get(obj.key)
        if assumed is not None and assumed.metadata.resource_version == obj.metadata.resource_version:
            del self._assumed[obj.key]
            self.touched.add(obj.key)

    def not_found(self, key: str) -> str:
        """The API's words for an object that is not there."""
        return f'{self._plural} "{key}" not found'

    def _overtaken(self, assumed: K) -> bool:
        stored = self.stored(assumed.key)
        return stored is None or stored.metadata.resource_version != assumed.metadata.resource_version
