"""Judging: which nodes have what the claims want. One search speaks for all nodes that look the same to the claims.

Upstream: Filter in pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go (v1.36.4).
"""

from collections import OrderedDict
from collections.abc import Iterator
from typing import Final

import msgspec
import numpy as np

from stowplan.api.resource import DeviceClass
from stowplan.columns.node_masks import matcher_mask
from stowplan.columns.rows import Rows
from stowplan.columns.view import View
from stowplan.framework.plugin import PluginContext
from stowplan.framework.plugin_args import SECOND_NS, DynamicResourcesArgs
from stowplan.framework.verdict import Rejection, Verdict, unresolvable
from stowplan.goarith import BoolN, IntN
from stowplan.plugins.dynamic_resources.allocated import AllocatedState
from stowplan.plugins.dynamic_resources.allocator import Allocator
from stowplan.plugins.dynamic_resources.cel.selector import SelectorCache
from stowplan.plugins.dynamic_resources.errors import AllocationError
from stowplan.plugins.dynamic_resources.extended import IN_MEMORY
from stowplan.plugins.dynamic_resources.features import Features
from stowplan.plugins.dynamic_resources.fleet import Fleet
from stowplan.plugins.dynamic_resources.ledger import Ledger
from stowplan.plugins.dynamic_resources.outcome import Outcome, failure, outcome_on, score_of_allocated
from stowplan.plugins.dynamic_resources.plan import DevicePlan, Reservation, Resources
from stowplan.plugins.dynamic_resources.signatures import Signatures

UNAVAILABLE: Final = unresolvable("resourceclaim not available on the node")
LEFT_BEHIND: Final = unresolvable("cannot schedule extended resource claim")
UNSERVED: Final = unresolvable("cannot fit resource")
STEPS_PER_SECOND: Final = 100_000
NO_LIMIT: Final = 1 << 62
MOST_KINDS: Final = 256
MOST_OUTCOMES: Final = 65_536
ENCODER: Final = msgspec.json.Encoder(order="deterministic")

Outcomes = dict[int, Outcome]


class Judge:
    """Judges nodes for plans."""

    def __init__(self, context: PluginContext, args: DynamicResourcesArgs, ledger: Ledger) -> None:
        gates, books = context.gates, context.books
        self._features = Features(
            admin_access=gates.on("DRAAdminAccess"),
            consumable_capacity=gates.on("DRAConsumableCapacity"),
            binding_conditions=gates.on("DRADeviceBindingConditions") and gates.on("DRAResourceClaimDeviceStatus"),
            device_taints=gates.on("DRADeviceTaints"),
            partitionable_devices=gates.on("DRAPartitionableDevices"),
            prioritized_list=gates.on("DRAPrioritizedList"),
        )
        limit = args.filter_timeout_ns
        self._max_steps = limit * STEPS_PER_SECOND // SECOND_NS if limit else NO_LIMIT
        self._ledger = ledger
        self._fleet = books.of(Fleet)
        self._signatures = books.of(Signatures)
        self._selectors = books.of(SelectorCache)
        self._kept: OrderedDict[bytes, Outcomes] = OrderedDict()

    def judge(self, rows: Rows, plan: DevicePlan) -> Verdict:
        """Say which rows pass, and note the scores of those that do."""
        extended = plan.extended
        if extended is not None and extended.name != IN_MEMORY and extended.spec.devices.requests:
            return Verdict.reject_all(rows, LEFT_BEHIND)
        outcome_n = np.zeros(len(rows), np.int32)
        rejections: list[Rejection] = []

        def reject(where_n: BoolN | IntN, why: Rejection) -> None:
            rejections.append(why)
            outcome_n[where_n] = len(rejections)

        open_n = np.zeros(len(rows), np.bool_)
        for served_n, resources in self._kinds(rows, plan):
            if resources is None:
                reject(served_n, UNSERVED)
            elif plan.users or resources:
                open_n |= served_n
                if plan.to_allocate:
                    for where_n, why in self._allocatable(rows, served_n, plan, resources):
                        reject(where_n, why)
        unavailable_n = np.zeros(len(rows), np.bool_)
        for i in plan.unavailable:
            unavailable_n |= _unavailable_mask(rows, plan, i)
        unavailable_n &= open_n & (outcome_n == 0)
        if unavailable_n.any():
            reject(unavailable_n, UNAVAILABLE)
        return Verdict(outcome_n, rejections) if rejections else Verdict.pass_all()

    def unavailable_claims(self, rows: Rows, plan: DevicePlan) -> list[int]:
        """Return the allocated claims that cannot be used on some of the rows."""
        return [i for i in plan.unavailable if _unavailable_mask(rows, plan, i).any()]

    def allocate(self, view: View, plan: DevicePlan, node_name: str) -> Reservation | None:
        """Return what the claims get on a node; None when its device plugins serve all that the pod wants."""
        rows = view.only([node_name])
        for _, resources in self._kinds(rows, plan):
            if resources is None or not (plan.users or resources):
                return None
            allocator, _ = self._allocator(view, plan, resources)
            row = int(rows.index[0])
            results = allocator.allocate(self._fleet.identity(view, row), self._fleet.pools_at.get(row, ()))
            if results is None:
                raise AllocationError("claim allocation not found for node")
            variant = plan.variant(resources) if plan.extended is not None else None
            allocations = dict(zip(plan.to_allocate, results, strict=True))
            return Reservation(node_name=node_name, allocations=allocations, variant=variant)
        return None

    def _kinds(self, rows: Rows, plan: DevicePlan) -> Iterator[tuple[BoolN, Resources | None]]:
        """Split rows by the extended resources that devices have to serve there; None where nothing serves one."""
        everywhere = np.ones(len(rows), np.bool_)
        if plan.extended is None:
            yield everywhere, frozenset()
            return
        kind_n = np.zeros(len(rows), np.int64)
        unserved_n = np.zeros(len(rows), np.bool_)
        names = sorted(plan.resources)
        for bit, name in enumerate(names):
            missing_n = rows.allocatable(name) == 0
            if name in plan.classes:
                kind_n |= missing_n.astype(np.int64) << bit
            else:
                unserved_n |= missing_n
        if unserved_n.any():
            yield unserved_n, None
        for kind in np.unique(kind_n[~unserved_n]).tolist():
            resources = frozenset(name for bit, name in enumerate(names) if kind >> bit & 1)
            yield (kind_n == kind) & ~unserved_n, resources

    def _allocator(self, view: View, plan: DevicePlan, resources: Resources) -> tuple[Allocator, AllocatedState]:
        state = self._ledger.state(view.objects, shares_apart=self._features.consumable_capacity)
        self._fleet.catch_up(view, state, self._features)
        allocator = Allocator(
            claims=plan.wanted(resources if plan.extended is not None else None),
            classes=view.objects.all(DeviceClass),
            state=state,
            selectors=self._selectors,
            features=self._features,
            max_steps=self._max_steps,
        )
        return allocator, state

    def _allocatable(
        self, rows: Rows, among_n: BoolN, plan: DevicePlan, resources: Resources
    ) -> Iterator[tuple[IntN, Rejection]]:
        view = rows.view
        at = np.flatnonzero(among_n)
        if not len(at):
            return
        try:
            allocator, _ = self._allocator(view, plan, resources)
        except AllocationError as error:
            why = failure(error).rejection
            assert why is not None
            yield at, why
            return
        fleet = self._fleet
        signature_n = self._signatures.of_nodes(fleet, allocator.wanted, allocator.matcher)
        index_n = rows.index[at]
        distinct, first, group_n = np.unique(signature_n[index_n], return_index=True, return_inverse=True)
        kept = self._kept_outcomes(allocator)
        scores = np.zeros(len(distinct), np.int64)
        for i, (signature, position) in enumerate(zip(distinct.tolist(), first.tolist(), strict=True)):
            row = int(index_n[position])
            outcome = kept.get(signature)
            if outcome is None:
                broken = fleet.error_at.get(row)
                outcome = (
                    outcome_on(allocator, fleet.identity(view, row), fleet.pools_at.get(row, ()))
                    if broken is None
                    else failure(broken)
                )
                # a failure tells of one claim or node by name
                if outcome.rejection is None or not outcome.rejection.fatal:
                    kept[signature] = outcome
            if outcome.rejection is not None:
                yield at[group_n == i], outcome.rejection
            scores[i] = outcome.score
        self._note_scores(plan, view, index_n, scores[group_n])

    def _note_scores(self, plan: DevicePlan, view: View, index_n: IntN, scores_n: IntN) -> None:
        if plan.scores is None or len(plan.scores) < len(view.nodes.records):
            plan.scores = np.zeros(len(view.nodes.records), np.int64)
        plan.scores[index_n] = scores_n + sum(score_of_allocated(claim) for claim in plan.claims)

    def _kept_outcomes(self, allocator: Allocator) -> Outcomes:
        asked = [
            (
                wanted.claim.spec.devices.requests,
                wanted.claim.spec.devices.constraints,
                [wanted_one.device_class.spec.selectors for some in wanted.requests for wanted_one in some],
            )
            for wanted in allocator.wanted
        ]
        key = ENCODER.encode(asked)
        kept = self._kept.setdefault(key, {})
        self._kept.move_to_end(key)
        if len(self._kept) > MOST_KINDS:
            self._kept.popitem(last=False)
        if len(kept) > MOST_OUTCOMES:
            kept.clear()
        return kept


def _unavailable_mask(rows: Rows, plan: DevicePlan, claim: int) -> BoolN:
    if claim in plan.unready:
        return np.ones(len(rows), np.bool_)
    return ~matcher_mask(rows, plan.matchers[claim])
