"""Planning: what of a pod's claims is allocated, what has to be, and why the pod cannot be helped at all.

Upstream: PreFilter in pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go (v1.36.4).
"""

from collections.abc import Mapping

from stowplan.api.node_selectors import NodeMatcher, compile_node_selector
from stowplan.api.resource import DeviceClass, ResourceClaim
from stowplan.columns.pods import PodInfo
from stowplan.columns.view import View
from stowplan.framework.gates import Gates
from stowplan.framework.plugin import SKIP, PluginError, Skip
from stowplan.framework.verdict import Rejection, unresolvable
from stowplan.plugins.dynamic_resources.binding import BindingFailedError, is_ready
from stowplan.plugins.dynamic_resources.claims import claims_of
from stowplan.plugins.dynamic_resources.errors import ClaimError
from stowplan.plugins.dynamic_resources.extended import (
    classes_by_resource,
    new_claim,
    wanted_resources,
)
from stowplan.plugins.dynamic_resources.ledger import Ledger
from stowplan.plugins.dynamic_resources.plan import DevicePlan


class Planner:
    """Makes the plan of an attempt."""

    def __init__(self, gates: Gates, ledger: Ledger) -> None:
        self._extended = gates.on("DRAExtendedResource")
        self._prioritized = gates.on("DRAPrioritizedList")
        self._conditions = gates.on("DRADeviceBindingConditions") and gates.on("DRAResourceClaimDeviceStatus")
        self._ledger = ledger

    def plan(self, view: View, pod: PodInfo) -> DevicePlan | Skip | Rejection:
        """Return the plan, Skip for pods without claims, or why no node will do."""
        try:
            users = claims_of(pod.pod, lambda key: self._ledger.find(view.objects, key))
        except ClaimError as error:
            return unresolvable(str(error))
        classes = view.objects.all(DeviceClass)
        resources = wanted_resources(pod.cls.wanted) if self._extended else {}
        by_resource = classes_by_resource(classes.values()) if resources else {}
        served = any(name in by_resource for name in resources)
        claims = [*users]
        if served:
            claims.append(self._ledger.made_for(view.objects, pod.pod) or new_claim(pod.pod))
        if not claims:
            return SKIP
        for i, claim in enumerate(claims):
            if claim.status.allocation is None and (why := self._refusal(claim, classes, special=i == len(users))):
                return why
        return DevicePlan(
            pod=pod.pod,
            claims=claims,
            users=len(users),
            resources=resources if served else {},
            classes=by_resource,
            matchers=_matchers(claims),
            unready=tuple(i for i, claim in enumerate(claims) if self._will_not_get_ready(claim)),
            to_allocate=tuple(i for i, claim in enumerate(claims) if claim.status.allocation is None),
            initial_uid=claims[-1].uid if served else "",
        )

    def _refusal(self, claim: ResourceClaim, classes: Mapping[str, DeviceClass], *, special: bool) -> Rejection | None:
        if claim.uid in self._ledger.in_flight:
            return unresolvable(f"resource claim {claim.key} is in the process of being allocated")
        if special:
            return None
        for request in claim.spec.devices.requests:
            if request.exactly is not None:
                wanted = [(request.exactly.device_class_name, request.name)]
            elif not request.first_available:
                return unresolvable(f"resource claim {claim.key}, request {request.name}: unknown request type")
            elif not self._prioritized:
                told = "has subrequests, but the DRAPrioritizedList feature is disabled"
                return unresolvable(f"resource claim {claim.key}, request {request.name}: {told}")
            else:
                wanted = [(sub.device_class_name, f"{request.name}/{sub.name}") for sub in request.first_available]
            for class_name, request_name in wanted:
                if not class_name:
                    raise PluginError(f"request {request_name}: unsupported request type")
                if class_name not in classes:
                    return unresolvable(f"request {request_name}: device class {class_name} does not exist")
        return None

    def _will_not_get_ready(self, claim: ResourceClaim) -> bool:
        allocation = claim.status.allocation
        if not self._conditions or allocation is None:
            return False
        try:
            ready = is_ready(claim)
        except BindingFailedError:
            return True
        return not ready and (claim.uid, allocation.allocation_timestamp or "") in self._ledger.expired


def _matchers(claims: list[ResourceClaim]) -> dict[int, NodeMatcher]:
    matchers = {}
    for i, claim in enumerate(claims):
        allocation = claim.status.allocation
        if allocation is None or allocation.node_selector is None:
            continue
        matcher = compile_node_selector(allocation.node_selector)
        if matcher.error is not None:
            raise PluginError(matcher.error)
        matchers[i] = matcher
    return matchers
