"""Which volume suits a claim: the smallest that is large enough and right in everything else.

Upstream: component-helpers/storage/volume/pv_helpers.go FindMatchingVolume (v1.36.4).
"""

from collections.abc import Iterable
from typing import Any

from stowplan.api.errors import QuantityError
from stowplan.api.quantity import value
from stowplan.sim.cluster.objects import (
    is_deleting,
    labels_of,
    name_of,
    namespace_of,
    selector_of,
    spec_of,
    status_of,
    uid_of,
)

Json = dict[str, Any]


def size_of(spec: Json) -> int:
    """The storage that a claim asks for, or that a volume has."""
    amounts = spec.get("capacity") or (spec.get("resources") or {}).get("requests") or {}
    try:
        return value(amounts.get("storage", "0"))
    except QuantityError:
        return 0


def names_claim(volume: Json, claim: Json) -> bool:
    """Whether a volume is bound to, or set aside for, this claim."""
    reference = spec_of(volume).get("claimRef") or {}
    same = reference.get("name") == name_of(claim) and reference.get("namespace") == namespace_of(claim)
    return same and reference.get("uid") in (None, "", uid_of(claim))


def best_volume(volumes: Iterable[Json], claim: Json) -> Json | None:
    """The volume to bind a claim to; one that is set aside for it comes first."""
    spec = spec_of(claim)
    asked = size_of(spec)
    selector = selector_of(spec["selector"]) if spec.get("selector") else None
    fitting: list[tuple[int, str, Json]] = []
    for volume in volumes:
        if is_deleting(volume) or not _suits(volume, spec) or size_of(spec_of(volume)) < asked:
            continue
        if names_claim(volume, claim):
            return volume
        taken = spec_of(volume).get("claimRef") or status_of(volume).get("phase") != "Available"
        if not taken and (selector is None or selector.matches(labels_of(volume))):
            fitting.append((size_of(spec_of(volume)), name_of(volume), volume))
    return min(fitting, default=(0, "", None), key=lambda one: one[:2])[2]


def _suits(volume: Json, wanted: Json) -> bool:
    spec = spec_of(volume)
    same_class = (spec.get("storageClassName") or "") == (wanted.get("storageClassName") or "")
    same_mode = spec.get("volumeMode", "Filesystem") == wanted.get("volumeMode", "Filesystem")
    modes = set(wanted.get("accessModes") or ()) <= set(spec.get("accessModes") or ())
    same_attributes = (spec.get("volumeAttributesClassName") or "") == (wanted.get("volumeAttributesClassName") or "")
    return same_class and same_mode and modes and same_attributes
