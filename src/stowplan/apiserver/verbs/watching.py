"""Watches: from a version, from now, or with the present state first.

Upstream: staging/src/k8s.io/apiserver/pkg/storage/cacher/cacher.go, Watch (v1.36.4).
"""

import random
from collections.abc import Iterator

from stowplan.apiserver.context import Api
from stowplan.apiserver.errors import ApiError, expired
from stowplan.apiserver.forms.negotiate import WatchForm, watch_form
from stowplan.apiserver.listoptions import INITIAL, check_options
from stowplan.apiserver.metadata import parse_version
from stowplan.apiserver.request import Call, Sink, Streamed, boolean_parameter, integer_parameter
from stowplan.apiserver.storage.entry import Change, Entry
from stowplan.apiserver.storage.table import HistoryGoneError
from stowplan.apiserver.verbs.listing import selectors, write_pieces
from stowplan.apiserver.watch.hub import Lines, Watcher, line

SHORTEST_SECONDS = 1800
LONGEST_SECONDS = 3600


def watch_objects(api: Api, call: Call) -> Streamed:
    """An open watch."""
    check_options(call.query, watch=True)
    labels, fields = selectors(api, call)
    form = watch_form(api, call)
    wanted = call.query.get("resourceVersion", "")
    initial = _wants_initial(call, wanted)
    since = api.store.version if wanted in ("", "0") or initial else parse_version(wanted)
    seconds = integer_parameter(call.query, "timeoutSeconds")
    if not seconds or seconds < 0:
        seconds = random.randint(SHORTEST_SECONDS, LONGEST_SECONDS)  # noqa: S311 (spreads reconnects)
    if initial and wanted not in ("", "0") and parse_version(wanted) > api.store.version:
        raise ApiError(504, f"Too large resource version: {wanted}, current: {api.store.version}", reason="Timeout")
    if since > api.store.version:
        raise expired(f"too old resource version: {since} ({api.store.version})")
    name = call.name

    async def run(sink: Sink) -> None:
        watcher = Watcher(
            form=form,
            namespace=call.namespace,
            labels=labels,
            fields=fields,
            name=name,
            since=since,
            bookmarks=boolean_parameter(call.query, "allowWatchBookmarks"),
            limit=api.options.watch_buffer,
            cut=sink.abort,
        )
        backlog = _backlog(api, call, watcher) if not initial else []
        present = _present(api, call, watcher) if initial else []
        api.hub.add(call.resource.storage, watcher)
        try:
            await write_pieces(sink, _added(form, present))
            if watcher.bookmarks and boolean_parameter(call.query, INITIAL):
                await sink.write(b'{"type":"BOOKMARK","object":%b}\n' % form.bookmark(watcher.since, initial_end=True))
            await write_pieces(sink, iter(backlog))
            await _follow(api, sink, watcher, float(seconds))
        finally:
            api.hub.remove(call.resource.storage, watcher)

    if not initial:
        # a version that is gone is said before the stream begins
        _check_history(api, call, since)
    return Streamed(run)


def _wants_initial(call: Call, wanted: str) -> bool:
    if INITIAL in call.query:
        return boolean_parameter(call.query, INITIAL)
    return wanted in ("", "0")


def _check_history(api: Api, call: Call, since: int) -> None:
    try:
        api.table(call.resource).since(since)
    except HistoryGoneError:
        raise expired(f"too old resource version: {since} ({api.store.version})") from None


def _backlog(api: Api, call: Call, watcher: Watcher) -> list[bytes]:
    """What happened since the version asked for; pending changes of this turn will be told later."""
    try:
        events = api.table(call.resource).since(watcher.since)
    except HistoryGoneError:
        gone = expired(f"too old resource version: {watcher.since} ({api.store.version})")
        return [b'{"type":"ERROR","object":%b}\n' % gone.encoded()]
    lines: Lines = {}
    collected: list[bytes] = []
    for event in events:
        data = watcher.meaning(event, lines)
        if data is not None:
            collected.append(data)
    return collected


def _present(api: Api, call: Call, watcher: Watcher) -> list[Entry]:
    watcher.since = api.store.version
    return [entry for entry in api.table(call.resource).slice(call.namespace) if watcher.wants(entry)]


def _added(form: WatchForm, present: list[Entry]) -> Iterator[bytes]:
    for entry in present:
        yield line(form, Change.ADDED, entry, {})


async def _follow(api: Api, sink: Sink, watcher: Watcher, seconds: float) -> None:
    deadline = api.clock.monotonic() + seconds
    while True:
        left = deadline - api.clock.monotonic()
        if left <= 0:
            return
        data = await watcher.take(left)
        if data:
            await sink.write(data)
        elif watcher.closed:
            return
