"""Signatures: nodes that look the same to some claims get the same number, so that one search speaks for all of them.

Whether claims can be satisfied depends on which requests select a device, what it is used for, tolerated taints,
constrained attributes, capacities and counters, not on names. In the few cases where the order of devices matters too,
it goes into the number.
"""

from collections.abc import Callable, Sequence
from typing import Final, final

import msgspec
import numpy as np

from stowplan.api.resource import DeviceToleration
from stowplan.plugins.dynamic_resources.constraints import attribute_of, value_of
from stowplan.plugins.dynamic_resources.errors import AllocationError
from stowplan.plugins.dynamic_resources.fleet import Codes, Fleet, HashN
from stowplan.plugins.dynamic_resources.matching import Matcher
from stowplan.plugins.dynamic_resources.pools import Candidate
from stowplan.plugins.dynamic_resources.requests import ALL, Wanted, WantedClaim, keeps_off

MOST_COLUMNS: Final = 512
NO, YES, UNKNOWN = 0, 1, 2
ENCODER: Final = msgspec.json.Encoder(order="deterministic")
NO_DEVICES: Final[HashN] = np.zeros(0, np.uint64)
STEP: Final = np.uint64(0x9E3779B97F4A7C15)


def mix(value_n: HashN) -> HashN:
    """Scatter numbers over 64 bits (the finalizer of SplitMix64), so that sums of them tell multisets apart."""
    value_n = (value_n ^ (value_n >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value_n = (value_n ^ (value_n >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed_n: HashN = value_n ^ (value_n >> np.uint64(31))
    return mixed_n


@final
class Signatures:
    """Keeps what requests say of devices as columns, and sums them up per node."""

    def __init__(self) -> None:
        self._columns: dict[object, tuple[HashN, Callable[[Candidate], int]]] = {}
        self._codes: dict[object, Codes] = {}
        self._epoch = -1
        self._candidates: list[Candidate] = []

    def of_nodes(self, fleet: Fleet, claims: Sequence[WantedClaim], matcher: Matcher) -> HashN:
        """Return a number per row of the node table, and one at the end that is for nobody."""
        self._follow(fleet)
        common_n = fleet.common_n + (np.uint64(fleet.common_version) << np.uint64(32))
        signature_n: HashN = mix(common_n) * (fleet.common_n != 0)
        if not fleet.candidates:
            return signature_n
        requests = [(claim, wanted) for claim in claims for alternatives in claim.requests for wanted in alternatives]
        selected = [self._selected(fleet, claim, wanted, matcher) for claim, wanted in requests]
        matters_d = np.logical_or.reduce([column != NO for column in selected])
        ordered = _order_matters(claims) or any(bool((column == UNKNOWN).any()) for column in selected)
        code_d = mix(fleet.use_d + STEP)
        for column in (*selected, *self._other_columns(fleet, claims, [wanted for _, wanted in requests])):
            code_d = mix(code_d + STEP ^ column)
        if ordered:
            code_d = mix(code_d + STEP ^ fleet.place_d)
        code_p = np.add.reduceat(code_d * matters_d, fleet.pool_start_p)
        if len(fleet.counted):
            code_p[fleet.counted] = mix(code_p[fleet.counted] + STEP ^ mix(fleet.left_codes))
        np.add.at(signature_n, fleet.pool_row_p, code_p)
        if ordered:
            rows = np.flatnonzero(fleet.mixed_n)
            signature_n[rows] += mix(rows.astype(np.uint64))
        return signature_n

    def _follow(self, fleet: Fleet) -> None:
        """Carry columns over to the devices that are still there."""
        if self._epoch == fleet.epoch:
            return
        places = {id(candidate): at for at, candidate in enumerate(self._candidates)}
        before = np.array([places.get(id(candidate), -1) for candidate in fleet.candidates], np.int64)
        for key, (column, of) in self._columns.items():
            known = (before >= 0) & (before < len(column))
            carried: HashN = np.zeros(len(fleet.candidates), np.uint64)
            carried[known] = column[before[known]]
            for at in np.flatnonzero(~known).tolist():
                carried[at] = of(fleet.candidates[at])
            self._columns[key] = (carried, of)
        self._epoch, self._candidates = fleet.epoch, fleet.candidates

    def _column(self, fleet: Fleet, key: object, of: Callable[[Candidate], int]) -> HashN:
        column, known_of = self._columns.pop(key, (NO_DEVICES, of))
        if len(column) < len(fleet.candidates):
            more = fleet.candidates[len(column) :]
            column = np.concatenate([column, np.fromiter(map(known_of, more), np.uint64, len(more))])
        self._columns[key] = (column, known_of)
        if len(self._columns) > MOST_COLUMNS:
            del self._columns[next(iter(self._columns))]
        return column

    def _selected(self, fleet: Fleet, claim: WantedClaim, wanted: Wanted, matcher: Matcher) -> HashN:
        def says(candidate: Candidate) -> int:
            try:
                return YES if matcher.selects(claim.claim, wanted, candidate) else NO
            except AllocationError:
                return UNKNOWN

        return self._column(fleet, ("selected", wanted.device_class.spec.selectors, wanted.selectors), says)

    def _other_columns(self, fleet: Fleet, claims: Sequence[WantedClaim], requests: Sequence[Wanted]) -> list[HashN]:
        columns = []
        if self._column(fleet, "tainted", lambda c: bool(c.device.taints)).any():
            different = dict.fromkeys(wanted.tolerations for wanted in requests)
            columns += [self._column(fleet, ("kept off", some), _kept_off(some)) for some in different]
        for claim in claims:
            for constraint in claim.claim.spec.devices.constraints:
                name = constraint.match_attribute or constraint.distinct_attribute or ""
                columns.append(self._column(fleet, ("attribute", name), self._attribute(name)))
        if any(wanted.capacity for wanted in requests) or self._column(fleet, "policies", _has_policies).any():
            columns.append(self._column(fleet, "capacity", self._coded("capacity", _capacity)))
        if self._column(fleet, "takes counters", lambda c: bool(c.device.consumes_counters)).any():
            columns.append(self._column(fleet, "counters", self._coded("counters", _counters)))
        return columns

    def _attribute(self, name: str) -> Callable[[Candidate], int]:
        def value(candidate: Candidate) -> object:
            attribute = attribute_of(candidate, name)
            return None if attribute is None else (value_of(attribute),)

        return self._coded("attributes", value)

    def _coded(self, group: str, of: Callable[[Candidate], object]) -> Callable[[Candidate], int]:
        codes = self._codes.setdefault(group, Codes())
        return lambda candidate: codes.of(of(candidate))


def _order_matters(claims: Sequence[WantedClaim]) -> bool:
    """Whether the outcome may depend on the order of devices, and not only on which there are."""
    # which of several alternatives is taken, and so the score, hangs on what the requests before it took first
    alternative = any(len(alternatives) > 1 for claim in claims for alternatives in claim.requests)
    constrained = any(claim.claim.spec.devices.constraints for claim in claims)
    takes_all = any(
        wanted.mode == ALL for claim in claims for alternatives in claim.requests for wanted in alternatives
    )
    distinct = any(
        constraint.distinct_attribute is not None
        for claim in claims
        for constraint in claim.claim.spec.devices.constraints
    )
    return distinct or alternative or (constrained and takes_all)


def _kept_off(tolerations: tuple[DeviceToleration, ...]) -> Callable[[Candidate], int]:
    return lambda candidate: keeps_off(candidate.device.taints, tolerations)


def _has_policies(candidate: Candidate) -> int:
    device = candidate.device
    return bool(device.allow_multiple_allocations) or any(held.request_policy for held in device.capacity.values())


def _capacity(candidate: Candidate) -> object:
    device = candidate.device
    return (bool(device.allow_multiple_allocations), ENCODER.encode(device.capacity))


def _counters(candidate: Candidate) -> object:
    return ENCODER.encode(candidate.device.consumes_counters)
