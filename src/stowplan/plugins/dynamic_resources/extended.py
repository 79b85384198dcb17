"""Extended resources that devices serve: the claim that stands for them, made anew for each kind of node.

Upstream: pkg/scheduler/framework/plugins/dynamicresources/extendeddynamicresources.go and
staging/src/k8s.io/dynamic-resource-allocation/deviceclass/extendedresourcecache (v1.36.4).
"""

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from stowplan.api.meta import ObjectMeta, OwnerReference, time_seconds
from stowplan.api.pod import Container, ContainerExtendedResourceRequest, Pod
from stowplan.api.quantity import parse, scaled_value
from stowplan.api.resource import (
    DeviceClaim,
    DeviceClass,
    DeviceRequest,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimSpec,
)
from stowplan.api.resource_names import DEVICE_CLASS_PREFIX, is_dra_extended
from stowplan.plugins.dynamic_resources.requests import EXACT_COUNT

IN_MEMORY: Final = "<extended-resources>"
"""The name of the claim until the API has given it one."""
ANNOTATION: Final = "resource.kubernetes.io/extended-resource-claim"
UIDS: Final = uuid.UUID("0d8f3a52-6d0c-4c0e-9d5e-7b1f6f3c2a90")


@dataclass(frozen=True, slots=True)
class Variant:
    """The claim for nodes where devices serve the same resources, and which container gets which request."""

    claim: ResourceClaim
    mappings: tuple[ContainerExtendedResourceRequest, ...]


def classes_by_resource(classes: Iterable[DeviceClass]) -> dict[str, DeviceClass]:
    """Return the class behind each extended resource: of two that claim a name the newer, then the first by name."""
    found: dict[str, DeviceClass] = {}
    for device_class in classes:
        found[DEVICE_CLASS_PREFIX + device_class.name] = device_class
        explicit = device_class.spec.extended_resource_name
        if explicit is not None and (explicit not in found or _precedes(device_class, found[explicit])):
            found[explicit] = device_class
    return found


def _precedes(a: DeviceClass, b: DeviceClass) -> bool:
    mine, theirs = _created(a), _created(b)
    return mine > theirs or (mine == theirs and a.name < b.name)


def _created(device_class: DeviceClass) -> float:
    text = device_class.metadata.creation_timestamp
    return time_seconds(text) if text else 0.0


def wanted_resources(requests: Mapping[str, int]) -> dict[str, int]:
    """Return the resources of a pod behind which devices may stand."""
    return {name: amount for name, amount in requests.items() if amount and is_dra_extended(name)}


def owner_of(claim: ResourceClaim) -> str:
    """Return the uid of the pod whose extended resources a claim stands for; empty for other claims."""
    if claim.metadata.annotations.get(ANNOTATION) != "true":
        return ""
    return next((owner.uid for owner in claim.metadata.owner_references if owner.controller), "")


def existing_claim(pod: Pod, claims: Iterable[ResourceClaim]) -> ResourceClaim | None:
    """Return the claim that an earlier attempt left behind."""
    for claim in claims:
        owners = claim.metadata.owner_references
        if owner_of(claim) == pod.uid and any(owner.name == pod.name for owner in owners if owner.controller):
            return claim
    return None


def new_claim(pod: Pod) -> ResourceClaim:
    """Return the claim that stands for all extended resources of a pod, still without requests."""
    owner = OwnerReference(api_version="v1", kind="Pod", name=pod.name, uid=pod.uid, controller=True)
    return ResourceClaim(
        metadata=ObjectMeta(
            namespace=pod.namespace,
            name=IN_MEMORY,
            generate_name=f"{pod.name}-extended-resources-",
            uid=str(uuid.uuid5(UIDS, pod.uid or pod.key)),
            owner_references=(owner,),
            annotations={ANNOTATION: "true"},
        )
    )


def variant_for(
    claim: ResourceClaim, pod: Pod, resources: Iterable[str], classes: Mapping[str, DeviceClass]
) -> Variant:
    """Return the claim with requests for the resources that devices serve on a kind of node."""
    containers = (*pod.spec.init_containers, *pod.spec.containers)
    inits = len(pod.spec.init_containers)
    requests: list[DeviceRequest] = []
    mappings: list[ContainerExtendedResourceRequest] = []
    for resource in sorted(resources):
        if resource in classes:
            made = _of_resource(containers, inits, resource, classes[resource].name)
            requests += made[0]
            mappings += made[1]
    requests.sort(key=lambda request: request.name)
    spec = ResourceClaimSpec(devices=DeviceClaim(requests=tuple(requests)))
    return Variant(msgspec.structs.replace(claim, spec=spec), tuple(mappings))


def _of_resource(
    containers: Sequence[Container], inits: int, resource: str, class_name: str
) -> tuple[list[DeviceRequest], list[ContainerExtendedResourceRequest]]:
    """Requests for one resource: each long-lived container has its own, the init containers share the greatest."""
    short = [i for i, c in enumerate(containers) if i < inits and c.restart_policy != "Always"]
    long_lived: dict[int, DeviceRequest] = {}
    mappings: list[ContainerExtendedResourceRequest] = []
    for i, container in enumerate(containers):
        if i not in short:
            request, more = _of_container(i, container, resource, class_name, ())
            mappings += more
            if request is not None:
                long_lived[i] = request
    greatest: DeviceRequest | None = None
    names: set[str] = set()
    of_inits: list[ContainerExtendedResourceRequest] = []
    for i in short:
        # an init container may use what containers that start after it have asked for
        reusable = [request for at, request in sorted(long_lived.items()) if at >= i]
        request, more = _of_container(i, containers[i], resource, class_name, reusable)
        of_inits += more
        if request is not None:
            names.add(request.name)
            if greatest is None or _count(greatest) < _count(request):
                greatest = request
    if greatest is not None:
        shared = greatest.name
        of_inits = [
            msgspec.structs.replace(one, request_name=shared) if one.request_name in names else one for one in of_inits
        ]
    first = [] if greatest is None else [greatest]
    return [*first, *(long_lived[i] for i in sorted(long_lived))], [*mappings, *of_inits]


def _count(request: DeviceRequest) -> int:
    return 0 if request.exactly is None else request.exactly.count


def _of_container(
    at: int, container: Container, resource: str, class_name: str, reusable: Iterable[DeviceRequest]
) -> tuple[DeviceRequest | None, list[ContainerExtendedResourceRequest]]:
    asked = container.resources.requests
    wanted = scaled_value(parse(asked[resource]), 0) if resource in asked else 0
    if not wanted:
        return None, []
    mappings: list[ContainerExtendedResourceRequest] = []

    def use(name: str) -> None:
        mappings.append(
            ContainerExtendedResourceRequest(container_name=container.name, resource_name=resource, request_name=name)
        )

    reused = 0
    for request in reusable:
        reused += _count(request)
        use(request.name)
        if reused >= wanted:
            return None, mappings
    name = f"container-{at}-request-{sorted(asked).index(resource)}"
    use(name)
    exactly = ExactDeviceRequest(device_class_name=class_name, allocation_mode=EXACT_COUNT, count=wanted - reused)
    return DeviceRequest(name=name, exactly=exactly), mappings
