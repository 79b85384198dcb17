"""The part of JSON Schema that definitions of custom kinds may use, with the texts that users know.

Upstream: staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/validation/validation.go (v1.36.4).
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from stowplan.apiserver.errors import Cause
from stowplan.apiserver.storage.entry import encode_json

MAX_FAULTS = 50


def schema_faults(schema: Any, value: Any, path: str) -> Iterator[Cause]:
    """What a schema has against a value."""
    if not isinstance(schema, dict):
        return
    if value is None:
        if not schema.get("nullable"):
            yield _invalid(path, "null", f'{_in_body(path)} must be of type {schema.get("type", "object")}: "null"')
        return
    kind = schema.get("type")
    if schema.get("x-kubernetes-int-or-string"):
        if not isinstance(value, int | str) or isinstance(value, bool):
            yield _wrong_type(path, "integer,string", value)
            return
    elif kind and not _is(kind, value):
        yield _wrong_type(path, kind, value)
        return
    choices = schema.get("enum")
    if choices and value not in choices:
        listed = ", ".join(encode_json(choice).decode() for choice in choices)
        text = f"Unsupported value: {encode_json(value).decode()}: supported values: {listed}"
        yield Cause("FieldValueNotSupported", text, path)
    if isinstance(value, dict):
        yield from _object_faults(schema, value, path)
    elif isinstance(value, list):
        yield from _list_faults(schema, value, path)
    elif isinstance(value, str):
        yield from _text_faults(schema, value, path)
    elif not isinstance(value, bool):
        yield from _number_faults(schema, value, path)
    yield from _combination_faults(schema, value, path)


def _object_faults(schema: Any, value: dict[str, Any], path: str) -> Iterator[Cause]:
    for name in schema.get("required") or ():
        if name not in value:
            yield Cause("FieldValueRequired", "Required value", _join(path, name))
    properties, more = schema.get("properties") or {}, schema.get("additionalProperties")
    for name, member in value.items():
        if name in properties:
            yield from schema_faults(properties[name], member, _join(path, name))
        elif isinstance(more, dict):
            yield from schema_faults(more, member, _join(path, name))
    least, most = schema.get("minProperties"), schema.get("maxProperties")
    if least is not None and len(value) < least:
        yield _invalid(path, str(len(value)), f"{_in_body(path)} should have at least {least} properties")
    if most is not None and len(value) > most:
        yield Cause("FieldValueTooMany", f"Too many: {len(value)}: must have at most {most} items", path)


def _list_faults(schema: Any, value: list[Any], path: str) -> Iterator[Cause]:
    least, most = schema.get("minItems"), schema.get("maxItems")
    if least is not None and len(value) < least:
        yield _invalid(path, str(len(value)), f"{_in_body(path)} should have at least {least} items")
    if most is not None and len(value) > most:
        yield Cause("FieldValueTooMany", f"Too many: {len(value)}: must have at most {most} items", path)
    keys = schema.get("x-kubernetes-list-map-keys") or ()
    seen: set[bytes] = set()
    kind = schema.get("x-kubernetes-list-type")
    for index, member in enumerate(value):
        yield from schema_faults(schema.get("items"), member, f"{path}[{index}]")
        if kind == "set" or (kind == "map" and isinstance(member, dict)):
            mark = encode_json([member.get(key) for key in keys] if kind == "map" else member)
            if mark in seen:
                yield Cause(
                    "FieldValueDuplicate", f"Duplicate value: {encode_json(member).decode()}", f"{path}[{index}]"
                )
            seen.add(mark)


def _text_faults(schema: Any, value: str, path: str) -> Iterator[Cause]:
    least, most, pattern = schema.get("minLength"), schema.get("maxLength"), schema.get("pattern")
    if least is not None and len(value) < least:
        text = f"{_in_body(path)} should be at least {least} chars long"
        yield _invalid(path, f'"{value}"', text)
    if most is not None and len(value) > most:
        yield Cause("FieldValueTooLong", f"Too long: may not be more than {most} bytes", path)
    if pattern:
        compiled = _compiled(pattern)
        if compiled is not None and not compiled.search(value):
            yield _invalid(path, f'"{value}"', f"{_in_body(path)} should match '{pattern}'")


def _number_faults(schema: Any, value: float, path: str) -> Iterator[Cause]:
    least, most = schema.get("minimum"), schema.get("maximum")
    if least is not None and (value <= least if schema.get("exclusiveMinimum") else value < least):
        word = "greater than" if schema.get("exclusiveMinimum") else "greater than or equal to"
        yield _invalid(path, str(value), f"{_in_body(path)} should be {word} {least}")
    if most is not None and (value >= most if schema.get("exclusiveMaximum") else value > most):
        word = "less than" if schema.get("exclusiveMaximum") else "less than or equal to"
        yield _invalid(path, str(value), f"{_in_body(path)} should be {word} {most}")
    step = schema.get("multipleOf")
    if step and value % step:
        yield _invalid(path, str(value), f"{_in_body(path)} should be a multiple of {step}")


def _combination_faults(schema: Any, value: Any, path: str) -> Iterator[Cause]:
    for part in schema.get("allOf") or ():
        yield from schema_faults(part, value, path)
    shown = encode_json(value).decode()
    choices = schema.get("anyOf")
    if choices and not any(_fits(part, value) for part in choices):
        yield _invalid(path, shown, f"{_in_body(path)} must validate at least one schema (anyOf)")
    choices = schema.get("oneOf")
    if choices and sum(_fits(part, value) for part in choices) != 1:
        yield _invalid(path, shown, f"{_in_body(path)} must validate one and only one schema (oneOf)")
    if schema.get("not") and _fits(schema["not"], value):
        yield _invalid(path, shown, f"{_in_body(path)} must not validate the schema (not)")


def _fits(schema: Any, value: Any) -> bool:
    return next(schema_faults(schema, value, ""), None) is None


def _is(kind: str, value: Any) -> bool:
    if kind == "object":
        return isinstance(value, dict)
    if kind == "array":
        return isinstance(value, list)
    if kind == "string":
        return isinstance(value, str)
    if kind == "boolean":
        return isinstance(value, bool)
    if kind == "integer":
        return not isinstance(value, bool) and (
            isinstance(value, int) or (isinstance(value, float) and value.is_integer())
        )
    if kind == "number":
        return isinstance(value, int | float) and not isinstance(value, bool)
    return True


def _wrong_type(path: str, kind: str, value: Any) -> Cause:
    names = {dict: "object", list: "array", str: "string", bool: "boolean", int: "integer", float: "number"}
    found = names.get(type(value), "null")
    text = f'Invalid value: "{found}": {_in_body(path)} must be of type {kind}: "{found}"'
    return Cause("FieldValueTypeInvalid", text, path)


def _invalid(path: str, shown: str, why: str) -> Cause:
    return Cause("FieldValueInvalid", f"Invalid value: {shown}: {why}", path)


def _in_body(path: str) -> str:
    return f"{path} in body" if path else "in body"


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> re.Pattern[str] | None:
    try:
        return re.compile(pattern)
    except re.error:
        return None
