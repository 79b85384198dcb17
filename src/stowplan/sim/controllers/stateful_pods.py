"""The pods of StatefulSets: names, identities, and the claims that outlive them.

Upstream: pkg/controller/statefulset/stateful_set_utils.go (v1.36.4).
"""

from typing import Any

from stowplan.client.paths import STATEFUL_SETS
from stowplan.sim.cluster.objects import name_of, namespace_of, spec_of
from stowplan.sim.controllers.history import REVISION_LABEL
from stowplan.sim.controllers.ownership import owner_reference, pod_of_template

Json = dict[str, Any]


def ordinal_of(pod_name: str, set_name: str) -> int | None:
    """The number of a pod; None when its name has none."""
    prefix, _, text = pod_name.rpartition("-")
    canonical = text.isascii() and text.isdecimal() and str(int(text)) == text
    return int(text) if prefix == set_name and canonical else None


def stateful_pod(found: Json, template: Json, revision: str, ordinal: int) -> Json:
    """The pod of one ordinal, by a revision's template."""
    pod = pod_of_template(template, found, STATEFUL_SETS)
    name = f"{name_of(found)}-{ordinal}"
    meta, spec = pod["metadata"], pod["spec"]
    meta["name"] = name
    meta["labels"] = {
        **(meta.get("labels") or {}),
        REVISION_LABEL: revision,
        "statefulset.kubernetes.io/pod-name": name,
        "apps.kubernetes.io/pod-index": str(ordinal),
    }
    spec["hostname"] = name
    if spec_of(found).get("serviceName"):
        spec["subdomain"] = spec_of(found)["serviceName"]
    claimed = {
        claim["metadata"]["name"]: claim_name(found, claim["metadata"]["name"], ordinal)
        for claim in spec_of(found).get("volumeClaimTemplates") or ()
    }
    if claimed:
        others = [volume for volume in spec.get("volumes") or () if volume["name"] not in claimed]
        ours = [{"name": name, "persistentVolumeClaim": {"claimName": claim}} for name, claim in claimed.items()]
        spec["volumes"] = [*others, *ours]
    return pod


def claim_name(found: Json, template_name: str, ordinal: int) -> str:
    """The claim of one ordinal."""
    return f"{template_name}-{name_of(found)}-{ordinal}"


def claims_for(found: Json, ordinal: int) -> list[Json]:
    """The claims that the pod of an ordinal needs."""
    labels = (spec_of(found).get("selector") or {}).get("matchLabels") or {}
    made = []
    for template in spec_of(found).get("volumeClaimTemplates") or ():
        meta = template["metadata"]
        body: Json = {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {
                "name": claim_name(found, meta["name"], ordinal),
                "namespace": namespace_of(found),
                "labels": {**(meta.get("labels") or {}), **labels},
                "annotations": dict(meta.get("annotations") or {}),
            },
            "spec": template["spec"],
        }
        if retention(found)[0] == "Delete":
            body["metadata"]["ownerReferences"] = [owner_reference(found, STATEFUL_SETS)]
        made.append(body)
    return made


def retention(found: Json) -> tuple[str, str]:
    """What becomes of claims when the set is deleted, and when it shrinks."""
    policy = spec_of(found).get("persistentVolumeClaimRetentionPolicy") or {}
    return policy.get("whenDeleted", "Retain"), policy.get("whenScaled", "Retain")
