"""What is worked out once per attempt: the claims of the pod, and what of them has to be allocated."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from stowplan.api.node_selectors import NodeMatcher
from stowplan.api.pod import Pod
from stowplan.api.resource import AllocationResult, DeviceClass, ResourceClaim
from stowplan.plugins.dynamic_resources.extended import Variant, variant_for

Resources = frozenset[str]


@dataclass(slots=True, kw_only=True)
class Reservation:
    """What the chosen node gives to the claims that had to be allocated."""

    node_name: str
    allocations: dict[int, AllocationResult]
    """Position of a claim to its allocation."""
    variant: Variant | None


@dataclass(slots=True, kw_only=True)
class DevicePlan:
    """The claims of a pod. Binding replaces claims by what the API stored."""

    pod: Pod
    claims: list[ResourceClaim]
    """The user's claims, and last the one that stands for extended resources, if there is any."""
    users: int
    """How many of them are the user's."""
    resources: dict[str, int]
    """Extended resources that the pod asks for."""
    classes: dict[str, DeviceClass]
    """Extended resource to the class behind it."""
    matchers: dict[int, NodeMatcher]
    """Position of an allocated claim to where it can be used."""
    unready: tuple[int, ...]
    """Allocated claims whose devices will not get ready."""
    to_allocate: tuple[int, ...]
    initial_uid: str = ""
    """The uid of the extended claim before the API gave it one."""
    variants: dict[Resources, Variant] = field(default_factory=dict)
    scores: NDArray[np.int64] | None = None
    """Raw score by row of the node table."""
    reservation: Reservation | None = None

    @property
    def extended(self) -> ResourceClaim | None:
        """The claim that stands for extended resources."""
        return self.claims[self.users] if len(self.claims) > self.users else None

    @property
    def user_claims(self) -> Iterator[ResourceClaim]:
        """The user's claims."""
        return iter(self.claims[: self.users])

    @property
    def unavailable(self) -> tuple[int, ...]:
        """Allocated claims that some nodes cannot use."""
        return tuple(sorted({*self.matchers, *self.unready}))

    def variant(self, resources: Resources) -> Variant:
        """The extended claim for nodes where devices serve these resources."""
        assert self.extended is not None
        if resources not in self.variants:
            self.variants[resources] = variant_for(self.extended, self.pod, resources, self.classes)
        return self.variants[resources]

    def wanted(self, resources: Resources | None) -> tuple[ResourceClaim, ...]:
        """The claims to allocate on a kind of node."""
        return tuple(
            self.variant(resources).claim if i == self.users and resources is not None else self.claims[i]
            for i in self.to_allocate
        )
