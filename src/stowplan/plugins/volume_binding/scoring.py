"""Scoring: how full the storage that the pod would use on a node is, by the shape that the configuration gives.

Upstream: Score in pkg/scheduler/framework/plugins/volumebinding/volume_binding.go, scorer.go (v1.36.4).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from stowplan.api.claims import STORAGE, claim_class
from stowplan.api.quantity import value
from stowplan.framework.plugin_args import ShapePoint
from stowplan.framework.shape import FULL, score_of_percent
from stowplan.goarith import BoolN, IntN, round_half_away, to_int
from stowplan.plugins.volume_binding.capacities import NONE as NO_POOL
from stowplan.plugins.volume_binding.capacities import CapacityTable
from stowplan.plugins.volume_binding.finding import Dynamic, Found, Static
from stowplan.plugins.volume_binding.volumes import NONE, VolumeTable


@final
@dataclass(frozen=True, slots=True)
class Share:
    """Storage of one class along the rows: where it counts, what the pod asks for, what there is."""

    counts_n: BoolN
    requested_n: IntN
    capacity_n: IntN


Shares = dict[str, Share]


@final
class Scorer:
    """The mean over storage classes of a piecewise linear function of their used share."""

    __slots__ = ("_score_of",)

    def __init__(self, shape: Sequence[ShapePoint]) -> None:
        self._score_of = score_of_percent(shape)

    def score(self, found: Found, volumes: VolumeTable, pools: CapacityTable) -> IntN:
        """A score per row. Where some claim finds a volume, claims to be provisioned do not count."""
        n = len(found.missing_n)
        static_n: BoolN = np.zeros(n, np.bool_)
        for static in found.static:
            static_n |= static.slot_n != NONE
        shares: Shares = {}
        for static in found.static:
            _add_static(shares, static, volumes)
        dynamic: Shares = {}
        for provision in found.dynamic:
            _add_dynamic(dynamic, provision, ~static_n, pools)
        total_n: IntN = np.zeros(n, np.int64)
        classes_n: IntN = np.zeros(n, np.int64)
        for share in (*shares.values(), *dynamic.values()):
            total_n += np.where(share.counts_n, self._score_of[_percent(share)], 0)
            classes_n += share.counts_n
        return to_int(round_half_away(total_n / np.maximum(classes_n, 1)))


def _add_static(shares: Shares, static: Static, volumes: VolumeTable) -> None:
    asked = value(static.claim.spec.resources.requests.get(STORAGE, 0))
    class_n, capacity_n = volumes.offers(static.slot_n)
    for code in np.unique(class_n[static.slot_n != NONE]).tolist():
        share = _share(shares, volumes.class_name(code), len(class_n))
        here_n = (static.slot_n != NONE) & (class_n == code)
        share.counts_n[here_n] = True
        share.requested_n[here_n] += asked
        share.capacity_n[here_n] += capacity_n[here_n]


def _add_dynamic(shares: Shares, provision: Dynamic, counts_n: BoolN, pools: CapacityTable) -> None:
    here_n = provision.here_n & counts_n & (provision.pool_n != NO_POOL)
    if not here_n.any():
        return
    share = _share(shares, claim_class(provision.claim), len(here_n))
    share.counts_n[here_n] = True
    share.requested_n[here_n] += value(provision.claim.spec.resources.requests.get(STORAGE, 0))
    # parity: claims of one class share a pool, so its room is not added up
    share.capacity_n[here_n] = pools.room(provision.pool_n[here_n])


def _share(shares: Shares, class_name: str, n: int) -> Share:
    if class_name not in shares:
        shares[class_name] = Share(np.zeros(n, np.bool_), np.zeros(n, np.int64), np.zeros(n, np.int64))
    return shares[class_name]


def _percent(share: Share) -> IntN:
    full_n = (share.capacity_n == 0) | (share.requested_n > share.capacity_n)
    percent_n: IntN = share.requested_n * FULL // np.maximum(share.capacity_n, 1)
    return np.where(full_n, FULL, np.clip(percent_n, 0, FULL))
