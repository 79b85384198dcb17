"""Answers everything that is no resource: discovery, OpenAPI, version, the list of paths."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from stowplan.apiserver.context import Api
from stowplan.apiserver.documents import discovery, openapi_v2, openapi_v3
from stowplan.apiserver.documents.version import version_document
from stowplan.apiserver.errors import no_such_path, not_acceptable
from stowplan.apiserver.request import JSON, Reply
from stowplan.apiserver.storage.entry import encode_json

V2_JSON = "application/json"


def document(api: Api, path: str, query: Mapping[str, str], accept: str) -> Reply:
    """One document."""
    _ = query
    plain = path.rstrip("/") or "/"
    if plain in ("/api", "/apis"):
        wanted = _aggregated_version(accept)
        if wanted:
            found = _kept(
                api, f"{plain}#{wanted}",
                lambda: discovery.aggregated(api.registry, wanted, core=plain == "/api"),
            )  # fmt: skip
            return Reply(body=found, content_type=discovery.AGGREGATED.format(version=wanted))
    if plain == "/openapi/v2" and not _takes_json(accept):
        raise not_acceptable((V2_JSON,))
    make = _maker(api, plain)
    if make is None:
        raise no_such_path()
    return Reply(body=_kept(api, plain, make), content_type=JSON)


def _kept(api: Api, address: str, make: Callable[[], Any]) -> bytes:
    known: bytes | None = api.cached(address)
    if known is None:
        known = api.document_cache[address] = encode_json(make())
    return known


def _maker(api: Api, path: str) -> Callable[[], Any] | None:
    registry = api.registry
    if path == "/":
        return lambda: {"paths": _paths(api)}
    if path == "/version":
        return version_document
    if path == "/api":
        return discovery.core_versions
    if path == "/apis":
        return lambda: discovery.group_list(registry)
    if path == "/openapi/v2":
        return lambda: openapi_v2.document(api)
    if path == "/openapi/v3":
        return lambda: openapi_v3.index(api)
    parts = path.strip("/").split("/")
    if parts[:2] == ["openapi", "v3"]:
        wanted = _group_version(parts[2:])
        if wanted is None or not registry.in_version(*wanted):
            return None
        return partial(openapi_v3.document, api, *wanted)
    spoken = _group_version(parts)
    if spoken is not None:
        return partial(discovery.resource_list, registry, *spoken) if registry.in_version(*spoken) else None
    if len(parts) == 2 and parts[0] == "apis" and parts[1] in registry.groups():
        return lambda: discovery.group_document(registry, parts[1])
    return None


def _group_version(parts: list[str]) -> tuple[str, str] | None:
    if len(parts) == 2 and parts[0] == "api":
        return "", parts[1]
    if len(parts) == 3 and parts[0] == "apis":
        return parts[1], parts[2]
    return None


def _paths(api: Api) -> list[str]:
    found = ["/api", "/api/v1", "/apis", "/healthz", "/livez", "/openapi/v2", "/openapi/v3", "/readyz", "/version"]
    for group, versions in api.registry.groups().items():
        if group:
            found.append(f"/apis/{group}")
            found += [f"/apis/{group}/{version}" for version in versions]
    return sorted(found)


def _aggregated_version(accept: str) -> str:
    """The version of the aggregated document that is asked for first."""
    for accepted in accept.split(","):
        parameters = {part.strip() for part in accepted.split(";")}
        if "as=APIGroupDiscoveryList" in parameters and "application/json" in parameters:
            for version in discovery.AGGREGATED_VERSIONS:
                if f"v={version}" in parameters:
                    return version
    return ""


def _takes_json(accept: str) -> bool:
    if not accept:
        return True
    kinds = {accepted.partition(";")[0].strip() for accepted in accept.split(",")}
    return bool(kinds & {"*/*", "application/*", V2_JSON})
