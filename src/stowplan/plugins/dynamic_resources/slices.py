"""The index of slices: what has to be looked at for a node, followed as slices come and go.

Upstream: GatherPools in pools_incubating.go of
staging/src/k8s.io/dynamic-resource-allocation/structured/internal/incubating (v1.36.4).
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Self

from stowplan.api.resource import ResourceSlice
from stowplan.plugins.dynamic_resources.errors import AllocationError
from stowplan.plugins.dynamic_resources.features import Features
from stowplan.plugins.dynamic_resources.pools import (
    NodeIdentity,
    Pool,
    PoolId,
    build,
    has_conditions,
    keep_newest,
    relevant,
)


def pool_id_of(piece: ResourceSlice) -> PoolId:
    """Return the pool that a slice is of."""
    return piece.spec.driver, piece.spec.pool.name


@dataclass(slots=True)
class _Source:
    """All slices of one pool, and what was built of them."""

    pieces: list[ResourceSlice] = field(default_factory=list)
    generations: Counter[int] = field(default_factory=Counter)
    takes_counters: bool = False
    node_name: str | None = None
    """The node that all slices are for, None when there is no such node."""
    built: dict[tuple[int, ...], Pool] = field(default_factory=dict)
    elsewhere: Pool | None = None
    """What other nodes have to know of a pool of one node, because it is not whole."""

    def add(self, piece: ResourceSlice) -> None:
        spec = piece.spec
        self.node_name = spec.node_name if not self.pieces or self.node_name == spec.node_name else None
        self.pieces.append(piece)
        self.generations[spec.pool.generation] += 1
        self.takes_counters = (
            self.takes_counters
            or bool(spec.shared_counters)
            or any(device.consumes_counters for device in spec.devices)
        )

    @property
    def own(self) -> bool:
        """Whether what a node sees of the pool is of no concern to other nodes."""
        return all(piece.spec.node_name for piece in self.pieces) and (
            self.node_name is not None or not self.takes_counters
        )


class SliceIndex:
    """All slices, by what has to be looked at for a node and for a pool."""

    def __init__(self, slices: Iterable[ResourceSlice], features: Features, before: Self | None = None) -> None:
        self._features = features
        self._on_node: dict[str, list[ResourceSlice]] = {}
        self._shared: list[ResourceSlice] = []
        pieces = tuple(slices)
        self._sources = _sources_of(pieces)
        if before is not None:
            # what was built of slices that have not changed is used again, so that devices keep their identity
            for pool_id, source in self._sources.items():
                old = before._sources.get(pool_id)
                if old is not None and len(old.pieces) == len(source.pieces):
                    same = all(a is b for a, b in zip(old.pieces, source.pieces, strict=True))
                    source.built = old.built if same else source.built
        self._place(pieces)
        for pool_id, source in self._sources.items():
            source.elsewhere = self._bad_elsewhere(pool_id, source)
        self._bad = {pool_id: source for pool_id, source in self._sources.items() if source.elsewhere is not None}

    @property
    def concerns_all(self) -> bool:
        """Whether nodes without slices of their own have to look at anything."""
        return bool(self._shared or self._bad)

    @property
    def by_labels(self) -> bool:
        """Whether labels of nodes may matter."""
        return bool(self._shared)

    def has(self, node_name: str) -> bool:
        """Whether a node has slices of its own."""
        return node_name in self._on_node

    def is_own(self, pool: Pool) -> bool:
        """Whether only the node that sees the pool has to do with it."""
        return self._sources[pool.id].own

    def _place(self, pieces: Iterable[ResourceSlice]) -> None:
        with_counters: list[ResourceSlice] = []
        for piece in pieces:
            spec = piece.spec
            if not spec.node_name or spec.shared_counters:
                local = self._sources[pool_id_of(piece)].node_name is not None
                (with_counters if local else self._shared).append(piece)
            else:
                self._on_node.setdefault(spec.node_name, []).append(piece)
        for piece in with_counters:
            # parity: these come after the node's other slices, which matters when slices contradict each other
            self._on_node.setdefault(piece.spec.node_name or "", []).append(piece)

    def change(self, slices: Mapping[str, ResourceSlice], changed: Iterable[ResourceSlice]) -> set[str] | None:
        """Follow slices that came, went or changed; the nodes concerned, None when all may be."""
        pools = {pool_id_of(piece) for piece in changed}
        pieces = [piece for piece in slices.values() if pool_id_of(piece) in pools]
        sources = _sources_of(pieces)
        known = [self._sources[pool_id] for pool_id in pools if pool_id in self._sources]
        concerned = {source.node_name for source in (*known, *sources.values())}
        if None in concerned or any(pool_id in self._bad for pool_id in pools):
            return None
        for pool_id in pools:
            self._sources.pop(pool_id, None)
        self._sources.update(sources)
        for pool_id, source in sources.items():
            source.elsewhere = self._bad_elsewhere(pool_id, source)
            if source.elsewhere is not None:
                return None
        names = {name for name in concerned if name is not None}
        for name in names:
            kept = [piece for piece in self._on_node.pop(name, ()) if pool_id_of(piece) not in pools]
            if kept:
                self._on_node[name] = kept
        self._place(pieces)
        return names

    def _bad_elsewhere(self, pool_id: PoolId, source: _Source) -> Pool | None:
        # perf: upstream puts every pool with counters together for every node; sound ones have nothing for the others
        if source.node_name is None or not source.takes_counters or not self._features.partitionable_devices:
            return None
        newest: dict[PoolId, list[ResourceSlice]] = {}
        for piece in source.pieces:
            if piece.spec.shared_counters:
                keep_newest(newest, piece)
        pool = self._pool(pool_id, newest[pool_id]) if newest else None
        return pool if pool is not None and not pool.usable else None

    def gather(self, node: NodeIdentity) -> tuple[Pool, ...]:
        """Return the pools that a node reaches, in the order in which devices are tried."""
        newest: dict[PoolId, list[ResourceSlice]] = {}
        try:
            for piece in (*self._on_node.get(node.name, ()), *self._shared):
                if relevant(piece, node, self._features):
                    keep_newest(newest, piece)
        except AllocationError as error:
            raise AllocationError(f"gather pool information: {error}") from error
        pools = [pool for pool_id, pieces in newest.items() if (pool := self._pool(pool_id, pieces)) is not None]
        pools += [
            source.elsewhere
            for source in self._bad.values()
            if source.elsewhere is not None and source.node_name != node.name
        ]
        # parity: devices that have to be prepared before a pod is bound come last
        return tuple(sorted(pools, key=lambda pool: (has_conditions(pool), pool.id)))

    def _pool(self, pool_id: PoolId, pieces: list[ResourceSlice]) -> Pool | None:
        first, source = pieces[0].spec.pool, self._sources[pool_id]
        whole = len(pieces) == first.resource_slice_count
        if not whole:
            if max(source.generations) > first.generation:
                return None  # the node's slices are of a generation that is being replaced
            if source.generations[first.generation] != first.resource_slice_count:
                return Pool(id=pool_id, incomplete=True)
        key = tuple(sorted(map(id, pieces)))
        if key not in source.built:
            # only counters make devices matter that the node does not reach
            away = source.pieces if source.takes_counters and not whole else ()
            of_generation = [piece for piece in away if piece.spec.pool.generation == first.generation]
            source.built[key] = build(pool_id, pieces, of_generation, self._features)
        return source.built[key]


def _sources_of(pieces: Iterable[ResourceSlice]) -> dict[PoolId, _Source]:
    sources: dict[PoolId, _Source] = {}
    for piece in pieces:
        sources.setdefault(pool_id_of(piece), _Source()).add(piece)
    return sources
