"""A scheduling attempt: which nodes are looked at, which one is taken, and what follows when there is none."""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

import pytest

from stowplan.api.meta import KubeObject
from stowplan.columns.pods import PodInfo
from stowplan.columns.rows import Rows
from stowplan.framework.plugin import (
    FilterPlugin,
    Plugin,
    PluginError,
    PostFilterPlugin,
    PreScorePlugin,
    Restricted,
    ScorePlugin,
)
from stowplan.framework.post_filter import FailedAttempt, Nomination, NoRoom, PostFilterResult, Write
from stowplan.framework.verdict import Rejection, Verdict, fatal, rejection, unresolvable
from stowplan.goarith import IntN
from stowplan.plugins.default_preemption import DefaultPreemption
from stowplan.testing.builders import node, pod
from tests.cycle.scene import (
    FULL,
    FakeExtender,
    attempt,
    compiled,
    effects,
    makes_room,
    prepares,
    profile_of,
    rejects,
    scores,
    takes_one_pod,
)

VOID = "void the nomination"


def nodes(names: str) -> list[KubeObject]:
    """Nodes of one letter each."""
    return [node(name) for name in names]


# ---- choosing


@pytest.mark.parametrize(
    ("liked", "want"),
    [
        pytest.param({"a": 1, "b": 3, "c": 2}, "b", id="the best node"),
        pytest.param({"b": 3, "c": 3}, "b", id="of the best the one whose name sorts first"),
        pytest.param({}, "a", id="nobody prefers any"),
    ],
)
def test_the_best_node_is_taken(liked: Mapping[str, int], want: str) -> None:
    decision, _ = attempt(nodes("cba"), pod(), profile_of(scores("Liking", liked)))

    assert [f"bind to {want}"] == effects(decision)


def test_chance_decides_among_the_best() -> None:
    profile = profile_of(scores("Liking", {"a": 3, "b": 1, "c": 3}))

    def taken(seed: int) -> str:
        return attempt(nodes("abc"), pod(), profile, ties="random", rng=Random(seed))[0].trace.node_name

    assert {"a", "c"} == {taken(seed) for seed in range(20)}
    assert [taken(seed) for seed in range(20)] == [taken(seed) for seed in range(20)]


def test_a_single_feasible_node_is_taken_unscored() -> None:
    profile = profile_of(rejects("Filter", {"b": FULL}), scores("Wild", {"a": 1000}))

    decision, _ = attempt(nodes("ab"), pod(), profile)

    assert ["bind to a"] == effects(decision)
    assert decision.trace.scores is None


# ---- no node


def test_a_cluster_without_nodes() -> None:
    decision, cursor = attempt([], pod(nominated="a"), profile_of(), cursor=7)

    assert [VOID, "park for nobody: no nodes available to schedule pods"] == effects(decision)
    assert 7 == cursor


@pytest.mark.parametrize(
    ("plugins", "want"),
    [
        pytest.param([prepares("Pre", unresolvable("no such claim"))],
                     "park for Pre: 0/2 nodes are available: no such claim.", id="PreFilter speaks for all nodes"),
        pytest.param([prepares("Pre", Restricted(None, frozenset("a"))), prepares("Late", FULL)],
                     "park for Late, Pre: 0/2 nodes are available: node(s) were full.",
                     id="who restricts is waited for beside who rejects"),
        pytest.param([prepares("Pre", Restricted(None, frozenset()))],
                     "park for Pre: 0/2 nodes are available: node(s) didn't satisfy plugin Pre.",
                     id="PreFilter leaves no node"),
        pytest.param([prepares("Pre", Restricted(None, frozenset(["gone"])))],
                     "park for Pre: 0/2 nodes are available: 2 node(s) didn't satisfy plugin(s) [Pre].",
                     id="PreFilter leaves a node that does not exist"),
        pytest.param([rejects("A", {"a": FULL}), rejects("B", {"a": FULL, "b": rejection("node(s) were odd")})],
                     "park for A, B: 0/2 nodes are available: 1 node(s) were full, 1 node(s) were odd.",
                     id="the first reason of every node"),
    ],
)  # fmt: skip
def test_nobody_takes_it(plugins: Sequence[type[Plugin]], want: str) -> None:
    decision, cursor = attempt(nodes("ab"), pod(), profile_of(*plugins))

    assert [VOID, want] == effects(decision)
    assert 0 == cursor


@pytest.mark.parametrize(
    "extender", [FakeExtender(failed={"a": "busy"}), FakeExtender(dropped=["a"])], ids=["with a word", "without a word"]
)
def test_what_an_extender_turns_down_waits_for_the_extender(extender: FakeExtender) -> None:
    decision, _ = attempt(nodes("ab"), pod(), profile_of(rejects("Filter", {"b": FULL})), extenders=[extender])

    (parked,) = (effect for effect in effects(decision) if effect.startswith("park"))
    assert parked.startswith("park for Extender, Filter: 0/2 nodes are available: ")


# ---- which nodes are looked at

NUMBERED = [node(f"n{number:03}") for number in range(120)]


def numbers(*spans: range) -> list[int]:
    return sorted(number for span in spans for number in span)


@pytest.mark.parametrize(
    ("percentage", "cursor", "out", "looked_at", "want"),
    [
        pytest.param(None, 7, range(0), numbers(range(120)), 7, id="without a percentage all are looked at"),
        pytest.param(50, 0, range(0), numbers(range(100)), 100, id="a hundred feasible nodes are enough"),
        pytest.param(50, 50, range(0), numbers(range(50, 120), range(30)), 30, id="from the cursor on, and around"),
        pytest.param(50, 0, range(3, 5), numbers(range(102)), 102, id="those turned down are looked at on top"),
        pytest.param(50, 7, range(30), numbers(range(120)), 7, id="all, when too few are feasible"),
        pytest.param(50, 130, range(0), numbers(range(10, 110)), 110, id="a cursor beyond the nodes that are left"),
    ],
)
def test_sampling(percentage: int | None, cursor: int, out: range, looked_at: list[int], want: int) -> None:
    profile = profile_of(rejects("Filter", {f"n{number:03}": FULL for number in out}), scores("Liking", {}))

    decision, moved = attempt(NUMBERED, pod(), profile, percentage=percentage, cursor=cursor)

    assert decision.trace.judgement is not None
    assert looked_at == [int(name[1:]) for name in decision.trace.judgement.rows.names]
    assert want == moved


def test_the_percentage_of_the_profile_wins() -> None:
    _, moved = attempt(NUMBERED, pod(), profile_of(scores("Liking", {}), percentage=50), percentage=100)

    assert 100 == moved


@pytest.mark.parametrize(
    ("extenders", "want"),
    [
        pytest.param([], ["c"], id="without anybody to rank them the first feasible node will do"),
        pytest.param([FakeExtender(filters=False)], list("abcd"), id="an extender ranks"),
        pytest.param([FakeExtender(prioritizes=False)], list("abcd"), id="an extender may turn it down"),
    ],
)
def test_the_first_will_do(extenders: Sequence[FakeExtender], want: list[str]) -> None:
    decision, _ = attempt(nodes("abcd"), pod(), profile_of(), extenders=extenders, cursor=2)

    assert decision.trace.judgement is not None
    assert want == decision.trace.judgement.rows.names


def test_the_nodes_that_prefilter_leaves_move_the_cursor() -> None:
    profile = profile_of(prepares("Pre", Restricted(None, frozenset("bc"))), scores("Liking", {}))

    _, moved = attempt(nodes("abcd"), pod(), profile, cursor=1)

    assert 1 + len("bc") == moved


# ---- the nominated node

LIKES_B = scores("Liking", {"b": 100})


@pytest.mark.parametrize(
    ("plugins", "want", "first"),
    [
        pytest.param([LIKES_B], "a", "a", id="it is taken although another scores better"),
        pytest.param([LIKES_B, rejects("Filter", {"a": FULL})], "b", "", id="when it does not fit all are looked at"),
        pytest.param([LIKES_B, prepares("Pre", Restricted(None, frozenset("bc")))], "a", "a",
                     id="it is taken although PreFilter leaves it out"),
        pytest.param([LIKES_B, prepares("Pre", Restricted(None, frozenset("bc"))),
                      rejects("Filter", {"a": fatal("boom")})], "b", "", id="an error there counts for nothing"),
    ],
)  # fmt: skip
def test_nominated(plugins: Sequence[type[Plugin]], want: str, first: str) -> None:
    decision, _ = attempt(nodes("abc"), pod(nominated="a"), profile_of(*plugins))

    assert [f"bind to {want}"] == effects(decision)
    assert first == decision.trace.nominated_first


def test_only_the_nominated_node_is_looked_at() -> None:
    asked: list[list[str]] = []

    _, moved = attempt(nodes("abc"), pod(nominated="c"), profile_of(rejects("Filter", {}, asked)), cursor=1)

    assert [["c"]] == asked
    assert 1 == moved


def test_a_nominated_node_that_is_gone() -> None:
    decision, _ = attempt(nodes("ab"), pod(nominated="gone"), profile_of(LIKES_B))

    assert ["bind to b"] == effects(decision)


def test_an_extender_that_fails_on_the_nominated_node_alone_counts_for_nothing() -> None:
    profile = profile_of(LIKES_B, prepares("Pre", Restricted(None, frozenset("bc"))))

    decision, _ = attempt(nodes("abc"), pod(nominated="a"), profile, extenders=[FakeExtender(fails_on=["a"])])

    assert ["bind to b"] == effects(decision)


@pytest.mark.parametrize(
    ("said", "want"),
    [
        pytest.param(rejection("node(s) were odd"),
                     "park for Inner, Outer, Pre: 0/4 nodes are available: "
                     "1 node(s) didn't satisfy plugin(s) [Outer Pre], 1 node(s) were odd, 2 node(s) were full.",
                     id="a rejection there counts, and its plugin is waited for"),
        pytest.param(fatal("boom"),
                     "park for Inner, Pre: 0/4 nodes are available: "
                     "2 node(s) didn't satisfy plugin(s) [Pre], 2 node(s) were full.",
                     id="an error there does not"),
    ],
)  # fmt: skip
def test_a_nominated_node_that_prefilter_leaves_out(said: Rejection, want: str) -> None:
    profile = profile_of(
        prepares("Pre", Restricted(None, frozenset("bc"))),
        rejects("Outer", {"a": said}),
        rejects("Inner", {"b": FULL, "c": FULL}),
    )

    decision, _ = attempt(nodes("abcd"), pod(nominated="a"), profile)

    assert [VOID, want] == effects(decision)


def test_pods_nominated_to_a_node_must_fit_there_too() -> None:
    guests = {"a": [compiled(pod("guest"))]}

    decision, _ = attempt(nodes("ab"), pod("p"), profile_of(takes_one_pod("Alone")), nominated=guests)

    assert ["bind to b"] == effects(decision)


# ---- failing


def helpless(plugin: str) -> type[Plugin]:
    class Helpless(FilterPlugin[Any]):
        name = plugin

        def filter(self, pod: PodInfo, rows: Rows, plan: Any) -> Verdict:
            raise PluginError("boom")

    return Helpless


def unready(plugin: str) -> type[Plugin]:
    class Unready(PreScorePlugin[Any]):
        name = plugin

        def prepare_score(self, pod: PodInfo, rows: Rows, plans: Mapping[str, Any]) -> Any:
            raise PluginError("boom")

    return Unready


def scoreless(plugin: str) -> type[Plugin]:
    class Scoreless(ScorePlugin[Any]):
        name = plugin

        def score(self, pod: PodInfo, rows: Rows, plan: Any) -> IntN:
            raise PluginError("boom")

    return Scoreless


def abnormal(plugin: str) -> type[Plugin]:
    class Abnormal(scores(plugin, {})):  # type: ignore[misc]
        def normalize(self, pod: PodInfo, rows: Rows, plan: Any, raw_n: IntN) -> IntN:
            raise PluginError("boom")

    return Abnormal


@pytest.mark.parametrize(
    ("plugin", "want"),
    [
        pytest.param(prepares("X", PluginError("boom")), 'running PreFilter plugin "X": boom', id="preparing"),
        pytest.param(rejects("X", {"a": fatal("boom")}), 'running "X" filter plugin: boom', id="judging a node"),
        pytest.param(helpless("X"), 'running "X" filter plugin: boom', id="judging any node"),
        pytest.param(unready("X"), 'running PreScore plugin "X": boom', id="preparing to score"),
        pytest.param(scoreless("X"), 'running Score plugins: plugin "X" failed with: boom', id="scoring"),
        pytest.param(abnormal("X"), 'running Normalize on Score plugins: plugin "X" failed with: boom',
                     id="normalising"),
        pytest.param(scores("X", {"a": 101}),
                     'applying score defaultWeights on Score plugins: plugin "X" returns an invalid score 101, '
                     "it should in the range of [0, 100] after normalizing", id="a score out of range"),
    ],
)  # fmt: skip
def test_a_plugin_that_fails_fails_the_attempt(plugin: type[Plugin], want: str) -> None:
    with pytest.raises(PluginError) as caught:
        attempt(nodes("ab"), pod(), profile_of(plugin, LIKES_B))

    assert want == str(caught.value)


@pytest.mark.parametrize(
    "plugins",
    [
        pytest.param([rejects("A", {"a": FULL}), rejects("X", {"a": fatal("boom")}), LIKES_B],
                     id="another had the word"),
        pytest.param([rejects("X", {"a": fatal("boom")})], id="two others were feasible before"),
    ],
)  # fmt: skip
def test_errors_that_nobody_hears(plugins: Sequence[type[Plugin]]) -> None:
    decision, _ = attempt(nodes("abc"), pod(), profile_of(*plugins), cursor=1)

    assert ["bind to b"] == effects(decision)


# ---- making room

NO_LUCK, NO_HELP = rejection("no luck"), unresolvable("no help")
CLAIM = node("claim")


@pytest.mark.parametrize(
    ("answers", "want"),
    [
        pytest.param([Nomination("a", [compiled(pod("weak"))])],
                     ["nominate to a", "evict weak from a", "park for Filter: 0/1 nodes are available: 1 full."],
                     id="room is made"),
        pytest.param([Nomination("a", [])], ["nominate to a", "park for Filter: 0/1 nodes are available: 1 full."],
                     id="room without victims"),
        pytest.param([NoRoom(NO_LUCK), Nomination("a", [])],
                     ["nominate to a", "park for Filter: 0/1 nodes are available: 1 full."],
                     id="the others are asked while there is hope, and what they said is forgotten"),
        pytest.param([NoRoom(NO_LUCK), NoRoom(rejection("still none"))],
                     ["park for Filter: 0/1 nodes are available: 1 full. no luck, still none"],
                     id="no room: every reason is told"),
        pytest.param([NoRoom(NO_LUCK, voids_nomination=True)],
                     [VOID, "park for Filter: 0/1 nodes are available: 1 full. no luck"],
                     id="an earlier nomination may be void"),
        pytest.param([NoRoom(NO_LUCK, writes=[Write(CLAIM)])],
                     ["write claim", "park for Filter: 0/1 nodes are available: 1 full. no luck"],
                     id="what is written comes first"),
        pytest.param([NoRoom(NO_LUCK, writes=[Write(CLAIM)]), Nomination("a", [compiled(pod("weak"))])],
                     ["write claim", "nominate to a", "evict weak from a",
                      "park for Filter: 0/1 nodes are available: 1 full."], id="also before a nomination"),
        pytest.param([NoRoom(NO_HELP), Nomination("a", [])],
                     ["park for Filter: 0/1 nodes are available: 1 full. no help"],
                     id="nobody is asked after a refusal for good"),
        pytest.param([NoRoom(NO_LUCK), NoRoom(NO_HELP)], ["park for Filter: 0/1 nodes are available: 1 full. no help"],
                     id="a refusal for good is told alone"),
        pytest.param([NoRoom(NO_LUCK, voids_nomination=True), NoRoom(NO_HELP)],
                     ["park for Filter: 0/1 nodes are available: 1 full. no help"],
                     id="a refusal for good decides alone about the nomination"),
        pytest.param([NoRoom(NO_LUCK, voids_nomination=True), PluginError("boom"), Nomination("a", [])],
                     ["park for Filter: 0/1 nodes are available: 1 full. boom"],
                     id="an error is told alone, ends the search and voids nothing"),
        pytest.param([], [VOID, "park for Filter: 0/1 nodes are available: 1 full."],
                     id="where nobody can make room a nomination is void"),
    ],
)  # fmt: skip
def test_post_filters(answers: Sequence[PostFilterResult | Exception], want: list[str]) -> None:
    makers = [makes_room(f"Maker{number}", answer) for number, answer in enumerate(answers)]

    decision, _ = attempt(nodes("a"), pod(), profile_of(rejects("Filter", {"a": rejection("full")}), *makers))

    assert want == effects(decision)


@pytest.mark.parametrize(
    ("plugin", "nominated", "helpable", "hopeless"),
    [
        pytest.param(rejects("X", {"a": FULL, "b": NO_HELP, "c": FULL}), "", "ac", True,
                     id="evictions may help where the rejection is not for good"),
        pytest.param(rejects("X", {"a": FULL, "b": NO_HELP, "c": FULL}), "a", "ac", False,
                     id="so may they on the nominated node"),
        pytest.param(rejects("X", {"a": FULL, "b": NO_HELP, "c": FULL}), "b", "ac", True,
                     id="or not, where it was rejected for good"),
        pytest.param(prepares("X", FULL), "a", "abc", False, id="PreFilter spoke for all nodes"),
        pytest.param(prepares("X", NO_HELP), "a", "", True, id="PreFilter spoke for all nodes for good"),
        pytest.param(prepares("X", Restricted(None, frozenset(["gone"]))), "", "", True,
                     id="nothing helps on nodes that PreFilter leaves out"),
    ],
)  # fmt: skip
def test_where_room_may_be_made(plugin: type[Plugin], nominated: str, helpable: str, hopeless: bool) -> None:
    heard: list[FailedAttempt] = []

    class Maker(PostFilterPlugin):
        name = "Maker"

        def post_filter(self, attempt: FailedAttempt) -> PostFilterResult:
            heard.append(attempt)
            return NoRoom(NO_LUCK)

    attempt(nodes("abc"), pod(nominated=nominated), profile_of(plugin, Maker))

    assert [(list(helpable), hopeless)] == [(a.helpable.names, a.nominated_is_hopeless) for a in heard]


def test_nobody_makes_room_when_told_not_to() -> None:
    profile = profile_of(rejects("Filter", {"a": FULL}), makes_room("Maker", Nomination("a", [])))

    decision, _ = attempt(nodes("a"), pod(), profile, preempt=False)

    assert ["park for Filter: 0/1 nodes are available: 1 node(s) were full."] == effects(decision)


@pytest.mark.parametrize(
    ("broken", "want"),
    [
        pytest.param("", ["nominate to a", "evict weak-a from a",
                          "park for Alone: 0/2 nodes are available: 2 node(s) were taken."], id="a node is cleared"),
        pytest.param("a", ["nominate to b", "evict stronger-b from b",
                           "park for Alone: 0/2 nodes are available: 2 node(s) were taken."],
                     id="an error in a what-if is no way out, another node is"),
        pytest.param("ab", ["park for Alone: 0/2 nodes are available: 2 node(s) were taken. "
                            'preemption: running "Alone" filter plugin: lost the node'],
                     id="errors in all what-ifs are told, and the pod is as unschedulable as before"),
    ],
)  # fmt: skip
def test_preemption(broken: str, want: list[str]) -> None:
    objects = [*nodes("ab"), pod("weak-a", on="a", priority=1), pod("stronger-b", on="b", priority=2)]
    helpless = makes_room("Helpless", NoRoom(rejection("still not schedulable")))

    decision, _ = attempt(
        objects, pod(priority=9), profile_of(takes_one_pod("Alone", broken), helpless, DefaultPreemption)
    )

    assert want == effects(decision)
