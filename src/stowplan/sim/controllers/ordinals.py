"""What a StatefulSet does next: pure, from the state of its pods by ordinal.

Upstream: pkg/controller/statefulset/stateful_set_control.go updateStatefulSet (v1.36.4).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import final


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Ordered:
    """What the set asks for."""

    replicas: int
    start: int = 0
    parallel: bool = False
    on_delete: bool = False
    partition: int = 0
    max_unavailable: int = 1

    @property
    def range(self) -> range:
        """The ordinals that there should be."""
        return range(self.start, self.start + self.replicas)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A pod of the set."""

    available: bool = True
    terminating: bool = False
    finished: bool = False
    updated: bool = True
    """Whether it is of the newest revision."""

    @property
    def healthy(self) -> bool:
        """Whether others need not wait for it."""
        return self.available and not self.terminating


@final
@dataclass(frozen=True, slots=True)
class Moves:
    """Ordinals to create and to delete now."""

    create: list[int] = field(default_factory=list)
    delete: list[int] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.create or self.delete)


def next_moves(wish: Ordered, places: Mapping[int, Place]) -> Moves:
    """The next moves; none while there is something to wait for."""
    moves = Moves()
    if not _fill(wish, places, moves):
        return moves
    if not _shrink(wish, places, moves):
        return moves
    if not wish.on_delete:
        _update(wish, places, moves)
    return moves


def _fill(wish: Ordered, places: Mapping[int, Place], moves: Moves) -> bool:
    """Create what is missing; whether the set may go on after that."""
    for ordinal in wish.range:
        place = places.get(ordinal)
        if place is None:
            moves.create.append(ordinal)
        elif place.finished:
            if not place.terminating:
                moves.delete.append(ordinal)
        elif place.healthy:
            continue
        if not wish.parallel:
            return False
    return not moves


def _shrink(wish: Ordered, places: Mapping[int, Place], moves: Moves) -> bool:
    """Delete what is too much, the highest first."""
    condemned = sorted((ordinal for ordinal in places if ordinal not in wish.range), reverse=True)
    if wish.parallel:
        moves.delete.extend(ordinal for ordinal in condemned if not places[ordinal].terminating)
        return not moves
    present = [ordinal for ordinal in wish.range if ordinal in places] + condemned[::-1]
    first_sick = next((ordinal for ordinal in present if not places[ordinal].healthy), None)
    for ordinal in condemned:
        place = places[ordinal]
        if not place.terminating and (place.available or ordinal == first_sick):
            moves.delete.append(ordinal)
        return False
    return True


def _update(wish: Ordered, places: Mapping[int, Place], moves: Moves) -> None:
    """Replace old pods from the highest ordinal down to the partition, few at a time."""
    # The partition is an ordinal counted from the start; lower ones stay as they are.
    old = [
        ordinal
        for ordinal in reversed(wish.range)
        if ordinal - wish.start >= wish.partition and ordinal in places and not places[ordinal].updated
    ]
    sick = [ordinal for ordinal in wish.range if ordinal not in places or not places[ordinal].healthy]
    room = wish.max_unavailable - len(sick)
    for ordinal in old:
        place = places[ordinal]
        if place.terminating:
            continue
        if not place.available:
            # It is missed already: to replace it costs nothing.
            moves.delete.append(ordinal)
        elif room > 0:
            moves.delete.append(ordinal)
            room -= 1
