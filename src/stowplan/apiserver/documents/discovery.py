"""Which groups, versions and resources there are: the classic documents and the aggregated one.

Upstream: staging/src/k8s.io/apiserver/pkg/endpoints/discovery (v1.36.4).
"""

from typing import Any

from stowplan.apiserver.resources.registry import Registry
from stowplan.apiserver.resources.types import Resource

Json = dict[str, Any]

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList"
AGGREGATED_VERSIONS = ("v2", "v2beta1")


def core_versions() -> Json:
    """GET /api."""
    return {
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [],
    }


def group_document(registry: Registry, group: str) -> Json | None:
    """GET /apis/GROUP."""
    versions = registry.groups().get(group)
    if not versions:
        return None
    return {"kind": "APIGroup", "apiVersion": "v1", **_group(group, versions)}


def group_list(registry: Registry) -> Json:
    """GET /apis."""
    groups = [_group(group, versions) for group, versions in registry.groups().items() if group]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


def _group(group: str, versions: list[str]) -> Json:
    spoken = [{"groupVersion": f"{group}/{version}", "version": version} for version in versions]
    return {"name": group, "versions": spoken, "preferredVersion": spoken[0]}


def resource_list(registry: Registry, group: str, version: str) -> Json | None:
    """GET /api/v1 and /apis/GROUP/VERSION."""
    found = registry.in_version(group, version)
    if not found:
        return None
    resources: list[Json] = []
    for resource in found:
        resources.append(_resource(resource))
        for below in sorted(resource.subresources.values(), key=lambda known: known.name):
            entry: Json = {
                "name": f"{resource.plural}/{below.name}",
                "singularName": "",
                "namespaced": resource.namespaced,
                "kind": below.kind,
                "verbs": list(below.verbs),
            }
            if below.group:
                entry["group"], entry["version"] = below.group, below.version
            resources.append(entry)
    api_version = f"{group}/{version}" if group else version
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": api_version, "resources": resources}


def _resource(resource: Resource) -> Json:
    entry: Json = {
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": list(resource.verbs),
    }
    if resource.short_names:
        entry["shortNames"] = list(resource.short_names)
    if resource.categories:
        entry["categories"] = list(resource.categories)
    return entry


def aggregated(registry: Registry, version: str, *, core: bool) -> Json:
    """The aggregated document of /api or of /apis."""
    items = []
    for group, versions in registry.groups().items():
        if bool(group) == core:
            continue
        meta: Json = {"name": group} if group else {}
        items.append(
            {
                "metadata": meta | {"creationTimestamp": None},
                "versions": [
                    {
                        "version": spoken,
                        "resources": [_aggregated(found) for found in registry.in_version(group, spoken)],
                        "freshness": "Current",
                    }
                    for spoken in versions
                ],
            }
        )
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": f"apidiscovery.k8s.io/{version}",
        "metadata": {},
        "items": items,
    }


def _aggregated(resource: Resource) -> Json:
    entry: Json = {
        "resource": resource.plural,
        "responseKind": _kind(resource.group, resource.version, resource.kind),
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": list(resource.verbs),
    }
    if resource.short_names:
        entry["shortNames"] = list(resource.short_names)
    if resource.categories:
        entry["categories"] = list(resource.categories)
    if resource.subresources:
        entry["subresources"] = [
            {
                "subresource": below.name,
                "responseKind": _kind(below.group or resource.group, below.version or resource.version, below.kind),
                "verbs": list(below.verbs),
            }
            for below in sorted(resource.subresources.values(), key=lambda known: known.name)
        ]
    return entry


def _kind(group: str, version: str, kind: str) -> Json:
    return {"group": group, "version": version, "kind": kind}
