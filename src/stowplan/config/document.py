"""Bytes to a tree, with the scalars that Kubernetes' own YAML reader sees.

Upstream: vendor/sigs.k8s.io/yaml and vendor/go.yaml.in/yaml/v2/resolve.go (v1.36.4).
"""

import json
import math
import re
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final

import yaml

from stowplan.api.gotext import quote
from stowplan.config.errors import DocumentError

# parity: y and n are booleans too, which PyYAML's own resolver does not know
_WORDS: Final[dict[str, bool | None]] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
}
_INTEGER: Final = re.compile(r"[-+]?(0[xX][0-9a-fA-F]+|0[oO]?[0-7]+|0[bB][01]+|0|[1-9][0-9]*)")
_FLOAT: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_MERGE: Final = "<<"
_TEXT_TAG: Final = "tag:yaml.org,2002:str"
_PLAIN_TAG: Final = "!plain"
_RESOLVE_NOTHING: Final = {None: [(_PLAIN_TAG, re.compile(""))]}
_MAX_UINT64: Final = 2**64 - 1
_MAX_DIGITS: Final = 80  # what is longer is no integer in Go either
_MAX_NODES: Final = 100_000  # aliases can make a small file this large


@dataclass(frozen=True, slots=True)
class Number:
    """A number as its JSON text, so that nothing is lost before the field's type is known."""

    text: str


@dataclass(frozen=True, slots=True)
class Entries:
    """An object: its members in order, a key perhaps twice when the source was JSON."""

    members: tuple[tuple[str, "Tree"], ...]

    def get(self, key: str) -> "Tree":
        """The last value of the key, None when there is none."""
        return next((value for name, value in reversed(self.members) if name == key), None)


Tree = Entries | tuple["Tree", ...] | str | bool | Number | None


@dataclass(frozen=True, slots=True)
class Document:
    """A tree and the faults that do not keep one from reading it: keys given twice in YAML."""

    tree: Tree
    faults: tuple[str, ...] = ()


def read_document(data: bytes) -> Document:
    """The first document of YAML or JSON bytes; DocumentError when they are neither."""
    # parity: what opens with a brace is JSON, a YAML flow mapping is not looked for
    if data.lstrip()[:1] == b"{":
        return Document(_read_json(data))
    return _read_yaml(data)


def plain(tree: Tree) -> object:
    """The tree as dicts, lists, strings and numbers."""
    match tree:
        case Entries():
            return {key: plain(value) for key, value in tree.members}
        case tuple():
            return [plain(value) for value in tree]
        case Number():
            whole = len(tree.text) <= _MAX_DIGITS and re.fullmatch(r"-?[0-9]+", tree.text)
            return int(tree.text) if whole else float(tree.text)
        case _:
            return tree


def kind_of(tree: Tree) -> str:
    """How Go's JSON decoder names the kind of a value."""
    match tree:
        case Entries():
            return "object"
        case tuple():
            return "array"
        case Number():
            return "number"
        case bool():
            return "bool"
        case str():
            return "string"
        case None:
            return "null"


def _read_json(data: bytes) -> Tree:
    try:
        text = data.decode()
        value = json.loads(
            text, object_pairs_hook=_entries, parse_int=Number, parse_float=Number, parse_constant=_no_constant
        )
    except json.JSONDecodeError as error:
        raise DocumentError(
            f"couldn't get version/kind; json parse error: line {error.lineno} column {error.colno}: {error.msg}"
        ) from error
    except (UnicodeDecodeError, RecursionError) as error:
        raise DocumentError(f"couldn't get version/kind; json parse error: {error}") from error
    return _frozen(value)


def _no_constant(name: str) -> Tree:
    raise DocumentError(f"couldn't get version/kind; json parse error: {name} is not a JSON number")


def _entries(pairs: list[tuple[str, object]]) -> Entries:
    return Entries(tuple((key, _frozen(value)) for key, value in pairs))


def _frozen(value: object) -> Tree:
    if isinstance(value, list):
        return tuple(_frozen(item) for item in value)
    assert value is None or isinstance(value, Entries | str | bool | Number), "the hooks make nothing else"
    return value


def _read_yaml(data: bytes) -> Document:
    try:
        loader = _Loader(data)
        try:
            # parity: documents after the first are not looked at
            node = loader.get_node() if loader.check_node() else None
        finally:
            loader.dispose()
        builder = _Builder()
        tree = builder.build(node) if node is not None else None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        # the end of the file is not a line one can look at
        last_line = max(len(data.splitlines()), 1)
        line = f"line {min(mark.line + 1, last_line)}: " if mark else ""
        raise DocumentError(f"yaml: {line}{error.problem or error.context}") from error
    except yaml.YAMLError as error:
        raise DocumentError(f"yaml: {' '.join(str(error).split())}") from error
    except RecursionError as error:
        raise DocumentError("yaml: exceeded max depth") from error
    faults = (f"yaml: unmarshal errors: {', '.join(builder.duplicates)}",) if builder.duplicates else ()
    return Document(tree, faults)


class _Loader(yaml.CSafeLoader):
    """Tells what is written plainly from what is quoted or tagged, and resolves nothing itself."""

    yaml_implicit_resolvers = _RESOLVE_NOTHING


@dataclass(slots=True)
class _Builder:
    """Turns YAML nodes to a tree and notes the keys that are there twice."""

    duplicates: list[str] = field(default_factory=list)
    _open: set[int] = field(default_factory=set)
    _built: int = 0

    def build(self, node: yaml.Node) -> Tree:
        self._built += 1
        if self._built > _MAX_NODES:
            raise DocumentError("yaml: document contains excessive aliasing")
        if isinstance(node, yaml.ScalarNode):
            return _scalar(node)
        if id(node) in self._open:
            raise DocumentError(f"yaml: line {node.start_mark.line + 1}: anchor value contains itself")
        self._open.add(id(node))
        try:
            if isinstance(node, yaml.SequenceNode):
                return tuple(self.build(item) for item in node.value)
            # parity: upstream turns YAML to JSON with sorted keys, so errors come in that order
            return Entries(tuple(sorted(self._members(node).items())))
        finally:
            self._open.remove(id(node))

    def _members(self, node: yaml.Node) -> dict[str, Tree]:
        if not isinstance(node, yaml.MappingNode):
            raise DocumentError(
                f"yaml: line {node.start_mark.line + 1}: map merge requires map or sequence of maps as the value"
            )
        members: dict[str, Tree] = {}
        merged: list[yaml.Node] = []
        for key_node, value_node in node.value:
            if _is_merge(key_node):
                merged += value_node.value if isinstance(value_node, yaml.SequenceNode) else [value_node]
                continue
            key = self._key(key_node)
            if key in members:
                self.duplicates.append(f"line {key_node.start_mark.line + 1}: key {quote(key)} already set in map")
            members[key] = self.build(value_node)
        for other in merged:
            for key, value in self._members(other).items():
                members.setdefault(key, value)
        return members

    def _key(self, node: yaml.Node) -> str:
        key = self.build(node)
        match key:
            case str():
                return key
            case bool():
                return "true" if key else "false"
            case Number():
                return key.text
            case _:
                raise DocumentError(
                    f"yaml: line {node.start_mark.line + 1}: unsupported map key of type: {kind_of(key)}"
                )


def _is_merge(node: yaml.Node) -> bool:
    return isinstance(node, yaml.ScalarNode) and node.tag == _PLAIN_TAG and node.value == _MERGE


def _scalar(node: yaml.ScalarNode) -> Tree:
    text: str = node.value
    if node.tag == _TEXT_TAG:
        return text
    if text in _WORDS:
        return _WORDS[text]
    digits = text.replace("_", "")
    if text[0] in "+-0123456789" and len(digits) <= _MAX_DIGITS and _INTEGER.fullmatch(digits):
        whole = _integer(digits)
        if abs(whole) <= _MAX_UINT64:
            return Number(str(whole))
    if text[0] in "+-.0123456789" and _FLOAT.fullmatch(digits) and math.isfinite(real := float(digits)):
        return Number(_float_text(real))
    return text


def _integer(digits: str) -> int:
    sign = -1 if digits[0] == "-" else 1
    body = digits.lstrip("+-")
    if len(body) > 1 and body[0] == "0" and body[1].isdigit():
        return sign * int(body, 8)
    return sign * int(body, 0)


def _float_text(value: float) -> str:
    if value.is_integer() and abs(value) < 1e21:
        return str(int(value))
    if 1e-6 <= abs(value) < 1e21:
        return format(Decimal(repr(value)), "f")
    return repr(value).replace("e-0", "e-")
