"""RFC 6902."""

import copy
from typing import Any

from stowplan.apiserver.errors import ApiError, bad_request

MAX_OPERATIONS = 10_000


class Missing(Exception):  # noqa: N818 (never leaves this file)
    """Raised when a pointer leads nowhere."""


def apply_json_patch(target: Any, operations: Any) -> Any:
    """The target after all operations; the target itself is left alone."""
    if not isinstance(operations, list):
        raise bad_request("error decoding patch: a JSON patch is a list of operations")
    if len(operations) > MAX_OPERATIONS:
        raise ApiError(
            413, f"The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {len(operations)}"
        )
    document = copy.deepcopy(target)
    for operation in operations:
        if not isinstance(operation, dict) or not isinstance(operation.get("path"), str):
            raise bad_request("error decoding patch: every operation needs an op and a path")
        try:
            document = _apply(document, operation)
        except Missing as error:
            raise ApiError(422, f"the server rejected our request due to an error in our request: {error}") from None
    return document


def _apply(document: Any, operation: dict[str, Any]) -> Any:
    kind, path = operation.get("op"), _pointer(operation["path"])
    if kind in ("add", "replace", "test") and "value" not in operation:
        raise Missing(f"operation {kind} needs a value")
    if kind == "add":
        return _add(document, path, copy.deepcopy(operation["value"]))
    if kind == "remove":
        return _remove(document, path)
    if kind == "replace":
        _find(document, path)
        if not path:
            return copy.deepcopy(operation["value"])
        parent = _find(document, path[:-1])
        if isinstance(parent, list):
            parent[_index(parent, path[-1])] = copy.deepcopy(operation["value"])
        else:
            parent[path[-1]] = copy.deepcopy(operation["value"])
        return document
    if kind == "test":
        if not _same(_find_or_none(document, path), operation["value"]):
            raise Missing(f"testing value {operation['path']} failed")
        return document
    if kind in ("move", "copy"):
        source = operation.get("from")
        if not isinstance(source, str):
            raise Missing(f"operation {kind} needs a from")
        if kind == "move" and operation["path"].startswith(source + "/"):
            raise Missing("cannot move a value into itself")
        value = copy.deepcopy(_find(document, _pointer(source)))
        if kind == "move":
            document = _remove(document, _pointer(source))
        return _add(document, path, value)
    raise Missing(f"unexpected kind: {kind}")


def _pointer(text: str) -> list[str]:
    if text == "":
        return []
    if not text.startswith("/"):
        raise Missing(f"invalid path {text}")
    return [part.replace("~1", "/").replace("~0", "~") for part in text[1:].split("/")]


def _index(values: list[Any], step: str) -> int:
    if not step.isascii() or not step.isdecimal() or len(step) > 9 or int(step) >= len(values):
        raise Missing(f"index out of range or not a number: {step}")
    return int(step)


def _find(document: Any, path: list[str]) -> Any:
    for step in path:
        if isinstance(document, list):
            document = document[_index(document, step)]
        elif isinstance(document, dict) and step in document:
            document = document[step]
        else:
            raise Missing(f"doc is missing path: /{'/'.join(path)}: missing value")
    return document


def _find_or_none(document: Any, path: list[str]) -> Any:
    try:
        return _find(document, path)
    except Missing:
        return None


def _add(document: Any, path: list[str], value: Any) -> Any:
    if not path:
        return value
    parent, step = _find(document, path[:-1]), path[-1]
    if isinstance(parent, dict):
        parent[step] = value
    elif isinstance(parent, list):
        if step == "-" or step == str(len(parent)):
            parent.append(value)
        else:
            parent.insert(_index(parent, step), value)
    else:
        raise Missing(f"add operation does not apply: doc is missing path: /{'/'.join(path)}")
    return document


def _remove(document: Any, path: list[str]) -> Any:
    if not path:
        raise Missing("the whole document cannot be removed")
    parent, step = _find(document, path[:-1]), path[-1]
    if isinstance(parent, list):
        del parent[_index(parent, step)]
    elif isinstance(parent, dict) and step in parent:
        del parent[step]
    else:
        raise Missing(f"Unable to remove nonexistent key: {step}: missing value")
    return document


def _same(left: Any, right: Any) -> bool:
    if isinstance(left, bool) != isinstance(right, bool):
        return False
    return bool(left == right)
