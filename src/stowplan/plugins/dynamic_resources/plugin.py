"""DynamicResources: pods that claim devices go where their claims are, or can be, allocated.

Upstream: pkg/scheduler/framework/plugins/dynamicresources (v1.36.4).
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Self, final

import msgspec
import numpy as np

from stowplan.api.resource import ResourceClaim
from stowplan.columns.pods import PodInfo
from stowplan.columns.rows import Rows
from stowplan.columns.view import View
from stowplan.framework.plugin import (
    MAX_SCORE,
    SKIP,
    Binding,
    FilterPlugin,
    PluginContext,
    PluginError,
    PostFilterPlugin,
    PreBindPlugin,
    PreEnqueuePlugin,
    PreFilterPlugin,
    PreScorePlugin,
    ReservePlugin,
    ScorePlugin,
    Skip,
)
from stowplan.framework.plugin_args import DynamicResourcesArgs
from stowplan.framework.post_filter import FailedAttempt, NoRoom, PostFilterResult, Write
from stowplan.framework.verdict import Rejection, Verdict, rejection, unresolvable
from stowplan.framework.wake import Change, Kind, ObjectEvent, Wake
from stowplan.goarith import IntN, scaled_by_max
from stowplan.plugins.dynamic_resources.binding import has_conditions
from stowplan.plugins.dynamic_resources.claims import claims_of, is_reserved_for
from stowplan.plugins.dynamic_resources.errors import AllocationError, ClaimError
from stowplan.plugins.dynamic_resources.extended import IN_MEMORY
from stowplan.plugins.dynamic_resources.judging import UNAVAILABLE, Judge
from stowplan.plugins.dynamic_resources.ledger import Ledger
from stowplan.plugins.dynamic_resources.plan import DevicePlan, Reservation
from stowplan.plugins.dynamic_resources.planning import Planner
from stowplan.plugins.dynamic_resources.publishing import Publisher, without_finalizer
from stowplan.plugins.dynamic_resources.wakes import claim_changed, pod_got_claims

NAME: Final = "DynamicResources"
UNSUPPORTED_GATES: Final = (
    "DRADeviceTaintRules",
    "DRAListTypeAttributes",
    "DRANodeAllocatableResources",
)
NOTHING_TO_FREE: Final = rejection("no new claims to deallocate")
STILL_NOT: Final = rejection("still not schedulable")
FREED: Final = rejection("deallocation of ResourceClaim completed")
DELETED: Final = rejection("deletion of ResourceClaim completed")
NOT_ASKED: Final = unresolvable("not found")


@final
class DynamicResources(
    PreEnqueuePlugin,
    PreFilterPlugin[DevicePlan],
    FilterPlugin[DevicePlan],
    PostFilterPlugin,
    PreScorePlugin[DevicePlan],
    ScorePlugin[DevicePlan],
    ReservePlugin,
    PreBindPlugin,
):
    """Allocates the claims of pods."""

    name = NAME
    args_type = DynamicResourcesArgs

    def __init__(self, args: DynamicResourcesArgs | None = None, context: PluginContext | None = None) -> None:
        context = context or PluginContext()
        args = args or DynamicResourcesArgs()
        self._on = context.gates.on("DynamicResourceAllocation")
        self._prioritized = context.gates.on("DRAPrioritizedList")
        self._ledger = context.books.of(Ledger)
        self._planner = Planner(context.gates, self._ledger)
        self._judge = Judge(context, args, self._ledger)
        self._publisher = Publisher(context.gates, args, self._ledger)

    @classmethod
    def create(cls, args: Any, context: PluginContext) -> Self:
        """With the arguments and the gates of the profile. ValueError when a gate is on that is not supported."""
        for gate in UNSUPPORTED_GATES:
            if context.gates.on(gate):
                raise ValueError(f"{NAME}: the feature gate {gate} is not supported")
        return cls(args, context)

    @property
    def wakes(self) -> Sequence[Wake]:  # type: ignore[override]  # the hints know the ledger
        """Nodes, claims, classes, slices, and names of claims that were made for the pod."""
        if not self._on:
            return ()
        changed = Change.ADDED | Change.UPDATED
        return (
            Wake(Kind.NODE, Change.ADDED | Change.NODE_LABELS | Change.NODE_ALLOCATABLE),
            Wake(Kind.RESOURCE_CLAIM, changed, self._claim_changed),
            Wake(Kind.POD, Change.POD_CLAIMS, self._pod_got_claims),
            Wake(Kind.DEVICE_CLASS, changed),
            Wake(Kind.RESOURCE_SLICE, changed),
        )

    def _claim_changed(self, pod: PodInfo, event: ObjectEvent, view: View) -> bool:
        return claim_changed(pod.pod, event, lambda key: self._ledger.find(view.objects, key))

    def _pod_got_claims(self, pod: PodInfo, event: ObjectEvent, view: View) -> bool:
        return pod_got_claims(pod.pod, event, lambda key: self._ledger.find(view.objects, key))

    def pre_enqueue(self, view: View, pod: PodInfo) -> Rejection | None:
        """A pod waits until all its claims exist."""
        if not self._on or not pod.pod.spec.resource_claims:
            return None
        try:
            claims_of(pod.pod, lambda key: self._ledger.find(view.objects, key))
        except ClaimError as error:
            return unresolvable(str(error))
        return None

    def prepare(self, view: View, pod: PodInfo) -> DevicePlan | Skip | Rejection:
        """Find the claims, and see what has to be allocated."""
        if not self._on:
            return SKIP
        return self._planner.plan(view, pod)

    def filter(self, pod: PodInfo, rows: Rows, plan: DevicePlan) -> Verdict:
        """Nodes pass that reach all allocated claims, and have devices for the others."""
        return self._judge.judge(rows, plan)

    def post_filter(self, attempt: FailedAttempt) -> PostFilterResult:
        """Free a claim that no other pod uses and that is what keeps the pod from some node."""
        if not self._on:
            return NoRoom(rejection("plugin disabled"))
        prepared = attempt.prepared
        plan: DevicePlan | None = prepared.plans.get(NAME)
        if plan is None:
            rejected_here = prepared.rejected is not None and prepared.rejected.plugin == NAME
            return NoRoom(NOTHING_TO_FREE if rejected_here or NAME in prepared.skipped else NOT_ASKED)
        extended = plan.extended
        left_behind = extended is not None and extended.name != IN_MEMORY
        for i in self._unavailable(attempt, plan):
            claim = plan.claims[i]
            if i == plan.users and left_behind:
                break
            others = [consumer for consumer in claim.status.reserved_for if consumer.uid != attempt.pod.uid]
            if i < plan.users and not others and len(claim.status.reserved_for) <= 1:
                status = msgspec.structs.replace(claim.status, allocation=None, reserved_for=(), devices=())
                return NoRoom(FREED, writes=(Write(msgspec.structs.replace(claim, status=status), "status"),))
        if extended is not None and left_behind:
            return NoRoom(DELETED, writes=_deletion(extended))
        return NoRoom(STILL_NOT)

    def _unavailable(self, attempt: FailedAttempt, plan: DevicePlan) -> list[int]:
        """The allocated claims that some node was rejected for."""
        judgement = attempt.judgement
        if judgement is None:
            return []
        ours = [i for i, why in enumerate(judgement.rejections, 1) if why.plugin == NAME and why.why == UNAVAILABLE]
        rows = judgement.rows.select(np.isin(judgement.outcome_n, ours))
        return self._judge.unavailable_claims(rows, plan) if len(rows) else []

    def prepare_score(self, pod: PodInfo, rows: Rows, plans: Mapping[str, Any]) -> DevicePlan | Skip:
        """Pods without claims to allocate are not scored."""
        plan: DevicePlan | None = plans.get(NAME)
        if plan is None or not plan.to_allocate or not self._prioritized:
            return SKIP
        if plan.scores is None:
            self._judge.judge(rows, plan)
        return SKIP if plan.scores is None else plan

    def score(self, pod: PodInfo, rows: Rows, plan: DevicePlan) -> IntN:
        """How much the alternatives that the node offers are preferred."""
        assert plan.scores is not None
        return plan.scores[rows.index]

    def normalize(self, pod: PodInfo, rows: Rows, plan: DevicePlan, raw_n: IntN) -> IntN:
        """The best node gets all."""
        return scaled_by_max(raw_n, MAX_SCORE)

    def reserve(self, view: View, pod: PodInfo, node_name: str, plans: Mapping[str, Any]) -> Rejection | None:
        """Take the devices on the node that was chosen, ahead of the API."""
        plan: DevicePlan | None = plans.get(NAME)
        if plan is None or not plan.to_allocate:
            return None
        try:
            reservation = self._judge.allocate(view, plan, node_name)
        except AllocationError as error:
            raise PluginError(f'running Reserve plugin "{NAME}": {error}') from error
        plan.reservation = reservation
        if reservation is not None:
            for i, allocation in reservation.allocations.items():
                self._ledger.signal(plan.claims[i].uid, allocation)
        return None

    def unreserve(self, view: View, pod: PodInfo, node_name: str, plans: Mapping[str, Any]) -> Sequence[Write]:
        """Give back what `reserve` took, and what binding has written since."""
        plan: DevicePlan | None = plans.get(NAME)
        if plan is None:
            return ()
        writes: list[Write] = []
        reserved: Reservation | None = plan.reservation
        for i, claim in enumerate(plan.claims):
            uid = plan.initial_uid if i == plan.users else claim.uid
            if reserved is not None and i in reserved.allocations and self._ledger.settle(uid):
                self._ledger.restore(claim.key)
            if i < plan.users and claim.status.allocation is not None and is_reserved_for(claim, pod.uid):
                writes.append(Write(claim, "status", patch=_release(claim.uid, pod.uid)))
        plan.reservation = None
        extended = plan.extended
        if extended is not None and extended.name != IN_MEMORY:
            self._ledger.restore(extended.key)
            writes += _deletion(extended)
        return writes

    def pre_bind_needed(self, view: View, pod: PodInfo, node_name: str, plans: Mapping[str, Any]) -> bool:
        """Pods with claims have them reserved."""
        return NAME in plans

    async def pre_bind(self, binding: Binding) -> Rejection | None:
        """Write allocations and reservations, and wait for devices that have to be made ready."""
        plan: DevicePlan | None = binding.plans.get(NAME)
        if plan is None:
            return None
        await self._publisher.publish(binding, plan)
        if has_conditions(plan.claims):
            await self._publisher.wait_until_ready(binding, plan)
        return None


def _release(claim_uid: str, pod_uid: str) -> bytes:
    patch = {
        "metadata": {"uid": claim_uid},
        "status": {"reservedFor": [{"$patch": "delete", "uid": pod_uid}]},
    }
    return msgspec.json.encode(patch)


def _deletion(claim: ResourceClaim) -> tuple[Write, ...]:
    # parity: it is updated first even when there is nothing to take off (deleteClaim)
    plain = without_finalizer(claim)
    return (Write(plain, then=Write(plain, delete=True)),)
