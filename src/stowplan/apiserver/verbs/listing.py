"""GET of a collection: selectors, pages, versions. The answer is written in pieces, never held as a whole.

Upstream: staging/src/k8s.io/apiserver/pkg/storage/etcd3/store.go, GetList (v1.36.4).
"""

import asyncio
import base64
from collections.abc import Iterator
from itertools import islice

import msgspec

from stowplan.apiserver.context import Api
from stowplan.apiserver.errors import ApiError, Cause, bad_request, expired
from stowplan.apiserver.forms.negotiate import ListForm, list_form
from stowplan.apiserver.listoptions import check_options
from stowplan.apiserver.metadata import parse_version
from stowplan.apiserver.request import Answer, Call, Reply, Sink, Streamed, integer_parameter
from stowplan.apiserver.selecting.fields import BadFieldSelectorError, FieldSelector
from stowplan.apiserver.selecting.labels import BadSelectorError, LabelSelector, parse_labels
from stowplan.apiserver.storage.entry import Entry, Key
from stowplan.apiserver.storage.table import HistoryGoneError

PIECE = 256 * 1024
SMALL = 500
"""Shorter lists are answered whole."""

LONGEST_SECONDS = 120.0
"""A reader that takes longer for one list is cut off."""


class Continue(msgspec.Struct):
    """Where the next page begins, and which state it belongs to."""

    version: int
    namespace: str
    name: str


async def write_pieces(sink: Sink, parts: Iterator[bytes]) -> None:
    """Write many small parts in larger pieces; others get their turn in between."""
    held: list[bytes] = []
    size = 0
    for part in parts:
        held.append(part)
        size += len(part)
        if size > PIECE:
            await sink.write(b"".join(held))
            held, size = [], 0
            await asyncio.sleep(0)
    if held:
        await sink.write(b"".join(held))


def selectors(api: Api, call: Call) -> tuple[LabelSelector | None, FieldSelector | None]:
    """The selectors of the query."""
    labels = fields = None
    label_text, field_text = call.query.get("labelSelector", ""), call.query.get("fieldSelector", "")
    try:
        if label_text:
            labels = parse_labels(label_text)
    except BadSelectorError as error:
        raise bad_request(f"unable to parse requirement: {error}") from None
    try:
        if field_text:
            fields = api.fields.parse(call.resource.storage, field_text)
    except BadFieldSelectorError as error:
        raise bad_request(str(error)) from None
    return labels, fields


def select(api: Api, call: Call) -> Iterator[Entry]:
    """All present objects that the query picks."""
    labels, fields = selectors(api, call)
    for entry in api.table(call.resource).slice(call.namespace):
        if (labels is None or labels.matches(entry.labels)) and (fields is None or fields.matches(entry)):
            yield entry


def list_objects(api: Api, call: Call) -> Answer:
    """A collection, or a page of it."""
    check_options(call.query, watch=False)
    labels, fields = selectors(api, call)
    form = list_form(api, call)
    limit = integer_parameter(call.query, "limit") or 0
    token = call.query.get("continue", "")
    exact, after = _state(api, call, token)
    version = api.store.version if exact is None else exact
    source = (
        entry
        for entry in _source(api, call, exact, after)
        if (labels is None or labels.matches(entry.labels)) and (fields is None or fields.matches(entry))
    )
    # perf: a page looks no further than one object behind its end
    chosen = list(source) if limit <= 0 else list(islice(source, limit + 1))
    rest = 0
    next_token = ""
    if 0 < limit < len(chosen):
        chosen = chosen[:limit]
        last = chosen[-1]
        next_token = _encode(Continue(version, last.namespace, last.name))
        if labels is None and fields is None:
            rest = api.table(call.resource).count_after(call.namespace, last.key)
    if len(chosen) <= SMALL:
        return Reply(body=b"".join(pieces(form, chosen, version, next_token, rest)), content_type=form.content_type)

    async def run(sink: Sink) -> None:
        try:
            async with asyncio.timeout(LONGEST_SECONDS):
                await write_pieces(sink, pieces(form, chosen, version, next_token, rest))
        except TimeoutError:
            sink.abort()

    return Streamed(run, form.content_type)


def pieces(form: ListForm, entries: list[Entry], version: int, token: str, rest: int) -> Iterator[bytes]:
    """The encoded list, bit by bit."""
    yield form.head(version, token, rest)
    for index, entry in enumerate(entries):
        if index:
            yield b","
        yield form.item(entry)
    yield b"]}\n"


def _source(api: Api, call: Call, exact: int | None, after: Key | None) -> Iterator[Entry]:
    table = api.table(call.resource)
    if exact is None or exact == api.store.version:
        return table.slice(call.namespace, after)
    if exact > api.store.version:
        raise too_large(api, exact)
    # the changes of this very turn belong to the present state
    api.store.flush_now()
    try:
        table.since(exact)
    except HistoryGoneError:
        raise expired(
            "The provided continue parameter is too old to display a consistent list result. You can start a new list "
            "without the continue parameter."
            if call.query.get("continue")
            else "The resourceVersion for the provided list is too old."
        ) from None
    return table.slice_at(exact, call.namespace, after)


def _state(api: Api, call: Call, token: str) -> tuple[int | None, Key | None]:
    """The version that the list must show (None: the present one), and where it begins."""
    match = call.query.get("resourceVersionMatch", "")
    wanted = call.query.get("resourceVersion", "")
    if token:
        if wanted and wanted != "0":
            raise bad_request("specifying resource version is not allowed when using continue")
        found = _decode(token)
        return found.version, (found.namespace, found.name)
    if not wanted or wanted == "0":
        return None, None
    version = parse_version(wanted)
    if version > api.store.version:
        raise too_large(api, version)
    return (version if match == "Exact" else None), None


def too_large(api: Api, version: int) -> ApiError:
    """The client is ahead of the server."""
    return ApiError(
        504,
        f"Too large resource version: {version}, current: {api.store.version}",
        reason="Timeout",
        causes=[Cause("ResourceVersionTooLarge", "Too large resource version")],
        retry_after=1,
    )


def _encode(token: Continue) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(token)).decode().rstrip("=")


def _decode(text: str) -> Continue:
    try:
        return msgspec.json.decode(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)), type=Continue)
    except (ValueError, msgspec.DecodeError):
        raise bad_request("invalid continue token: continue key is not valid: it cannot be read") from None
