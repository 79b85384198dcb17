"""What a pod asks for: containers, sidecars, init containers, pod level, overhead and resizes in one sum.

Upstream: staging/src/k8s.io/component-helpers/resource/helpers.go, pkg/scheduler/framework/types.go (v1.36.4).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from stowplan.api.errors import QuantityError
from stowplan.api.meta import ResourceList
from stowplan.api.pod import Container, ContainerPort, ContainerStatus, Pod, find_condition, is_sidecar
from stowplan.api.quantity import Quantity, add, compare, of, of_milli, parse, scaled_value
from stowplan.api.resource_names import CPU, EPHEMERAL_STORAGE, MEMORY, PODS, is_pod_level, is_scalar

Amounts = dict[str, Quantity]

DEFAULT_MILLI_CPU = 100
DEFAULT_MEMORY = 200 * 1024 * 1024
_DEFAULTS: Mapping[str, Quantity] = {CPU: of_milli(DEFAULT_MILLI_CPU), MEMORY: of(DEFAULT_MEMORY)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What counts into the sum."""

    use_status: bool = False
    pod_level: bool = True
    pod_level_status: bool = False
    containers: bool = True
    overhead: bool = True
    claim_status: bool = False


# parity: the gates of v1.36: InPlacePodVerticalScaling and its pod-level twin on, DRANodeAllocatableResources off
SPEC = Options()
PLACED = Options(use_status=True, pod_level_status=True)
# parity: NewFit leaves the gates of its scorer unset, so it sees neither pod-level resources nor resizes
CONTAINERS = Options(pod_level=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class PodLoad:
    """What a pod weighs on its node; the non-zero amounts stand in for what it does not ask for, in scoring."""

    requests: Mapping[str, int]
    nonzero_milli_cpu: int
    nonzero_memory: int


def pod_requests(pod: Pod, options: Options = SPEC) -> dict[str, int]:
    """Requests by resource name: cpu in thousandths, everything else in units; QuantityError names the field."""
    return _in_base_units(request_quantities(pod, options))


def pod_limits(pod: Pod, options: Options = SPEC) -> dict[str, int]:
    """Limits by resource name: cpu in thousandths, everything else in units; QuantityError names the field."""
    return _in_base_units(limit_quantities(pod, options))


def fit_requests(pod: Pod) -> dict[str, int]:
    """What a waiting pod needs of a node: the resources that the scheduler counts, never below zero."""
    return {name: max(0, amount) for name, amount in _counted(pod_requests(pod)).items() if name != PODS}


def pod_load(pod: Pod) -> PodLoad:
    """What the pod weighs on the node it is on, a resize under way included."""
    requests = request_quantities(pod, PLACED)
    pod_level = _asks_as_a_whole(pod)
    missing = {name: amount for name, amount in _DEFAULTS.items() if not pod_level or name not in requests}
    nonzero = request_quantities(pod, PLACED, missing) if missing else requests
    return PodLoad(
        requests=_counted(_in_base_units(requests)),
        nonzero_milli_cpu=scaled_value(nonzero[CPU], -3) if CPU in nonzero else 0,
        nonzero_memory=scaled_value(nonzero[MEMORY], 0) if MEMORY in nonzero else 0,
    )


def score_requests(pod: Pod) -> dict[str, int]:
    """Requests for scoring by non-zero amounts: what a container does not ask for counts with its default."""
    return _in_base_units(request_quantities(pod, CONTAINERS, _DEFAULTS))


def node_amounts(resources: ResourceList, path: str = "status.allocatable") -> dict[str, int]:
    """What a node offers of the resources that the scheduler counts; QuantityError names the field."""
    return _counted(_in_base_units(amounts(resources, path)))


def host_ports(pod: Pod) -> tuple[ContainerPort, ...]:
    """The ports that sidecars and containers open on the host."""
    sidecars = (container for container in pod.spec.init_containers if is_sidecar(container))
    return tuple(
        port for container in (*sidecars, *pod.spec.containers) for port in container.ports if port.host_port > 0
    )


def request_quantities(pod: Pod, options: Options = SPEC, missing: Mapping[str, Quantity] | None = None) -> Amounts:
    """Requests as exact quantities; `missing` stands in for what a container does not ask for."""
    total = _sum_requests(pod, options, missing or {}) if options.containers else {}
    whole = pod.spec.resources
    if options.pod_level and whole is not None and _asks_as_a_whole(pod):
        asked = amounts(whole.requests, "spec.resources.requests")
        in_force = asked
        status = pod.status.resources
        if options.pod_level_status and options.use_status and status is not None:
            in_force = _effective_requests(
                pod,
                asked,
                amounts(status.requests, "status.resources.requests"),
                amounts(pod.status.allocated_resources, "status.allocatedResources"),
            )
        total |= {name: in_force.get(name, of(0)) for name in asked if is_pod_level(name)}
    if options.overhead:
        _add_all(total, amounts(pod.spec.overhead, "spec.overhead"))
    return total


def limit_quantities(pod: Pod, options: Options = SPEC) -> Amounts:
    """Limits as exact quantities; overhead adds only to limits that are set."""
    total = _over_containers(pod, partial(_container_limits, pod=pod, options=options))
    whole = pod.spec.resources
    if options.pod_level and whole is not None:
        limits = amounts(whole.limits, "spec.resources.limits")
        in_force = limits
        status = pod.status.resources
        if options.pod_level_status and options.use_status and status is not None:
            in_force = _effective_limits(pod, limits, amounts(status.limits, "status.resources.limits"))
        total |= {name: in_force.get(name, of(0)) for name in limits if is_pod_level(name)}
    if options.overhead:
        for name, amount in amounts(pod.spec.overhead, "spec.overhead").items():
            if name in total and total[name].unscaled != 0:
                total[name] = add(total[name], amount)
    return total


def amounts(resources: ResourceList, path: str) -> Amounts:
    """Parse a resource list; QuantityError names the entry under `path`."""
    try:
        return {name: parse(raw) for name, raw in resources.items()}
    except QuantityError:
        for name, raw in resources.items():
            _parse_at(raw, f"{path}[{name}]")
        raise


def _parse_at(raw: str | float, path: str) -> None:
    try:
        parse(raw)
    except QuantityError as error:
        raise QuantityError(f"{path}: {error}") from None


def _sum_requests(pod: Pod, options: Options, missing: Mapping[str, Quantity]) -> Amounts:
    total = _over_containers(pod, partial(_container_requests, pod=pod, options=options, missing=missing))
    if options.claim_status:
        for index, claim in enumerate(pod.status.node_allocatable_resource_claim_statuses):
            _add_all(total, amounts(claim.resources, f"status.nodeAllocatableResourceClaimStatuses[{index}].resources"))
    return total


def _over_containers(pod: Pod, amounts_of: Callable[[Container, ContainerStatus | None, str], Amounts]) -> Amounts:
    """Containers and sidecars run together; each init container runs beside the sidecars before it."""
    statuses: dict[str, ContainerStatus] = {}
    if pod.status.container_statuses or pod.status.init_container_statuses:
        statuses = {status.name: status for status in pod.status.container_statuses}
        statuses |= {status.name: status for status in pod.status.init_container_statuses}
    total: Amounts = {}
    for index, container in enumerate(pod.spec.containers):
        _add_all(total, amounts_of(container, statuses.get(container.name), f"spec.containers[{index}]"))
    sidecars: Amounts = {}
    peak: Amounts = {}
    for index, container in enumerate(pod.spec.init_containers):
        path = f"spec.initContainers[{index}]"
        if is_sidecar(container):
            own = amounts_of(container, statuses.get(container.name), path)
            _add_all(total, own)
            _add_all(sidecars, own)
            _max_all(peak, sidecars)
        else:
            during = dict(amounts_of(container, None, path))
            _add_all(during, sidecars)
            _max_all(peak, during)
    _max_all(total, peak)
    return total


def _container_requests(
    container: Container,
    status: ContainerStatus | None,
    path: str,
    *,
    pod: Pod,
    options: Options,
    missing: Mapping[str, Quantity],
) -> Amounts:
    asked = amounts(container.resources.requests, f"{path}.resources.requests")
    if options.use_status and status is not None and status.resources is not None:
        where = f"status of container {container.name}: "
        asked = _effective_requests(
            pod,
            asked,
            amounts(status.resources.requests, f"{where}resources.requests"),
            amounts(status.allocated_resources, f"{where}allocatedResources"),
        )
    return {**missing, **asked} if missing else asked


def _container_limits(
    container: Container, status: ContainerStatus | None, path: str, *, pod: Pod, options: Options
) -> Amounts:
    limits = amounts(container.resources.limits, f"{path}.resources.limits")
    if options.use_status and status is not None and status.resources is not None:
        where = f"status of container {container.name}: resources.limits"
        limits = _effective_limits(pod, limits, amounts(status.resources.limits, where))
    return limits


def _effective_requests(pod: Pod, asked: Amounts, actual: Amounts, allocated: Amounts) -> Amounts:
    effective = dict(actual) if _resize_is_infeasible(pod) else _greater(asked, actual)
    return _greater(effective, allocated)


def _effective_limits(pod: Pod, asked: Amounts, actual: Amounts) -> Amounts:
    return actual if _resize_is_infeasible(pod) else _greater(asked, actual)


def _resize_is_infeasible(pod: Pod) -> bool:
    pending = find_condition(pod.status.conditions, "PodResizePending")
    return pending is not None and pending.reason == "Infeasible"


def _asks_as_a_whole(pod: Pod) -> bool:
    whole = pod.spec.resources
    return whole is not None and any(is_pod_level(name) for name in whole.requests)


def _greater(left: Amounts, right: Amounts) -> Amounts:
    result = dict(left)
    _max_all(result, right)
    return result


def _add_all(total: Amounts, more: Amounts) -> None:
    for name, amount in more.items():
        total[name] = add(total[name], amount) if name in total else amount


def _max_all(total: Amounts, other: Amounts) -> None:
    for name, amount in other.items():
        if name not in total or compare(amount, total[name]) > 0:
            total[name] = amount


def _in_base_units(quantities: Amounts) -> dict[str, int]:
    return {name: scaled_value(amount, -3 if name == CPU else 0) for name, amount in quantities.items()}


def _counted(by_name: dict[str, int]) -> dict[str, int]:
    always = {CPU, MEMORY, EPHEMERAL_STORAGE, PODS}
    return {name: amount for name, amount in by_name.items() if name in always or is_scalar(name)}
