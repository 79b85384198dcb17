"""Required terms: tables, and the kernel against its twin."""

from collections.abc import Sequence

import pytest
from hypothesis import assume, given, settings

from stowplan.api.affinity import Affinity
from stowplan.api.meta import KubeObject
from stowplan.api.node import Node
from stowplan.api.pod import Pod
from stowplan.framework.plugin import PluginContext, Skip
from stowplan.framework.verdict import Code
from stowplan.plugins.inter_pod_affinity.plugin import InterPodAffinity
from stowplan.testing.builders import HOSTNAME, ZONE, company, namespace, node, pod, select, term
from stowplan.testing.properties import assert_rows_agree
from stowplan.testing.running import by_name, prepare, run_filter
from tests.plugins.inter_pod_affinity.cases import Case, cases
from tests.plugins.inter_pod_affinity.twin import TOO_FAR, TOO_NEAR, UNWELCOME, Twin
from tests.plugins.small_clusters import DISK, GONE, Changes, Setting, compiled, worlds_of

PASS = None
WEB, DB = select(app="web"), select(app="db")


def plugin() -> InterPodAffinity:
    return InterPodAffinity.create(None, PluginContext())


def web(name: str, on: str, *, namespace: str = "default", deleted: str | None = None) -> Pod:
    return pod(name, on=on, labels={"app": "web"}, namespace=namespace, deleted=deleted)


FOUR = [node("a1", zone="a"), node("a2", zone="a"), node("b1", zone="b"), node("bare")]
TEAM = select(team="t")


@pytest.mark.parametrize(
    ("others", "affinity", "want"),
    [
        pytest.param(
            [web("p", "a1")],
            company(near=[term(WEB, ZONE)]),
            {"a1": PASS, "a2": PASS, "b1": TOO_FAR, "bare": TOO_FAR},
            id="the pod goes where its company is",
        ),
        pytest.param(
            [], company(near=[term(WEB, ZONE)]), {"a1": TOO_FAR, "b1": TOO_FAR}, id="without company it goes nowhere"
        ),
        pytest.param(
            [],
            company(near=[term(DB, ZONE)]),
            {"a1": PASS, "b1": PASS, "bare": TOO_FAR},
            id="the first of a series goes wherever the label is",
        ),
        pytest.param(
            [pod("p", on="bare", labels={"app": "db"})],
            company(near=[term(DB, ZONE)]),
            {"a1": PASS, "b1": PASS},
            id="company on a node without the label is nowhere, so the series still begins",
        ),
        pytest.param(
            [pod("p", on="b1", labels={"app": "db"})],
            company(near=[term(DB, ZONE)]),
            {"a1": TOO_FAR, "b1": PASS},
            id="the second of a series goes to the first",
        ),
        pytest.param(
            [web("p", "a1"), pod("q", on="b1", labels={"tier": "1"})],
            company(near=[term(WEB, ZONE), term(select(tier="1"), ZONE)]),
            {"a1": TOO_FAR, "b1": TOO_FAR},
            id="a pod is company only when it meets all terms",
        ),
        pytest.param(
            [pod("p", on="a1", labels={"app": "web", "tier": "1"})],
            company(near=[term(WEB, ZONE), term(select(tier="1"), HOSTNAME)]),
            {"a1": PASS, "a2": TOO_FAR, "b1": TOO_FAR},
            id="each term has its own domain",
        ),
        pytest.param(
            [web("p", "a1", deleted=GONE)],
            company(near=[term(WEB, ZONE)]),
            {"a1": PASS},
            id="a pod that is being deleted is still company",
        ),
        pytest.param(
            [web("p", "a1")],
            company(far=[term(WEB, ZONE)]),
            {"a1": TOO_NEAR, "a2": TOO_NEAR, "b1": PASS, "bare": PASS},
            id="the pod keeps away from those it shuns",
        ),
        pytest.param(
            [web("p", "bare")], company(far=[term(WEB, ZONE)]), {"bare": PASS}, id="without the label there is no near"
        ),
        pytest.param(
            [web("p", "a1"), pod("q", on="b1", labels={"tier": "1"})],
            company(far=[term(WEB, HOSTNAME), term(select(tier="1"), ZONE)]),
            {"a1": TOO_NEAR, "a2": PASS, "b1": TOO_NEAR},
            id="any anti-affinity term keeps away",
        ),
        pytest.param(
            [pod("p", on="a1", affinity=company(far=[term(DB, ZONE)]))],
            None,
            {"a1": UNWELCOME, "a2": UNWELCOME, "b1": PASS},
            id="placed pods keep those away whom they shun",
        ),
        pytest.param(
            [web("p", "a1"), pod("q", on="a1", affinity=company(far=[term(DB, ZONE)]))],
            company(near=[term(WEB, ZONE)], far=[term(WEB, HOSTNAME)]),
            {"a1": TOO_NEAR, "a2": UNWELCOME, "b1": TOO_FAR},
            id="company comes first, then the pod's dislikes, then those of others",
        ),
        pytest.param(
            [web("p", "a1", namespace="other")],
            company(near=[term(WEB, ZONE)]),
            {"a1": TOO_FAR},
            id="a term speaks of the pod's own namespace",
        ),
        pytest.param(
            [web("p", "a1", namespace="other")],
            company(near=[term(WEB, ZONE, namespaces=["other"])]),
            {"a1": PASS},
            id="a term can name namespaces",
        ),
        pytest.param(
            [web("p", "a1")],
            company(near=[term(WEB, ZONE, namespaces=["other"])]),
            {"a1": TOO_FAR},
            id="then it no longer speaks of the pod's own",
        ),
        pytest.param(
            [web("p", "a1", namespace="other"), namespace("other", team="t")],
            company(near=[term(WEB, ZONE, namespace_selector=TEAM)]),
            {"a1": PASS},
            id="a term can select namespaces",
        ),
        pytest.param(
            [web("p", "a1", namespace="other"), namespace("other")],
            company(near=[term(WEB, ZONE, namespace_selector=TEAM)]),
            {"a1": TOO_FAR},
            id="a namespace with other labels is not meant",
        ),
        pytest.param(
            [web("p", "a1", namespace="other")],
            company(near=[term(WEB, ZONE, namespace_selector=select())]),
            {"a1": PASS},
            id="an empty namespace selector means all, even those that nobody created",
        ),
        pytest.param(
            [web("p", "a1", namespace="other")],
            company(near=[term(WEB, ZONE, namespace_selector=select(("team", "DoesNotExist", [])))]),
            {"a1": TOO_FAR},
            id="the pod's own terms select among namespaces that exist",
        ),
        pytest.param(
            [
                pod(
                    "p",
                    on="a1",
                    namespace="other",
                    affinity=company(far=[term(DB, ZONE, namespace_selector=select(("team", "DoesNotExist", [])))]),
                )
            ],
            None,
            {"a1": UNWELCOME},
            id="for terms of placed pods a namespace that nobody created has no labels",
        ),
        pytest.param(
            [web("p", "a1", namespace="x"), web("q", "b1", namespace="y"), namespace("x", team="t"), namespace("y")],
            company(near=[term(WEB, ZONE, namespaces=["x", "y"]), term(WEB, HOSTNAME, namespace_selector=TEAM)]),
            {"a1": PASS, "b1": TOO_FAR},
            id="terms with different namespaces meet where all of them look",
        ),
    ],
)
def test_terms(others: Sequence[KubeObject], affinity: Affinity | None, want: dict[str, str | None]) -> None:
    incoming = pod(labels={"app": "db"}, affinity=affinity)

    answer = run_filter(plugin(), [*FOUR, *others], incoming)

    assert want == {name: why.message if (why := answer.on(name)) else None for name in want}


@pytest.mark.parametrize(
    ("others", "affinity"),
    [
        pytest.param([web("p", "a1")], None, id="nobody has terms"),
        pytest.param([], company(prefer_near=[(1, term(WEB))]), id="preferred terms do not filter"),
        pytest.param(
            [pod("p", on="a1", affinity=company(far=[term(WEB)]))], None, id="placed pods shun others than this one"
        ),
        pytest.param(
            [pod("p", on="bare", affinity=company(far=[term(DB, ZONE)]))], None, id="who shuns it is on no such domain"
        ),
        pytest.param([pod("p", on="a1", affinity=company(near=[term(DB)]))], None, id="others want the pod near"),
    ],
)
def test_nothing_to_say(others: Sequence[KubeObject], affinity: Affinity | None) -> None:
    assert run_filter(plugin(), [*FOUR, *others], pod(labels={"app": "db"}, affinity=affinity)).skipped


def test_only_missing_company_is_beyond_eviction() -> None:
    others = [web("p", "a1"), web("q", "b1"), pod("r", on="b1", affinity=company(far=[term(DB, ZONE)]))]
    affinity = company(near=[term(WEB, ZONE)], far=[term(WEB, HOSTNAME)])

    answer = run_filter(plugin(), [*FOUR, *others], pod(labels={"app": "db"}, affinity=affinity))

    got = {name: why.code for name in ("a1", "bare") if (why := answer.on(name))}
    assert {"a1": Code.UNSCHEDULABLE, "bare": Code.UNRESOLVABLE} == got


def test_namespace_labels_are_read_anew() -> None:
    built = Setting(FOUR, [web("p", "a1", namespace="other")], [namespace("other")]).cluster()
    incoming = pod(affinity=company(near=[term(WEB, ZONE, namespace_selector=TEAM)]))
    judge = plugin()

    steps = [run_filter(judge, built, incoming).on("a1")]
    built.put(namespace("other", team="t"))
    steps.append(run_filter(judge, built, incoming).on("a1"))

    assert [TOO_FAR, None] == [why.message if why else None for why in steps]


SHUNS_DB = pod("shuns", affinity=company(far=[term(DB, ZONE)]))


@pytest.mark.parametrize(
    ("change", "want"),
    [
        pytest.param(Changes(FOUR[0]), TOO_NEAR, id="a world without changes is the View"),
        pytest.param(Changes(FOUR[0], removed=[web("p", "a1")]), PASS, id="evicting whom the pod shuns makes room"),
        pytest.param(Changes(FOUR[1]), TOO_NEAR, id="on another node of the zone it is still there"),
        pytest.param(Changes(FOUR[2]), PASS, id="another zone has room"),
        pytest.param(Changes(FOUR[2], added=[web("g", "b1")]), TOO_NEAR, id="a nominated pod is shunned too"),
        pytest.param(Changes(FOUR[2], added=[SHUNS_DB]), UNWELCOME, id="a nominated pod brings its own dislikes"),
        pytest.param(Changes(FOUR[3], added=[SHUNS_DB]), PASS, id="which say nothing where the label is missing"),
    ],
)
def test_worlds(change: Changes, want: str | None) -> None:
    incoming = pod(labels={"app": "db"}, affinity=company(far=[term(WEB, ZONE)]))

    assert {change.node.name: want} == judged(Setting(FOUR, [web("p", "a1")]), incoming, [change])


def test_evicting_the_only_company_begins_a_series_anew() -> None:
    mate = pod("mate", on="a1", labels={"app": "db"})
    incoming = pod(labels={"app": "db"}, affinity=company(near=[term(DB, ZONE)]))
    changes = [Changes(FOUR[0], removed=[mate]), Changes(FOUR[2])]

    assert {"a1": PASS, "b1": TOO_FAR} == judged(Setting(FOUR, [mate]), incoming, changes)


def judged(setting: Setting, incoming: Pod, changes: Sequence[Changes]) -> dict[str, str | None]:
    """What the plugin says of worlds, by node; nothing when it has nothing to say."""
    built = setting.cluster()
    judge = plugin()
    info = compiled(built, incoming)
    plan = prepare(judge, built.view(), info)
    assert not isinstance(plan, Skip)
    worlds = worlds_of(built, changes)
    verdict = judge.filter(info, worlds, plan)
    return {name: why.message if why else None for name, why in by_name(verdict, worlds).items()}


def said_of(home: Node, setting: Setting, incoming: Pod) -> str | None:
    """What the plugin says of a node."""
    why = run_filter(plugin(), setting.cluster(), incoming).on(home.name)
    return why.message if why else None


# --- the kernel and its twin


@settings(deadline=None, max_examples=60)
@given(cases())
def test_kernel_agrees_with_its_twin(case: Case) -> None:
    setting, incoming, _ = case
    twin = Twin(setting, incoming)

    answer = run_filter(plugin(), setting.cluster(), incoming)

    assert twin.skips == answer.skipped
    want = {home.name: twin.rejection(home) for home in setting.nodes}
    assert want == {name: why.message if (why := answer.on(name)) else None for name in want}


@settings(deadline=None, max_examples=60)
@given(cases())
def test_worlds_agree_with_the_twin(case: Case) -> None:
    setting, incoming, changes = case
    twin = Twin(setting, incoming)
    assume(not twin.skips)

    want = {change.node.name: twin.rejection(change.node, change.removed, change.added) for change in changes}

    assert want == judged(setting, incoming, changes)


@settings(deadline=None, max_examples=60)
@given(cases())
def test_a_world_is_judged_like_a_cluster_in_which_it_came_true(case: Case) -> None:
    setting, incoming, changes = case
    assume(not Twin(setting, incoming).skips)

    want = {change.node.name: said_of(change.node, change.applied(setting), incoming) for change in changes}

    assert want == judged(setting, incoming, changes)


@settings(deadline=None, max_examples=60)
@given(cases())
def test_all_rows_any_subset_and_single_rows_agree(case: Case) -> None:
    setting, incoming, _ = case

    assert_rows_agree(plugin(), setting.cluster(), incoming)


def test_keys_of_the_same_term_may_differ() -> None:
    """One selector under two keys: the host name keeps away from one node, the disk from all that have one like it."""
    nodes = [node("a", labels={DISK: "ssd"}), node("b", labels={DISK: "ssd"}), node("c")]
    affinity = company(far=[term(WEB, HOSTNAME), term(WEB, DISK)])

    answer = run_filter(plugin(), [*nodes, web("p", "a")], pod(affinity=affinity))

    assert {"c"} == answer.passed()
