"""What kinds of objects a server has, asked of the server.

Upstream: staging/src/k8s.io/client-go/discovery (v1.36.4).
"""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, final

from stowplan.client.errors import NotFound, ServiceUnavailable
from stowplan.client.paths import Resource
from stowplan.client.transport import ApiClient

Json = dict[str, Any]


@final
@dataclass(frozen=True, slots=True)
class Served:
    """A resource in the version that the server prefers, and what can be done with it."""

    resource: Resource
    verbs: frozenset[str]


async def discover(client: ApiClient) -> list[Served]:
    """All resources of a server, without subresources, each in its preferred version."""
    groups = (await client.get_json("/apis")).get("groups") or ()
    roots = [("", "v1", "/api/v1")]
    for group in groups:
        preferred = group["preferredVersion"]["version"]
        for entry in [{"version": preferred}, *group["versions"]]:
            version = entry["version"]
            roots.append((group["name"], version, f"/apis/{group['name']}/{version}"))
    found: dict[tuple[str, str], Served] = {}
    documents = await asyncio.gather(*(_document(client, path) for _, _, path in dict.fromkeys(roots)))
    for (group_name, version, _), document in zip(dict.fromkeys(roots), documents, strict=True):
        for served in _resources(group_name, version, document.get("resources") or ()):
            found.setdefault((group_name, served.resource.plural), served)
    return list(found.values())


async def _document(client: ApiClient, path: str) -> Json:
    try:
        document: Json = await client.get_json(path)
    except (NotFound, ServiceUnavailable):
        return {}  # went away between two questions
    return document


def _resources(group: str, version: str, entries: Iterable[Json]) -> Iterable[Served]:
    for entry in entries:
        if "/" not in entry["name"]:
            resource = Resource(group, version, entry["name"], entry["kind"], namespaced=entry["namespaced"])
            yield Served(resource, frozenset(entry.get("verbs") or ()))
