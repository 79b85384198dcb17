"""What a pod asks for: each row is one way in which containers, sidecars, overhead and resizes add up."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stowplan.api.errors import QuantityError
from stowplan.api.meta import Condition, ResourceList
from stowplan.api.pod import Container, ContainerPort, ContainerStatus, Pod, PodSpec, PodStatus, ResourceRequirements
from stowplan.api.requests import (
    DEFAULT_MEMORY,
    PLACED,
    fit_requests,
    host_ports,
    node_amounts,
    pod_limits,
    pod_load,
    pod_requests,
    score_requests,
)

MI = 1024 * 1024


def container(
    name: str = "c", *, sidecar: bool = False, limits: ResourceList | None = None, **requests: str
) -> Container:
    return Container(
        name=name,
        restart_policy="Always" if sidecar else None,
        resources=ResourceRequirements(requests=dict(requests), limits=limits or {}),
    )


def pod(
    *containers: Container,
    init: tuple[Container, ...] = (),
    whole: ResourceRequirements | None = None,
    overhead: ResourceList | None = None,
    status: PodStatus | None = None,
) -> Pod:
    spec = PodSpec(containers=containers, init_containers=init, resources=whole, overhead=overhead or {})
    return Pod(spec=spec, status=status or PodStatus())


@pytest.mark.parametrize(
    ("asked", "want"),
    [
        pytest.param(pod(), {}, id="a pod without containers asks for nothing"),
        pytest.param(
            pod(container(cpu="100m"), container(cpu="1", memory="1Mi")), {"cpu": 1100, "memory": MI}, id="sum"
        ),
        pytest.param(
            pod(container(cpu="0.5m"), container(cpu="0.5m")), {"cpu": 1}, id="fractions round once, at the end"
        ),
        pytest.param(
            pod(container(cpu="1"), init=(container(cpu="3"), container(cpu="2"))),
            {"cpu": 3000},
            id="init containers run one after another",
        ),
        pytest.param(
            pod(container(cpu="1"), init=(container(sidecar=True, cpu="2"),)),
            {"cpu": 3000},
            id="a sidecar runs beside the containers",
        ),
        pytest.param(
            pod(container(cpu="1"), init=(container(sidecar=True, cpu="2"), container(cpu="5"))),
            {"cpu": 7000},
            id="an init container runs beside the sidecars before it",
        ),
        pytest.param(
            pod(container(cpu="1"), init=(container(cpu="5"), container(sidecar=True, cpu="2"))),
            {"cpu": 5000},
            id="and not beside those after it",
        ),
        pytest.param(
            pod(container(cpu="1"), overhead={"cpu": "250m", "memory": "1Mi"}),
            {"cpu": 1250, "memory": MI},
            id="overhead comes on top",
        ),
        pytest.param(
            pod(
                container(cpu="1", memory="1Mi"),
                whole=ResourceRequirements(requests={"cpu": "4"}),
                overhead={"cpu": "1"},
            ),
            {"cpu": 5000, "memory": MI},
            id="what the pod asks for as a whole replaces the sum, before overhead",
        ),
        pytest.param(
            pod(container(cpu="1"), whole=ResourceRequirements(requests={"ephemeral-storage": "1"})),
            {"cpu": 1000},
            id="as a whole only cpu, memory and huge pages can be asked for",
        ),
    ],
)
def test_requests(asked: Pod, want: dict[str, int]) -> None:
    assert want == pod_requests(asked)


def resized(
    spec: str, *, actual: str | None = None, allocated: str | None = None, reason: str = "", sidecar: bool | None = None
) -> Pod:
    status = ContainerStatus(
        name="c",
        resources=None if actual is None else ResourceRequirements(requests={"cpu": actual}),
        allocated_resources={} if allocated is None else {"cpu": allocated},
    )
    conditions = (Condition(type="PodResizePending", reason=reason),) if reason else ()
    if sidecar is None:
        return pod(container(cpu=spec), status=PodStatus(container_statuses=(status,), conditions=conditions))
    return pod(
        init=(container(sidecar=sidecar, cpu=spec),),
        status=PodStatus(init_container_statuses=(status,), conditions=conditions),
    )


@pytest.mark.parametrize(
    ("placed", "want"),
    [
        pytest.param(resized("1", actual="2"), 2000, id="what still runs counts while it shrinks"),
        pytest.param(resized("3", actual="2"), 3000, id="what is asked for counts while it grows"),
        pytest.param(resized("1", actual="1", allocated="4"), 4000, id="what is allocated counts"),
        pytest.param(resized("1", allocated="4"), 1000, id="but not before the kubelet reports resources"),
        pytest.param(resized("9", actual="2", reason="Infeasible"), 2000, id="an impossible wish does not count"),
        pytest.param(resized("9", actual="2", reason="Deferred"), 9000, id="a deferred wish does"),
        pytest.param(resized("1", actual="2", sidecar=True), 2000, id="a sidecar is resized too"),
        pytest.param(resized("1", actual="2", sidecar=False), 1000, id="an init container is not"),
    ],
)
def test_resizes(placed: Pod, want: int) -> None:
    assert want == pod_load(placed).requests["cpu"]
    assert want == pod_requests(placed, PLACED)["cpu"]


def test_a_resize_does_not_change_what_a_waiting_pod_asks_for() -> None:
    assert {"cpu": 1000} == fit_requests(resized("1", actual="2"))


def test_a_resize_of_the_pod_as_a_whole_counts_once_it_is_reported() -> None:
    whole = ResourceRequirements(requests={"cpu": "1"})
    status = PodStatus(resources=ResourceRequirements(requests={"cpu": "2"}), allocated_resources={"cpu": "3"})

    assert {"cpu": 3000} == pod_requests(pod(container(), whole=whole, status=status), PLACED)
    assert {"cpu": 1000} == pod_requests(pod(container(), whole=whole), PLACED)


@pytest.mark.parametrize(
    ("placed", "cpu", "memory"),
    [
        pytest.param(pod(container()), 100, DEFAULT_MEMORY, id="an empty container"),
        pytest.param(pod(container(), container()), 200, 2 * DEFAULT_MEMORY, id="two empty containers"),
        pytest.param(pod(container(cpu="0", memory="0")), 0, 0, id="asking for nothing is asking"),
        pytest.param(pod(container(cpu="1"), container(memory="1Mi")), 1100, DEFAULT_MEMORY + MI, id="per container"),
        pytest.param(
            pod(container(), whole=ResourceRequirements(requests={"cpu": "1"})),
            1000,
            DEFAULT_MEMORY,
            id="what the pod asks for as a whole needs no default",
        ),
        pytest.param(pod(container(), overhead={"cpu": "1"}), 1100, DEFAULT_MEMORY, id="overhead on top of defaults"),
        pytest.param(pod(), 0, 0, id="no containers, no defaults"),
    ],
)
def test_nonzero_amounts_stand_in_for_what_is_not_asked_for(placed: Pod, cpu: int, memory: int) -> None:
    load = pod_load(placed)

    assert (cpu, memory) == (load.nonzero_milli_cpu, load.nonzero_memory)


def test_scoring_counts_defaults_for_every_container() -> None:
    assert {"cpu": 1100, "memory": 2 * DEFAULT_MEMORY} == score_requests(pod(container(cpu="1"), container()))


def test_only_resources_that_the_scheduler_knows_count() -> None:
    names = (
        "cpu",
        "pods",
        "foo",
        "nvidia.com/gpu",
        "hugepages-2Mi",
        "kubernetes.io/x",
        "attachable-volumes-x",
        "storage",
    )
    asked = pod(Container(resources=ResourceRequirements(requests=dict.fromkeys(names, "2"))))

    counted = {"nvidia.com/gpu": 2, "hugepages-2Mi": 2, "kubernetes.io/x": 2, "attachable-volumes-x": 2, "cpu": 2000}
    assert counted == fit_requests(asked)
    assert {**counted, "pods": 2} == dict(pod_load(asked).requests)
    assert {**counted, "pods": 2} == node_amounts(dict.fromkeys(names, "2"))


def test_a_waiting_pod_never_needs_less_than_nothing() -> None:
    assert {"cpu": 0, "memory": 5} == fit_requests(pod(container(cpu="-1", memory="5")))


def test_limits_take_overhead_only_where_they_are_set() -> None:
    limited = pod(container(limits={"cpu": "1", "memory": "0"}), overhead={"cpu": "1", "memory": "1", "pods": "1"})

    assert {"cpu": 2000, "memory": 0} == pod_limits(limited)


def test_limits_of_the_pod_as_a_whole_replace_the_sum() -> None:
    whole = ResourceRequirements(limits={"memory": "7"})

    assert {"cpu": 1000, "memory": 7} == pod_limits(pod(container(limits={"cpu": "1", "memory": "1"}), whole=whole))


@pytest.mark.parametrize(
    ("asked", "path"),
    [
        (pod(container(), container(cpu="x")), "spec.containers[1].resources.requests[cpu]"),
        (pod(init=(container(memory="x"),)), "spec.initContainers[0].resources.requests[memory]"),
        (pod(overhead={"cpu": "x"}), "spec.overhead[cpu]"),
        (pod(whole=ResourceRequirements(requests={"cpu": "x"})), "spec.resources.requests[cpu]"),
        (resized("1", actual="x"), "status of container c: resources.requests[cpu]"),
    ],
)
def test_a_malformed_quantity_is_named_by_its_field(asked: Pod, path: str) -> None:
    with pytest.raises(QuantityError) as caught:
        pod_load(asked)

    assert str(caught.value).startswith(f"{path}: quantities must match the regular expression")


def test_a_malformed_amount_of_a_node_is_named_by_its_field() -> None:
    with pytest.raises(QuantityError, match=r"^status\.allocatable\[cpu\]: unable to parse quantity's suffix$"):
        node_amounts({"memory": "1Gi", "cpu": "1K"})


def test_host_ports_of_sidecars_come_first_and_those_of_init_containers_not_at_all() -> None:
    def with_port(port: int, restart_policy: str | None = None) -> Container:
        return Container(restart_policy=restart_policy, ports=(ContainerPort(host_port=port, container_port=1),))

    opened = pod(with_port(80), with_port(0), init=(with_port(81), with_port(82, "Always")))

    assert [82, 80] == [port.host_port for port in host_ports(opened)]


steps = st.lists(st.tuples(st.booleans(), st.integers(0, 5)), max_size=5)


@given(st.lists(st.integers(0, 5), max_size=4), steps)
def test_requests_are_the_greatest_that_ever_runs_at_once(main: list[int], init: list[tuple[bool, int]]) -> None:
    asked = pod(
        *(container(cpu=str(cpu)) for cpu in main),
        init=tuple(container(sidecar=sidecar, cpu=str(cpu)) for sidecar, cpu in init),
    )
    running, moments = 0, []
    for sidecar, cpu in init:
        moments.append(running + cpu)
        running += cpu if sidecar else 0
    moments.append(running + sum(main))

    assert max(moments) * 1000 == pod_requests(asked).get("cpu", 0)
