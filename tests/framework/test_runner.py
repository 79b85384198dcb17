"""Who rejects first has the word, nominated pods must fit too, and PreFilter plugins speak for all nodes."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from stowplan.api.pod import Pod
from stowplan.columns.pods import PodInfo
from stowplan.columns.rows import Rows
from stowplan.framework.per_node import NodeFilterPlugin, NodeView
from stowplan.framework.plugin import (
    SKIP,
    FilterPlugin,
    Plugin,
    PluginError,
    PreFilterPlugin,
    PreScorePlugin,
    Restricted,
)
from stowplan.framework.runner import (
    Judgement,
    Prepared,
    Rejected,
    filters_for,
    run_every_filter,
    run_filters,
    run_filters_with_nominated,
    run_prepare,
    run_scores,
)
from stowplan.framework.verdict import Rejection, Verdict, fatal, rejection, unresolvable
from stowplan.testing.builders import cluster, node, pod
from tests.cycle.scene import FULL, TAKEN, compiled, prepares, profile_of, rejects, scores, takes_one_pod

POD = compiled(pod())
FIRST, SECOND = rejection("first"), rejection("second")


def rows_of(*names: str) -> Rows:
    return cluster(*(node(name) for name in names)).view().rows


def by_node(judged: Judgement) -> dict[str, tuple[str, str]]:
    """Node name to who rejected it and why."""
    found = {name: judged.at(at) for at, name in enumerate(judged.rows.names)}
    return {name: (rejected.plugin, rejected.why.message) for name, rejected in found.items() if rejected is not None}


# ---- filters


def test_who_rejects_first_has_the_word() -> None:
    profile = profile_of(rejects("A", {"a": FIRST}), rejects("B", {"a": SECOND, "b": SECOND}))

    judged = run_filters(profile, Prepared(), POD, rows_of("a", "b", "c"))

    assert {"a": ("A", "first"), "b": ("B", "second")} == by_node(judged)
    assert ["c"] == judged.passed.names


@pytest.mark.parametrize(
    ("out", "want"),
    [
        pytest.param("", ["abcdefghijkl"], id="all pass"),
        pytest.param("abcdefghi", ["abcdefghijkl"], id="a quarter passes: asking about all is as cheap"),
        pytest.param("abcdefghij", ["kl"], id="fewer pass: only those are judged"),
        pytest.param("abcdefghijkl", [], id="none passes: nothing is left to ask"),
    ],
)
def test_later_filters_judge_the_rest(out: str, want: list[str]) -> None:
    asked: list[list[str]] = []
    profile = profile_of(rejects("A", dict.fromkeys(out, FIRST)), rejects("B", {"k": SECOND}, asked))

    judged = run_filters(profile, Prepared(), POD, rows_of(*"abcdefghijkl"))

    assert want == ["".join(names) for names in asked]
    assert {"k": ("B", "second"), **dict.fromkeys(out, ("A", "first"))} == by_node(judged)


def test_a_filter_without_work_is_left_out() -> None:
    profile = profile_of(rejects("A", {"a": FIRST}), rejects("B", {}))

    assert ["B"] == [plugin.name for plugin in filters_for(profile, Prepared(skipped={"A"}))]


def test_every_filter_is_asked_about_every_row() -> None:
    profile = profile_of(rejects("A", {"a": FIRST}), rejects("B", {"a": SECOND}))

    verdicts = run_every_filter(profile, Prepared(), POD, rows_of("a"))

    assert {"A": FIRST, "B": SECOND} == {name: verdict.at(0) for name, verdict in verdicts.items()}


class Planner(PreFilterPlugin[str], FilterPlugin[str]):
    """Rejects all nodes with its plan for a reason."""

    name = "Planner"

    def prepare(self, view: Any, pod: PodInfo) -> str:
        return "as planned"

    def filter(self, pod: PodInfo, rows: Rows, plan: str) -> Verdict:
        return Verdict.reject_all(rows, rejection(plan))


def test_a_filter_gets_its_plan() -> None:
    rows, profile = rows_of("a"), profile_of(Planner)

    judged = run_filters(profile, run_prepare(profile, rows.view, POD), POD, rows)

    assert {"a": ("Planner", "as planned")} == by_node(judged)


def test_a_filter_that_was_not_let_prepare_fails() -> None:
    rows, profile = rows_of("a"), replace(profile_of(Planner), pre_filters=())

    with pytest.raises(PluginError, match=r"^Planner is enabled as a filter but not at preFilter, where it prepares"):
        run_filters(profile, run_prepare(profile, rows.view, POD), POD, rows)


# ---- nominated pods


class Sociable(NodeFilterPlugin):
    """Wants company."""

    name = "Sociable"

    def filter_node(self, pod: PodInfo, node: NodeView) -> str | None:
        return None if node.pods else "node(s) were lonely"


ALONE = takes_one_pod("Alone")


@pytest.mark.parametrize(
    ("filters", "nominated", "want"),
    [
        pytest.param(ALONE, {}, {}, id="nobody is nominated"),
        pytest.param(ALONE, {"a": pod("guest", priority=6)}, {"a": ("Alone", TAKEN.message)},
                     id="a more important guest must fit too"),
        pytest.param(ALONE, {"a": pod("guest", priority=5)}, {"a": ("Alone", TAKEN.message)},
                     id="one of equal priority as well"),
        pytest.param(ALONE, {"a": pod("guest", priority=4)}, {}, id="a less important one does not count"),
        pytest.param(ALONE, {"a": pod("p", priority=5)}, {}, id="the pod itself does not count"),
        pytest.param(ALONE, {"gone": pod("guest", priority=6)}, {}, id="nor does a guest of a node that is gone"),
        pytest.param(Sociable, {"a": pod("guest", priority=6)},
                     dict.fromkeys("ab", ("Sociable", "node(s) were lonely")),
                     id="the pod must fit without the guest as well, who may end up elsewhere"),
    ],
)  # fmt: skip
def test_guests(filters: type[Plugin], nominated: Mapping[str, Pod], want: dict[str, tuple[str, str]]) -> None:
    guests = {name: [compiled(guest)] for name, guest in nominated.items()}
    incoming = compiled(pod("p", priority=5))

    judged = run_filters_with_nominated(profile_of(filters), Prepared(), incoming, rows_of("a", "b"), guests)

    assert want == by_node(judged)


def test_what_is_said_in_the_presence_of_guests_counts() -> None:
    built = cluster(node("a"))
    profile = profile_of(ALONE, rejects("B", {"a": FULL}))
    guests = {"a": [compiled(pod("guest"))]}

    judged = run_filters_with_nominated(profile, Prepared(), POD, built.view().rows, guests)

    assert {"a": ("Alone", TAKEN.message)} == by_node(judged)


# ---- judgements


def judgement(rows: Rows, **by_name: Rejection) -> Judgement:
    found = [by_name.get(name) for name in rows.names]
    outcome_n = [0 if why is None else at for at, why in enumerate(found, 1)]
    return Judgement(rows, np.array(outcome_n, np.int32), [Rejected("X", why or FULL) for why in found])


def test_what_others_said_of_rows_that_are_missing() -> None:
    view = rows_of("a", "b", "c", "d").view
    now = judgement(view.only(["b", "d"]), b=FIRST)
    earlier = judgement(view.only(["a", "b", "c"]), b=SECOND, c=SECOND)

    now.overruled, earlier.overruled = {"Y"}, {"Z"}

    both = now.with_others_of(earlier)

    assert ["a", "b", "c", "d"] == both.rows.names
    assert {"b": ("X", "first"), "c": ("X", "second")} == by_node(both)
    assert {"Y", "Z"} == both.overruled


def test_nothing_is_missing() -> None:
    now = judgement(rows_of("a", "b"), a=FIRST)

    assert now is now.with_others_of(judgement(now.rows.view.only(["b"]), b=SECOND))


@pytest.mark.parametrize(
    ("by_name", "want"),
    [
        pytest.param({"a": FULL}, "", id="a rejection is no failure"),
        pytest.param({"a": FULL, "b": fatal("boom"), "c": fatal("bang")}, 'running "X" filter plugin: boom',
                     id="the failure of the first row that has one"),
    ],
)  # fmt: skip
def test_failure(by_name: dict[str, Rejection], want: str) -> None:
    assert want == judgement(rows_of("a", "b", "c"), **by_name).failure


def test_a_failure_is_none_where_another_had_the_word() -> None:
    judged = judgement(rows_of("a"), a=fatal("boom"))

    judged.put([0], Rejected("Y", FULL))

    assert "" == judged.failure


def test_counts() -> None:
    judged = judgement(rows_of("a", "b", "c"), a=FIRST)
    judged.put([1, 2], Rejected("Y", unresolvable("no")))

    assert [(Rejected("X", FIRST), 1), (Rejected("Y", unresolvable("no")), 2)] == judged.counted()
    assert [False, True, True] == judged.unresolvable_n.tolist()


# ---- PreFilter


def only(*names: str) -> Restricted[None]:
    return Restricted(None, frozenset(names))


NO = unresolvable("no")


@pytest.mark.parametrize(
    ("answers", "rejected", "restricting", "node_names"),
    [
        pytest.param({"A": "plan"}, None, set(), None, id="a plan speaks for no node"),
        pytest.param({"A": only("a", "b"), "B": "plan"}, None, {"A"}, {"a", "b"}, id="only some nodes"),
        pytest.param({"A": only("a", "b"), "B": only("b", "c")}, None, {"A", "B"}, {"b"}, id="those that all name"),
        pytest.param({"A": only()},
                     Rejected("", unresolvable("node(s) didn't satisfy plugin A")), {"A"}, set(),
                     id="one names no node"),
        pytest.param({"B": only("b"), "A": only("a"), "C": NO},
                     Rejected("", unresolvable("node(s) didn't satisfy plugin(s) [A B] simultaneously")), {"A", "B"},
                     set(), id="together they name no node, and nobody else is asked"),
        pytest.param({"A": FIRST, "B": SECOND, "C": "plan"}, Rejected("B", SECOND), set(), None,
                     id="after a rejection others are asked; the last one stands"),
        pytest.param({"A": only("a"), "B": FIRST}, Rejected("B", FIRST), {"A"}, {"a"},
                     id="who restricted is remembered beside a rejection"),
        pytest.param({"A": FIRST, "B": NO, "C": SECOND}, Rejected("B", NO), set(), None,
                     id="a rejection for good is the last word"),
        pytest.param({"A": FIRST, "B": only()}, Rejected("", unresolvable("node(s) didn't satisfy plugin B")), {"B"},
                     set(), id="so is that no node is left"),
        pytest.param({"A": only("a"), "B": NO}, Rejected("B", NO), set(), {"a"},
                     id="who restricted does not matter then"),
    ],
)  # fmt: skip
def test_prepare(
    answers: Mapping[str, Any], rejected: Rejected | None, restricting: set[str], node_names: set[str] | None
) -> None:
    profile = profile_of(*(prepares(plugin, answer) for plugin, answer in answers.items()))

    prepared = run_prepare(profile, rows_of("a").view, POD)

    assert (rejected, restricting, node_names) == (prepared.rejected, prepared.restricting, prepared.node_names)


def test_plans_are_kept_by_plugin() -> None:
    answers = {"A": "plan", "B": SKIP, "C": FIRST, "D": Restricted("small", frozenset("a"))}

    prepared = run_prepare(profile_of(*(prepares(*each) for each in answers.items())), rows_of("a").view, POD)

    assert {"A": "plan", "D": "small"} == prepared.plans
    assert {"B"} == prepared.skipped


# ---- scores


def test_scores_of_all_plugins_with_their_weights() -> None:
    profile = profile_of(scores("A", {"a": 10}), scores("B", {"a": 1, "b": 5}), weights={"A": 2, "B": 3})

    ranked = run_scores(profile, Prepared(), POD, rows_of("a", "b"))

    assert [10 * 2 + 1 * 3, 0 * 2 + 5 * 3] == ranked.total_n.tolist()
    assert ["A", "B"] == [score.plugin for score in ranked.by_plugin]


def test_a_plugin_without_preferences_does_not_score() -> None:
    class Indifferent(scores("A", {"a": 10}), PreScorePlugin[None]):  # type: ignore[misc]
        def prepare_score(self, pod: PodInfo, rows: Rows, plans: Mapping[str, Any]) -> Any:
            return SKIP

    ranked = run_scores(profile_of(Indifferent, scores("B", {"b": 5})), Prepared(), POD, rows_of("a", "b"))

    assert [0, 5] == ranked.total_n.tolist()
    assert ["B"] == [score.plugin for score in ranked.by_plugin]
