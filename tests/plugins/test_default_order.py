"""The default order is upstream's."""

from stowplan.framework.plugin import Point, points_of
from stowplan.plugins.default_order import DEFAULT_ORDER

UPSTREAM = [
    ("SchedulingGates", 0),
    ("PrioritySort", 0),
    ("NodeUnschedulable", 0),
    ("NodeName", 0),
    ("TaintToleration", 3),
    ("NodeAffinity", 2),
    ("NodePorts", 0),
    ("NodeResourcesFit", 1),
    ("VolumeRestrictions", 0),
    ("NodeVolumeLimits", 0),
    ("VolumeBinding", 0),
    ("VolumeZone", 0),
    ("PodTopologySpread", 2),
    ("InterPodAffinity", 2),
    ("DynamicResources", 2),
    ("DefaultPreemption", 0),
    ("NodeResourcesBalancedAllocation", 1),
    ("ImageLocality", 1),
    ("DefaultBinder", 0),
    ("NodeDeclaredFeatures", 0),
]


def test_plugins_stand_in_upstreams_order_with_its_weights() -> None:
    ours = [(entry.plugin.name, entry.weight) for entry in DEFAULT_ORDER]

    assert [row for row in UPSTREAM if row in ours] == ours


def test_only_plugins_that_score_have_a_weight() -> None:
    for entry in DEFAULT_ORDER:
        if entry.weight:
            assert Point.SCORE in points_of(entry.plugin), entry.plugin.name
