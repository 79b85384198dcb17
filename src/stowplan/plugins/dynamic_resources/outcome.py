"""What a search says of a node, short enough to be kept: whether the claims can be satisfied, and how well.

Upstream: computeScore in pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go (v1.36.4).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from stowplan.api.resource import ResourceClaim
from stowplan.framework.verdict import Rejection, fatal, unresolvable
from stowplan.plugins.dynamic_resources.allocator import Allocator
from stowplan.plugins.dynamic_resources.errors import AllocationError, NodeAllocationError
from stowplan.plugins.dynamic_resources.pools import NodeIdentity, Pool
from stowplan.plugins.dynamic_resources.search import Found

MOST_ALTERNATIVES: Final = 8
CANNOT_ALLOCATE: Final = unresolvable("cannot allocate all claims")


@dataclass(frozen=True, slots=True)
class Outcome:
    """A rejection, or the score of what was found."""

    rejection: Rejection | None
    score: int = 0


NOTHING_FOUND: Final = Outcome(CANNOT_ALLOCATE)


def failure(error: AllocationError) -> Outcome:
    """Return the outcome that makes the attempt fail."""
    return Outcome(fatal(str(error)))


def outcome_on(allocator: Allocator, node: NodeIdentity, pools: Sequence[Pool]) -> Outcome:
    """Search on a node."""
    try:
        found = allocator.search(node, pools)
    except NodeAllocationError as error:
        return Outcome(unresolvable(str(error)))
    except AllocationError as error:
        return failure(error)
    return NOTHING_FOUND if found is None else Outcome(None, score_of(found))


def score_of(found: Iterable[Found]) -> int:
    """Return how much the alternatives that were taken are preferred."""
    return sum(MOST_ALTERNATIVES - chosen for one in found for chosen in one.chosen.values())


def score_of_allocated(claim: ResourceClaim) -> int:
    """Return the same for a claim that was allocated earlier."""
    if claim.status.allocation is None:
        return 0
    taken = {result.request for result in claim.status.allocation.devices.results if result.request.count("/") == 1}
    return sum(
        MOST_ALTERNATIVES - i
        for request in claim.spec.devices.requests
        if request.exactly is None
        for i, sub in enumerate(request.first_available)
        if f"{request.name}/{sub.name}" in taken
    )
