"""What plugins write while a pod is being bound, done through the client.

Objects come as records, which hold only what scheduling reads; so what is written back is the server's own object with
the record's fields laid over it, and nothing that we do not read is lost.
"""

import asyncio
from collections.abc import Mapping
from typing import Any, Final, final

import msgspec

from stowplan.api.codec import decode_as, to_document
from stowplan.api.kinds import BY_RECORD
from stowplan.api.meta import KubeObject
from stowplan.api.pod import Pod
from stowplan.client.errors import ClientError, Conflict
from stowplan.client.events import EventRecorder
from stowplan.client.paths import Resource
from stowplan.client.transport import STRATEGIC_MERGE_PATCH
from stowplan.client.writer import Writer
from stowplan.clock import Clock
from stowplan.columns.pods import PodInfo
from stowplan.daemon.live import DEFAULT_SCHEDULER_NAME, reference
from stowplan.framework.plugin import ApiConflict, ApiFailure
from stowplan.framework.post_filter import Write

META_WRITTEN: Final = ("annotations", "finalizers", "labels", "ownerReferences")


@final
class PluginWriter:
    """The ApiWriter of the live scheduler."""

    def __init__(self, writer: Writer, recorder: EventRecorder, clock: Clock) -> None:
        self._writer = writer
        self._recorder = recorder
        self._clock = clock

    async def bind(self, pod: PodInfo, node_name: str) -> None:
        """Write the binding."""
        meta = pod.pod.metadata
        try:
            await self._writer.bind(namespace=meta.namespace, name=meta.name, uid=meta.uid, node=node_name)
        except ClientError as error:
            raise _failure(error) from error

    async def update(self, obj: KubeObject, *, subresource: str = "") -> KubeObject:
        """Replace an object; a conflict when it is not the one that was read."""
        resource = resource_of(type(obj))
        try:
            current = await self._writer.read(resource, name=obj.name, namespace=obj.namespace)
            document = overlaid(current, obj, subresource)
            stored = await self._writer.update(resource, document, subresource=subresource)
        except ClientError as error:
            raise _failure(error) from error
        return decode_as(type(obj), stored)

    async def create(self, obj: KubeObject) -> KubeObject:
        """Create an object."""
        try:
            document = with_status(obj, to_document(obj))
            return decode_as(type(obj), await self._writer.create(resource_of(type(obj)), document))
        except ClientError as error:
            raise _failure(error) from error

    async def get(self, kind: type[KubeObject], key: str) -> KubeObject:
        """Read an object as the server has it now."""
        namespace, _, name = key.rpartition("/")
        try:
            return decode_as(kind, await self._writer.read(resource_of(kind), name=name, namespace=namespace))
        except ClientError as error:
            raise _failure(error) from error

    async def patch(self, obj: KubeObject, patch: bytes, *, subresource: str = "") -> KubeObject:
        """Apply a strategic merge patch."""
        try:
            stored = await self._writer.patch(
                resource_of(type(obj)),
                name=obj.name,
                namespace=obj.namespace,
                patch=msgspec.json.decode(patch),
                subresource=subresource,
                content_type=STRATEGIC_MERGE_PATCH,
            )
        except ClientError as error:
            raise _failure(error) from error
        return decode_as(type(obj), stored)

    async def perform(self, write: Write) -> None:
        """Do what a plugin asked for outside of a binding; raises ApiFailure."""
        if write.delete:
            try:
                await self._writer.delete(
                    resource_of(type(write.obj)),
                    name=write.obj.name,
                    namespace=write.obj.namespace,
                    uid=write.obj.uid,
                )
            except ClientError as error:
                raise _failure(error) from error
        elif write.patch is not None:
            await self.patch(write.obj, write.patch, subresource=write.subresource)
        else:
            await self.update(write.obj, subresource=write.subresource)
        if write.then is not None:
            await self.perform(write.then)

    async def pause(self, seconds: float) -> None:
        """Let time pass."""
        await asyncio.sleep(seconds)

    def now(self) -> float:
        """Seconds since the epoch."""
        return self._clock.now()

    def event(self, pod: PodInfo, reason: str, action: str, note: str) -> None:
        """Emit a Normal event about the pod."""
        scheduled: Pod = pod.pod
        self._recorder.tell(
            reference(scheduled),
            controller=scheduled.spec.scheduler_name or DEFAULT_SCHEDULER_NAME,
            type_="Normal",
            reason=reason,
            action=action,
            note=note,
        )


def resource_of(kind: type[KubeObject]) -> Resource:
    """Where objects of a type live."""
    known = BY_RECORD[kind]
    group, _, version = kind.api_version.rpartition("/")
    return Resource(group, version, known.plural, kind.kind, namespaced=known.namespaced)


def overlaid(current: Mapping[str, Any], wanted: KubeObject, subresource: str) -> dict[str, Any]:
    """The server's object with what a record says laid over it: its status, or everything else."""
    document = dict(current)
    names = {"status"} if subresource == "status" else {"status", "metadata"}
    for field in msgspec.structs.fields(wanted):
        if (field.encode_name in names) == (subresource == "status"):
            _lay(document, field, getattr(wanted, field.name))
    if subresource != "status":
        meta = dict(current["metadata"])
        for field in msgspec.structs.fields(wanted.metadata):
            if field.encode_name in META_WRITTEN:
                _lay(meta, field, getattr(wanted.metadata, field.name))
        document["metadata"] = meta
    # the version that the plugin worked from guards against what others wrote since
    document["metadata"] = {**document["metadata"], "resourceVersion": wanted.metadata.resource_version}
    return with_status(wanted, document)


def with_status(obj: KubeObject, document: dict[str, Any]) -> dict[str, Any]:
    """The document of an object, with a status even where that is empty, as Go writes it."""
    return {**document, "status": document.get("status", {})} if "status" in obj.__struct_fields__ else document


def _lay(document: dict[str, Any], field: Any, value: Any) -> None:
    """One field of a record over a document: records field by field, so that fields we do not read stay."""
    name = field.encode_name
    plain = msgspec.to_builtins(value)
    if plain in (None, {}, [], ()):
        document.pop(name, None)
    elif plain == "" and name not in document:
        return
    elif isinstance(value, msgspec.Struct):
        inner = dict(document.get(name) or {})
        for part in msgspec.structs.fields(value):
            _lay(inner, part, getattr(value, part.name))
        document[name] = inner
    else:
        document[name] = plain


def _failure(error: ClientError) -> ApiFailure:
    return ApiConflict(error.told) if isinstance(error, Conflict) else ApiFailure(error.told)
