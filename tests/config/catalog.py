"""A catalog of plugins and a default order for the tests: names and extension points only."""

from collections.abc import Mapping
from typing import Final

import msgspec

from stowplan.config.load import load_configuration
from stowplan.config.spec import SchedulerConfiguration
from stowplan.framework.gates import Gates
from stowplan.framework.profile import ProfileSpec

HEAD: Final = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"

POINTS: Final[Mapping[str, frozenset[str]]] = {
    "SchedulingGates": frozenset({"preEnqueue"}),
    "PrioritySort": frozenset({"queueSort"}),
    "NodeName": frozenset({"filter"}),
    "TaintToleration": frozenset({"filter", "preScore", "score"}),
    "NodeAffinity": frozenset({"preFilter", "filter", "preScore", "score"}),
    "NodeResourcesFit": frozenset({"preFilter", "filter", "preScore", "score", "placementScore"}),
    "PodTopologySpread": frozenset({"preFilter", "filter", "preScore", "score"}),
    "InterPodAffinity": frozenset({"preFilter", "filter", "preScore", "score"}),
    "DynamicResources": frozenset({"preFilter", "filter", "postFilter", "reserve", "preBind", "score"}),
    "DefaultPreemption": frozenset({"preEnqueue", "postFilter"}),
    "NodeResourcesBalancedAllocation": frozenset({"preScore", "score"}),
    "VolumeBinding": frozenset({"preFilter", "filter", "reserve", "preBind", "score"}),
    "ImageLocality": frozenset({"score"}),
    "DefaultBinder": frozenset({"bind"}),
    "Spread": frozenset({"placementGenerate"}),
    "Gather": frozenset({"placementGenerate"}),
    "Fifo": frozenset({"queueSort"}),
    "Custom": frozenset({"filter", "score"}),
    "Other": frozenset({"filter", "score"}),
    "Typed": frozenset({"filter"}),
}
ORDER: Final = (
    ("SchedulingGates", 0),
    ("PrioritySort", 0),
    ("NodeName", 0),
    ("TaintToleration", 3),
    ("NodeAffinity", 2),
    ("NodeResourcesFit", 1),
    ("PodTopologySpread", 2),
    ("InterPodAffinity", 2),
    ("DynamicResources", 2),
    ("DefaultPreemption", 0),
    ("ImageLocality", 1),
    ("DefaultBinder", 0),
)


class TypedArgs(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Arguments of the plugin Typed, which is not in the tree."""

    max_pods: int
    zones: tuple[str, ...] = ()


class Catalog:
    """The plugins above."""

    def points_of(self, name: str) -> frozenset[str] | None:
        """Extension points of a plugin."""
        return POINTS.get(name)

    def args_type(self, name: str) -> type[msgspec.Struct] | None:
        """Only Typed wants a record."""
        return TypedArgs if name == "Typed" else None


CATALOG: Final = Catalog()


def load(text: str, gates: Mapping[str, bool] | None = None) -> SchedulerConfiguration:
    """Load a configuration whose first two lines are left out."""
    return load_configuration((HEAD + text).encode(), "sched.yaml", CATALOG, ORDER, gates=Gates(gates))


def only_profile(text: str, gates: Mapping[str, bool] | None = None) -> ProfileSpec:
    """The profile of a configuration that has one."""
    (profile,) = load(text, gates).profiles
    return profile


def names(profile: ProfileSpec, point: str) -> list[str]:
    """The plugins of a point, in order."""
    return [entry.name for entry in profile.points[point]]


def weights(profile: ProfileSpec, point: str = "score") -> list[tuple[str, int]]:
    """The plugins of a point with their weights, in order."""
    return [(entry.name, entry.weight) for entry in profile.points[point]]
