"""How many feasible nodes are enough, and which nodes an attempt looks at.

Upstream: numFeasibleNodesToFind in pkg/scheduler/schedule_one.go (v1.36.4).
"""

from typing import Final

import numpy as np

from stowplan.goarith import BoolN, IntN

FEWEST: Final = 100
"""No sampling below so many nodes, and never a smaller sample."""
LOWEST_PERCENTAGE: Final = 5


def enough_nodes(percentage: int | None, nodes: int) -> int:
    """The number of feasible nodes after which the search stops. None looks at all, 0 adapts to the cluster's size."""
    if percentage is None or nodes < FEWEST:
        return nodes
    if percentage == 0:
        percentage = max(50 - nodes // 125, LOWEST_PERCENTAGE)
    return max(nodes * percentage // 100, FEWEST)


def sample(passed_n: BoolN, enough: int) -> int:
    """How many of the nodes, in the order of looking, are looked at until enough passed."""
    hits: IntN = np.flatnonzero(passed_n)
    return len(passed_n) if len(hits) <= enough else int(hits[enough])
