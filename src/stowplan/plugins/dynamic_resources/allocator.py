"""The allocator: for one node, what a pod's claims get, or why they get nothing.

Upstream: staging/src/k8s.io/dynamic-resource-allocation/structured/allocator.go (v1.36.4).
"""

from collections.abc import Mapping, Sequence
from typing import Final

from stowplan.api.resource import AllocationResult, DeviceClass, ResourceClaim
from stowplan.plugins.dynamic_resources.allocated import AllocatedState
from stowplan.plugins.dynamic_resources.cel.selector import SelectorCache
from stowplan.plugins.dynamic_resources.features import ALL_FEATURES, Features
from stowplan.plugins.dynamic_resources.matching import Matcher
from stowplan.plugins.dynamic_resources.pools import NodeIdentity, Pool
from stowplan.plugins.dynamic_resources.requests import WantedClaim, read_requests
from stowplan.plugins.dynamic_resources.results import allocation_of
from stowplan.plugins.dynamic_resources.search import Found, Search

MAX_STEPS: Final = 1_000_000
"""Steps of a search that stand for upstream's ten seconds; a clock would make decisions depend on the machine."""


class Allocator:
    """Allocates devices for the claims of one pod, on any node, against one state of what is allocated."""

    def __init__(
        self,
        *,
        claims: Sequence[ResourceClaim],
        classes: Mapping[str, DeviceClass],
        state: AllocatedState,
        selectors: SelectorCache,
        features: Features = ALL_FEATURES,
        max_steps: int = MAX_STEPS,
    ) -> None:
        self.wanted: Sequence[WantedClaim] = tuple(read_requests(tuple(claims), classes, features))
        self.state = state
        self.matcher = Matcher(selectors, features)
        self._features = features
        self._max_steps = max_steps

    def search(self, node: NodeIdentity, pools: Sequence[Pool]) -> list[Found] | None:
        """Return the devices that each claim gets on a node, None when there are not enough.

        Raises NodeAllocationError when only this node is to blame, and AllocationError when the pod cannot be helped.
        """
        search = Search(
            node=node,
            pools=pools,
            claims=self.wanted,
            state=self.state,
            matcher=self.matcher,
            features=self._features,
            max_steps=self._max_steps,
        )
        return search.run()

    def allocate(self, node: NodeIdentity, pools: Sequence[Pool]) -> tuple[AllocationResult, ...] | None:
        """Return what the claims' status says when they are allocated for a node."""
        found = self.search(node, pools)
        return None if found is None else tuple(allocation_of(one, node.name, self._features) for one in found)
