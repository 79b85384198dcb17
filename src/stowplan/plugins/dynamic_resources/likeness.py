"""Which devices are alike for one search: where one leads nowhere, another like it leads nowhere either.

Devices are alike when the same requests select them, the attributes that constraints speak of are the same, and they
are the same in all that is not a name or an attribute. Exchanging two of them turns a solution into a solution, so that
the first solution of a search stays the first. Upstream tries every device and gives up after ten seconds.
"""

from collections.abc import Callable, Hashable, Sequence
from typing import final

import msgspec

from stowplan.plugins.dynamic_resources.constraints import attribute_of, value_of
from stowplan.plugins.dynamic_resources.errors import AllocationError
from stowplan.plugins.dynamic_resources.pools import Candidate
from stowplan.plugins.dynamic_resources.requests import Wanted, WantedClaim

Selects = Callable[[WantedClaim, Wanted, Candidate], bool]


@final
class Likeness:
    """The kinds of devices, as one set of claims tells them apart."""

    def __init__(self, claims: Sequence[WantedClaim], selects: Selects) -> None:
        self._selects = selects
        self._wanted = [(claim, one) for claim in claims for alternatives in claim.requests for one in alternatives]
        constraints = [one for claim in claims for one in claim.claim.spec.devices.constraints]
        self._attributes = sorted({one.match_attribute for one in constraints if one.match_attribute is not None})
        # parity: which devices a distinct attribute lets in depends on the order in which they come
        self._tells_all_apart = any(one.distinct_attribute is not None for one in constraints)
        self._kinds: dict[int, Hashable] = {}

    def kind(self, candidate: Candidate) -> Hashable:
        """What devices like this one share; None for one that is like no other."""
        if self._tells_all_apart:
            return None
        if id(candidate) not in self._kinds:
            self._kinds[id(candidate)] = self._kind(candidate)
        return self._kinds[id(candidate)]

    def _kind(self, candidate: Candidate) -> Hashable:
        try:
            selected = tuple(self._selects(claim, wanted, candidate) for claim, wanted in self._wanted)
        except AllocationError:
            return None  # if the search comes to that question, it fails; it need not come to it
        device = candidate.device
        found = (attribute_of(candidate, name) for name in self._attributes)
        values = tuple(None if attribute is None else (value_of(attribute),) for attribute in found)
        rest = msgspec.json.encode(msgspec.structs.replace(device, name="", attributes={}), order="deterministic")
        return selected, values, rest, candidate.pool_id if device.consumes_counters else None
