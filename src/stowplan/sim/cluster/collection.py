"""The objects of one resource: a local copy that is never older than our own writes, and the writes themselves.

A controller that reads its own writes needs no bookkeeping of what it expects to see. Upstream keeps expectations
instead: pkg/controller/controller_utils.go (v1.36.4).
"""

import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Generic, TypeVar, final

import msgspec

from stowplan.client.decoding import ObjectDecoder
from stowplan.client.errors import NotFound
from stowplan.client.informer import Informer
from stowplan.client.paths import Resource
from stowplan.client.transport import STRATEGIC_MERGE_PATCH, ApiClient, encode
from stowplan.clock import Clock

T = TypeVar("T")

Json = dict[str, Any]
Listener = Callable[[T | None, T | None], None]
"""Told the state before and the state after; None where there is none."""


@final
class Collection(Generic[T]):
    """One resource. Run `follow` as a task; read at any time after `synced`."""

    def __init__(
        self,
        client: ApiClient,
        resource: Resource,
        record: type[T],
        decoder: ObjectDecoder[T],
        *,
        clock: Clock,
        rng: random.Random,
    ) -> None:
        self.resource = resource
        self._client = client
        self._identify = decoder.identify
        self._decode = msgspec.json.Decoder(record).decode
        self._informer = Informer(client, resource, decoder, clock=clock, rng=rng)
        self._objects: dict[str, T] = {}
        self._gone: set[str] = set()  # uids that we deleted and the watch has not yet
        self._listeners: list[Listener[T]] = []
        self._indices: dict[str, tuple[Callable[[T], Iterable[str]], dict[str, dict[str, T]]]] = {}
        self._informer.add_handler(self)

    def __len__(self) -> int:
        return len(self._objects)

    def __iter__(self) -> Iterator[T]:
        return iter(tuple(self._objects.values()))

    def get(self, key: str) -> T | None:
        """The object of `namespace/name`, or of a name."""
        return self._objects.get(key)

    def indexed(self, index: str, value: str) -> list[T]:
        """All objects that an index files under a value."""
        return list(self._indices[index][1].get(value, {}).values())

    def add_index(self, index: str, values: Callable[[T], Iterable[str]]) -> None:
        """File objects under values of theirs; to be called before `follow` runs."""
        assert not self._objects, f"the index {index!r} comes too late"
        self._indices[index] = (values, {})

    def listen(self, listener: Listener[T]) -> None:
        """Tell this one about every change."""
        self._listeners.append(listener)

    async def follow(self) -> None:
        """List and watch until cancelled."""
        await self._informer.run()

    async def synced(self) -> None:
        """Wait for the first complete list."""
        await self._informer.synced()

    # What the watch tells.

    def on_add(self, obj: T, initial: bool) -> None:  # noqa: ARG002 - the informer's contract
        """The watch shows an object."""
        self._take(obj)

    def on_update(self, old: T, new: T) -> None:  # noqa: ARG002 - see above
        """The watch shows another state."""
        self._take(new)

    def on_delete(self, obj: T) -> None:
        """The watch says that an object is gone."""
        key, uid, _ = self._identify(obj)
        self._gone.discard(uid)
        known = self._objects.get(key)
        if known is not None and self._identify(known).uid == uid:
            self._remove(key, obj)

    # What we write.

    async def create(self, namespace: str, body: Mapping[str, Any]) -> T:
        """Create an object; the answer is known at once."""
        path = self.resource.collection(namespace)
        return self._learn(await self._client.request("POST", path, body=encode(body)))

    async def update(self, namespace: str, name: str, body: Mapping[str, Any], *, subresource: str = "") -> T:
        """Replace an object, or its status."""
        path = self.resource.item(name, namespace, subresource)
        return self._learn(await self._client.request("PUT", path, body=encode(body)))

    async def patch(
        self,
        namespace: str,
        name: str,
        body: Any,
        *,
        subresource: str = "",
        content_type: str = STRATEGIC_MERGE_PATCH,
    ) -> T:
        """Change parts of an object."""
        path = self.resource.item(name, namespace, subresource)
        answer = await self._client.request("PATCH", path, body=encode(body), content_type=content_type)
        return self._learn(answer)

    async def delete(self, obj: T, *, grace: int | None = None, policy: str = "") -> None:
        """Delete this incarnation of an object; one that is gone already is fine."""
        key, uid, _ = self._identify(obj)
        namespace, _, name = key.rpartition("/")
        options: Json = {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"uid": uid}}
        if grace is not None:
            options["gracePeriodSeconds"] = grace
        if policy:
            options["propagationPolicy"] = policy
        try:
            body = await self._client.request(
                "DELETE", self.resource.item(name, namespace), body=msgspec.json.encode(options)
            )
        except NotFound:
            self._forget(key, uid)
            return
        self._learn_deletion(body, key, uid)

    def _learn(self, body: bytes) -> T:
        obj = self._decode(body)
        # What the watch has passed it knows better: the object may be gone again.
        if _older(self._informer.last_resource_version, self._identify(obj).version):
            self._take(obj)
        return obj

    def _learn_deletion(self, body: bytes, key: str, uid: str) -> None:
        head = msgspec.json.decode(body, type=_Head)
        held = head.metadata.finalizers or head.metadata.deletion_grace_period_seconds
        if head.kind == "Status" or not held:
            self._forget(key, uid)
        else:
            self._learn(body)

    def _forget(self, key: str, uid: str) -> None:
        known = self._objects.get(key)
        if known is not None and self._identify(known).uid == uid:
            self._gone.add(uid)
            self._remove(key, known)

    # The copy itself.

    def _take(self, obj: T) -> None:
        key, uid, version = self._identify(obj)
        if uid in self._gone:
            return
        known = self._objects.get(key)
        if known is not None:
            _, known_uid, known_version = self._identify(known)
            if not _older(known_version, version):
                return
            if known_uid != uid:
                self._remove(key, known)
                known = None
        if known is not None:
            self._unfile(key, known)
        self._objects[key] = obj
        for values, filed in self._indices.values():
            for value in values(obj):
                filed.setdefault(value, {})[key] = obj
        for listener in self._listeners:
            listener(known, obj)

    def _remove(self, key: str, last: T) -> None:
        known = self._objects.pop(key)
        self._unfile(key, known)
        for listener in self._listeners:
            listener(last, None)

    def _unfile(self, key: str, obj: T) -> None:
        for values, filed in self._indices.values():
            for value in values(obj):
                under = filed.get(value)
                if under is not None:
                    under.pop(key, None)
                    if not under:
                        del filed[value]


class _HeadMeta(msgspec.Struct, rename="camel"):
    finalizers: list[str] | None = None
    deletion_grace_period_seconds: int | None = None


class _Head(msgspec.Struct):
    kind: str = ""
    metadata: _HeadMeta = msgspec.field(default_factory=_HeadMeta)


def _older(version: str, than: str) -> bool:
    # Versions are whole numbers without leading zeros, in the order of writing.
    return (len(version), version) < (len(than), than)
