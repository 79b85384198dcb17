"""Publishing: writes allocations and reservations to the API, and waits for devices that have to be made ready.

Upstream: PreBind and bindClaim in pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go (v1.36.4).
"""

from typing import Final

import msgspec

from stowplan.api.meta import time_seconds, time_text
from stowplan.api.pod import Pod, PodExtendedResourceClaimStatus
from stowplan.api.resource import AllocationResult, ResourceClaim, ResourceClaimConsumerReference
from stowplan.framework.gates import Gates
from stowplan.framework.plugin import ApiConflict, ApiFailure, Binding, PluginError
from stowplan.framework.plugin_args import SECOND_NS, DynamicResourcesArgs
from stowplan.plugins.dynamic_resources.binding import TIMED_OUT, BindingFailedError, has_conditions, is_ready
from stowplan.plugins.dynamic_resources.claims import is_reserved_for
from stowplan.plugins.dynamic_resources.extended import IN_MEMORY
from stowplan.plugins.dynamic_resources.ledger import Ledger
from stowplan.plugins.dynamic_resources.plan import DevicePlan

FINALIZER: Final = "resource.kubernetes.io/delete-protection"
ATTEMPTS: Final = 5
"""How often a write is tried when others write the claim too."""
FIRST_PAUSE: Final = 0.01
POLL_SECONDS: Final = 5.0


def without_finalizer(claim: ResourceClaim) -> ResourceClaim:
    """Return the claim so that it can go."""
    finalizers = tuple(name for name in claim.metadata.finalizers if name != FINALIZER)
    metadata = msgspec.structs.replace(claim.metadata, finalizers=finalizers)
    return msgspec.structs.replace(claim, metadata=metadata)


def with_finalizer(claim: ResourceClaim) -> ResourceClaim:
    """Return the claim so that it cannot go while it is allocated."""
    metadata = msgspec.structs.replace(claim.metadata, finalizers=(*claim.metadata.finalizers, FINALIZER))
    return msgspec.structs.replace(claim, metadata=metadata)


class _ConflictError(Exception):
    """Raised when somebody else changed the claim, so that it has to be read again."""


def _failure(what: str, error: ApiFailure) -> Exception:
    told = f"{what}: {error}"
    return _ConflictError(told) if isinstance(error, ApiConflict) else PluginError(told)


class Publisher:
    """Finishes what Reserve began."""

    def __init__(self, gates: Gates, args: DynamicResourcesArgs, ledger: Ledger) -> None:
        self._conditions = gates.on("DRADeviceBindingConditions") and gates.on("DRAResourceClaimDeviceStatus")
        timeout = args.binding_timeout_ns
        self._timeout = (600 * SECOND_NS if timeout is None else timeout) / SECOND_NS
        self._ledger = ledger

    async def publish(self, binding: Binding, plan: DevicePlan) -> None:
        """Write all claims that are not reserved for the pod yet."""
        for i, claim in enumerate(plan.claims):
            if is_reserved_for(claim, binding.pod.uid):
                continue
            try:
                plan.claims[i] = await self._bind(binding, plan, i)
            except ApiFailure as error:
                raise PluginError(str(error)) from error

    async def _bind(self, binding: Binding, plan: DevicePlan, at: int) -> ResourceClaim:
        claim = plan.claims[at]
        special = at == plan.users
        reserved = plan.reservation
        allocation = None if reserved is None else reserved.allocations.get(at)
        if special and allocation is None and not claim.spec.devices.requests:
            return claim  # device plugins serve all that it stands for
        uids = [plan.initial_uid if special else claim.uid]
        try:
            if special and claim.name == IN_MEMORY:
                claim = plan.claims[at] = await self._create(binding, plan)
            stored = await self._store(binding, claim, allocation)
            self._ledger.assume(binding.objects, stored)
            if special:
                await self._tell_pod(binding, plan, stored)
        finally:
            if allocation is not None:
                for uid in uids:
                    self._ledger.settle(uid)
        return stored

    async def _create(self, binding: Binding, plan: DevicePlan) -> ResourceClaim:
        reserved = plan.reservation
        if reserved is None or reserved.variant is None:
            raise PluginError(f"extended resource claim not found for node {binding.node_name}")
        template = reserved.variant.claim
        metadata = msgspec.structs.replace(template.metadata, name="", uid="")
        try:
            created: ResourceClaim = await binding.writer.create(msgspec.structs.replace(template, metadata=metadata))
        except ApiFailure as error:
            told = f"create claim for extended resources {template.namespace}/: {error}"
            raise PluginError(told) from error
        return created

    async def _store(
        self, binding: Binding, claim: ResourceClaim, allocation: AllocationResult | None
    ) -> ResourceClaim:
        pause = FIRST_PAUSE
        for attempt in range(ATTEMPTS):
            if attempt:
                await binding.writer.pause(pause)
                claim = await self._again(binding, claim)
            try:
                return await self._store_once(binding, claim, allocation)
            except _ConflictError as error:
                if attempt == ATTEMPTS - 1:
                    raise PluginError(str(error)) from error
        raise AssertionError("the last attempt returns or raises")

    async def _again(self, binding: Binding, claim: ResourceClaim) -> ResourceClaim:
        try:
            found: ResourceClaim = await binding.writer.get(ResourceClaim, claim.key)
        except ApiFailure as error:
            raise PluginError(f"get updated claim {claim.key} after conflict: {error}") from error
        return found

    async def _store_once(
        self, binding: Binding, claim: ResourceClaim, allocation: AllocationResult | None
    ) -> ResourceClaim:
        if claim.metadata.deletion_timestamp is not None:
            raise PluginError(f"claim {claim.key} got deleted in the meantime")
        if allocation is not None:
            if claim.status.allocation is not None:
                raise PluginError(f"claim {claim.key} got allocated elsewhere in the meantime")
            if FINALIZER not in claim.metadata.finalizers:
                claim = await self._protect(binding, claim)
        elif claim.status.allocation is None and self._conditions:
            raise PluginError(f"claim {claim.key} got deallocated elsewhere in the meantime")
        given = allocation if allocation is not None else claim.status.allocation
        if self._conditions and given is not None and given.allocation_timestamp is None:
            given = msgspec.structs.replace(given, allocation_timestamp=time_text(binding.writer.now()))
        pod = binding.pod.pod
        consumer = ResourceClaimConsumerReference(resource="pods", name=pod.name, uid=pod.uid)
        status = msgspec.structs.replace(
            claim.status, allocation=given, reserved_for=(*claim.status.reserved_for, consumer)
        )
        try:
            stored: ResourceClaim = await binding.writer.update(
                msgspec.structs.replace(claim, status=status), subresource="status"
            )
        except ApiFailure as error:
            what = "reservation" if allocation is None else "allocation and reservation"
            raise _failure(f"add {what} to claim {claim.key}", error) from error
        return stored

    async def _protect(self, binding: Binding, claim: ResourceClaim) -> ResourceClaim:
        try:
            protected: ResourceClaim = await binding.writer.update(with_finalizer(claim))
        except ApiFailure as error:
            raise _failure(f"add finalizer to claim {claim.key}", error) from error
        return protected

    async def _tell_pod(self, binding: Binding, plan: DevicePlan, claim: ResourceClaim) -> None:
        pod: Pod = binding.pod.pod
        mappings = (
            () if plan.reservation is None or plan.reservation.variant is None else plan.reservation.variant.mappings
        )
        if not mappings:
            told = f"nil or empty request mappings, no update of pod {pod.key} ExtendedResourceClaimStatus"
            raise PluginError(told)
        told_status = PodExtendedResourceClaimStatus(request_mappings=mappings, resource_claim_name=claim.name)
        patch = {"status": {"extendedResourceClaimStatus": told_status}}
        try:
            await binding.writer.patch(pod, msgspec.json.encode(patch), subresource="status")
        except ApiFailure as error:
            raise PluginError(f"update pod {pod.key} ExtendedResourceClaimStatus: {error}") from error

    async def wait_until_ready(self, binding: Binding, plan: DevicePlan) -> None:
        """Wait until the binding conditions of all devices are met, or one of them fails, or time is up."""
        writer = binding.writer
        writer.event(
            binding.pod,
            "BindingConditionsPending",
            "Scheduling",
            f"waiting for binding conditions for device on node {binding.node_name}",
        )
        started = writer.now()
        while True:
            try:
                if self._all_ready(binding, plan):
                    return
            except BindingFailedError as error:
                raise PluginError(str(error)) from error
            if writer.now() - started >= self._timeout:
                self._expire(plan)
                raise PluginError(f"{TIMED_OUT}: context deadline exceeded")
            await writer.pause(min(POLL_SECONDS, max(self._timeout - (writer.now() - started), 0.0)))

    def _all_ready(self, binding: Binding, plan: DevicePlan) -> bool:
        for i, claim in enumerate(plan.claims):
            current = self._ledger.find(binding.objects, claim.key)
            if current is None:
                raise PluginError(f'could not find ResourceClaim "{claim.key}"')
            plan.claims[i] = current
            if not is_ready(current):
                self._check_time(binding, plan, current)
                return False
        return True

    def _check_time(self, binding: Binding, plan: DevicePlan, claim: ResourceClaim) -> None:
        """An allocation of an earlier attempt has been waiting since then."""
        allocation = claim.status.allocation
        since = None if allocation is None else allocation.allocation_timestamp
        if since is not None and has_conditions([claim]) and time_seconds(since) + self._timeout < binding.writer.now():
            self._expire(plan)
            raise PluginError(f"{TIMED_OUT}: claim={claim.name}")

    def _expire(self, plan: DevicePlan) -> None:
        for claim in plan.claims:
            allocation = claim.status.allocation
            if allocation is not None:
                self._ledger.expired.add((claim.uid, allocation.allocation_timestamp or ""))
