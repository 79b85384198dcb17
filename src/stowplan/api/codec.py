"""Reading and writing objects: JSON bytes or plain mappings in, records out, and back."""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, TypeVar

import msgspec
from msgspec import Struct, field

from stowplan.api.errors import DecodeError, QuantityError, UnknownKindError
from stowplan.api.kinds import BY_KIND, Kind
from stowplan.api.meta import KubeObject, Record
from stowplan.api.quantity import parse
from stowplan.api.schema import quantities, shape_of, without_nulls

R = TypeVar("R", bound=Record)
Document = Mapping[str, Any]

_JSON_NAMES = {"str": "string", "int": "integer", "float": "number", "bool": "boolean"}
_QUOTED = re.compile(r"`([^`]*)`")
_STEP = re.compile(r"\.([^.\[]+)|\[(\d+)\]|(\[\.\.\.\])")


class _Head(Struct, frozen=True, rename="camel", gc=False):
    api_version: str = ""
    kind: str = ""


class _ListMeta(Struct, frozen=True, rename="camel", gc=False):
    resource_version: str = ""
    continue_token: str = field(default="", name="continue")
    remaining_item_count: int | None = None


class _RawList(Struct, frozen=True, rename="camel"):
    metadata: _ListMeta = _ListMeta()
    items: list[msgspec.Raw] = []


class ObjectList(Struct, frozen=True, kw_only=True):
    """A list as the API answers it: the objects, and where to go on from."""

    resource_version: str = ""
    continue_token: str = ""
    remaining_item_count: int | None = None
    items: tuple[KubeObject, ...] = ()


_HEAD = msgspec.json.Decoder(_Head)
_RAW_LIST = msgspec.json.Decoder(_RawList)


def decode_object(data: bytes | str | Document) -> KubeObject:
    """Read one object of whatever kind it says it is; DecodeError when it is not one that the scheduler reads."""
    head = _head(data)
    return decode_as(_kind(head.api_version, head.kind, data).record, data)


def decode_as(record: type[R], data: bytes | str | Document) -> R:
    """Read one object as this record, whatever kind it says it is.

    Quantities keep the text they were written in; `check_quantities` looks at all of them.
    """
    try:
        if isinstance(data, Mapping):
            return msgspec.convert(data, record)
        decoder: msgspec.json.Decoder[R] = _decoder(record)
        return decoder.decode(data)
    except msgspec.ValidationError:
        return _decode_with_nulls(record, data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DecodeError(f"{_name(record, {})}: {_malformed(error)}") from error


def check_quantities(item: KubeObject) -> None:
    """Raise DecodeError for the first malformed quantity; upstream refuses such an object when it decodes it."""
    document = msgspec.to_builtins(item)
    for path, value in quantities(document, shape_of(type(item))):
        try:
            parse(value)
        except QuantityError as error:
            raise DecodeError(f"{_name(type(item), document)}: {path}: {error}") from error


def decode_list(data: bytes | str | Document, *, skip_unknown: bool = False) -> ObjectList:
    """Read a list of objects, of one kind (PodList) or mixed (v1 List); nested lists are flattened.

    With `skip_unknown`, items of kinds that the scheduler does not read are left out.
    """
    head = _head(data)
    if not head.kind.endswith("List"):
        raise DecodeError(f"{head.kind or 'document'}: not a list")
    record = BY_KIND.get((head.api_version, head.kind.removesuffix("List")))
    if record is not None and not isinstance(data, Mapping):
        try:
            return _typed_list(_RAW_LIST.decode(data), record)
        except msgspec.ValidationError:
            pass  # the plain way below says where
    document = data if isinstance(data, Mapping) else _untyped(data, head.kind)
    items: list[KubeObject] = []
    for path, entry in expand_list(document):
        try:
            items.append(decode_object(entry))
        except UnknownKindError:
            if not skip_unknown:
                raise
        except DecodeError as error:
            raise DecodeError(f"{head.kind}: {path}: {error}") from error
    meta = document.get("metadata") or {}
    return ObjectList(
        resource_version=str(meta.get("resourceVersion") or ""),
        continue_token=str(meta.get("continue") or ""),
        remaining_item_count=meta.get("remainingItemCount"),
        items=tuple(items),
    )


def expand_list(document: Document) -> Iterator[tuple[str, Document]]:
    """Yield the objects of a list, however nested, with their paths; a document that is no list yields itself."""
    kind = document.get("kind")
    if not isinstance(kind, str) or not kind.endswith("List") or "items" not in document:
        yield "", document
        return
    entries = document["items"] or []
    if not isinstance(entries, list | tuple):
        raise DecodeError(f"{kind}: items: expected array, got {_json_type(entries)}")
    inherited = {} if kind == "List" else {"apiVersion": document.get("apiVersion"), "kind": kind.removesuffix("List")}
    for index, entry in enumerate(entries):
        path = f"items[{index}]"
        if not isinstance(entry, Mapping):
            raise DecodeError(f"{kind}: {path}: expected object, got {_json_type(entry)}")
        whole = entry if entry.get("kind") else {**inherited, **entry}
        for inner, item in expand_list(whole):
            yield f"{path}.{inner}" if inner else path, item


def encode(item: KubeObject) -> bytes:
    """The object as JSON, apiVersion and kind first; fields with their defaults are left out."""
    head = msgspec.json.encode({"apiVersion": item.api_version, "kind": item.kind})
    body = msgspec.json.encode(item)
    return head if body == b"{}" else head[:-1] + b"," + body[1:]


def to_document(item: KubeObject) -> dict[str, Any]:
    """The object as plain data, apiVersion and kind first; fields with their defaults are left out."""
    return {"apiVersion": item.api_version, "kind": item.kind, **msgspec.to_builtins(item)}


@cache
def _decoder(record: type[Any]) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(record)


def _head(data: bytes | str | Document) -> _Head:
    if isinstance(data, Mapping):
        api_version, kind = data.get("apiVersion"), data.get("kind")
        return _Head(
            api_version if isinstance(api_version, str) else "",
            kind if isinstance(kind, str) else "",
        )
    try:
        return _HEAD.decode(data)
    except msgspec.ValidationError:
        return _head(_untyped(data, "document"))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DecodeError(f"document: {_malformed(error)}") from error


def _kind(api_version: str, kind: str, data: bytes | str | Document) -> Kind:
    found = BY_KIND.get((api_version, kind))
    if found is not None:
        return found
    if not kind or not api_version:
        raise DecodeError(f"document: {'kind' if not kind else 'apiVersion'}: missing, or not a string")
    document = data if isinstance(data, Mapping) else _untyped(data, kind)
    raise UnknownKindError(f"{_title(kind, document)}: the scheduler reads no kind {kind} of apiVersion {api_version}")


def _typed_list(raw: _RawList, kind: Kind) -> ObjectList:
    return ObjectList(
        resource_version=raw.metadata.resource_version,
        continue_token=raw.metadata.continue_token,
        remaining_item_count=raw.metadata.remaining_item_count,
        items=tuple(_decoder(kind.record).decode(item) for item in raw.items),
    )


def _untyped(data: bytes | str, name: str) -> Document:
    try:
        document = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DecodeError(f"{name}: {_malformed(error)}") from error
    if not isinstance(document, dict):
        raise DecodeError(f"{name}: expected object, got {_json_type(document)}")
    return document


def _decode_with_nulls(record: type[R], data: bytes | str | Document) -> R:
    document = data if isinstance(data, Mapping) else _untyped(data, _name(record, {}))
    document = without_nulls(document, shape_of(record))
    try:
        return msgspec.convert(document, record)
    except msgspec.ValidationError as error:
        path, reason = _explain(str(error), document, record)
        raise DecodeError(f"{_name(record, document)}: {path + ': ' if path else ''}{reason}") from error


def _explain(text: str, document: Document, record: type[Record]) -> tuple[str, str]:
    """Turn msgspec's message into a Kubernetes field path and a reason."""
    reason, _, where = text.partition(" - at `$")
    reason = reason[:1].lower() + reason[1:]
    reason = _QUOTED.sub(lambda match: _json_name(match[1]), reason)
    steps: list[str | int] = []
    for name, index, entry in _STEP.findall(where.removesuffix("`")):
        if entry:
            steps.append(_culprit(text, document, record, steps))
        else:
            steps.append(name or int(index))
    return _path(steps, where), reason


def _culprit(text: str, document: Document, record: type[Record], steps: list[str | int]) -> str:
    """Which entry of the map at `steps` gives this error: the one that still gives it when it is alone."""
    entries: Any = document
    for step in steps:
        entries = entries[step]
    for key in entries:
        try:
            msgspec.convert(_with_only(document, steps, key), record)
        except msgspec.ValidationError as error:
            if str(error) == text:
                return str(key)
    return "..."


def _with_only(value: Any, steps: list[str | int], key: str) -> Any:
    if not steps:
        return {key: value[key]}
    inner = _with_only(value[steps[0]], steps[1:], key)
    if isinstance(value, Mapping):
        return {**value, steps[0]: inner}
    return [inner if index == steps[0] else item for index, item in enumerate(value)]


def _path(steps: list[str | int], where: str) -> str:
    text = ""
    for step, (name, _, _) in zip(steps, _STEP.findall(where.removesuffix("`")), strict=True):
        text += f".{step}" if name else f"[{step}]"
    return text.removeprefix(".")


def _json_name(types: str) -> str:
    return " or ".join(_JSON_NAMES.get(name, name) for name in types.split(" | ") if name != "null" or types == "null")


def _json_type(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, Mapping):
        return "object"
    if isinstance(value, list | tuple):
        return "array"
    return _JSON_NAMES.get(type(value).__name__, type(value).__name__)


def _malformed(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "nested too deeply"
    text = str(error)
    if "truncated" in text:
        return "the JSON ends too early"
    return "not valid JSON: " + text.removeprefix("JSON is malformed: ")


def _name(record: type[Record], document: Document) -> str:
    return _title(record.kind if issubclass(record, KubeObject) else record.__name__, document)


def _title(kind: str, document: Document) -> str:
    meta = document.get("metadata")
    if not isinstance(meta, Mapping) or not isinstance(meta.get("name"), str):
        return kind
    namespace = meta.get("namespace")
    return (
        f"{kind} {namespace}/{meta['name']}" if isinstance(namespace, str) and namespace else f"{kind} {meta['name']}"
    )
