"""Every recorded decision of kube-scheduler v1.36.4, replayed: filter, scores, choice, preemption, message, wakes."""

import gzip
import json
from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from stowplan.sim.replay import Result
from stowplan.sim.replaying import replay_file

HERE = Path(__file__).parent
FAMILIES = (
    "resources",
    "nodeaffinity",
    "taints",
    "ports",
    "spread",
    "defaultspread",
    "podaffinity",
    "images",
    "volumes",
    "preemption",
    "mixed",
    "dra",
    "large",
)

MORE_FAMILIES = (
    "all",
    "allc",
    "bigdra",
    "defaultspread",
    "dra",
    "dra1",
    "dracel",
    "drax",
    "errors",
    "misc",
    "nodeaffinity",
    "nominated",
    "nons",
    "preempt",
    "preemptbig",
    "profiles",
    "profiles2",
    "resources",
    "spread",
    "spreadpre",
    "volumes",
)
"""Recorded in the same way from rarer inputs: errors, nominations, several profiles, hard searches for devices."""


@cache
def replayed(prefix: str) -> Mapping[str, Result]:
    """All results by scenario."""
    results = {}
    for outcome in replay_file(str(HERE / f"{prefix}scenarios.jsonl.gz"), jobs=1):
        assert outcome.result is not None, outcome.error
        results[outcome.result["id"]] = outcome.result
    return results


@cache
def expected(prefix: str) -> Mapping[str, list[Result]]:
    """The recordings by family."""
    families = defaultdict(list)
    with gzip.open(HERE / f"{prefix}expected.jsonl.gz", "rt") as lines:
        for line in lines:
            recording = json.loads(line)
            families[recording["id"].split("-")[0]].append(recording)
    return families


@pytest.mark.timeout(300)
@pytest.mark.parametrize("family", FAMILIES)
def test_every_recorded_decision_is_reproduced(family: str) -> None:
    assert [] == differences("", family)[:5]


@pytest.mark.parametrize("family", MORE_FAMILIES)
def test_so_is_every_rarer_one(family: str) -> None:
    assert [] == differences("more_", family)[:5]


def differences(prefix: str, family: str) -> list[str]:
    """Where the replay of a family differs from its recordings."""
    recordings = expected(prefix)[family]
    assert recordings, "the family has recordings"
    return [found for recording in recordings for found in compare(recording, replayed(prefix)[recording["id"]])]


def compare(want: Result, got: Result) -> list[str]:
    """Where two results of a scenario differ."""
    found = []
    wanted, given = want.get("attempts", []), got.get("attempts", [])
    if [a["pod"] for a in wanted] != [a["pod"] for a in given]:
        found.append(f"{want['id']}: attempts for {[a['pod'] for a in given]}")
    for number, (w, g) in enumerate(zip(wanted, given, strict=False)):
        before, after = comparable(w), comparable(g)
        found += [
            f"{want['id']} #{number} {w['pod']} {part}: want {before[part]} got {after[part]}"
            for part in before
            if before[part] != after[part]
        ]
    for number, (woken, by_us) in enumerate(zip(want.get("wakes", []), got.get("wakes", []), strict=False)):
        if woken is not None and sorted(woken) != sorted(by_us or []):
            found.append(f"{want['id']} event {number}: wakes {by_us}, want {woken}")
    if want.get("parked", {}) != got.get("parked", {}):
        found.append(f"{want['id']} parked: want {want.get('parked')} got {got.get('parked')}")
    return found


def comparable(attempt: Result) -> dict[str, Any]:
    """An attempt, part by part, without what may differ: the order of reasons, scores of nothing."""
    return {
        "filter": (
            status(attempt.get("preFilter")),
            {node: status(why) for node, why in attempt.get("rejected", {}).items()},
        ),
        "scores": (
            {
                node: {plugin: score for plugin, score in by.items() if score}
                for node, by in attempt.get("scores", {}).items()
            },
            attempt.get("totals", {}),
        ),
        "choice": attempt.get("node", ""),
        "preemption": (attempt.get("nominated", ""), sorted(attempt.get("victims", []))),
        "message": attempt.get("message", ""),
        "error": bool(attempt.get("error")),
    }


def status(why: Mapping[str, Any] | None) -> Any:
    """A status, its reasons as a set."""
    return why and (why.get("plugin", ""), why["code"], sorted(why["reasons"]))
