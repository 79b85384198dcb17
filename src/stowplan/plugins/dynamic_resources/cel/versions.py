"""Semantic versions, parsed and compared as the API server does.

Upstream: vendor/github.com/blang/semver/v4 and staging/src/k8s.io/apiserver/pkg/cel/library/semverlib.go (v1.36.4).
"""

import json
import re
from dataclasses import dataclass
from functools import lru_cache

NUMBER = re.compile(r"[0-9]+")
IDENTIFIER = re.compile(r"[0-9A-Za-z-]+")
MAX_UINT64 = (1 << 64) - 1


class VersionError(ValueError):
    """Raised when a text is no semantic version."""


@dataclass(frozen=True, slots=True)
class Semver:
    """A version; build metadata is kept but does not count."""

    major: int
    minor: int
    patch: int
    pre: tuple[str | int, ...] = ()
    build: tuple[str, ...] = ()

    def compare(self, other: "Semver") -> int:
        """-1, 0 or 1 by precedence."""
        mine, theirs = (self.major, self.minor, self.patch), (other.major, other.minor, other.patch)
        if mine != theirs:
            return 1 if mine > theirs else -1
        if not self.pre or not other.pre:
            return (not self.pre) - (not other.pre)
        for a, b in zip(self.pre, other.pre, strict=False):
            if a != b:
                return _compare_pre(a, b)
        return (len(self.pre) > len(other.pre)) - (len(self.pre) < len(other.pre))


def _compare_pre(a: str | int, b: str | int) -> int:
    if isinstance(a, int) and isinstance(b, int):
        return 1 if a > b else -1
    if isinstance(a, str) and isinstance(b, str):
        return 1 if a > b else -1
    return -1 if isinstance(a, int) else 1


@lru_cache(maxsize=4096)
def parse_semver(text: str) -> Semver:
    """Parse `major.minor.patch[-pre][+build]`; VersionError with upstream's text otherwise."""
    if not text:
        raise VersionError("Version string empty")
    parts = text.split(".", 2)
    if len(parts) != 3:
        raise VersionError("No Major.Minor.Patch elements found")
    major = _number(parts[0], "major", "Major")
    minor = _number(parts[1], "minor", "Minor")
    rest, plus, build_text = parts[2].partition("+")
    rest, dash, pre_text = rest.partition("-")
    patch = _number(rest, "patch", "Patch")
    pre = tuple(_pre(part) for part in pre_text.split(".")) if dash else ()
    build = tuple(build_text.split(".")) if plus else ()
    for part in build:
        if not part:
            raise VersionError("Build meta data is empty")
        if not IDENTIFIER.fullmatch(part):
            raise VersionError(f"Invalid character(s) found in build meta data {_quoted(part)}")
    return Semver(major, minor, patch, pre, build)


def normalize_semver(text: str) -> Semver:
    """Parse after dropping a leading `v` and leading zeros, and filling up what is missing."""
    parts = text.removeprefix("v").split(".", 2)
    for i, part in enumerate(parts):
        if len(part) > 1:
            stripped = part.lstrip("0")
            parts[i] = stripped if stripped and stripped[0] in "0123456789" else "0" + stripped
    if len(parts) < 3 and any(mark in parts[-1] for mark in "+-"):
        raise VersionError("short version cannot contain PreRelease/Build meta data")
    parts += ["0"] * (3 - len(parts))
    return parse_semver(".".join(parts))


def _number(text: str, name: str, title: str) -> int:
    if not set(text) <= set("0123456789"):
        raise VersionError(f"Invalid character(s) found in {name} number {_quoted(text)}")
    if len(text) > 1 and text[0] == "0":
        raise VersionError(f"{title} number must not contain leading zeroes {_quoted(text)}")
    if not text:
        raise VersionError('strconv.ParseUint: parsing "": invalid syntax')
    if int(text) > MAX_UINT64:
        raise VersionError(f"strconv.ParseUint: parsing {_quoted(text)}: value out of range")
    return int(text)


def _pre(text: str) -> str | int:
    if not text:
        raise VersionError("Prerelease is empty")
    if NUMBER.fullmatch(text):
        if len(text) > 1 and text[0] == "0":
            raise VersionError(f"Numeric PreRelease version must not contain leading zeroes {_quoted(text)}")
        return int(text)
    if not IDENTIFIER.fullmatch(text):
        raise VersionError(f"Invalid character(s) found in prerelease {_quoted(text)}")
    return text


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
