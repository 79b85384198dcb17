"""ControllerRevisions: the templates that a StatefulSet or DaemonSet has had.

Upstream: pkg/controller/history/controller_history.go (v1.36.4).
"""

from collections.abc import Iterable
from typing import Any, final

from stowplan.client.errors import AlreadyExists
from stowplan.client.paths import Resource
from stowplan.sim.cluster.collection import Collection
from stowplan.sim.cluster.inventory import BY_OWNER
from stowplan.sim.cluster.objects import (
    annotations_of,
    created_of,
    labels_of,
    name_of,
    namespace_of,
    spec_of,
    uid_of,
)
from stowplan.sim.controllers.ownership import owner_reference
from stowplan.sim.controllers.templates import same_template, template_hash

Json = dict[str, Any]

REVISION_LABEL = "controller-revision-hash"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
MOST_COLLISIONS = 100


@final
class History:
    """The revisions of the sets of one kind; `label` says whether revisions carry their own hash as a label."""

    def __init__(self, revisions: Collection[Json], resource: Resource) -> None:
        self._revisions = revisions
        self._resource = resource

    def of(self, owner: Json) -> list[Json]:
        """All revisions of a set, the oldest first."""
        found = self._revisions.indexed(BY_OWNER, uid_of(owner))
        return sorted(found, key=lambda one: (one.get("revision", 0), created_of(one), name_of(one)))

    async def current(self, owner: Json) -> Json:
        """The revision of the template as it is now: found, moved to the end, or made."""
        known = self.of(owner)
        template = spec_of(owner).get("template") or {}
        equal = [one for one in known if same_template(template_of(one), template)]
        if not equal:
            return await self._make(owner, template, known[-1]["revision"] + 1 if known else 1)
        found = equal[-1]
        if found is not known[-1]:
            changed = {**found, "revision": known[-1]["revision"] + 1}
            return await self._revisions.update(namespace_of(found), name_of(found), changed)
        return found

    async def trim(self, owner: Json, live: Iterable[str]) -> None:
        """Delete the oldest revisions that nobody uses beyond the history limit."""
        used = set(live)
        limit: int = spec_of(owner).get("revisionHistoryLimit", 10)
        idle = [one for one in self.of(owner) if name_of(one) not in used]
        for one in idle[: max(len(idle) - limit, 0)]:
            await self._revisions.delete(one)

    async def _make(self, owner: Json, template: Json, number: int) -> Json:
        labels = (template.get("metadata") or {}).get("labels") or {}
        for collisions in range(MOST_COLLISIONS):
            mark = template_hash(template, collisions)
            body = {
                "apiVersion": "apps/v1",
                "kind": "ControllerRevision",
                "metadata": {
                    "name": f"{name_of(owner)}-{mark}",
                    "namespace": namespace_of(owner),
                    "labels": {**labels, REVISION_LABEL: mark},
                    "annotations": {key: value for key, value in annotations_of(owner).items() if key != LAST_APPLIED},
                    "ownerReferences": [owner_reference(owner, self._resource)],
                },
                "data": {"spec": {"template": {**template, "$patch": "replace"}}},
                "revision": number,
            }
            try:
                return await self._revisions.create(namespace_of(owner), body)
            except AlreadyExists:
                continue
        raise AlreadyExists(f"no free name for a revision of {name_of(owner)}")


def template_of(revision: Json) -> Json:
    """The template that a revision holds."""
    template = (revision.get("data") or {}).get("spec", {}).get("template") or {}
    return {key: value for key, value in template.items() if key != "$patch"}


def mark_of(revision: Json) -> str:
    """The hash by which pods name a revision of a DaemonSet."""
    return labels_of(revision).get(REVISION_LABEL) or name_of(revision)
