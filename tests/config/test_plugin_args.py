"""The records' own defaults are those a configuration without arguments gives."""

import pytest

from stowplan.config.plugin_args import default_args
from stowplan.config.schema_v1 import PLUGIN_ARGS
from stowplan.framework.gates import Gates
from stowplan.framework.plugin_args import (
    CPU_AND_MEMORY,
    DefaultPreemptionArgs,
    DynamicResourcesArgs,
    InterPodAffinityArgs,
    NodeAffinityArgs,
    NodeResourcesBalancedAllocationArgs,
    NodeResourcesFitArgs,
    PodTopologySpreadArgs,
    ResourceSpec,
    VolumeBindingArgs,
)

RECORDS = (
    DefaultPreemptionArgs,
    DynamicResourcesArgs,
    InterPodAffinityArgs,
    NodeAffinityArgs,
    NodeResourcesBalancedAllocationArgs,
    NodeResourcesFitArgs,
    PodTopologySpreadArgs,
    VolumeBindingArgs,
)


def test_every_in_tree_plugin_with_arguments_has_a_record() -> None:
    assert sorted(PLUGIN_ARGS) == sorted(record.__name__.removesuffix("Args") for record in RECORDS)


@pytest.mark.parametrize("record", RECORDS)
def test_without_arguments_the_record_has_its_own_defaults(record: type[object]) -> None:
    assert record() == default_args(record.__name__.removesuffix("Args"), {}, Gates())


@pytest.mark.parametrize(
    ("resources", "want"),
    [
        pytest.param((), CPU_AND_MEMORY, id="an empty list is no list"),
        pytest.param(({"name": "a.b/c"},), (ResourceSpec(name="a.b/c", weight=1),), id="no weight is one"),
        pytest.param(({"name": "cpu", "weight": 0},), (ResourceSpec(name="cpu", weight=1),), id="zero is one"),
    ],
)
def test_resources(resources: tuple[dict[str, object], ...], want: tuple[ResourceSpec, ...]) -> None:
    args = default_args("NodeResourcesBalancedAllocation", {"resources": resources}, Gates())

    assert NodeResourcesBalancedAllocationArgs(resources=want) == args
