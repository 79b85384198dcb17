"""One request, understood: who asks for what, and the answers that a verb can give."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from stowplan.apiserver.errors import ApiError, bad_request
from stowplan.apiserver.options import User
from stowplan.apiserver.resources.types import Resource
from stowplan.apiserver.storage.entry import encode_json

JSON = "application/json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A request for a resource."""

    user: User
    verb: str
    resource: Resource
    namespace: str
    name: str
    subresource: str
    query: Mapping[str, str]
    accept: str
    content_type: str
    body: bytes
    agent: str

    @property
    def dry_run(self) -> bool:
        """True when nothing may be kept."""
        return bool(self.query.get("dryRun"))

    @property
    def manager(self) -> str:
        """Who the fields belong to that this call sets."""
        named = self.query.get("fieldManager")
        return named or self.agent.partition("/")[0] or "unknown"


@dataclass(slots=True, kw_only=True)
class Reply:
    """A whole answer."""

    code: int = 200
    body: bytes = b""
    content_type: str = JSON
    warnings: list[str] = field(default_factory=list)
    name: str = ""
    """The object's name, where the request did not say it."""


@dataclass(frozen=True, slots=True)
class Streamed:
    """An answer that is written bit by bit; `write` sends, and waits when the reader is slow."""

    run: Callable[["Sink"], Awaitable[None]]
    content_type: str = JSON


@dataclass(frozen=True, slots=True)
class Sink:
    """Where a streamed answer goes."""

    write: Callable[[bytes], Awaitable[None]]
    abort: Callable[[], None]


Answer = Reply | Streamed


def reply_json(value: Any, code: int = 200) -> Reply:
    """An object as an answer."""
    return Reply(code=code, body=encode_json(value))


def integer_parameter(query: Mapping[str, str], name: str) -> int | None:
    """A whole number of the query."""
    text = query.get(name)
    if not text:
        return None
    if not text.lstrip("-").isdecimal() or not text.isascii() or len(text) > 19:
        raise bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax')
    return int(text)


def boolean_parameter(query: Mapping[str, str], name: str) -> bool:
    """A flag of the query: present and not false."""
    text = query.get(name)
    return text is not None and text.lower() not in ("false", "0")


def check_dry_run(query: Mapping[str, str]) -> None:
    """Only `All` is a dry run."""
    value = query.get("dryRun")
    if value and value != "All":
        raise ApiError(422, f'dryRun: Unsupported value: "{value}": supported values: "All"')
