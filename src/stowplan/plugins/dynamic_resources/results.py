"""Allocation results: devices, configuration and the nodes from which they can be used.

Upstream: Allocate and createNodeSelector in allocator_incubating.go of
staging/src/k8s.io/dynamic-resource-allocation/structured/internal/incubating (v1.36.4).
"""

import uuid
from collections.abc import Iterator
from typing import Final

from stowplan.api.affinity import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from stowplan.api.resource import (
    AllocationResult,
    DeviceAllocationConfiguration,
    DeviceAllocationResult,
    DeviceRequestAllocationResult,
    ResourceClaim,
)
from stowplan.plugins.dynamic_resources.errors import AllocationError
from stowplan.plugins.dynamic_resources.features import Features
from stowplan.plugins.dynamic_resources.search import Found, Given

SHARES: Final = uuid.UUID("6b4c3f5e-58a1-4f0e-9f57-0d3c6f6a2b11")
FROM_CLASS: Final = "FromClass"
FROM_CLAIM: Final = "FromClaim"


def allocation_of(found: Found, node_name: str, features: Features) -> AllocationResult:
    """Return what the claim's status says when it gets what was found."""
    claim = found.wanted.claim
    results = tuple(_result(claim, i, given, features) for i, given in enumerate(found.given))
    try:
        selector = _node_selector(found.given, node_name)
    except AllocationError as error:
        raise AllocationError(f"create NodeSelector for claim {claim.name}: {error}") from error
    config = (*_class_configs(found), *_claim_configs(found))
    return AllocationResult(
        devices=DeviceAllocationResult(results=results, config=config),
        node_selector=selector,
    )


def _result(claim: ResourceClaim, at: int, given: Given, features: Features) -> DeviceRequestAllocationResult:
    driver, pool, device = given.candidate.id
    about = given.candidate.device
    conditions = features.binding_conditions
    return DeviceRequestAllocationResult(
        request=given.wanted.full_name,
        driver=driver,
        pool=pool,
        device=device,
        admin_access=True if given.wanted.admin else None,
        tolerations=given.wanted.tolerations,
        binding_conditions=about.binding_conditions if conditions else (),
        binding_failure_conditions=about.binding_failure_conditions if conditions else (),
        # chance is not needed: the claim's uid and the place in its result are as unique as a random number
        share_id=None if given.consumed is None else str(uuid.uuid5(SHARES, f"{claim.uid}/{at}")),
        consumed_capacity=dict(given.consumed or {}),
    )


def _class_configs(found: Found) -> Iterator[DeviceAllocationConfiguration]:
    asking: dict[str, list[str]] = {}
    classes = {}
    for i, alternatives in enumerate(found.wanted.requests):
        wanted = alternatives[found.chosen.get(i, 0)]
        classes[wanted.device_class.name] = wanted.device_class
        asking.setdefault(wanted.device_class.name, []).append(wanted.full_name)
    for name, requests in asking.items():
        for config in classes[name].spec.config:
            yield DeviceAllocationConfiguration(source=FROM_CLASS, requests=tuple(requests), opaque=config.opaque)


def _claim_configs(found: Found) -> Iterator[DeviceAllocationConfiguration]:
    for config in found.wanted.claim.spec.devices.config:
        given = DeviceAllocationConfiguration(source=FROM_CLAIM, requests=config.requests, opaque=config.opaque)
        if not config.requests:
            yield given
            continue
        for i, alternatives in enumerate(found.wanted.requests):
            wanted = alternatives[found.chosen.get(i, 0)]
            if wanted.base_name in config.requests or (wanted.parent and wanted.full_name in config.requests):
                yield given


def _node_selector(given: list[Given], node_name: str) -> NodeSelector | None:
    expressions: list[NodeSelectorRequirement] = []
    fields: list[NodeSelectorRequirement] = []
    for one in given:
        spec, device = one.candidate.slice.spec, one.candidate.device
        own = bool(spec.per_device_node_selection)
        local_to = device.node_name if own else spec.node_name
        selector = device.node_selector if own else spec.node_selector
        if local_to is not None or device.binds_to_node:
            return _only(node_name)
        if selector is None or not selector.node_selector_terms:
            continue
        if len(selector.node_selector_terms) > 1:
            raise AllocationError(
                f"unsupported ResourceSlice.NodeSelector with {len(selector.node_selector_terms)} terms"
            )
        term = selector.node_selector_terms[0]
        _merge(term.match_fields, fields)
        _merge(term.match_expressions, expressions)
    if not fields and not expressions:
        return None
    term = NodeSelectorTerm(match_expressions=tuple(expressions), match_fields=tuple(fields))
    return NodeSelector(node_selector_terms=(term,))


def _only(node_name: str) -> NodeSelector:
    there = NodeSelectorRequirement(key="metadata.name", operator="In", values=(node_name,))
    return NodeSelector(node_selector_terms=(NodeSelectorTerm(match_fields=(there,)),))


def _merge(more: tuple[NodeSelectorRequirement, ...], into: list[NodeSelectorRequirement]) -> None:
    known = {(one.key, one.operator, frozenset(one.values)) for one in into}
    for one in more:
        if (one.key, one.operator, frozenset(one.values)) not in known:
            known.add((one.key, one.operator, frozenset(one.values)))
            into.append(one)
