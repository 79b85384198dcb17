"""How many replicas each ReplicaSet of a Deployment should have next: pure arithmetic.

Upstream: pkg/controller/deployment/rolling.go, sync.go scale, util/deployment_util.go (v1.36.4).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor
from typing import Any, final

from stowplan.sim.controllers.numbers import fenceposts

Json = dict[str, Any]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What a Deployment asks for."""

    replicas: int
    rolling: bool = True
    max_surge: int | str | None = None
    max_unavailable: int | str | None = None
    present: int = 0
    """Pods that its status counts, for sets that do not say how large it was."""

    @property
    def surge(self) -> int:
        """Pods that there may be beyond the wish."""
        return fenceposts(self.max_surge, self.max_unavailable, self.replicas)[0] if self.rolling else 0

    @property
    def unavailable(self) -> int:
        """Pods that may be missing from the wish."""
        if not self.rolling or self.replicas == 0:
            return 0
        return min(fenceposts(self.max_surge, self.max_unavailable, self.replicas)[1], self.replicas)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One ReplicaSet of a Deployment."""

    name: str
    replicas: int
    available: int = 0
    created: str = ""
    desired: int | None = None
    """The size of the Deployment when this set was last scaled, as its annotation says."""
    most: int | None = None
    """Desired and surge at that time."""


Sizes = dict[str, int]
"""New sizes of some parts, by name."""


def initial_size(wish: Wish, olds: Sequence[Part], new: Part | None = None) -> int:
    """How many replicas the newest set may have while the others have theirs."""
    present = new.replicas if new is not None else 0
    if not wish.rolling:
        return wish.replicas
    total = present + sum(old.replicas for old in olds)
    most = wish.replicas + wish.surge
    if total >= most:
        return present
    return present + min(most - total, wish.replicas - present)


def roll(wish: Wish, new: Part, olds: Sequence[Part]) -> Sizes:
    """The next step of a rolling update: grow the new, else shrink the old; nothing when it has to wait."""
    if new.replicas != wish.replicas:
        size = wish.replicas if new.replicas > wish.replicas else initial_size(wish, olds, new)
        if size != new.replicas:
            return {new.name: size}
    return _shrink_olds(wish, new, [old for old in olds if old.replicas > 0])


def _shrink_olds(wish: Wish, new: Part, olds: Sequence[Part]) -> Sizes:
    if not olds:
        return {}
    least = wish.replicas - wish.unavailable
    total = new.replicas + sum(old.replicas for old in olds)
    room = total - least - (new.replicas - new.available)
    if room <= 0:
        return {}
    oldest_first = sorted(olds, key=lambda old: (old.created, old.name))
    sizes = {old.name: old.replicas for old in oldest_first}
    # Pods that are not available are missed by nobody: they go first.
    for old in oldest_first:
        cut = min(room, old.replicas - old.available)
        if cut > 0:
            sizes[old.name] -= cut
            room -= cut
    spare = new.available + sum(min(old.available, sizes[old.name]) for old in olds) - least
    for old in oldest_first:
        cut = min(sizes[old.name], spare)
        if cut > 0:
            sizes[old.name] -= cut
            spare -= cut
    return {old.name: sizes[old.name] for old in olds if sizes[old.name] != old.replicas}


def is_scaled(wish: Wish, parts: Sequence[Part]) -> bool:
    """Whether the Deployment's size changed since its sets were last scaled."""
    return any(part.replicas > 0 and part.desired is not None and part.desired != wish.replicas for part in parts)


def scale(wish: Wish, new: Part | None, olds: Sequence[Part]) -> Sizes:
    """New sizes after the Deployment's size changed: all of it to the only active set, else in proportion."""
    parts = [*olds, *([new] if new is not None else [])]
    active = [part for part in parts if part.replicas > 0]
    if len(active) <= 1:
        only = active[0] if active else new or max(olds, key=lambda old: (old.created, old.name), default=None)
        return {only.name: wish.replicas} if only is not None and only.replicas != wish.replicas else {}
    if new is not None and new.replicas == new.available == wish.replicas and new.desired == wish.replicas:
        return {old.name: 0 for old in olds if old.replicas > 0}
    return _proportional(wish, active) if wish.rolling else {}


def _proportional(wish: Wish, active: Sequence[Part]) -> Sizes:
    allowed = wish.replicas + wish.surge if wish.replicas > 0 else 0
    change = allowed - sum(part.replicas for part in active)
    by_name = sorted(active, key=lambda part: part.name)
    by_age = sorted(by_name, key=lambda part: part.created, reverse=change > 0)
    largest_first = sorted(by_age, key=lambda part: part.replicas, reverse=True)
    sizes: Sizes = {}
    done = 0
    for part in largest_first:
        share = 0
        if change not in (0, done):
            fraction = _fraction(wish, part)
            share = min(fraction, change - done) if change > 0 else max(fraction, change - done)
        sizes[part.name] = part.replicas + share
        done += share
    first = largest_first[0].name
    sizes[first] = max(sizes[first] + change - done, 0)
    return sizes


def _fraction(wish: Wish, part: Part) -> int:
    if wish.replicas == 0:
        return -part.replicas
    before = part.most or wish.present
    if before == 0:
        return 0
    exact = part.replicas * (wish.replicas + wish.surge) / before
    return floor(exact + 0.5) - part.replicas  # parity: half goes up, sizes are never negative
