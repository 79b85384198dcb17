"""Defaults of priority classes, disruption budgets, device claims and custom kinds.

Upstream: pkg/apis/scheduling/v1/defaults.go, pkg/apis/resource/v1/defaults.go, pkg/apis/policy/v1 (v1.36.4).
"""

from typing import Any

Json = dict[str, Any]


def default_priority_class(priority_class: Json) -> None:
    """Fill in a PriorityClass."""
    priority_class.setdefault("preemptionPolicy", "PreemptLowerPriority")
    priority_class.setdefault("value", 0)


def default_disruption_budget(budget: Json) -> None:
    """Fill in a PodDisruptionBudget."""
    status = budget.setdefault("status", {})
    for name in ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"):
        status.setdefault(name, 0)


def default_resource_claim(claim: Json) -> None:
    """Fill in a ResourceClaim."""
    _default_device_claim(claim.setdefault("spec", {}))
    claim.setdefault("status", {})


def default_resource_claim_template(template: Json) -> None:
    """Fill in a ResourceClaimTemplate."""
    inner = template.setdefault("spec", {})
    inner.setdefault("metadata", {})
    _default_device_claim(inner.setdefault("spec", {}))


def default_resource_slice(resource_slice: Json) -> None:
    """Fill in a ResourceSlice."""
    pool = resource_slice.get("spec", {}).get("pool")
    if pool is not None:
        pool.setdefault("generation", 0)


def default_custom_definition(definition: Json) -> None:
    """Fill in a CustomResourceDefinition: names that follow from the kind."""
    spec = definition.setdefault("spec", {})
    names = spec.setdefault("names", {})
    kind = names.get("kind", "")
    if kind:
        names.setdefault("singular", kind.lower())
        names.setdefault("listKind", f"{kind}List")
    spec.setdefault("conversion", {}).setdefault("strategy", "None")
    for version in spec.get("versions", ()):
        scale = (version.get("subresources") or {}).get("scale")
        if scale is not None:
            scale.setdefault("labelSelectorPath", "")
            if not scale["labelSelectorPath"]:
                del scale["labelSelectorPath"]


def _default_device_claim(spec: Json) -> None:
    devices = spec.get("devices") or {}
    for request in devices.get("requests", ()):
        if "exactly" in request:
            _default_request(request["exactly"])
        for alternative in request.get("firstAvailable", ()):
            _default_request(alternative)


def _default_request(request: Json) -> None:
    mode = request.setdefault("allocationMode", "ExactCount")
    if mode == "ExactCount":
        request.setdefault("count", 1)
    for toleration in request.get("tolerations", ()):
        toleration.setdefault("operator", "Equal")
