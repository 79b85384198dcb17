"""Extended resources that devices serve: which class is behind a name, and which requests containers turn into."""

import msgspec
import pytest

from stowplan.api.pod import Container, Pod, ResourceRequirements
from stowplan.api.resource import DeviceClass
from stowplan.plugins.dynamic_resources.extended import classes_by_resource, new_claim, variant_for
from stowplan.testing.builders import pod
from tests.plugins.dynamic_resources.devices import device_class

FOO = "example.com/foo"


def container(name: str, *, restart: str | None = None, **amounts: int) -> Container:
    asked: dict[str, str | int | float] = {FOO if key == "foo" else key: str(amount) for key, amount in amounts.items()}
    return Container(name=name, resources=ResourceRequirements(requests=asked), restart_policy=restart)


def created(of: DeviceClass, when: str) -> DeviceClass:
    return msgspec.structs.replace(of, metadata=msgspec.structs.replace(of.metadata, creation_timestamp=when))


OLD, NEW = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"


@pytest.mark.parametrize(
    ("classes", "want"),
    [
        pytest.param(
            [device_class("c")], {"deviceclass.resource.kubernetes.io/c": "c"}, id="a class has a name of its own"
        ),
        pytest.param(
            [
                created(device_class("a", extended_resource_name=FOO), OLD),
                created(device_class("b", extended_resource_name=FOO), NEW),
            ],
            {FOO: "b"},
            id="the newer class serves a name",
        ),
        pytest.param(
            [
                created(device_class("b", extended_resource_name=FOO), OLD),
                created(device_class("a", extended_resource_name=FOO), OLD),
            ],
            {FOO: "a"},
            id="of two as old the first by name",
        ),
    ],
)
def test_the_class_behind_a_resource(classes: list[DeviceClass], want: dict[str, str]) -> None:
    found = {name: one.name for name, one in classes_by_resource(classes).items()}

    assert want.items() <= found.items()


@pytest.mark.parametrize(
    ("asking", "requests", "mappings"),
    [
        pytest.param(
            pod(containers=[container("x", cpu=1, foo=2), container("y", foo=1)]),
            ["container-0-request-1=2", "container-1-request-0=1"],
            ["x:container-0-request-1", "y:container-1-request-0"],
            id="each container has a request",
        ),
        pytest.param(
            pod(containers=[container("x", foo=2)], init_containers=[container("i", foo=1)]),
            ["container-1-request-0=2"],
            ["x:container-1-request-0", "i:container-1-request-0"],
            id="an init container uses what comes after it",
        ),
        pytest.param(
            pod(containers=[container("x", foo=1)], init_containers=[container("i", foo=3), container("j", foo=2)]),
            ["container-0-request-0=2", "container-2-request-0=1"],
            [
                "x:container-2-request-0",
                "i:container-2-request-0",
                "i:container-0-request-0",
                "j:container-2-request-0",
                "j:container-0-request-0",
            ],
            id="init containers share what is missing",
        ),
        pytest.param(
            pod(containers=[container("x", foo=1)], init_containers=[container("s", restart="Always", foo=1)]),
            ["container-0-request-0=1", "container-1-request-0=1"],
            ["s:container-0-request-0", "x:container-1-request-0"],
            id="a sidecar has its own",
        ),
    ],
)
def test_requests_of_containers(asking: Pod, requests: list[str], mappings: list[str]) -> None:
    variant = variant_for(new_claim(asking), asking, [FOO], {FOO: device_class("c")})
    made = variant.claim.spec.devices.requests

    assert requests == [f"{one.name}={one.exactly.count}" for one in made if one.exactly]
    assert mappings == [f"{one.container_name}:{one.request_name}" for one in variant.mappings]
