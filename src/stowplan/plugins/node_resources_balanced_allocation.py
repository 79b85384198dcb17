"""NodeResourcesBalancedAllocation: prefer nodes on which the pod evens out how much of each resource is used.

Upstream: pkg/scheduler/framework/plugins/noderesources/balanced_allocation.go, resource_allocation.go (v1.36.4).
Unlike there, an extended resource that only devices serve does not count; by default none does.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, final

import numpy as np

from stowplan.api.resource_names import CPU, EPHEMERAL_STORAGE, MEMORY, is_scalar
from stowplan.columns.pods import PodInfo
from stowplan.columns.rows import Rows
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
from stowplan.goarith import FloatN, IntN, to_int

HALF: Final = MAX_SCORE // 2
ALWAYS: Final = frozenset({CPU, MEMORY, EPHEMERAL_STORAGE})


Asked = tuple[tuple[str, int], ...]
"""The resources that are compared, and how much of each the pod asks for."""


@final
class NodeResourcesBalancedAllocation(PreScorePlugin[Asked], ScorePlugin[Asked]):
    """Ranks nodes by how much closer together the pod brings the used shares of their resources."""

    name = "NodeResourcesBalancedAllocation"
    depends = Depends.LOAD
    args_type = NodeResourcesBalancedAllocationArgs

    def __init__(self, args: NodeResourcesBalancedAllocationArgs | None = None) -> None:
        self._resources = [spec.name for spec in (args or NodeResourcesBalancedAllocationArgs()).resources]

    @classmethod
    def create(cls, args: Any, context: PluginContext) -> "NodeResourcesBalancedAllocation":
        """The resources come as arguments."""
        return cls(args)

    def prepare_score(self, pod: PodInfo, rows: Rows, plans: Mapping[str, Any]) -> Asked | Skip:
        """Nothing to say of a pod that asks for none of the resources: balance would herd such pods together."""
        asked = tuple((name, pod.cls.requests.get(name, 0)) for name in self._resources)
        if not any(amount for _, amount in asked):
            return SKIP
        # parity: a scalar resource that the pod does not ask for is left out, and so is one that nobody counts
        return tuple((name, amount) for name, amount in asked if name in ALWAYS or (amount and is_scalar(name)))

    def score(self, pod: PodInfo, rows: Rows, plan: Asked) -> IntN:
        """Balance with the pod against balance without it."""
        # perf: one conversion serves two divisions
        whole = [rows.allocatable(name).astype(np.float64) for name, _ in plan]
        before = [rows.requested(name) for name, _ in plan]
        after = [used_n + amount for used_n, (_, amount) in zip(before, plan, strict=True)]
        score_n = balance(after, whole)
        score_n -= balance(before, whole)
        score_n += HALF
        score_n //= 2
        score_n += HALF
        return score_n


def balance(used: Sequence[IntN], whole: Sequence[FloatN]) -> IntN:
    """MAX_SCORE less the standard deviation of the used shares; a resource that a node lacks does not count there."""
    if all(whole_n.all() for whole_n in whole):
        deviation_n = deviation([_share(used_n, whole_n) for used_n, whole_n in zip(used, whole, strict=True)])
    else:
        deviation_n = _deviation_of_present(used, whole)
    np.subtract(1.0, deviation_n, out=deviation_n)
    deviation_n *= MAX_SCORE
    return to_int(deviation_n)


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
