"""Pools: the devices that a node can reach, put together from resource slices of the newest generation.

Upstream: staging/src/k8s.io/dynamic-resource-allocation/structured/internal/incubating/pools_incubating.go (v1.36.4).
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from stowplan.api.affinity import NodeSelector
from stowplan.api.node_selectors import NodeMatcher, compile_node_selector
from stowplan.api.quantity import nano_value
from stowplan.api.resource import Device, ResourceSlice
from stowplan.plugins.dynamic_resources.errors import AllocationError
from stowplan.plugins.dynamic_resources.features import Features

DeviceId = tuple[str, str, str]
"""Driver, pool, device."""
PoolId = tuple[str, str]
"""Driver, pool."""
CounterSets = Mapping[str, Mapping[str, int]]
"""Counters in billionths, by counter set and name."""

NO_COUNTERS: Final[CounterSets] = {}


def device_text(device: DeviceId) -> str:
    """Return a device as messages name it."""
    return "/".join(device)


@dataclass(frozen=True, slots=True)
class NodeIdentity:
    """What of a node decides which devices it reaches."""

    name: str
    labels: Mapping[str, str]


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A device in a pool."""

    id: DeviceId
    device: Device
    slice: ResourceSlice

    @property
    def pool_id(self) -> PoolId:
        """The pool that the device is in."""
        return self.id[:2]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pool:
    """The devices of one pool as one node sees them; an incomplete or invalid pool has none."""

    id: PoolId
    incomplete: bool = False
    invalid: str = ""
    candidates: tuple[Candidate, ...] = ()
    elsewhere: tuple[Candidate, ...] = ()
    """Devices that the node does not reach but that take from the pool's counters."""
    counters: CounterSets = field(default_factory=dict)

    @property
    def usable(self) -> bool:
        """Whether devices can be allocated from the pool."""
        return not self.incomplete and not self.invalid


@lru_cache(maxsize=4096)
def _compiled(selector: NodeSelector) -> NodeMatcher:
    return compile_node_selector(selector)


def reaches(node: NodeIdentity, node_name: str | None, all_nodes: bool | None, selector: NodeSelector | None) -> bool:
    """Whether devices with this node selection are within reach of a node."""
    if node_name:
        return node.name == node_name
    if all_nodes:
        return True
    if selector is None:
        return False
    matcher = _compiled(selector)
    if matcher.error is not None:
        raise AllocationError(f"failed to parse node selector: {matcher.error}")
    return matcher.matches(node.labels, node.name)


def device_reaches(node: NodeIdentity, device: Device) -> bool:
    """Whether a device with a node selection of its own is within reach of a node."""
    return reaches(node, device.node_name, device.all_nodes, device.node_selector)


def _relevant(piece: ResourceSlice, node: NodeIdentity, features: Features) -> bool:
    spec = piece.spec
    if not features.partitionable_devices and (spec.per_device_node_selection is not None or spec.shared_counters):
        return False
    if spec.shared_counters:
        return True  # counters are needed wherever the pool is used
    try:
        if spec.node_name or spec.all_nodes or spec.node_selector is not None:
            return reaches(node, spec.node_name, spec.all_nodes, spec.node_selector)
    except AllocationError as error:
        raise AllocationError(f"failed to perform node selection for slice {piece.name}: {error}") from error
    if not spec.per_device_node_selection:
        return False
    for device in spec.devices:
        try:
            if device_reaches(node, device):
                return True
        except AllocationError as error:
            told = f"failed to perform node selection for device {device.name} in slice {piece.name}: {error}"
            raise AllocationError(told) from error
    return False


@dataclass(slots=True)
class _Source:
    """All slices of one pool."""

    pieces: list[ResourceSlice] = field(default_factory=list)
    generations: Counter[int] = field(default_factory=Counter)
    takes_counters: bool = False
    node_name: str | None = None
    """The node that all slices are for, None when there is no such node."""

    def add(self, piece: ResourceSlice) -> None:
        spec = piece.spec
        self.node_name = spec.node_name if not self.pieces or self.node_name == spec.node_name else None
        self.pieces.append(piece)
        self.generations[spec.pool.generation] += 1
        self.takes_counters |= bool(spec.shared_counters) or any(device.consumes_counters for device in spec.devices)

    def everywhere(self, generation: int) -> list[ResourceSlice]:
        """Return the slices of a generation, wherever they are for."""
        return [piece for piece in self.pieces if piece.spec.pool.generation == generation]


class SliceIndex:
    """All slices, by what has to be looked at for a node and for a pool."""

    def __init__(self, slices: Iterable[ResourceSlice], features: Features) -> None:
        self.on_node: dict[str, list[ResourceSlice]] = {}
        self.shared: list[ResourceSlice] = []
        self._features = features
        self._sources: dict[PoolId, _Source] = {}
        self._built: dict[tuple[PoolId, tuple[int, ...]], Pool] = {}
        pieces = tuple(slices)
        for piece in pieces:
            self._sources.setdefault((piece.spec.driver, piece.spec.pool.name), _Source()).add(piece)
        with_counters: list[ResourceSlice] = []
        for piece in pieces:
            spec = piece.spec
            if not spec.node_name or spec.shared_counters:
                local = self._sources[spec.driver, spec.pool.name].node_name is not None
                (with_counters if local else self.shared).append(piece)
            else:
                self.on_node.setdefault(spec.node_name, []).append(piece)
        for piece in with_counters:
            # parity: these come after the node's other slices, which matters when slices contradict each other
            self.on_node.setdefault(piece.spec.node_name or "", []).append(piece)
        self._bad_elsewhere = tuple(self._find_bad_elsewhere())

    def _find_bad_elsewhere(self) -> Iterator[tuple[str, Pool]]:
        """Yield the pools of single nodes that other nodes too have to know of, because they are not whole."""
        # perf: upstream puts every pool with counters together for every node; sound ones have nothing for the others
        for pool_id, source in self._sources.items():
            with_counters = [piece for piece in source.pieces if piece.spec.shared_counters]
            if source.node_name is None or not with_counters or not self._features.partitionable_devices:
                continue
            newest: dict[PoolId, list[ResourceSlice]] = {}
            for piece in with_counters:
                _keep_newest(newest, piece)
            pool = self._pool(pool_id, newest[pool_id])
            if pool is not None and not pool.usable:
                yield source.node_name, pool

    @property
    def bad_elsewhere_mark(self) -> tuple[object, ...]:
        """What the pools that all nodes have to know of were put together from."""
        return tuple((owner, pool.id, pool.incomplete) for owner, pool in self._bad_elsewhere)

    def mark(self, node: NodeIdentity) -> tuple[object, ...]:
        """Return what the pools of a node were put together from, apart from the slices that all nodes share."""
        return tuple(
            (piece, tuple(self._sources[piece.spec.driver, piece.spec.pool.name].generations.items()))
            for piece in self.on_node.get(node.name, ())
        )

    def gather(self, node: NodeIdentity) -> tuple[Pool, ...]:
        """Return the pools that a node reaches, in the order in which devices are tried."""
        newest: dict[PoolId, list[ResourceSlice]] = {}
        try:
            for piece in (*self.on_node.get(node.name, ()), *self.shared):
                if _relevant(piece, node, self._features):
                    _keep_newest(newest, piece)
        except AllocationError as error:
            raise AllocationError(f"gather pool information: {error}") from error
        pools = [pool for pool_id, pieces in newest.items() if (pool := self._pool(pool_id, pieces)) is not None]
        pools += [pool for owner, pool in self._bad_elsewhere if owner != node.name]
        # parity: devices that have to be prepared before a pod is bound come last
        return tuple(sorted(pools, key=lambda pool: (_has_conditions(pool), pool.id)))

    def _pool(self, pool_id: PoolId, pieces: list[ResourceSlice]) -> Pool | None:
        first, source = pieces[0].spec.pool, self._sources[pool_id]
        whole = len(pieces) == first.resource_slice_count
        if not whole:
            if max(source.generations) > first.generation:
                return None  # the node's slices are of a generation that is being replaced
            if source.generations[first.generation] != first.resource_slice_count:
                return Pool(id=pool_id, incomplete=True)
        key = (pool_id, tuple(sorted(map(id, pieces))))
        if key not in self._built:
            # only counters make devices matter that the node does not reach
            away = source.everywhere(first.generation) if source.takes_counters and not whole else []
            self._built[key] = _build(pool_id, pieces, away, self._features)
        return self._built[key]


def _keep_newest(newest: dict[PoolId, list[ResourceSlice]], piece: ResourceSlice) -> None:
    pool_id = (piece.spec.driver, piece.spec.pool.name)
    known = newest.get(pool_id)
    if known is None or piece.spec.pool.generation > known[0].spec.pool.generation:
        newest[pool_id] = [piece]
    elif piece.spec.pool.generation == known[0].spec.pool.generation:
        known.append(piece)


def _build(
    pool_id: PoolId, pieces: Sequence[ResourceSlice], everywhere: Sequence[ResourceSlice], features: Features
) -> Pool:
    ordered = sorted(pieces, key=lambda piece: piece.name)
    partitionable = features.partitionable_devices
    here = [piece for piece in ordered if not (partitionable and piece.spec.shared_counters)]
    names = [piece.name for piece in ordered]
    away = [piece for piece in everywhere if piece.name not in names] if partitionable else []
    counters: CounterSets = NO_COUNTERS
    try:
        _check_device_names(here)
        if partitionable:
            counters = _counters(piece for piece in ordered if piece.spec.shared_counters)
            _check_consumption(counters, ordered)
            _check_consumption(counters, away)
    except _InvalidPoolError as error:
        return Pool(id=pool_id, invalid=str(error))
    return Pool(id=pool_id, candidates=tuple(_candidates(here)), elsewhere=tuple(_candidates(away)), counters=counters)


class _InvalidPoolError(Exception):
    """Raised when the slices of a pool contradict each other."""


def _candidates(pieces: Iterable[ResourceSlice]) -> Iterator[Candidate]:
    for piece in pieces:
        driver, pool = piece.spec.driver, piece.spec.pool.name
        for device in piece.spec.devices:
            yield Candidate((driver, pool, device.name), device, piece)


def _check_device_names(pieces: Iterable[ResourceSlice]) -> None:
    seen: set[str] = set()
    for piece in pieces:
        for device in piece.spec.devices:
            if device.name in seen:
                raise _InvalidPoolError(f"duplicate device name {device.name}")
            seen.add(device.name)


def _counters(pieces: Iterable[ResourceSlice]) -> CounterSets:
    sets: dict[str, dict[str, int]] = {}
    for piece in pieces:
        for counter_set in piece.spec.shared_counters:
            if counter_set.name in sets:
                raise _InvalidPoolError(f"duplicate counter set name {counter_set.name}")
            sets[counter_set.name] = {name: nano_value(held.value) for name, held in counter_set.counters.items()}
    return sets


def _check_consumption(counters: CounterSets, pieces: Iterable[ResourceSlice]) -> None:
    for piece in pieces:
        for device in piece.spec.devices:
            for taken in device.consumes_counters:
                held = counters.get(taken.counter_set)
                if held is None:
                    raise _InvalidPoolError(f"counter set {taken.counter_set} not found")
                for name in taken.counters:
                    if name not in held:
                        raise _InvalidPoolError(f"counter {name} not found in counter set {taken.counter_set}")


def _has_conditions(pool: Pool) -> bool:
    return any(candidate.device.binding_conditions for candidate in pool.candidates)
