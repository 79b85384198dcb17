"""ResourceClaims: made for pods from templates, freed when their pods have ended.

Upstream: pkg/controller/resourceclaim/controller.go (v1.36.4).
"""

from collections.abc import Sequence
from typing import Any, final

from stowplan.client.paths import PODS
from stowplan.sim.cluster.inventory import BY_NAMESPACE, BY_OWNER, Inventory
from stowplan.sim.cluster.objects import (
    annotations_of,
    controller_of,
    is_deleting,
    key_of,
    name_of,
    namespace_of,
    spec_of,
    status_of,
)
from stowplan.sim.cluster.records import PodClaim, SimPod
from stowplan.sim.cluster.work import WorkQueue
from stowplan.sim.controllers.ephemeral_volumes import pod_reference

Json = dict[str, Any]

ENTRY = "resource.kubernetes.io/pod-claim-name"
FINALIZER = "resource.kubernetes.io/delete-protection"
CLAIM, POD = "claim:", "pod:"


@final
class ResourceClaims:
    """Looks at pods for what they need, and at claims for who uses them."""

    name = "resourceclaims"
    workers = 4

    def __init__(self, inventory: Inventory) -> None:
        self.queue = WorkQueue()
        self._pods = inventory.pods
        self._claims = inventory.resource_claims
        self._templates = inventory.claim_templates
        inventory.pods.listen(self._pod_changed)
        inventory.resource_claims.listen(self._claim_changed)
        inventory.claim_templates.listen(self._template_changed)

    async def reconcile(self, key: str) -> float | None:
        """Look at one pod or one claim."""
        if key.startswith(POD):
            await self._serve(key.removeprefix(POD))
        else:
            await self._tend(key.removeprefix(CLAIM))
        return None

    async def _serve(self, key: str) -> None:
        """Make the claims of a pod, and tell the pod their names."""
        pod = self._pods.get(key)
        if pod is None or not pod.active:
            return
        told = {status.name: status.resource_claim_name for status in pod.status.resource_claim_statuses}
        missing = [
            entry for entry in pod.spec.resource_claims if entry.resource_claim_template_name and entry.name not in told
        ]
        made = [(entry.name, await self._claim_for(pod, entry)) for entry in missing]
        statuses = [{"name": name, "resourceClaimName": claim} for name, claim in made if claim]
        if statuses:
            change = {"metadata": {"uid": pod.uid}, "status": {"resourceClaimStatuses": statuses}}
            await self._pods.patch(pod.namespace, pod.name, change, subresource="status")

    async def _claim_for(self, pod: SimPod, entry: PodClaim) -> str:
        """The name of the claim of one entry; empty while its template is not there."""
        for claim in self._claims.indexed(BY_OWNER, pod.uid):
            if annotations_of(claim).get(ENTRY) == entry.name and not is_deleting(claim):
                return name_of(claim)
        template = self._templates.get(f"{pod.namespace}/{entry.resource_claim_template_name}")
        if template is None:
            return ""
        inner = spec_of(template)
        meta = inner.get("metadata") or {}
        body = {
            "apiVersion": self._claims.resource.api_version,
            "kind": "ResourceClaim",
            "metadata": {
                "generateName": f"{pod.name}-{entry.name}-",
                "labels": meta.get("labels") or {},
                "annotations": {**(meta.get("annotations") or {}), ENTRY: entry.name},
                "ownerReferences": [pod_reference(pod)],
            },
            "spec": inner.get("spec") or {},
        }
        return name_of(await self._claims.create(pod.namespace, body))

    async def _tend(self, key: str) -> None:
        """Take users that have ended off a claim; free it after the last, delete it when it was made for a pod."""
        claim = self._claims.get(key)
        if claim is None:
            return
        users = status_of(claim).get("reservedFor") or []
        alive = [user for user in users if self._is_alive(namespace_of(claim), user)]
        freed = not alive and (bool(users) or is_deleting(claim)) and "allocation" in status_of(claim)
        if alive != users or freed:
            status = {name: value for name, value in status_of(claim).items() if name != "reservedFor"}
            if alive:
                status["reservedFor"] = alive
            if freed:
                status.pop("allocation", None)
                status.pop("devices", None)
            body = {**claim, "status": status}
            claim = await self._claims.update(namespace_of(claim), name_of(claim), body, subresource="status")
        held = FINALIZER in (claim["metadata"].get("finalizers") or ())
        if held and "allocation" not in status_of(claim):
            kept = [name for name in claim["metadata"]["finalizers"] if name != FINALIZER]
            body = {**claim, "metadata": {**claim["metadata"], "finalizers": kept}}
            await self._claims.update(namespace_of(claim), name_of(claim), body)
        if not alive and not is_deleting(claim) and self._owner_has_ended(claim):
            current = self._claims.get(key)
            if current is not None:
                await self._claims.delete(current)

    def _is_alive(self, namespace: str, user: Json) -> bool:
        if user.get("resource") != PODS.plural or user.get("apiGroup"):
            return True  # not a pod: nobody here knows what has become of it
        pod = self._pods.get(f"{namespace}/{user.get('name', '')}")
        return pod is not None and pod.uid == user.get("uid") and not pod.finished

    def _owner_has_ended(self, claim: Json) -> bool:
        owner = controller_of(claim)
        if owner is None or owner["kind"] != "Pod":
            return False
        pod = self._pods.get(f"{namespace_of(claim)}/{owner['name']}")
        return pod is not None and pod.uid == owner["uid"] and pod.finished

    def _pod_changed(self, old: SimPod | None, new: SimPod | None) -> None:
        pod = new or old
        if pod is None or not pod.spec.resource_claims:
            return
        self.queue.add(POD + pod.key)
        if new is None or new.finished:
            for name in claims_of(pod):
                self.queue.add(f"{CLAIM}{pod.namespace}/{name}")

    def _claim_changed(self, _old: Json | None, new: Json | None) -> None:
        if new is not None:
            self.queue.add(CLAIM + key_of(new))

    def _template_changed(self, _old: Json | None, new: Json | None) -> None:
        if new is None:
            return
        for pod in self._pods.indexed(BY_NAMESPACE, namespace_of(new)):
            if any(entry.resource_claim_template_name == name_of(new) for entry in pod.spec.resource_claims):
                self.queue.add(POD + pod.key)


def claims_of(pod: SimPod) -> Sequence[str]:
    """The names of the claims of a pod, as far as they are known."""
    direct = [entry.resource_claim_name for entry in pod.spec.resource_claims if entry.resource_claim_name]
    made = [status.resource_claim_name for status in pod.status.resource_claim_statuses if status.resource_claim_name]
    return [*direct, *made]
