"""NodeResourcesBalancedAllocation: prefer nodes on which the pod evens out how much of each resource is used.

Upstream: pkg/scheduler/framework/plugins/noderesources/balanced_allocation.go, resource_allocation.go (v1.36.4).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np

from stowplan.api.resource_names import CPU, EPHEMERAL_STORAGE, MEMORY, is_scalar
from stowplan.columns.pods import PodInfo
from stowplan.columns.rows import FEW_ROWS, Rows
from stowplan.columns.view import View
from stowplan.framework.by_class import ByClass
from stowplan.framework.devices import DeviceTotals, offered_and_used
from stowplan.framework.plugin import (
    MAX_SCORE,
    SKIP,
    Depends,
    PluginContext,
    PreScorePlugin,
    ScorePlugin,
    Skip,
)
from stowplan.framework.plugin_args import NodeResourcesBalancedAllocationArgs
from stowplan.goarith import FloatN, IntN, to_int, to_int_scalar

HALF: Final = MAX_SCORE // 2
ALWAYS: Final = frozenset({CPU, MEMORY, EPHEMERAL_STORAGE})


@final
@dataclass(frozen=True, slots=True)
class Asked:
    """A resource that is compared, how much of it the pod asks for, and the devices that may serve it."""

    resource: str
    amount: int
    devices: DeviceTotals | None = None


Plan = tuple[Asked, ...]


@final
class NodeResourcesBalancedAllocation(PreScorePlugin[Plan], ScorePlugin[Plan]):
    """Ranks nodes by how much closer together the pod brings the used shares of their resources."""

    name = "NodeResourcesBalancedAllocation"
    depends = Depends.LOAD
    args_type = NodeResourcesBalancedAllocationArgs

    def __init__(
        self, args: NodeResourcesBalancedAllocationArgs | None = None, context: PluginContext | None = None
    ) -> None:
        self._source = None if context is None else context.devices
        self._plans: ByClass[Plan] = ByClass()
        self._resources = [spec.name for spec in (args or NodeResourcesBalancedAllocationArgs()).resources]

    @classmethod
    def create(cls, args: Any, context: PluginContext) -> "NodeResourcesBalancedAllocation":
        """The resources come as arguments."""
        return cls(args, context)

    def prepare_score(self, pod: PodInfo, rows: Rows, plans: Mapping[str, Any]) -> Plan | Skip:
        """Nothing to say of a pod that asks for none of the resources: balance would herd such pods together."""
        known = self._plans.get(pod.cls)
        if known is not None:
            return known
        asked = [(name, pod.cls.requests.get(name, 0)) for name in self._resources]
        if not any(amount for _, amount in asked):
            return SKIP
        # parity: a scalar resource that the pod does not ask for is left out, and so is one that nobody counts
        plan = tuple(
            Asked(name, amount, self._behind(rows.view, name))
            for name, amount in asked
            if name in ALWAYS or (amount and is_scalar(name))
        )
        # how many devices nodes have may change at any time
        return self._plans.put(pod.cls, plan) if all(one.resource in ALWAYS for one in plan) else plan

    def score(self, pod: PodInfo, rows: Rows, plan: Plan) -> IntN:
        """Balance with the pod against balance without it."""
        counted = [offered_and_used(rows, asked.resource, asked.devices) for asked in plan]
        if len(rows) <= FEW_ROWS:
            return _score_few(counted, plan)
        # perf: one conversion serves two divisions
        whole = [offered_n.astype(np.float64) for offered_n, _ in counted]
        before = [used_n for _, used_n in counted]
        after = [used_n + asked.amount for used_n, asked in zip(before, plan, strict=True)]
        score_n = balance(after, whole)
        score_n -= balance(before, whole)
        score_n += HALF
        score_n //= 2
        score_n += HALF
        return score_n

    def _behind(self, view: View, resource: str) -> DeviceTotals | None:
        return None if self._source is None or resource in ALWAYS else self._source.behind(view, resource)


def balance(used: Sequence[IntN], whole: Sequence[FloatN]) -> IntN:
    """MAX_SCORE less the standard deviation of the used shares; a resource that a node lacks does not count there."""
    if all(whole_n.all() for whole_n in whole):
        deviation_n = deviation([_share(used_n, whole_n) for used_n, whole_n in zip(used, whole, strict=True)])
    else:
        deviation_n = _deviation_of_present(used, whole)
    np.subtract(1.0, deviation_n, out=deviation_n)
    deviation_n *= MAX_SCORE
    return to_int(deviation_n)


def _score_few(counted: Sequence[tuple[IntN, IntN]], plan: Plan) -> IntN:
    """The same in plain numbers, operation for operation."""
    by_node = list(
        zip(*(zip(offered_n.tolist(), used_n.tolist(), strict=True) for offered_n, used_n in counted), strict=True)
    )
    scores = []
    for amounts in by_node:
        after = _balance_of(
            [(offered, used + asked.amount) for (offered, used), asked in zip(amounts, plan, strict=True)]
        )
        scores.append((after - _balance_of(amounts) + HALF) // 2 + HALF)
    return np.array(scores, np.int64)


def _balance_of(amounts: Sequence[tuple[int, int]]) -> int:
    shares = [min(float(used) / float(offered), 1.0) for offered, used in amounts if offered]
    spread = 0.0
    if len(shares) == 2:
        spread = abs(shares[0] - shares[1]) / 2
    elif len(shares) > 2:
        mean = sum(shares[1:], start=shares[0]) / len(shares)
        squares = [(share - mean) * (share - mean) for share in shares]
        spread = math.sqrt(sum(squares[1:], start=squares[0]) / len(shares))
    return to_int_scalar((1.0 - spread) * MAX_SCORE)


def deviation(shares: Sequence[FloatN]) -> FloatN:
    """The standard deviation, per row; none when there are fewer than two."""
    if len(shares) == 2:
        half_n = np.abs(shares[0] - shares[1])
        half_n /= 2
        return half_n
    if len(shares) < 2:
        return np.zeros(len(shares[0]) if shares else 0)
    # parity: summed in this order, for floats are not associative
    mean_n = sum(shares[1:], start=shares[0]) / len(shares)
    squares = [(share_n - mean_n) * (share_n - mean_n) for share_n in shares]
    spread_n: FloatN = np.sqrt(sum(squares[1:], start=squares[0]) / len(shares))
    return spread_n


def _share(used_n: IntN, whole_n: FloatN) -> FloatN:
    share_n = used_n.astype(np.float64)
    share_n /= whole_n
    np.minimum(share_n, 1.0, out=share_n)
    return share_n


def _deviation_of_present(used: Sequence[IntN], whole: Sequence[FloatN]) -> FloatN:
    """The deviation over nodes that lack some resources: nodes with the same ones are judged together."""
    present_rn = np.stack([whole_n != 0 for whole_n in whole])
    deviation_n = np.zeros(present_rn.shape[1])
    for pattern in np.unique(present_rn, axis=1).T:
        at = np.flatnonzero((present_rn == pattern[:, None]).all(axis=0))
        shares = [
            _share(used_n[at], whole_n[at]) for used_n, whole_n, has in zip(used, whole, pattern, strict=True) if has
        ]
        if len(shares) > 1:
            deviation_n[at] = deviation(shares)
    return deviation_n
