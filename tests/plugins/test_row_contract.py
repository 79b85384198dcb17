"""Every plugin that judges a node by itself or by its load answers row by row, worlds and kept answers included."""

from collections.abc import Callable

import pytest
from hypothesis import given, settings

from stowplan.api.pod import Pod
from stowplan.columns.cluster import Cluster
from stowplan.framework.plugin import FilterPlugin, Plugin, PluginContext
from stowplan.framework.plugin_args import (
    MOST_ALLOCATED,
    REQUESTED_TO_CAPACITY_RATIO,
    NodeAffinityArgs,
    NodeResourcesBalancedAllocationArgs,
    NodeResourcesFitArgs,
    RequestedToCapacityRatio,
    ResourceSpec,
    ScoringStrategy,
    ShapePoint,
)
from stowplan.plugins.image_locality import ImageLocality
from stowplan.plugins.node_affinity import NodeAffinity
from stowplan.plugins.node_declared_features import NodeDeclaredFeatures
from stowplan.plugins.node_name import NodeName
from stowplan.plugins.node_ports import NodePorts
from stowplan.plugins.node_resources_balanced_allocation import NodeResourcesBalancedAllocation
from stowplan.plugins.node_resources_fit.plugin import NodeResourcesFit
from stowplan.plugins.node_unschedulable import NodeUnschedulable
from stowplan.plugins.taint_toleration import TaintToleration
from stowplan.testing.builders import node_term, on_nodes
from stowplan.testing.properties import assert_kept_answers_hold, assert_rows_agree, assert_worlds_agree
from tests.plugins.generated import Scene, changes, pods, scenes

FOUR = tuple(
    ResourceSpec(name=name, weight=1 + i) for i, name in enumerate(["cpu", "memory", "nvidia.com/gpu", "hugepages-2Mi"])
)
PLUGINS: list[Plugin] = [
    NodeUnschedulable(),
    NodeName(),
    TaintToleration(),
    NodeAffinity(),
    NodeAffinity.create(
        NodeAffinityArgs(
            added_affinity=on_nodes(
                node_term(("disk", "Exists", ())), prefer=[(7, node_term(("gen", "Gt", ["2"])))]
            ).node_affinity
        ),
        PluginContext(),
    ),
    NodePorts(),
    NodeResourcesFit(),
    NodeResourcesFit(
        NodeResourcesFitArgs(
            ignored_resource_groups=("nvidia.com",),
            scoring_strategy=ScoringStrategy(type=MOST_ALLOCATED, resources=FOUR),
        )
    ),
    NodeResourcesFit(
        NodeResourcesFitArgs(
            scoring_strategy=ScoringStrategy(
                type=REQUESTED_TO_CAPACITY_RATIO,
                resources=FOUR,
                requested_to_capacity_ratio=RequestedToCapacityRatio(
                    shape=(ShapePoint(utilization=10, score=2), ShapePoint(utilization=70, score=9))
                ),
            )
        )
    ),
    NodeResourcesBalancedAllocation(),
    NodeResourcesBalancedAllocation(NodeResourcesBalancedAllocationArgs(resources=FOUR)),
    ImageLocality(),
    NodeDeclaredFeatures(),
]

each_plugin = pytest.mark.parametrize("plugin", PLUGINS, ids=lambda plugin: plugin.name)
each_filter = pytest.mark.parametrize(
    "plugin", [p for p in PLUGINS if isinstance(p, FilterPlugin)], ids=lambda plugin: plugin.name
)


@each_plugin
@settings(max_examples=50)
@given(scenes(), pods())
def test_answers_do_not_depend_on_the_other_rows(plugin: Plugin, scene: Scene, pod: Pod) -> None:
    assert_rows_agree(plugin, scene.cluster(), pod)


@each_filter
@settings(max_examples=50)
@given(scenes(), pods(), pods("guest"))
def test_worlds_are_judged_as_the_clusters_they_stand_for(plugin: Plugin, scene: Scene, pod: Pod, guest: Pod) -> None:
    assert_worlds_agree(plugin, scene.cluster, pod, guest)


@each_plugin
@settings(max_examples=50)
@given(scenes(), pods(), changes())
def test_answers_hold_for_rows_that_the_journal_does_not_name(
    plugin: Plugin, scene: Scene, pod: Pod, change: Callable[[Cluster], None]
) -> None:
    assert_kept_answers_hold(plugin, scene.cluster(), pod, change)
