"""The shapes of nodes: a number, or a file that describes pools."""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, final

import msgspec

from stowplan.api.documents import load_documents
from stowplan.api.errors import DocumentError, QuantityError, SelectorError
from stowplan.api.quantity import milli_value, parse
from stowplan.api.selectors import Operator, requirement
from stowplan.sim.cluster.pace import Pace, read_pace

Json = dict[str, Any]
Amount = str | int | float

MOST_NODES = 100_000
EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
DEFAULT_CAPACITY: dict[str, Amount] = {"cpu": "16", "memory": "64Gi", "ephemeral-storage": "200Gi", "pods": "110"}
DEFAULT_ZONES = ("zone-a", "zone-b", "zone-c")
_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?", re.ASCII)
_PREFIX = re.compile(r"[a-z0-9][-a-z0-9.]*", re.ASCII)
LONGEST_NAME = 63
FILE_ENDINGS = (".yaml", ".yml", ".json")


class PoolsError(Exception):
    """Raised when nodes are asked for in a way that cannot be read; the text names the file and the place."""


class TaintShape(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A taint of every node of a pool."""

    key: str
    effect: str
    value: str = ""


class Devices(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Devices that every node of a pool offers through a ResourceSlice."""

    driver: str
    count: int
    attributes: dict[str, str | bool | int] = {}
    capacity: dict[str, Amount] = {}


class Pool(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Nodes of one shape."""

    name: str
    count: int
    prefix: str = ""
    zones: tuple[str, ...] = DEFAULT_ZONES
    region: str = "region-1"
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    taints: tuple[TaintShape, ...] = ()
    capacity: dict[str, Amount] = {}
    allocatable: dict[str, Amount] = {}
    devices: tuple[Devices, ...] = ()

    def node_name(self, index: int) -> str:
        """The name of one node; names of a pool sort in their order."""
        digits = len(str(max(self.count - 1, 0)))
        return f"{self.prefix or self.name + '-'}{index:0{digits}d}"


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pools: tuple[Pool, ...]
    delays: dict[str, Any] = {}


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What a cluster is to look like."""

    pools: tuple[Pool, ...]
    pace: Pace = field(default_factory=Pace)

    @property
    def nodes(self) -> int:
        """How many nodes there are in all pools."""
        return sum(pool.count for pool in self.pools)


def read_shape(nodes: str) -> Shape:
    """The shape behind `--nodes`: a number of equal nodes, or a file."""
    if nodes.isascii() and nodes.isdecimal():
        return plain_shape(int(nodes))
    path = Path(nodes)
    if path.suffix not in FILE_ENDINGS and not path.exists():
        raise PoolsError(f"--nodes {nodes}: neither a number nor a file that is there")
    return read_file(path)


def plain_shape(count: int) -> Shape:
    """Equal nodes in three zones."""
    if count > MOST_NODES:
        raise PoolsError(f"--nodes {count}: at most {MOST_NODES} nodes can be simulated")
    return Shape(pools=(Pool("default", count, prefix="node-"),))


def read_file(path: Path) -> Shape:
    """Pools of a YAML or JSON file."""
    try:
        documents = list(load_documents(path.read_bytes(), str(path)))
    except OSError as error:
        raise PoolsError(f"{path}: {error.strerror}") from None
    except DocumentError as error:
        raise PoolsError(str(error)) from None
    if len(documents) != 1:
        raise PoolsError(f"{path}: one document with `pools` is wanted, found {len(documents)}")
    try:
        content = msgspec.convert(documents[0][1], _File)
        pace = _read_delays(content.delays)
        _check(content.pools)
    except (msgspec.ValidationError, ValueError) as error:
        raise PoolsError(f"{path}: {_placed(str(error))}") from None
    return Shape(pools=content.pools, pace=pace)


def _read_delays(delays: dict[str, Any]) -> Pace:
    try:
        return read_pace(delays)
    except ValueError as error:
        raise ValueError(f"delays: {error}") from None


def _placed(text: str) -> str:
    """msgspec's text with the place in front."""
    what, _, place = text.partition(" - at `$")
    place = place.rstrip("`").lstrip(".")
    return f"{place}: {what}" if place else what


def _check(pools: tuple[Pool, ...]) -> None:
    if sum(max(pool.count, 0) for pool in pools) > MOST_NODES:
        raise ValueError(f"pools: at most {MOST_NODES} nodes can be simulated")
    names: dict[str, int] = {}
    for number, pool in enumerate(pools):
        try:
            _check_pool(pool)
            for index in range(pool.count):
                other = names.setdefault(pool.node_name(index), number)
                if other != number:
                    raise ValueError(f"name: the node {pool.node_name(index)!r} is in pools[{other}] already")
        except ValueError as error:
            raise ValueError(f"pools[{number}].{error}") from None


def _check_pool(pool: Pool) -> None:
    if pool.count < 0:
        raise ValueError(f"count: {pool.count} is less than 0")
    if not _NAME.fullmatch(pool.name):
        raise ValueError(f"name: {pool.name!r} is not a name of lower-case letters, digits, '-' and '.'")
    if pool.prefix and not _PREFIX.fullmatch(pool.prefix):
        raise ValueError(f"prefix: {pool.prefix!r} is not made of lower-case letters, digits, '-' and '.'")
    if len(pool.node_name(0)) > LONGEST_NAME:
        raise ValueError(f"name: node names such as {pool.node_name(0)!r} are longer than {LONGEST_NAME} letters")
    _check_labels(pool)
    for index, taint in enumerate(pool.taints):
        if taint.effect not in EFFECTS:
            raise ValueError(f"taints[{index}].effect: {taint.effect!r} is not one of {', '.join(EFFECTS)}")
        _check_label(f"taints[{index}]", taint.key, taint.value)
    for part, amounts in (("capacity", pool.capacity), ("allocatable", pool.allocatable)):
        _check_amounts(part, amounts)
    for index, devices in enumerate(pool.devices):
        if not 0 <= devices.count <= 128:
            raise ValueError(f"devices[{index}].count: {devices.count} is not between 0 and 128")
        _check_amounts(f"devices[{index}].capacity", devices.capacity)


def _check_labels(pool: Pool) -> None:
    for key, value in pool.labels.items():
        _check_label("labels", key, value)
    for index, zone in enumerate(pool.zones):
        _check_label(f"zones[{index}]", "zone", zone)
    _check_label("region", "region", pool.region)


def _check_label(place: str, key: str, value: str) -> None:
    try:
        requirement(key, Operator.IN, (value,))
    except SelectorError as error:
        raise ValueError(f"{place}: {key}={value}: {error}") from None


def _check_amounts(place: str, amounts: dict[str, Amount]) -> None:
    for name, amount in amounts.items():
        try:
            parse(amount)
            negative = milli_value(amount) < 0
        except QuantityError as error:
            raise ValueError(f"{place}.{name}: {error}") from None
        if negative:
            raise ValueError(f"{place}.{name}: {amount} is less than 0")
