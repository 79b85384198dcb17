"""Pools: the devices that a node can reach, put together from resource slices of the newest generation.

Upstream: staging/src/k8s.io/dynamic-resource-allocation/structured/internal/incubating/pools_incubating.go (v1.36.4).
"""

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


def relevant(piece: ResourceSlice, node: NodeIdentity, features: Features) -> bool:
    """Whether a node has to look at a slice."""
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


def keep_newest(newest: dict[PoolId, list[ResourceSlice]], piece: ResourceSlice) -> None:
    """Add a slice to its pool, unless newer ones are there; it replaces older ones."""
    pool_id = (piece.spec.driver, piece.spec.pool.name)
    known = newest.get(pool_id)
    if known is None or piece.spec.pool.generation > known[0].spec.pool.generation:
        newest[pool_id] = [piece]
    elif piece.spec.pool.generation == known[0].spec.pool.generation:
        known.append(piece)


def build(
    pool_id: PoolId, pieces: Sequence[ResourceSlice], everywhere: Sequence[ResourceSlice], features: Features
) -> Pool:
    """Put a pool together; one that contradicts itself comes without devices."""
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


def has_conditions(pool: Pool) -> bool:
    """Whether devices of the pool have to be made ready before pods are bound."""
    return any(candidate.device.binding_conditions for candidate in pool.candidates)
