"""The encoding beneath: varints, lengths, and the fields of one message."""

from collections.abc import Iterator

VARINT, FIXED64, LENGTH, FIXED32 = 0, 1, 2, 5
LARGEST = 1 << 64


class WireError(ValueError):
    """Raised when bytes are not a message."""


def fields(data: memoryview) -> Iterator[tuple[int, int, int | memoryview]]:
    """Number, wire type and value of every field."""
    position, end = 0, len(data)
    while position < end:
        key, position = varint(data, position)
        number, kind = key >> 3, key & 7
        if not number:
            raise WireError("field number 0")
        if kind == VARINT:
            value, position = varint(data, position)
            yield number, kind, value
            continue
        if kind == LENGTH:
            size, position = varint(data, position)
        elif kind in (FIXED64, FIXED32):
            size = 8 if kind == FIXED64 else 4
        else:
            raise WireError(f"wire type {kind}")
        if position + size > end:
            raise WireError("the message ends too early")
        yield number, kind, data[position : position + size]
        position += size


def varint(data: memoryview, position: int) -> tuple[int, int]:
    """A number of variable length, and where the next thing begins."""
    value = shift = 0
    while True:
        if position >= len(data) or shift > 63:
            raise WireError("a number without an end")
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value % LARGEST, position
        shift += 7


def signed(value: int) -> int:
    """A varint as a signed number."""
    return value - LARGEST if value >= LARGEST >> 1 else value
