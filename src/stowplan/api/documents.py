"""Files of objects: YAML streams and JSON, read as kubectl reads them, every document with its place.

Upstream: sigs.k8s.io/yaml over go.yaml.in/yaml/v2 (v1.36.4 vendor).
"""

import base64
import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import msgspec
import yaml

from stowplan.api.errors import DocumentError

_TAG = "tag:yaml.org,2002:"
_TRUE = ("y", "yes", "true", "on")
_FALSE = ("n", "no", "false", "off")
_WORDS: Mapping[str, bool] = {
    form: truth
    for words, truth in ((_TRUE, True), (_FALSE, False))
    for word in words
    for form in (word, word.capitalize(), word.upper())
}
_INTEGER = re.compile(r"[-+]?(0b[01_]+|0o[0-7_]+|0x[0-9a-fA-F_]+|0[0-7_]*|[1-9][0-9_]*)$", re.ASCII)
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9][0-9_]*(\.[0-9_]*)?)([eE][-+]?[0-9]+)?$", re.ASCII)
_NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)$|\.(nan|NaN|NAN)$")

_FIRST_WITH_EXPONENT = 1e21

# Aliases may make a document this large before it counts as an attack; a cluster of 5000 nodes is below it.
_EXPANDED_NODES = 1_000_000


def load_documents(data: bytes, filename: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield every document that is not empty with its place, `FILE:LINE`; DocumentError names the place."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DocumentError(f"{filename}:{line}: not UTF-8 text") from error
    try:
        documents = _load_json(text, filename) if text.lstrip()[:1] in {"{", "["} else None
        yield from _load_yaml(text, filename) if documents is None else documents
    except RecursionError as error:
        raise DocumentError(f"{filename}: nested too deeply") from error


def _load_json(text: str, filename: str) -> list[tuple[str, Mapping[str, Any]]] | None:
    """All JSON values of a text, one after another; None when it is not JSON (it may be YAML in flow style)."""
    try:
        return [_checked(msgspec.json.decode(text), filename, _line(text, 0))]
    except msgspec.DecodeError:
        pass
    decoder = json.JSONDecoder()
    found: list[tuple[str, Mapping[str, Any]]] = []
    position = 0
    while position < len(text):
        if text[position].isspace():
            position += 1
            continue
        try:
            value, end = decoder.raw_decode(text, position)
        except json.JSONDecodeError as error:
            if found or _is_no_yaml(text):
                raise DocumentError(f"{filename}:{error.lineno}: not valid JSON: {error.msg.lower()}") from error
            return None
        found.append(_checked(value, filename, _line(text, position)))
        position = end
    return found


def _load_yaml(text: str, filename: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    loader = _Loader(text)
    try:
        while loader.check_node():
            node = loader.get_node()
            assert node is not None, "check_node said that there is one"
            if "*" in text:
                _check_aliases(node)
            value = loader.construct_document(node)
            if value is not None:
                yield _checked(value, filename, node.start_mark.line + 1)
    except yaml.YAMLError as error:
        raise DocumentError(_explain(error, text, filename)) from error
    finally:
        loader.dispose()


def _check_aliases(root: yaml.Node) -> None:
    """Refuse aliases that contain themselves or multiply: what we build is walked as a tree."""
    sizes: dict[int, int] = {}
    stack: list[tuple[yaml.Node, bool]] = [(root, False)]
    while stack:
        node, done = stack.pop()
        if done:
            sizes[id(node)] = 1 + sum(sizes[id(child)] for child in _children(node))
        elif id(node) not in sizes:
            sizes[id(node)] = 0
            stack.append((node, True))
            stack.extend((child, False) for child in _children(node))
        elif sizes[id(node)] == 0 and any(entry is node and done for entry, done in stack):
            raise yaml.composer.ComposerError(None, None, "an anchor contains itself", node.start_mark)
    if sizes[id(root)] > max(_EXPANDED_NODES, 10 * len(sizes)):
        raise yaml.composer.ComposerError(None, None, "aliases repeat too much", root.start_mark)


def _children(node: yaml.Node) -> list[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        return [child for pair in node.value for child in pair]
    return list(node.value) if isinstance(node, yaml.SequenceNode) else []


def _checked(value: object, filename: str, line: int) -> tuple[str, Mapping[str, Any]]:
    place = f"{filename}:{line}"
    if not isinstance(value, dict):
        raise DocumentError(f"{place}: a document must be a mapping, not {_shape(value)}")
    return place, value


def _shape(value: object) -> str:
    if isinstance(value, list):
        return "a list"
    return "a number" if isinstance(value, int | float) and not isinstance(value, bool) else "plain text"


def _line(text: str, position: int) -> int:
    start = len(text) - len(text[position:].lstrip())
    return text.count("\n", 0, start) + 1


def _is_no_yaml(text: str) -> bool:
    try:
        for _ in yaml.compose_all(text, Loader=_Loader):
            pass
    except yaml.YAMLError:
        return True
    return False


def _explain(error: yaml.YAMLError, text: str, filename: str) -> str:
    if isinstance(error, yaml.MarkedYAMLError):
        mark = error.problem_mark or error.context_mark
        # the parser puts what is missing at the end on the line after the last
        place = f"{filename}:{min(mark.line, text.rstrip().count(chr(10))) + 1}" if mark else filename
        problem = ", ".join(part for part in (error.context, error.problem) if part)
        return f"{place}: not valid YAML: {problem}"
    return f"{filename}: not valid YAML: {' '.join(str(error).split())}"


class _Loader(yaml.CSafeLoader):
    """Scalars as Kubernetes' YAML to JSON conversion reads them, keys that are always strings, no other tags."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}
    yaml_constructors: ClassVar[dict[str | None, Any]] = {None: yaml.SafeLoader.construct_undefined}


def _key_text(key: object, node: yaml.Node) -> str:
    if isinstance(key, str):
        return key
    if isinstance(key, bool):
        return "true" if key else "false"
    if isinstance(key, int | float):
        return json.dumps(key)
    raise yaml.constructor.ConstructorError(None, None, "a key must be a scalar", node.start_mark)


def _construct_map(loader: _Loader, node: yaml.MappingNode) -> Iterator[dict[str, Any]]:
    found: dict[str, Any] = {}
    yield found
    loader.flatten_mapping(node)
    for key_node, value_node in node.value:
        key = loader.construct_object(key_node, deep=True)
        found[_key_text(key, key_node)] = loader.construct_object(value_node)


def _construct_binary(loader: _Loader, node: yaml.ScalarNode) -> str:
    try:
        return base64.b64decode("".join(str(loader.construct_scalar(node)).split()), validate=True).decode()
    except ValueError:
        raise yaml.constructor.ConstructorError(None, None, "!!binary is not base64 of text", node.start_mark) from None


def _construct_list(loader: _Loader, node: yaml.SequenceNode) -> Iterator[list[Any]]:
    found: list[Any] = []
    yield found
    found.extend(loader.construct_sequence(node))


def _construct_text(loader: _Loader, node: yaml.ScalarNode) -> str:
    return str(loader.construct_scalar(node))


def _construct_null(_loader: _Loader, _node: yaml.Node) -> None:
    return None


def _construct_bool(loader: _Loader, node: yaml.ScalarNode) -> bool:
    truth = _WORDS.get(loader.construct_scalar(node))
    if truth is None:
        raise yaml.constructor.ConstructorError(None, None, f"{node.value!r} is not a boolean", node.start_mark)
    return truth


def _construct_int(loader: _Loader, node: yaml.ScalarNode) -> int | float | str:
    written = str(loader.construct_scalar(node))
    text = written.replace("_", "")
    sign = -1 if text.startswith("-") else 1
    digits = text.lstrip("+-")
    try:
        number = sign * int(digits, 8 if digits[:1] == "0" and digits.isdigit() else 0)
    except ValueError:
        return written
    return number if -(2**63) <= number < 2**64 else float(number)


def _construct_float(loader: _Loader, node: yaml.ScalarNode) -> int | float | str:
    text = str(loader.construct_scalar(node))
    if _NOT_FINITE.match(text):
        raise yaml.constructor.ConstructorError(None, None, f"{text} has no place in JSON", node.start_mark)
    number = float(text.replace("_", ""))
    if not math.isfinite(number):
        return text
    # parity: on the way through JSON a whole number loses its point, and then fits an integer field
    return int(number) if number.is_integer() and abs(number) < _FIRST_WITH_EXPONENT else number


_Loader.add_implicit_resolver(f"{_TAG}bool", re.compile("(" + "|".join(_WORDS) + ")$"), list("yYnNtTfFoO"))
_Loader.add_implicit_resolver(f"{_TAG}int", _INTEGER, list("-+0123456789"))
_Loader.add_implicit_resolver(f"{_TAG}float", _FLOAT, list("-+0123456789."))
_Loader.add_implicit_resolver(f"{_TAG}float", _NOT_FINITE, list("-+."))
_Loader.add_implicit_resolver(f"{_TAG}null", re.compile(r"(~|null|Null|NULL|)$"), ["~", "n", "N", ""])
_Loader.add_implicit_resolver(f"{_TAG}merge", re.compile("<<$"), ["<"])
_Loader.add_constructor(f"{_TAG}bool", _construct_bool)
_Loader.add_constructor(f"{_TAG}int", _construct_int)
_Loader.add_constructor(f"{_TAG}float", _construct_float)
_Loader.add_constructor(f"{_TAG}null", _construct_null)
_Loader.add_constructor(f"{_TAG}str", _construct_text)
_Loader.add_constructor(f"{_TAG}timestamp", _construct_text)
_Loader.add_constructor(f"{_TAG}merge", _construct_text)
_Loader.add_constructor(f"{_TAG}binary", _construct_binary)
_Loader.add_constructor(f"{_TAG}seq", _construct_list)
_Loader.add_constructor(f"{_TAG}map", _construct_map)
