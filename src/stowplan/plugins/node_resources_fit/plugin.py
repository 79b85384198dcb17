"""NodeResourcesFit: reject nodes without room for the pod, rank the others by how full they would be.

Upstream: pkg/scheduler/framework/plugins/noderesources/fit.go, resource_allocation.go (v1.36.4).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np

from stowplan.api.requests import score_requests
from stowplan.api.resource_names import CPU, EPHEMERAL_STORAGE, MEMORY, PODS, is_extended, is_scalar
from stowplan.columns.pods import PodInfo
from stowplan.columns.rows import FEW_ROWS, Rows
from stowplan.columns.view import View
from stowplan.framework.by_class import ByClass
from stowplan.framework.devices import DeviceTotals, offered_and_used
from stowplan.framework.plugin import (
    Depends,
    FilterPlugin,
    PluginContext,
    PluginError,
    PreFilterPlugin,
    PreScorePlugin,
    ScorePlugin,
)
from stowplan.framework.plugin_args import NodeResourcesFitArgs
from stowplan.framework.verdict import Rejection, Verdict
from stowplan.framework.wake import Change, Kind, Wake
from stowplan.goarith import BoolN, IntN
from stowplan.plugins.node_resources_fit.devices import devices_serve
from stowplan.plugins.node_resources_fit.hints import Hints
from stowplan.plugins.node_resources_fit.strategies import Part, Strategy, strategy_of

TOO_MANY_PODS: Final = "Too many pods"
ALWAYS: Final = (CPU, MEMORY, EPHEMERAL_STORAGE)


@final
@dataclass(frozen=True, slots=True)
class Want:
    """How much of a resource the pod needs."""

    resource: str
    amount: int
    by_devices: bool
    """Whether nodes that do not offer the resource themselves are left to DynamicResources."""


Wants = tuple[Want, ...]


@final
@dataclass(frozen=True, slots=True)
class Asked:
    """A resource that counts in the score, what the pod adds to it, its weight, and the devices that may serve it."""

    resource: str
    amount: int
    weight: int
    devices: DeviceTotals | None


Score = tuple[Asked, ...]


@final
class NodeResourcesFit(PreFilterPlugin[Wants], FilterPlugin[Wants], PreScorePlugin[Score], ScorePlugin[Score]):
    """Rejects nodes by pod count and free resources, ranks them by a strategy over used shares."""

    name = "NodeResourcesFit"
    depends = Depends.LOAD
    args_type = NodeResourcesFitArgs

    def __init__(self, args: NodeResourcesFitArgs | None = None, context: PluginContext | None = None) -> None:
        args = args or NodeResourcesFitArgs()
        context = context or PluginContext()
        gates = context.gates
        self._ignored = frozenset(args.ignored_resources)
        self._ignored_groups = frozenset(args.ignored_resource_groups)
        self._devices = gates.on("DRAExtendedResource")
        self._source = context.devices
        self._specs = args.scoring_strategy.resources
        self._strategy: Strategy = strategy_of(args.scoring_strategy)
        self._wants: ByClass[Wants] = ByClass()
        self._asked: ByClass[Score] = ByClass()
        hints = Hints(devices=self._devices)
        resizes = gates.on("InPlacePodVerticalScaling")
        wakes = [
            Wake(Kind.POD, Change.DELETED | (Change.POD_SCALED_DOWN if resizes else Change(0)), hints.pod_left),
            Wake(Kind.NODE, Change.ADDED | Change.NODE_ALLOCATABLE, hints.node_grew),
        ]
        if self._devices:
            wakes.append(Wake(Kind.DEVICE_CLASS, Change.ADDED | Change.UPDATED, hints.class_serves))
        self.wakes = tuple(wakes)

    @classmethod
    def create(cls, args: Any, context: PluginContext) -> "NodeResourcesFit":
        """Ignored resources and the scoring strategy come as arguments."""
        return cls(args, context)

    def prepare(self, view: View, pod: PodInfo) -> Wants:
        """What the pod needs, in the order in which reasons are listed."""
        known = self._wants.get(pod.cls)
        return self._work_out(view, pod) if known is None else known

    def _work_out(self, view: View, pod: PodInfo) -> Wants:
        wanted = pod.cls.wanted
        wants = [Want(name, wanted[name], False) for name in ALWAYS if wanted.get(name)]
        wants += [
            Want(name, wanted[name], self._devices and devices_serve(view, name))
            for name in sorted(wanted.keys() - ALWAYS)
            if wanted[name] and not self._ignores(name)
        ]
        # which resources devices serve may change at any time
        only_of_nodes = wanted.keys() <= set(ALWAYS)
        return self._wants.put(pod.cls, tuple(wants)) if only_of_nodes else tuple(wants)

    def filter(self, pod: PodInfo, rows: Rows, plan: Wants) -> Verdict:
        """Nodes that are full, or short of something the pod needs, fail with all their shortages."""
        if len(rows) <= FEW_ROWS and not rows.differs:
            return _filter_few(rows, plan)
        full_n = rows.pod_count >= rows.allocatable(PODS)
        cases = [(full_n, TOO_MANY_PODS)] if full_n.any() else []
        hopeless_n: BoolN | None = None
        for want in plan:
            offered_n = rows.allocatable(want.resource)
            short_n = want.amount > offered_n - rows.requested(want.resource)
            if want.by_devices:
                short_n &= offered_n > 0
            if not short_n.any():
                continue
            cases.append((short_n, f"Insufficient {want.resource}"))
            # parity: a node that is too small even when empty is no candidate for preemption
            too_small_n = short_n & (want.amount > offered_n)
            hopeless_n = too_small_n if hopeless_n is None else hopeless_n | too_small_n
        return Verdict.all_of(cases, hopeless_n)

    def prepare_score(self, pod: PodInfo, rows: Rows, plans: Mapping[str, Any]) -> Score:
        """What the pod would add, with defaults for the cpu and memory that its containers do not ask for."""
        known = self._asked.get(pod.cls)
        if known is not None:
            return known
        if not self._specs:
            raise PluginError("resources not found")
        cls, status = pod.cls, pod.pod.status
        if cls.spec.resources is None and not status.container_statuses and not status.init_container_statuses:
            amounts: Mapping[str, int] = {**cls.requests, CPU: cls.nonzero_cpu, MEMORY: cls.nonzero_memory}
        else:
            amounts = score_requests(pod.pod)
        # parity: a scalar resource that the pod does not ask for is left out, and so is one that nobody counts
        counted = [
            spec for spec in self._specs if spec.name in ALWAYS or (amounts.get(spec.name) and is_scalar(spec.name))
        ]
        asked = tuple(
            Asked(spec.name, amounts.get(spec.name, 0), spec.weight, self._behind(rows.view, spec.name))
            for spec in counted
        )
        # how many devices nodes have may change at any time
        only_of_nodes = all(spec.name in ALWAYS for spec in counted)
        return self._asked.put(pod.cls, asked) if only_of_nodes else asked

    def score(self, pod: PodInfo, rows: Rows, plan: Score) -> IntN:
        """The strategy's opinion of the node with the pod on it."""
        if not plan:
            return np.zeros(len(rows), np.int64)
        parts = []
        for asked in plan:
            offered_n, used_n = _offered_and_used(rows, asked)
            parts.append(Part(used_n + asked.amount, offered_n, asked.weight))
        return self._strategy(parts)

    def _behind(self, view: View, resource: str) -> DeviceTotals | None:
        return None if self._source is None or resource in ALWAYS else self._source.behind(view, resource)

    def _ignores(self, name: str) -> bool:
        if not is_extended(name):
            return False
        return name in self._ignored or name.split("/", 1)[0] in self._ignored_groups


def _filter_few(rows: Rows, plan: Wants) -> Verdict:
    """The same in plain numbers."""
    offered = [rows.allocatable(want.resource) for want in plan]
    left = [(offered_n - rows.requested(want.resource)).tolist() for want, offered_n in zip(plan, offered, strict=True)]
    verdict: list[Rejection | None] = []
    for i, full in enumerate((rows.pod_count >= rows.allocatable(PODS)).tolist()):
        reasons = [TOO_MANY_PODS] if full else []
        hopeless = False
        for want, offered_n, left_over in zip(plan, offered, left, strict=True):
            there = offered_n.item(i)
            if want.amount > left_over[i] and not (want.by_devices and there <= 0):
                reasons.append(f"Insufficient {want.resource}")
                hopeless |= want.amount > there
        verdict.append(Rejection(tuple(reasons), unresolvable=hopeless) if reasons else None)
    return Verdict.of_each(verdict)


def _offered_and_used(rows: Rows, asked: Asked) -> tuple[IntN, IntN]:
    if asked.resource == CPU:
        return rows.allocatable(CPU), rows.nonzero_cpu
    if asked.resource == MEMORY:
        return rows.allocatable(MEMORY), rows.nonzero_memory
    return offered_and_used(rows, asked.resource, asked.devices)
