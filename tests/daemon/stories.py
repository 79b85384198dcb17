"""Recorded stories played on an API server, and what the scheduler wrote, freed of times, uids and versions."""

import asyncio
import json
import re
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from difflib import unified_diff
from typing import Any

from tests.daemon.api import ApiServer
from tests.daemon.controllers import volume_for, volumes_bound
from tests.daemon.objects import HOSTNAME
from tests.daemon.scene import Hands, Scene, Write, scene, until

Json = dict[str, Any]

HOME = "story"
"""The namespace of the record."""
VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
HASH = re.compile(r"\.[0-9a-f]{10,}$")
EMPTY_IN_THE_RECORD = ("deprecatedSource", "deprecatedFirstTimestamp", "deprecatedLastTimestamp", "creationTimestamp")
"""What the audit log of kube-apiserver writes out and a client need not send."""

PROTECTED = {
    "PersistentVolume": "kubernetes.io/pv-protection",
    "PersistentVolumeClaim": "kubernetes.io/pvc-protection",
}
"""What admission adds where it runs."""
QUIET_SECONDS = 0.25
LONGEST_SECONDS = 2.5


def as_played(written: list[Json], pods: Json) -> tuple[list[Json], Json]:
    """For stories that leave nothing to chance."""
    return written, pods


async def check(server: ApiServer, story: Json, told: Callable[[list[Json], Json], Any] = as_played) -> None:
    """Play a story; what is written, object by object, and the pods at the end must be as recorded."""
    want = by_object(story["schedulerWrites"])
    async with scene(server) as s, volumes_bound(s.hands):
        await play(story["steps"], s)
        with suppress(AssertionError):  # the comparison says better what is missing
            await all_written(s, want)
        await quiet(s, resting=True)

        written, pods = told(recorded(s), await pods_at_the_end(s.hands))
        got = by_object(written)
        assert sorted(want) == sorted(got)
        for name, writes in want.items():
            difference = "\n".join(unified_diff(_lines(writes), _lines(got[name]), "want", "got", n=2, lineterm=""))
            assert not difference, name
        assert plain_pods(story["podsAtTheEnd"]) == pods


def _lines(writes: list[str]) -> list[str]:
    """Writes as lines, for a difference that one can read."""
    return "\n".join(writes).splitlines()


async def play(steps: list[Json], scene: Scene) -> None:
    """Take the steps of a story; each is seen by the scheduler before the next."""
    hands = scene.hands
    for step in steps:
        if "create" in step:
            await hands.create(_at_home(step["create"], hands))
        elif "mergePatch" in step:
            kind, name, *subresource = step["mergePatch"].split("/")
            await hands.patch(kind, hands.namespace if name == HOME else name, step["body"], *subresource)
        elif "delete" in step:
            kind, name = step["delete"].split("/")
            await hands.delete(kind, name, step.get("gracePeriodSeconds"))
        elif "bind" in step:
            await hands.bind(*step["bind"].split("/"))
        elif "note" in step:
            await _provision(step["note"], hands)
        await quiet(scene, resting="settle" in step)


async def quiet(scene: Scene, *, resting: bool) -> None:
    """Wait until the scheduler has done nothing for a while; to rest, it must have nothing in back-off either."""
    loop = asyncio.get_running_loop()
    live = scene.scheduler.live
    end = loop.time() + LONGEST_SECONDS
    before: object = None
    since = loop.time()
    while loop.time() < end:
        await asyncio.sleep(0.02)
        counts = live.queue.counts()
        now = (len(scene.writes), counts, live.cluster.view().generation, len(live.tasks))
        busy = counts["active"] + (counts["backoff"] if resting else 0)
        if now != before or busy:
            before, since = now, loop.time()
        elif loop.time() - since > (QUIET_SECONDS if resting else QUIET_SECONDS / 3):
            return


async def _provision(note: str, hands: Hands) -> None:
    found = re.search(r"creates volume (\S+), prebound to claim (\S+), local to (\S+)", note)
    assert found, f"nobody knows how to play: {note}"
    volume, claim, node = found.groups()
    told = await hands.get("PersistentVolumeClaim", claim)
    await hands.create(volume_for(told, volume, key=HOSTNAME, values=[node]))


def _at_home(obj: Json, hands: Hands) -> Json:
    home: Json = json.loads(json.dumps(obj))
    if "namespace" in home["metadata"]:
        home["metadata"]["namespace"] = hands.namespace
    if home["kind"] == "PersistentVolume" and "claimRef" in home["spec"]:
        home["spec"]["claimRef"]["namespace"] = hands.namespace
    if home["kind"] in PROTECTED:
        home["metadata"].setdefault("finalizers", [PROTECTED[home["kind"]]])
    return home


def by_object(writes: list[Json]) -> dict[str, list[str]]:
    """The writes of each object in order; bindings and status patches are their pod's, an event is an object too."""
    found: dict[str, list[str]] = defaultdict(list)
    for write in writes:
        found[_target(write)].append(json.dumps(_essence(write), sort_keys=True, indent=1))
    return dict(found)


def _target(write: Json) -> str:
    path: str = write["path"]
    if "/events/" in path:
        return "series of events"
    if path.endswith("/events"):
        body = write["body"]
        return f"event {body['reason']} of {body['regarding']['name']}"
    return re.sub(r"/(status|binding)$", "", path)


def recorded(scene: Scene) -> list[Json]:
    """What the scheduler wrote, in the form of the record."""
    writes = [_record(write, scene.hands.namespace) for write in scene.writes]
    text = json.dumps(writes)
    for prefix, name in _made_up(writes):
        text = text.replace(name, f"{prefix}<random>")
    home: list[Json] = json.loads(text)
    return home


def _made_up(value: Any) -> set[tuple[str, str]]:
    """Names that the server made up, each with the prefix that it was given."""
    found: set[tuple[str, str]] = set()
    if isinstance(value, list):
        found.update(*map(_made_up, value))
    elif isinstance(value, dict):
        found.update(*map(_made_up, value.values()))
        if value.get("generateName") and value.get("name"):
            found.add((value["generateName"], value["name"]))
    return found


def _record(write: Write, namespace: str) -> Json:
    told: Json = {"verb": VERBS[write.method], "path": write.path.partition("?")[0], "code": write.code}
    if write.body is not None:
        told["body"] = write.body
    home: Json = json.loads(json.dumps(told).replace(namespace, HOME))
    return home


def _essence(value: Any, key: str = "") -> Any:
    if isinstance(value, dict):
        return {
            name: _essence(inner, name)
            for name, inner in value.items()
            if name not in EMPTY_IN_THE_RECORD and name != "managedFields"
        }
    if isinstance(value, list):
        return [_essence(inner, key) for inner in value]
    if not isinstance(value, str):
        return value
    if key == "resourceVersion" and value:
        return "<rv>"
    if key == "reportingInstance":
        return re.sub(r"-[^-]*$", "-<host>", value)
    if value.endswith("/__internal"):
        return "v1"  # how the audit log calls the version of DeleteOptions
    if TIME.fullmatch(value):
        return "<time>"
    value = UID.sub("<uid>", value)
    return HASH.sub(".<hash>", value) if key in {"name", "path"} else value


async def pods_at_the_end(hands: Hands) -> Json:
    """Where the pods are, and what is said of them."""
    return {
        pod["metadata"]["name"]: {
            "nodeName": pod["spec"].get("nodeName"),
            "nominatedNodeName": pod["status"].get("nominatedNodeName"),
            "conditions": _plain(pod["status"].get("conditions")),
        }
        for pod in await hands.items("Pod")
    }


def _plain(conditions: list[Json] | None) -> Any:
    if conditions is None:
        return None
    return [
        {name: value for name, value in _essence(one).items() if name != "lastProbeTime" or value} for one in conditions
    ]


def plain_pods(pods: Json) -> Json:
    """The record's pods in the same form."""
    return {name: {**pod, "conditions": _plain(pod["conditions"])} for name, pod in pods.items()}


async def all_written(scene: Scene, want: dict[str, list[str]]) -> None:
    """Wait until as much was written as the record holds."""
    count = sum(len(writes) for writes in want.values())

    async def is_written() -> bool:
        return len(scene.writes) >= count

    await until(is_written, f"{count} writes", within=LONGEST_SECONDS)
