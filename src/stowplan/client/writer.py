"""What the scheduler writes: bindings, pod status, evictions by deletion, claims and volumes.

Upstream: pkg/scheduler/util/utils.go, plugins/defaultbinder, plugins/volumebinding (v1.36.4).
"""

import asyncio
import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

import msgspec

from stowplan.client.backoff import STATUS_PATCH_BACKOFF, retry_on
from stowplan.client.errors import BadResponse, Conflict, InternalError, ServiceUnavailable, Unreachable
from stowplan.client.paths import PODS, Resource
from stowplan.client.transport import JSON, MERGE_PATCH, STRATEGIC_MERGE_PATCH, ApiClient
from stowplan.clock import Clock

# parity: util.Retriable, around which a status patch is tried again
RETRIABLE = (InternalError, ServiceUnavailable, Conflict, Unreachable)


class _BindingMeta(msgspec.Struct, frozen=True, gc=False):
    name: str
    namespace: str
    uid: str


class _Target(msgspec.Struct, frozen=True, gc=False):
    kind: str
    name: str


class _Binding(msgspec.Struct, frozen=True, rename="camel", gc=False):
    kind: str
    api_version: str
    metadata: _BindingMeta
    target: _Target


_ENCODER = msgspec.json.Encoder()


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class WriterStatistics:
    """How much was asked for, how much failed, how much is under way."""

    requests: int
    failures: int
    in_flight: int


@final
class Writer:
    """Writes through one client, at most `concurrency` at a time; errors reach the caller as they are.

    Conflicts are the caller's: only who knows why it writes can say whether to read again.
    """

    def __init__(self, client: ApiClient, *, clock: Clock, rng: random.Random, concurrency: int = 64) -> None:
        self._client = client
        self._clock = clock
        self._rng = rng
        self._slots = asyncio.Semaphore(concurrency)
        self._requests = self._failures = self._in_flight = 0

    def statistics(self) -> WriterStatistics:
        """What happened so far."""
        return WriterStatistics(requests=self._requests, failures=self._failures, in_flight=self._in_flight)

    async def bind(self, *, namespace: str, name: str, uid: str, node: str) -> None:
        """Bind a pod; the server refuses (Conflict) one that is bound or has another uid."""
        binding = _Binding("Binding", "v1", _BindingMeta(name, namespace, uid), _Target("Node", node))
        await self._send("POST", PODS.item(name, namespace, "binding"), _ENCODER.encode(binding))

    async def patch_pod_status(self, *, namespace: str, name: str, patch: Mapping[str, Any]) -> None:
        """Strategic-merge a change (`status_patch.pod_status_patch`) into a pod's status, trying up to four times."""
        path, body = PODS.item(name, namespace, "status"), _ENCODER.encode(patch)
        await retry_on(
            lambda: self._send("PATCH", path, body, STRATEGIC_MERGE_PATCH),
            retriable=RETRIABLE,
            policy=STATUS_PATCH_BACKOFF,
            clock=self._clock,
            rng=self._rng,
        )

    async def delete_pod(
        self, *, namespace: str, name: str, uid: str = "", resource_version: str = "", grace_seconds: int | None = None
    ) -> None:
        """Delete a pod; with a uid or version, only that one."""
        await self.delete(
            PODS,
            namespace=namespace,
            name=name,
            uid=uid,
            resource_version=resource_version,
            grace_seconds=grace_seconds,
        )

    async def delete(
        self,
        resource: Resource,
        *,
        name: str,
        namespace: str = "",
        uid: str = "",
        resource_version: str = "",
        grace_seconds: int | None = None,
    ) -> None:
        """Delete an object, with preconditions if given."""
        options: dict[str, Any] = {"kind": "DeleteOptions", "apiVersion": "v1"}
        if grace_seconds is not None:
            options["gracePeriodSeconds"] = grace_seconds
        conditions = {"uid": uid, "resourceVersion": resource_version}
        if uid or resource_version:
            options["preconditions"] = {key: value for key, value in conditions.items() if value}
        await self._send("DELETE", resource.item(name, namespace), _ENCODER.encode(options))

    async def create(self, resource: Resource, obj: Mapping[str, Any]) -> dict[str, Any]:
        """Create an object; what the server made of it."""
        path = resource.collection(obj["metadata"].get("namespace", ""))
        return self._object(await self._send("POST", path, _ENCODER.encode(obj)), path)

    async def update(self, resource: Resource, obj: Mapping[str, Any], *, subresource: str = "") -> dict[str, Any]:
        """Replace an object, or its `status`; Conflict when it changed since it was read."""
        meta = obj["metadata"]
        path = resource.item(meta["name"], meta.get("namespace", ""), subresource)
        return self._object(await self._send("PUT", path, _ENCODER.encode(obj)), path)

    async def patch(
        self,
        resource: Resource,
        *,
        name: str,
        namespace: str = "",
        patch: Mapping[str, Any],
        subresource: str = "",
        content_type: str = MERGE_PATCH,
    ) -> dict[str, Any]:
        """Patch an object; what the server made of it."""
        path = resource.item(name, namespace, subresource)
        return self._object(await self._send("PATCH", path, _ENCODER.encode(patch), content_type), path)

    async def read(self, resource: Resource, *, name: str, namespace: str = "") -> dict[str, Any]:
        """The object as the server has it now, for those who have to write it back whole."""
        path = resource.item(name, namespace)
        async with self._slots:
            return self._object(await self._client.request("GET", path), path)

    async def _send(self, method: str, path: str, body: bytes, content_type: str = JSON) -> bytes:
        async with self._slots:
            self._requests += 1
            self._in_flight += 1
            try:
                return await self._client.request(method, path, body=body, content_type=content_type)
            except BaseException:
                self._failures += 1
                raise
            finally:
                self._in_flight -= 1

    def _object(self, answer: bytes, path: str) -> dict[str, Any]:
        try:
            return msgspec.json.decode(answer, type=dict[str, Any])
        except msgspec.DecodeError as error:
            raise BadResponse(
                f"the answer is not an object: {error}", server=self._client.server, request=path
            ) from error
