"""The functions of the standard extension libraries: strings, lists, sets and optional values.

Upstream: vendor/github.com/google/cel-go/ext/strings.go, lists.go, sets.go and cel/library.go (v1.36.4).
"""

from typing import Final

from stowplan.plugins.dynamic_resources.cel.standard import NO_OVERLOAD, Function
from stowplan.plugins.dynamic_resources.cel.values import (
    NONE,
    CelError,
    CelMap,
    Optional,
    Value,
    compare,
    equal,
    text_of,
)

ESCAPES: Final = str.maketrans(
    {
        "\a": "\\a",
        "\b": "\\b",
        "\f": "\\f",
        "\n": "\\n",
        "\r": "\\r",
        "\t": "\\t",
        "\v": "\\v",
        "\\": "\\\\",
        '"': '\\"',
    }
)
ASCII_LOWER: Final = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}
ASCII_UPPER: Final = {code + 32: code for code in ASCII_LOWER}
NOT_NEGATIVE = "index out of range: {}"


def _char_at(text: str, at: int) -> str:
    if not 0 <= at <= len(text):
        raise CelError(NOT_NEGATIVE.format(at))
    return text[at : at + 1]


def _index_of(text: str, part: str, offset: int = 0) -> int:
    if not part:
        return offset
    if offset < 0:
        raise CelError(NOT_NEGATIVE.format(offset))
    return text.find(part, offset)


def _last_index_of(text: str, part: str, offset: int | None = None) -> int:
    if not part:
        return len(text) if offset is None else offset
    if offset is None:
        return text.rfind(part)
    if offset < 0:
        raise CelError(NOT_NEGATIVE.format(offset))
    return -1 if offset >= len(text) else text.rfind(part, 0, offset + len(part))


def _substring(text: str, start: int, end: int | None = None) -> str:
    stop = len(text) if end is None else end
    if end is not None and start > end:
        raise CelError(f"invalid substring range. start: {start}, end: {end}")
    for at in (start, stop):
        if not 0 <= at <= len(text):
            raise CelError(NOT_NEGATIVE.format(at))
    return text[start:stop]


def _split(text: str, separator: str, limit: int = -1) -> list[str]:
    if limit == 0:
        return []
    if separator:
        return text.split(separator, limit - 1 if limit > 0 else -1)
    chars = list(text)
    return chars if limit < 0 or limit >= len(chars) else [*chars[: limit - 1], "".join(chars[limit - 1 :])]


def _join(items: list[Value], separator: str = "") -> str:
    for item in items:
        if not isinstance(item, str):
            raise CelError(f"join: invalid input: {text_of(item)}")
    return separator.join(items)


def _slice(items: list[Value], start: int, end: int) -> list[Value]:
    if start < 0 or end < 0:
        raise CelError(f"cannot slice({start}, {end}), negative indexes not supported")
    if start > end:
        raise CelError(f"cannot slice({start}, {end}), start index must be less than or equal to end index")
    if end > len(items):
        raise CelError(f"cannot slice({start}, {end}), list is length {len(items)}")
    return items[start:end]


def _flatten(items: list[Value], depth: int = 1) -> list[Value]:
    if depth < 0:
        raise CelError("level must be non-negative")
    flat: list[Value] = []
    for item in items:
        flat.extend(_flatten(item, depth - 1) if isinstance(item, list) and depth > 0 else [item])
    return flat


def _distinct(items: list[Value]) -> list[Value]:
    kept: list[Value] = []
    for item in items:
        if not any(equal(item, other) for other in kept):
            kept.append(item)
    return kept


def _sort(items: list[Value]) -> list[Value]:
    return _sort_by(items, items)


def _sort_by(items: list[Value], keys: list[Value]) -> list[Value]:
    order = list(range(len(items)))
    for i in range(1, len(order)):  # insertion sort keeps equal elements in place and needs no total order
        j = i
        while j > 0 and compare(keys[order[j - 1]], keys[order[j]]) > 0:
            order[j - 1], order[j] = order[j], order[j - 1]
            j -= 1
    return [items[i] for i in order]


def _holds(items: list[Value], wanted: list[Value]) -> bool:
    return all(any(equal(item, want) for item in items) for want in wanted)


def _reverse(items: Value) -> Value:
    if not isinstance(items, list):
        raise CelError(NO_OVERLOAD)
    return items[::-1]


def _of_non_zero(value: Value) -> Optional:
    zero = (
        value is None
        or value is False
        or value in (0, 0.0, "", b"")
        or (isinstance(value, list | CelMap) and not len(value))
    )
    return NONE if zero else Optional(present=True, value=value)


def _value(optional: Optional) -> Value:
    if not optional.present:
        raise CelError("optional.none() dereference")
    return optional.value


def _some(value: Value) -> Optional:
    return Optional(present=True, value=value)


def _insert(entries: CelMap, key: Value, value: Value) -> CelMap:
    if key in entries:
        raise CelError(f"insert failed: key {text_of(key)} already exists")
    return CelMap({**{old: entries.find(old)[1] for old in entries}, key: value})


def _insert_map(entries: CelMap, more: CelMap) -> CelMap:
    for key in more:
        entries = _insert(entries, key, more.find(key)[1])
    return entries


# name -> (kinds of arguments, function); `*` stands for any kind
EXTENSIONS: Final[tuple[tuple[str, tuple[str, ...], Function], ...]] = (
    ("charAt", ("string", "int"), _char_at),
    ("indexOf", ("string", "string"), _index_of),
    ("indexOf", ("string", "string", "int"), _index_of),
    ("lastIndexOf", ("string", "string"), _last_index_of),
    ("lastIndexOf", ("string", "string", "int"), _last_index_of),
    ("lowerAscii", ("string",), lambda text: text.translate(ASCII_LOWER)),
    ("upperAscii", ("string",), lambda text: text.translate(ASCII_UPPER)),
    ("replace", ("string", "string", "string"), lambda text, old, new: text.replace(old, new)),
    ("replace", ("string", "string", "string", "int"), lambda text, old, new, n: text.replace(old, new, n)),
    ("split", ("string", "string"), _split),
    ("split", ("string", "string", "int"), _split),
    ("substring", ("string", "int"), _substring),
    ("substring", ("string", "int", "int"), _substring),
    ("trim", ("string",), lambda text: text.strip()),
    ("join", ("list",), _join),
    ("join", ("list", "string"), _join),
    ("strings.quote", ("string",), lambda text: f'"{text.translate(ESCAPES)}"'),
    ("slice", ("list", "int", "int"), _slice),
    ("flatten", ("list",), _flatten),
    ("flatten", ("list", "int"), _flatten),
    ("distinct", ("list",), _distinct),
    ("reverse", ("list",), _reverse),
    ("sort", ("list",), _sort),
    ("@sortByAssociatedKeys", ("list", "list"), _sort_by),
    ("lists.range", ("int",), lambda n: list(range(n))),
    ("first", ("list",), lambda items: _some(items[0]) if items else NONE),
    ("last", ("list",), lambda items: _some(items[-1]) if items else NONE),
    ("sets.contains", ("list", "list"), _holds),
    ("sets.equivalent", ("list", "list"), lambda a, b: _holds(a, b) and _holds(b, a)),
    ("sets.intersects", ("list", "list"), lambda a, b: any(equal(x, y) for x in a for y in b)),
    ("optional.of", ("*",), _some),
    ("optional.ofNonZeroValue", ("*",), _of_non_zero),
    ("optional.none", (), lambda: NONE),
    ("value", ("optional_type",), _value),
    ("hasValue", ("optional_type",), lambda optional: optional.present),
    ("optional.unwrap", ("list",), lambda items: [item.value for item in items if item.present]),
    ("unwrapOpt", ("list",), lambda items: [item.value for item in items if item.present]),
    ("cel.@mapInsert", ("map", "*", "*"), _insert),
    ("cel.@mapInsert", ("map", "map"), _insert_map),
)
