"""Reserving: plugins keep books on what a placed pod gets, all of them or none."""

from collections.abc import Mapping
from typing import Any

from stowplan.columns.cluster import Cluster
from stowplan.columns.pods import PodInfo
from stowplan.framework.plugin import PluginError
from stowplan.framework.profile import Profile
from stowplan.framework.runner import Rejected


def assume_and_reserve(
    cluster: Cluster, profile: Profile, pod: PodInfo, node_name: str, plans: Mapping[str, Any]
) -> Rejected | None:
    """Count the pod in at once; when a plugin refuses or fails, everything is as before.

    For shells that write nothing to an API; what is to be written after a failure is therefore of no concern.
    """
    cluster.assume(pod, node_name)
    view = cluster.view()
    try:
        for plugin in profile.reserves:
            why = plugin.reserve(view, pod, node_name, plans)
            if why is not None:
                _give_back(cluster, profile, pod, node_name, plans)
                return Rejected(plugin.name, why)
    except PluginError:
        _give_back(cluster, profile, pod, node_name, plans)
        raise
    return None


def _give_back(cluster: Cluster, profile: Profile, pod: PodInfo, node_name: str, plans: Mapping[str, Any]) -> None:
    view = cluster.view()
    for plugin in reversed(profile.reserves):
        plugin.unreserve(view, pod, node_name, plans)
    cluster.forget(pod.uid)
