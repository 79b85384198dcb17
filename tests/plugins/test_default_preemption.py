"""DefaultPreemption: who may preempt, whom, and where it does the least harm."""

from collections.abc import Mapping, Sequence
from dataclasses import replace as with_changes
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from stowplan.api.meta import Condition, KubeObject
from stowplan.api.pod import Pod
from stowplan.api.policy import PodDisruptionBudget, PodDisruptionBudgetSpec
from stowplan.columns.pods import PodCompiler, PodInfo
from stowplan.framework.extender import Victims
from stowplan.framework.plugin import PluginContext, PluginError
from stowplan.framework.plugin_args import DefaultPreemptionArgs
from stowplan.framework.post_filter import Nomination, NoRoom, PostFilterResult
from stowplan.framework.wake import Kind
from stowplan.plugins.default_preemption import (
    NEVER,
    NO_CANDIDATE,
    NO_VICTIMS,
    STILL_EVICTING,
    VICTIMS_LEAVING,
    Budget,
    DefaultPreemption,
    by_importance,
    more_important,
    pick_node,
    select_victims,
)
from stowplan.testing.builders import cluster, company, node, pod, select, term
from tests.plugins.preempting import NOW, PreemptExtender, budget, failed_attempt, fails, victims_twin

STRONG = pod("strong", cpu=4, priority=100)


def at(second: int) -> str:
    return f"2026-01-01T00:00:{second:02}Z"


def weak(name: str, on: str, *, cpu: int = 4, priority: int = 0, started: int = 0, **labels: str) -> Pod:
    return pod(name, on=on, cpu=cpu, priority=priority, started=at(started), labels=labels)


def preempt(*objects: KubeObject, incoming: Pod = STRONG) -> PostFilterResult:
    return DefaultPreemption().post_filter(failed_attempt(cluster(*objects), incoming))


def info(*, priority: int = 0, started: int | None = None, name: str = "p") -> PodInfo:
    return PodCompiler().compile(
        pod(name, priority=priority, started=None if started is None else at(started), uid=name)
    )


def named(result: PostFilterResult) -> tuple[str, list[str]]:
    assert isinstance(result, Nomination), result
    return result.node_name, [victim.pod.name for victim in result.victims]


# ---- eligibility


def test_a_pod_that_must_not_preempt_does_not() -> None:
    result = preempt(node("a", cpu=4), weak("w", "a"), incoming=pod(cpu=4, priority=9, preemption_policy="Never"))

    assert NoRoom(NEVER) == result


def leaving(reason: str = "PreemptionByScheduler", *, priority: int = 0, deleted: str | None = "now") -> Pod:
    plain = weak("w", "a", priority=priority)
    condition = Condition(type="DisruptionTarget", status="True", reason=reason)
    meta = replace(plain.metadata, deletion_timestamp=deleted and at(1))
    return replace(plain, metadata=meta, status=replace(plain.status, conditions=(condition,)))


@pytest.mark.parametrize(
    ("victim", "hopeless", "waits"),
    [
        pytest.param(leaving(), False, True, id="its victim is still leaving"),
        pytest.param(leaving(), True, False, id="its nominated node became impossible"),
        pytest.param(leaving("DeletionByTaintManager"), False, False, id="somebody else evicts the pod there"),
        pytest.param(leaving(deleted=None), False, False, id="the victim is marked, not yet deleted"),
        pytest.param(leaving(priority=100), False, False, id="the pod that leaves is as important"),
        pytest.param(weak("w", "a"), False, False, id="nobody leaves"),
    ],
)
def test_a_nominated_pod_waits_for_its_victims(victim: Pod, hopeless: bool, waits: bool) -> None:
    nominated = pod("strong", cpu=4, priority=100, nominated="a")
    attempt = failed_attempt(cluster(node("a", cpu=4), victim), nominated, hopeless=hopeless)

    result = DefaultPreemption().post_filter(attempt)

    assert waits == (NoRoom(VICTIMS_LEAVING) == result)


def test_a_nominated_node_that_is_gone_does_not_matter() -> None:
    nominated = pod("strong", cpu=4, priority=100, nominated="gone")

    assert ("a", ["w"]) == named(preempt(node("a", cpu=4), weak("w", "a"), incoming=nominated))


# ---- candidates


def test_only_weaker_pods_are_victims() -> None:
    result = preempt(
        node("a", cpu=4), weak("equal", "a", priority=100), node("b", cpu=4), weak("weaker", "b", priority=99)
    )

    assert ("b", ["weaker"]) == named(result)


def test_without_candidates_every_node_is_told_of() -> None:
    result = preempt(
        *(node("a", cpu=2), weak("w", "a", cpu=2)),
        *(node("b", cpu=4), weak("peer", "b", priority=100)),
        *(node("c", cpu=8), weak("big-peer", "c", cpu=6, priority=100), weak("small", "c", cpu=1)),
    )

    assert isinstance(result, NoRoom)
    assert result.voids_nomination
    assert (
        "preemption: 0/3 nodes are available: 1 Insufficient cpu, 1 No preemption victims found for incoming pod, "
        "1 Preemption is not helpful for scheduling."
    ) == result.why.message


def test_as_few_as_possible_go_the_least_important_first() -> None:
    pods = [weak(f"p{i}", "a", cpu=1, priority=i, started=i) for i in range(6)]

    assert ("a", ["p3", "p2", "p1", "p0"]) == named(preempt(node("a", cpu=6), *pods))


def test_small_pods_come_back_where_room_is_left() -> None:
    result = preempt(node("a", cpu=6), weak("big", "a", cpu=5, priority=9), weak("small", "a", cpu=1, priority=1))

    assert ("a", ["big"]) == named(result)


def test_a_pod_repelled_by_a_victim_evicts_it() -> None:
    far = pod("strong", priority=100, affinity=company(far=[term(select(app="x"))]))
    result = preempt(node("a"), weak("x", "a", app="x"), weak("y", "a", app="y"), incoming=far)

    assert ("a", ["x"]) == named(result)


# ---- budgets


def test_pods_that_a_budget_protects_come_back_first() -> None:
    pods = [weak("guarded", "a", cpu=4, priority=0, app="x"), weak("free", "a", cpu=4, priority=9)]

    assert ("a", ["free"]) == named(preempt(node("a", cpu=8), *pods, budget(0, app="x")))
    assert ("a", ["guarded"]) == named(preempt(node("a", cpu=8), *pods, budget(1, app="x")))


@pytest.mark.parametrize(
    ("guard", "covered"),
    [
        pytest.param(budget(0, app="x"), True, id="one whose selector matches"),
        pytest.param(budget(0, app="y"), False, id="one whose selector does not"),
        pytest.param(budget(0, namespace="web", app="x"), False, id="one of another namespace"),
        pytest.param(budget(0), False, id="one with an empty selector"),
        pytest.param(budget(0, disrupted=["p"], app="x"), False, id="one that has seen the pod's end"),
        pytest.param(
            replace(budget(0), spec=PodDisruptionBudgetSpec(selector=None)), False, id="one without a selector"
        ),
        pytest.param(
            replace(budget(0), spec=PodDisruptionBudgetSpec(selector=select(("a", "Likes", [])))),
            False,
            id="a malformed one",
        ),
    ],
)
def test_whom_a_budget_covers(guard: PodDisruptionBudget, covered: bool) -> None:
    guarded = PodCompiler().compile(pod("p", labels={"app": "x"}))

    assert covered == Budget.of(guard).covers(guarded)


def test_victims_are_told_by_importance_whichever_budget_they_violate() -> None:
    attempt = failed_attempt(
        cluster(node("a", cpu=8), weak("low-guarded", "a", priority=1, app="x"), weak("high-free", "a", priority=2)),
        pod("strong", cpu=8, priority=100),
    )

    (result,) = select_victims(attempt, attempt.helpable, [Budget.of(budget(0, app="x"))])

    assert isinstance(result, Victims)
    assert (["high-free", "low-guarded"], 1) == ([v.pod.name for v in result.pods], result.violations)


placed = st.tuples(
    st.sampled_from(["a", "b", "c"]),
    st.sampled_from([0, 5, 9]),
    st.integers(0, 3),
    st.sampled_from([{}, {"app": "x"}, {"app": "x", "tier": "1"}, {"app": "y"}]),
    st.sampled_from([(), (80,), (80, 81)]),
)
incoming_pods = st.builds(
    lambda cpu, ports, far: pod(
        "strong",
        cpu=cpu,
        priority=7,
        host_ports=ports,
        affinity=company(far=[term(select(app="x"), "kubernetes.io/hostname")]) if far else None,
    ),
    st.integers(1, 5),
    st.sampled_from([(), (80,), (81,)]),
    st.booleans(),
)


@given(
    st.lists(placed, max_size=12),
    incoming_pods,
    st.lists(st.tuples(st.integers(0, 2), st.sampled_from([{"app": "x"}, {"tier": "1"}])), max_size=2),
)
def test_victims_are_those_of_a_cluster_on_which_pods_really_go_and_come_back(
    there: list[tuple[str, int, int, dict[str, str], Sequence[int]]],
    incoming: Pod,
    guards: list[tuple[int, dict[str, str]]],
) -> None:
    nodes = [node(name, cpu=5) for name in "abc"]
    pods = [
        # all start at different times, so that no order is a matter of taste
        pod(f"p{i}", on=on, priority=priority, cpu=cpu, labels=labels, host_ports=ports, started=at(i))
        for i, (on, priority, cpu, labels, ports) in enumerate(there)
    ]
    budgets = [budget(allowed, name=f"b{i}", **labels) for i, (allowed, labels) in enumerate(guards)]
    attempt = failed_attempt(cluster(*nodes, *pods), incoming)

    got = select_victims(attempt, attempt.helpable, [Budget.of(guard) for guard in budgets])

    for name, result in zip(attempt.helpable.names, got, strict=True):
        want = victims_twin([*nodes, *pods], incoming, name, budgets)
        if isinstance(result, Victims):
            assert want == ([victim.pod.name for victim in result.pods], result.violations)
        else:
            assert want is None
            assert any(p.spec.node_name == name and (p.spec.priority or 0) < 7 for p in pods) or result == NO_VICTIMS


# ---- the five criteria


def victims(*pods: PodInfo, violations: int = 0) -> Victims:
    return Victims(pods, violations)


@pytest.mark.parametrize(
    "worse",
    [
        pytest.param(victims(info(priority=0), violations=1), id="it violates fewer budgets"),
        pytest.param(victims(info(priority=3, started=9), info()), id="its most important victim is less important"),
        pytest.param(
            victims(info(priority=2, started=9), info(priority=1), info()), id="its victims' priorities sum up to less"
        ),
        pytest.param(
            victims(info(priority=2, started=9), info(priority=-(2**31)), info(priority=1)),
            id="it has fewer victims where priorities sum up to the same",
        ),
        pytest.param(victims(info(priority=2, started=4), info(priority=1, started=9)), id="its best started later"),
    ],
)
@pytest.mark.parametrize("better_first", [True, False])
def test_the_better_node_is_picked_because(worse: Victims, better_first: bool) -> None:
    better = victims(info(priority=2, started=5), info(priority=1, started=1))
    attempt = failed_attempt(cluster(node("a", cpu=1)), STRONG)
    candidates = {"a": better, "b": worse} if better_first else {"a": worse, "b": better}

    assert ("a" if better_first else "b") == pick_node(candidates, attempt)


def test_a_victim_that_has_not_started_counts_as_started_just_now() -> None:
    attempt = failed_attempt(cluster(node("a", cpu=1)), STRONG)

    assert "b" == pick_node({"a": victims(info(started=59)), "b": victims(info())}, attempt)


def test_among_equals_chance_decides() -> None:
    attempt = failed_attempt(cluster(node("a", cpu=1)), STRONG)
    candidates = {name: victims(info(started=1)) for name in "abc"}

    picked = {pick_node(candidates, with_changes(attempt, rng=Random(seed))) for seed in range(30)}

    assert {"a", "b", "c"} == picked
    assert pick_node(candidates, with_changes(attempt, rng=Random(3))) == pick_node(
        dict(reversed(candidates.items())), with_changes(attempt, rng=Random(3))
    )


# ---- which pod matters more


@pytest.mark.parametrize(
    ("a", "b", "want"),
    [
        pytest.param(info(priority=2), info(priority=1), True, id="priority first"),
        pytest.param(info(priority=1), info(priority=2, started=1), False, id="whatever their age"),
        pytest.param(info(started=1), info(started=2), True, id="the older one"),
        pytest.param(info(started=2), info(started=1), False, id="the younger one is not"),
        pytest.param(info(started=1), info(started=1), False, id="of two of an age none"),
        pytest.param(info(started=1), info(), True, id="one that started before one that has not"),
        pytest.param(info(), info(started=1), False, id="not the other way round"),
        pytest.param(info(), info(), True, id="of two that have not, the one asked about first"),
    ],
)
def test_more_important(a: PodInfo, b: PodInfo, want: bool) -> None:
    assert want == more_important(a, b, NOW)


def test_few_pods_that_have_not_started_are_turned_around() -> None:
    few = [info(name=f"p{i}") for i in range(4)]

    assert ["p3", "p2", "p1", "p0"] == [p.pod.name for p in by_importance(few, NOW)]


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 59)), unique_by=lambda p: p[1], max_size=30))
def test_pods_that_started_are_in_one_order_however_many_there_are(told: list[tuple[int, int]]) -> None:
    pods = [info(priority=priority, started=started) for priority, started in told]
    want = sorted(told, key=lambda p: (-p[0], p[1]))

    assert want == [(p.priority, int((p.pod.status.start_time or "")[-3:-1])) for p in by_importance(pods, NOW)]


# ---- extenders


TWO_NODES = (node("a", cpu=4), node("b", cpu=4), weak("wa", "a"), weak("wb", "b"))


def keep(*names: str, empty: bool = False) -> PreemptExtender:
    def answer(found: Mapping[str, Victims]) -> Mapping[str, Victims]:
        return {name: Victims((), 0) if empty else found[name] for name in names if name in found}

    return PreemptExtender(answer)


def with_extenders(*extenders: PreemptExtender) -> PostFilterResult:
    return DefaultPreemption().post_filter(failed_attempt(cluster(*TWO_NODES), STRONG, extenders=extenders))


def test_each_extender_sees_what_the_one_before_it_left() -> None:
    first, second = keep("b"), keep("a", "b")

    assert ("b", ["wb"]) == named(with_extenders(first, second))
    assert ([{"a", "b"}], [{"b"}]) == (first.asked, second.asked)


def test_when_an_extender_keeps_nothing_the_rest_are_not_asked() -> None:
    second = keep("a")

    assert NoRoom(NO_CANDIDATE) == with_extenders(keep(), second)
    assert [] == second.asked


def test_an_extender_that_fails_fails_the_attempt_unless_it_can_be_ignored() -> None:
    with pytest.raises(PluginError, match="unreachable"):
        with_extenders(PreemptExtender(fails))

    assert ("b", ["wb"]) == named(with_extenders(PreemptExtender(fails, ignorable=True), keep("b")))


def test_an_extender_that_names_no_victims_is_an_error_unless_it_can_be_ignored() -> None:
    with pytest.raises(PluginError, match='expected at least one victim pod on node "a"'):
        with_extenders(keep("a", empty=True))
    lenient = with_changes(keep("a", empty=True), ignorable=True)

    assert NoRoom(NO_CANDIDATE) == with_extenders(lenient)


def test_extenders_that_are_not_interested_are_not_asked() -> None:
    indifferent = PreemptExtender(fails, wants=False)
    silent = PreemptExtender(fails, preempts=False)

    assert isinstance(with_extenders(indifferent, silent), Nomination)


# ---- many candidates


@pytest.mark.parametrize(
    ("nodes", "percentage", "absolute", "want"),
    [
        pytest.param(1000, 10, 100, 100, id="ten percent"),
        pytest.param(5000, 10, 100, 500, id="ten percent of many"),
        pytest.param(500, 10, 100, 100, id="never fewer than the absolute number"),
        pytest.param(50, 10, 100, 50, id="no more than there are"),
        pytest.param(7, 0, 0, 1, id="one at least"),
    ],
)
def test_how_many_candidates_are_enough(nodes: int, percentage: int, absolute: int, want: int) -> None:
    args = DefaultPreemptionArgs(min_candidate_nodes_percentage=percentage, min_candidate_nodes_absolute=absolute)

    assert want == DefaultPreemption.create(args, PluginContext())._enough(nodes)


def test_nodes_are_tried_from_a_random_start_until_enough_are_found() -> None:
    args = DefaultPreemptionArgs(min_candidate_nodes_percentage=0, min_candidate_nodes_absolute=2)
    objects = [obj for i in range(8) for obj in (node(f"n{i}", cpu=4), weak(f"w{i}", f"n{i}"))]
    built = cluster(*objects)
    found = set()
    for seed in range(20):
        candidates, _ = DefaultPreemption(args)._find_candidates(failed_attempt(built, STRONG, seed=seed))
        assert 2 == len(candidates)
        numbers = sorted(int(name[1:]) for name in candidates)
        assert numbers[1] - numbers[0] in {1, 7}, "neighbours in node order, around its end too"
        found |= set(candidates)
    assert len(found) > 4


def test_the_search_goes_on_while_every_candidate_violates_a_budget() -> None:
    args = DefaultPreemptionArgs(min_candidate_nodes_percentage=0, min_candidate_nodes_absolute=1)
    objects = [obj for i in range(8) for obj in (node(f"n{i}", cpu=4), weak(f"w{i}", f"n{i}", app="x"))]
    harmless = (node("free", cpu=4), weak("wf", "free"))
    for seed in range(5):
        attempt = failed_attempt(cluster(*objects, *harmless, budget(0, app="x")), STRONG, seed=seed)
        assert ("free", ["wf"]) == named(DefaultPreemption(args).post_filter(attempt))


# ---- waiting for evictions


def test_a_pod_stays_out_while_its_victims_are_being_evicted() -> None:
    plugin, waiting = DefaultPreemption(), info(name="strong")
    view = cluster().view()
    assert plugin.pre_enqueue(view, waiting) is None

    plugin.evicting.add(waiting.uid)

    assert STILL_EVICTING == plugin.pre_enqueue(view, waiting)
    assert plugin.pre_enqueue(view, info(name="other")) is None


def test_it_hears_of_ended_pods_and_wakes_for_none() -> None:
    (wake,) = DefaultPreemption.wakes

    assert Kind.POD is wake.kind
    assert wake.when is not None
    assert not wake.when(info(), None, cluster().view())  # type: ignore[arg-type] # it does not look
