"""The objects an informer knows, and who is told when they change.

Upstream: staging/src/k8s.io/client-go/tools/cache/shared_informer.go (v1.36.4).
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Generic, Protocol, TypeVar, final

from stowplan.client.decoding import Identity

T = TypeVar("T")
T_contra = TypeVar("T_contra", contravariant=True)


class Handler(Protocol[T_contra]):
    """Told about every change, synchronously, on the loop. What it raises ends the informer: a handler is our code."""

    def on_add(self, obj: T_contra, initial: bool) -> None:
        """An object is there; `initial` when it was there before we looked for the first time."""

    def on_update(self, old: T_contra, new: T_contra) -> None:
        """An object changed; both states are of the same incarnation."""

    def on_delete(self, obj: T_contra) -> None:
        """An object is gone; its last state that we know of."""


@final
class Store(Generic[T]):
    """Objects by `namespace/name`; changes reach every handler, each object's in order."""

    def __init__(self, identify: Callable[[T], Identity]) -> None:
        self._identify = identify
        self._objects: dict[str, T] = {}
        self._handlers: list[Handler[T]] = []

    @property
    def objects(self) -> Mapping[str, T]:
        """All objects by key. Not to be changed."""
        return self._objects

    def __len__(self) -> int:
        return len(self._objects)

    def __iter__(self) -> Iterator[T]:
        return iter(self._objects.values())

    def get(self, key: str) -> T | None:
        """The object of that key."""
        return self._objects.get(key)

    def add_handler(self, handler: Handler[T]) -> None:
        """Tell this one too from now on; what is known already comes first, as initial."""
        for obj in tuple(self._objects.values()):
            handler.on_add(obj, True)
        self._handlers.append(handler)

    def put(self, obj: T, identity: Identity, *, initial: bool = False) -> None:
        """Take in the current state of an object and tell what that means."""
        key, uid, version = identity
        old = self._objects.get(key)
        if old is None:
            self._objects[key] = obj
            for handler in self._handlers:
                handler.on_add(obj, initial)
            return
        _, old_uid, old_version = self._identify(old)
        if uid == old_uid:
            if version and version == old_version:
                return
            self._objects[key] = obj
            for handler in self._handlers:
                handler.on_update(old, obj)
            return
        # The deletion went by unseen: the name now belongs to another object.
        self.drop(key)
        self.put(obj, identity)

    def drop(self, key: str, last: T | None = None) -> None:
        """Forget an object and tell so; `last` is its final state when the server sent one."""
        old = self._objects.pop(key, None)
        if old is None:
            return
        gone = old if last is None else last
        for handler in self._handlers:
            handler.on_delete(gone)

    def keep_only(self, keys: set[str]) -> None:
        """Forget every object that a complete list did not hold."""
        for key in [key for key in self._objects if key not in keys]:
            self.drop(key)
