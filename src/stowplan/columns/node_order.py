"""The order in which nodes are looked at: round-robin over zones, in each zone by arrival.

Upstream: pkg/scheduler/backend/cache/node_tree.go (v1.36.4).
"""

from collections.abc import Mapping
from itertools import zip_longest
from typing import Final, final

ZONE_KEYS: Final = ("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone")
REGION_KEYS: Final = ("failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region")


def zone_of(labels: Mapping[str, str]) -> tuple[str, str]:
    """Region and zone. A deprecated label that is present wins, even when it is empty."""
    region = next((labels[key] for key in REGION_KEYS if key in labels), "")
    zone = next((labels[key] for key in ZONE_KEYS if key in labels), "")
    return region, zone


@final
class NodeOrder:
    """Rows by zone. Zones come in the order in which they got their first node."""

    __slots__ = ("_zone_of_row", "_zones")

    def __init__(self) -> None:
        self._zones: dict[tuple[str, str], list[int]] = {}
        self._zone_of_row: dict[int, tuple[str, str]] = {}

    def place(self, row: int, labels: Mapping[str, str]) -> bool:
        """Put a row into its zone, at the end if it is new there. Says whether the order changed."""
        zone = zone_of(labels)
        old = self._zone_of_row.get(row)
        if old == zone:
            return False
        if old is not None:
            self.remove(row)
        self._zones.setdefault(zone, []).append(row)
        self._zone_of_row[row] = zone
        return True

    def remove(self, row: int) -> None:
        """Take a row out; a zone without rows loses its turn."""
        zone = self._zone_of_row.pop(row)
        rows = self._zones[zone]
        rows.remove(row)
        if not rows:
            del self._zones[zone]

    def rows(self) -> list[int]:
        """All rows, one of each zone in turn."""
        turns = zip_longest(*self._zones.values(), fillvalue=-1)
        return [row for turn in turns for row in turn if row >= 0]
