"""Who belongs to whom, over all kinds: owners and dependents by uid.

Upstream: pkg/controller/garbagecollector/graph.go (v1.36.4).
"""

from dataclasses import dataclass, field
from typing import Any, final

from stowplan.api.meta import ObjectMeta, OwnerReference
from stowplan.client.paths import Resource

Json = dict[str, Any]

FOREGROUND = "foregroundDeletion"
ORPHAN = "orphan"


@final
@dataclass(frozen=True, slots=True)
class Member:
    """One object, as far as it matters here."""

    resource: Resource
    meta: ObjectMeta

    @property
    def deleting(self) -> bool:
        """Whether the object is on its way out."""
        return self.meta.deletion_timestamp is not None

    @property
    def waits_for_dependents(self) -> bool:
        """Whether the object goes when the last of its dependents has gone."""
        return self.deleting and FOREGROUND in self.meta.finalizers

    @property
    def leaves_orphans(self) -> bool:
        """Whether the object goes when its dependents no longer name it."""
        return self.deleting and ORPHAN in self.meta.finalizers

    def reference_to(self, uid: str) -> OwnerReference | None:
        """How this object names an owner."""
        return next((owner for owner in self.meta.owner_references if owner.uid == uid), None)


@final
@dataclass(slots=True)
class Family:
    """All objects by uid, and the dependents of each, whether or not it is there."""

    members: dict[str, Member] = field(default_factory=dict)
    _dependents: dict[str, set[str]] = field(default_factory=dict)

    def put(self, member: Member) -> None:
        """Take in the present state of an object."""
        uid = member.meta.uid
        known = self.members.get(uid)
        if known is not None and known.meta.owner_references != member.meta.owner_references:
            self._detach(known)
        self.members[uid] = member
        for owner in member.meta.owner_references:
            self._dependents.setdefault(owner.uid, set()).add(uid)

    def drop(self, uid: str) -> Member | None:
        """Forget an object; what it was."""
        known = self.members.pop(uid, None)
        if known is not None:
            self._detach(known)
        return known

    def dependents(self, uid: str) -> list[Member]:
        """The objects that name this owner."""
        found = (self.members.get(dependent) for dependent in self._dependents.get(uid, ()))
        return [member for member in found if member is not None]

    def _detach(self, member: Member) -> None:
        for owner in member.meta.owner_references:
            named = self._dependents.get(owner.uid)
            if named is not None:
                named.discard(member.meta.uid)
                if not named:
                    del self._dependents[owner.uid]
