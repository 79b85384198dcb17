"""Reads the body of a write: format, kind, types, and the members that nobody knows.

Upstream: staging/src/k8s.io/apiserver/pkg/endpoints/handlers/{create,update,rest}.go (v1.36.4).
"""

import json
import re
from collections.abc import Sequence
from typing import Any

import msgspec
import yaml

from stowplan.apiserver.context import Api
from stowplan.apiserver.custom.instances import prune_instance
from stowplan.apiserver.errors import ApiError, bad_request, unsupported_media_type
from stowplan.apiserver.protobuf.body import is_protobuf, read_protobuf
from stowplan.apiserver.request import Call
from stowplan.apiserver.resources.types import Resource
from stowplan.apiserver.schema.decode import MAX_DEPTH, DecodeError, decode
from stowplan.apiserver.storage.entry import decode_json

READABLE = ("application/json", "application/yaml")
MAX_WARNINGS = 10
BRACKETS = re.compile(rb"[\[\]{}]")


class StrictYamlLoader(yaml.CSafeLoader):
    """YAML without dates: they are texts in the API."""


StrictYamlLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}


def parse_document(body: bytes, content_type: str) -> Any:
    """JSON or YAML, whichever the content type says."""
    kind = content_type.partition(";")[0].strip().lower()
    if kind in ("", "application/json") or kind.endswith("+json"):
        return parse_json(body)
    if kind == "application/yaml" or kind.endswith("+yaml"):
        return parse_yaml(body)
    raise unsupported_media_type(READABLE)


def parse_json(body: bytes) -> Any:
    """JSON."""
    _check_nesting(body)
    try:
        return decode_json(body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise bad_request(f"the object provided is unrecognized (must be of type JSON): {error}") from None


def parse_yaml(body: bytes) -> Any:
    """YAML, as far as it says what JSON can say; JSON is YAML, and read faster."""
    if body.lstrip().startswith(b"{"):
        try:
            return decode_json(body)
        except (msgspec.DecodeError, RecursionError):
            pass
    _check_nesting(body)
    try:
        _check_events(body)
        value = yaml.load(body, Loader=StrictYamlLoader)  # noqa: S506 (a safe loader, without dates)
        return decode_json(json.dumps(value, allow_nan=False))
    except (yaml.YAMLError, TypeError, ValueError, RecursionError, OverflowError) as error:
        text = " ".join(str(error).split())
        raise bad_request(f"the object provided is unrecognized (must be of type YAML): {text[:300]}") from None


def _check_nesting(body: bytes) -> None:
    """Refuse brackets within brackets beyond reason, before a parser that recurses sees them."""
    # perf: few objects have that many brackets at all; only those are looked at
    if body.count(b"[") + body.count(b"{") <= MAX_DEPTH:
        return
    depth = 0
    for bracket in BRACKETS.findall(body):
        depth += 1 if bracket in b"[{" else -1
        if depth > MAX_DEPTH:
            raise bad_request("exceeded max depth")


def _check_events(body: bytes) -> None:
    """Refuse deep nesting by indentation, and aliases: they can make a small text a large object."""
    depth = 0
    for event in yaml.parse(body, Loader=yaml.CSafeLoader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                raise bad_request("exceeded max depth")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        elif isinstance(event, yaml.AliasEvent):
            raise bad_request("the object provided is unrecognized: YAML aliases are not read")


def read_object(api: Api, call: Call) -> dict[str, Any]:
    """The body as one JSON object."""
    if is_protobuf(call.content_type):
        return read_protobuf(api, call.body)
    value = parse_document(call.body, call.content_type)
    if not isinstance(value, dict):
        raise bad_request("the object provided is unrecognized (must be of type Object)")
    return value


def check_kind(value: dict[str, Any], resource: Resource, *, kind: str = "", api_version: str = "") -> None:
    """Refuse an object of another kind; say the kind where the object does not."""
    want_kind, want_version = kind or resource.kind, api_version or resource.api_version
    found_version, found_kind = value.get("apiVersion") or want_version, value.get("kind") or want_kind
    if found_version != want_version:
        raise bad_request(
            f"the API version in the data ({found_version}) does not match the expected API version ({want_version})"
        )
    if found_kind != want_kind:
        raise bad_request(f"the kind in the data ({found_kind}) does not match the expected kind ({want_kind})")
    value["apiVersion"], value["kind"] = want_version, want_kind


def typed(api: Api, call: Call, value: dict[str, Any], warnings: list[str]) -> dict[str, Any]:
    """The object with known members only, as the call's field validation demands."""
    resource = call.resource
    kind = api.type_of(resource)
    if kind is None:
        report_unknown(call, prune_instance(resource, value), warnings)
        _type_custom_metadata(api, resource, value)
        return value
    try:
        decoded = decode(kind, value)
    except DecodeError as error:
        raise bad_request(
            f'{resource.kind} in version "{resource.version}" cannot be handled as a {resource.kind}: {error}'
        ) from None
    report_unknown(call, decoded.unknown, warnings)
    return decoded.value


def _type_custom_metadata(api: Api, resource: Resource, value: dict[str, Any]) -> None:
    meta = value.get("metadata")
    if isinstance(meta, dict):
        try:
            value["metadata"] = decode(api.models.get("meta_v1", "ObjectMeta"), meta).value
        except DecodeError as error:
            raise bad_request(f"{resource.kind}: metadata: {error}") from None


def report_unknown(call: Call, unknown: Sequence[str], warnings: list[str]) -> None:
    """Refuse, warn of, or pass over unknown and repeated fields."""
    wanted = call.query.get("fieldValidation") or "Warn"
    if wanted not in ("Strict", "Warn", "Ignore"):
        raise ApiError(
            422, f'fieldValidation: Unsupported value: "{wanted}": supported values: "Ignore", "Strict", "Warn"'
        )
    if wanted == "Ignore":
        return
    texts = [f'unknown field "{path}"' for path in unknown]
    if call.query.get("fieldValidation"):
        texts += repeated_fields(call)
    if not texts:
        return
    if wanted == "Strict":
        kind, version = call.resource.kind, call.resource.version
        raise bad_request(
            f'{kind} in version "{version}" cannot be handled as a {kind}: strict decoding error: ' + ", ".join(texts)
        )
    warnings.extend(texts[:MAX_WARNINGS])


def repeated_fields(call: Call) -> list[str]:
    """Members that a JSON body names twice."""
    if call.content_type.partition(";")[0].strip() not in ("", "application/json"):
        return []
    found: list[str] = []

    def pairs(members: list[tuple[str, Any]]) -> dict[str, Any]:
        seen: dict[str, Any] = {}
        for name, member in members:
            if name in seen:
                found.append(f'duplicate field "{name}"')
            seen[name] = member
        return seen

    try:
        json.loads(call.body, object_pairs_hook=pairs)
    except (ValueError, RecursionError):
        return []
    return found[:MAX_WARNINGS]


def check_depth(value: Any) -> None:
    """Refuse what nobody means and recursion would not survive."""
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [
            below
            for member in level
            for below in (member.values() if isinstance(member, dict) else member if isinstance(member, list) else ())
            if isinstance(below, dict | list)
        ]
        if not level:
            return
    raise bad_request("exceeded max depth")
