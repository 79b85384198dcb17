"""Nodes, volumes, claims: what is reset or kept when they are new or change.

Upstream: pkg/registry/core/{node,persistentvolume,persistentvolumeclaim}/strategy.go (v1.36.4).
"""

from typing import Any

from stowplan.apiserver.context import Api

Json = dict[str, Any]


def prepare_node(_api: Api, _node: Json) -> None:
    """A node may bring its status along: it registers itself."""


def prepare_claim(_api: Api, claim: Json) -> None:
    """A new claim is pending."""
    claim["status"] = {"phase": "Pending"}
    spec = claim["spec"]
    if "dataSource" in spec:
        spec.setdefault("dataSourceRef", dict(spec["dataSource"]))


def prepare_volume(api: Api, volume: Json) -> None:
    """A new volume is pending."""
    volume["status"] = {"phase": "Pending", "lastPhaseTransitionTime": api.now()}


def keep_volume_status(api: Api, volume: Json, old: Json) -> None:
    """A change of phase has a time."""
    status, known = volume.setdefault("status", {}), old.get("status", {})
    if status.get("phase") != known.get("phase"):
        if status.get("lastPhaseTransitionTime") in (None, known.get("lastPhaseTransitionTime")):
            status["lastPhaseTransitionTime"] = api.now()
    elif "lastPhaseTransitionTime" in known:
        status.setdefault("lastPhaseTransitionTime", known["lastPhaseTransitionTime"])


def date_taints(api: Api, resource_slice: Json) -> None:
    """A taint of a device has a time."""
    for device in (resource_slice.get("spec") or {}).get("devices") or ():
        for taint in device.get("taints") or ():
            taint.setdefault("timeAdded", api.now())


def date_new_taints(api: Api, resource_slice: Json, _old: Json) -> None:
    """So has one that is added later."""
    date_taints(api, resource_slice)


def prepare_attachment(_api: Api, attachment: Json) -> None:
    """A new attachment is not attached."""
    attachment["status"] = {"attached": False}
