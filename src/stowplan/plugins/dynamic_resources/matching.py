"""Which devices a request selects, by the selectors of its class and its own.

Upstream: isSelectable and selectorsMatch in allocator_incubating.go of
staging/src/k8s.io/dynamic-resource-allocation/structured/internal/incubating (v1.36.4).
"""

from stowplan.api.resource import DeviceSelector, ResourceClaim
from stowplan.plugins.dynamic_resources.cel.selector import Selector, SelectorCache, SelectorError
from stowplan.plugins.dynamic_resources.errors import AllocationError
from stowplan.plugins.dynamic_resources.features import Features
from stowplan.plugins.dynamic_resources.pools import Candidate, NodeIdentity, device_reaches
from stowplan.plugins.dynamic_resources.requests import Wanted


class Matcher:
    """Evaluates selectors; equal questions about devices that look equal are answered once."""

    def __init__(self, selectors: SelectorCache, features: Features) -> None:
        self._selectors = selectors
        self._compiled: dict[str, Selector] = {}
        self._features = features

    def selects(self, claim: ResourceClaim, wanted: Wanted, candidate: Candidate) -> bool:
        """Whether the request selects the device; AllocationError with upstream's text when that cannot be said."""
        if candidate.device.binding_conditions and not self._features.binding_conditions:
            return False
        device_class = wanted.device_class
        return self._all_match(f"class {device_class.name}", device_class.spec.selectors, candidate) and (
            self._all_match(f"claim {claim.key}", wanted.selectors, candidate)
        )

    def _all_match(self, owner: str, selectors: tuple[DeviceSelector, ...], candidate: Candidate) -> bool:
        for i, selector in enumerate(selectors):
            expression = selector.cel.expression if selector.cel else ""
            compiled = self._compiled.get(expression)
            if compiled is None:
                try:
                    compiled = self._compiled[expression] = self._selectors.get(expression)
                except SelectorError as error:
                    raise AllocationError(f"{owner}: selector #{i}: CEL compile error: {error}") from error
            try:
                if not compiled.matches(candidate.id[0], candidate.device):
                    return False
            except SelectorError as error:
                raise AllocationError(f"{owner}: selector #{i}: CEL runtime error: {error}") from error
        return True


def within_reach(node: NodeIdentity, candidate: Candidate) -> bool:
    """Whether a node reaches a device whose slice leaves the choice to each device."""
    return not candidate.slice.spec.per_device_node_selection or device_reaches(node, candidate.device)
