"""Hard spread constraints: tables, and the kernel against its twin."""

from collections.abc import Iterable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stowplan.api.affinity import Toleration, TopologySpreadConstraint
from stowplan.api.node import Node
from stowplan.api.pod import Pod
from stowplan.framework.plugin import PluginContext, Skip
from stowplan.framework.verdict import Code
from stowplan.plugins.pod_topology_spread.plugin import PodTopologySpread
from stowplan.testing.builders import HOSTNAME, node, pod, select, spread, taint, tolerate
from stowplan.testing.properties import assert_rows_agree
from stowplan.testing.running import by_name, prepare, run_filter
from tests.plugins.pod_topology_spread.twin import MISSING, UNEVEN, Twin
from tests.plugins.small_clusters import (
    DISK,
    GONE,
    NAMESPACES,
    SELECTORS,
    TOPOLOGY_KEYS,
    Changes,
    Setting,
    change_lists,
    compiled,
    node_lists,
    pod_labels,
    pod_lists,
    worlds_of,
)

WEB = select(app="web")
PASS = None


def plugin() -> PodTopologySpread:
    return PodTopologySpread.create(None, PluginContext())


def web(name: str, on: str, *, namespace: str = "default", deleted: str | None = None) -> Pod:
    return pod(name, on=on, labels={"app": "web"}, namespace=namespace, deleted=deleted)


def zones(**members: Sequence[str]) -> list[Node]:
    return [node(name, zone=zone) for zone, names in members.items() for name in names]


FOUR = zones(a=["a1", "a2"], b=["b1", "b2"])


@pytest.mark.parametrize(
    ("nodes", "placed", "constraints", "want"),
    [
        pytest.param(
            FOUR,
            [],
            [spread(WEB)],
            {"a1": PASS, "a2": PASS, "b1": PASS, "b2": PASS},
            id="an empty cluster takes the pod",
        ),
        pytest.param(
            FOUR,
            [web("p", "a1")],
            [spread(WEB)],
            {"a1": UNEVEN, "a2": UNEVEN, "b1": PASS, "b2": PASS},
            id="a zone that is one ahead takes no more at skew 1",
        ),
        pytest.param(
            FOUR,
            [web("p", "a1")],
            [spread(WEB, max_skew=2)],
            {"a1": PASS, "b1": PASS},
            id="a higher skew lets it be ahead",
        ),
        pytest.param(
            [*FOUR, node("bare")],
            [],
            [spread(WEB)],
            {"bare": MISSING, "a1": PASS},
            id="a node without the label is refused for good",
        ),
        pytest.param(
            [*FOUR, node("bare")],
            [web("p", "a1"), web("q", "bare")],
            [spread(WEB), spread(WEB, HOSTNAME)],
            {"a1": UNEVEN, "a2": UNEVEN, "b1": PASS, "bare": MISSING},
            id="a node that lacks one of the keys counts for none",
        ),
        pytest.param(
            zones(a=["a1"], b=["b1"], c=["c1"]),
            [web("p", "a1"), web("q", "b1"), web("r", "c1"), web("s", "a1")],
            [spread(WEB)],
            {"a1": UNEVEN, "b1": PASS, "c1": PASS},
            id="the emptiest domain is the measure",
        ),
        pytest.param(
            FOUR,
            [web("p", "a1"), web("q", "b1")],
            [spread(WEB, min_domains=3)],
            {"a1": UNEVEN, "b1": UNEVEN},
            id="with fewer domains than minDomains the measure is zero",
        ),
        pytest.param(
            FOUR,
            [web("p", "a1"), web("q", "b1")],
            [spread(WEB, min_domains=2)],
            {"a1": PASS, "b1": PASS},
            id="with enough domains minDomains changes nothing",
        ),
        pytest.param(
            FOUR,
            [web("p", "a1", deleted=GONE)],
            [spread(WEB)],
            {"a1": PASS},
            id="a pod that is being deleted does not count",
        ),
        pytest.param(
            FOUR,
            [web("p", "a1", namespace="other")],
            [spread(WEB)],
            {"a1": PASS},
            id="a pod of another namespace does not count",
        ),
        pytest.param(
            FOUR,
            [web("p", "a1"), web("q", "a1")],
            [spread(select())],
            {"a1": PASS},
            id="an empty selector counts nobody",
        ),
        pytest.param(
            FOUR, [web("p", "a1"), web("q", "a1")], [spread(None)], {"a1": PASS}, id="no selector matches nobody"
        ),
        pytest.param(
            FOUR,
            [web("p", "a1")],
            [spread(select(app="other"))],
            {"a1": PASS},
            id="pods that the selector leaves out do not count",
        ),
        pytest.param(
            FOUR,
            [pod("p", on="a1", labels={"app": "db"}), pod("q", on="a2", labels={"app": "db"})],
            [spread(select(app="db"), max_skew=1)],
            {"a1": UNEVEN, "b1": PASS},
            id="a pod that does not match itself adds nothing: 2 - 0 > 1",
        ),
        pytest.param(
            FOUR,
            [pod("p", on="a1", labels={"app": "db"})],
            [spread(select(app="db"), max_skew=1)],
            {"a1": PASS, "b1": PASS},
            id="a pod that does not match itself adds nothing: 1 - 0 = 1",
        ),
        pytest.param(
            FOUR,
            [web("p", "a1"), web("q", "b1"), web("r", "b2")],
            [spread(WEB, max_skew=1), spread(WEB, HOSTNAME, max_skew=1)],
            {"a1": UNEVEN, "a2": PASS, "b1": UNEVEN, "b2": UNEVEN},
            id="every constraint must hold",
        ),
        pytest.param(
            FOUR,
            [
                pod("p", on="a1", labels={"app": "web", "rev": "1"}),
                pod("q", on="a2", labels={"app": "web", "rev": "2"}),
            ],
            [spread(WEB, match_label_keys=["rev"])],
            {"a1": UNEVEN, "b1": PASS},
            id="matchLabelKeys count only the pod's own revision: 1 + 1 - 0 > 1",
        ),
    ],
)
def test_domains(
    nodes: Sequence[Node], placed: Sequence[Pod], constraints: Iterable[TopologySpreadConstraint], want: dict[str, str]
) -> None:
    incoming = pod(labels={"app": "web", "rev": "1"}, spread=constraints)

    answer = run_filter(plugin(), [*nodes, *placed], incoming)

    got = {name: answer.on(name) for name in want}
    assert want == {name: why.message if why else None for name, why in got.items()}


@pytest.mark.parametrize(
    ("constraint", "tolerations", "want"),
    [
        pytest.param(spread(WEB), [], UNEVEN, id="nodes that the node selector excludes do not count: 1 + 1 - 0 > 1"),
        pytest.param(
            spread(WEB, node_affinity_policy="Ignore"), [], PASS, id="policy Ignore counts them: 1 + 1 - 1 = 1"
        ),
        pytest.param(
            spread(WEB, node_affinity_policy="Ignore", node_taints_policy="Honor"),
            [],
            UNEVEN,
            id="policy Honor leaves nodes with untolerated taints out: 1 + 1 - 0 > 1",
        ),
        pytest.param(
            spread(WEB, node_affinity_policy="Ignore", node_taints_policy="Honor"),
            [tolerate("own")],
            PASS,
            id="policy Honor counts nodes whose taints are tolerated: 1 + 1 - 1 = 1",
        ),
    ],
)
def test_inclusion_policies(
    constraint: TopologySpreadConstraint, tolerations: Iterable[Toleration], want: str | None
) -> None:
    """Zone b holds one pod; that of zone a is on a node that is tainted and has no disk."""
    nodes = [
        node("a1", zone="a", labels={DISK: "ssd"}),
        node("a2", zone="a", taints=[taint("own")]),
        node("b1", zone="b", labels={DISK: "ssd"}),
    ]
    incoming = pod(labels={"app": "web"}, spread=[constraint], tolerations=tolerations, node_selector={DISK: "ssd"})

    answer = run_filter(plugin(), [*nodes, web("p", "b1"), web("q", "a2")], incoming)

    why = answer.on("b1")
    assert want == (why.message if why else None)


def test_each_constraint_has_its_own_policy() -> None:
    """The zones count all nodes, the host names only those with a disk; so b1 fails by its zone, and a1 passes."""
    nodes = [
        node("a1", zone="a", labels={DISK: "ssd"}),
        node("b1", zone="b", labels={DISK: "ssd"}),
        node("b2", zone="b"),
    ]
    constraints = [spread(WEB, node_affinity_policy="Ignore"), spread(WEB, HOSTNAME)]
    incoming = pod(labels={"app": "web"}, spread=constraints, node_selector={DISK: "ssd"})

    answer = run_filter(plugin(), [*nodes, web("p", "b2")], incoming)

    assert {"a1"} == answer.passed() - {"b2"}


def test_soft_constraints_alone_leave_the_filter_out() -> None:
    answer = run_filter(plugin(), FOUR, pod(spread=[spread(WEB, soft=True)]))

    assert answer.skipped


def test_system_defaults_never_filter() -> None:
    assert run_filter(plugin(), FOUR, pod(labels={"app": "web"})).skipped


def test_only_a_missing_label_is_beyond_eviction() -> None:
    answer = run_filter(
        plugin(), [*FOUR, node("bare"), web("p", "a1")], pod(labels={"app": "web"}, spread=[spread(WEB)])
    )

    got = {name: why.code for name in ("a1", "bare") if (why := answer.on(name))}
    assert {"a1": Code.UNSCHEDULABLE, "bare": Code.UNRESOLVABLE} == got


@pytest.mark.parametrize(
    ("change", "want"),
    [
        pytest.param(
            Changes(FOUR[0], removed=[web("p", "a1")]), PASS, id="evicting the pod that is too many makes room"
        ),
        pytest.param(Changes(FOUR[0]), UNEVEN, id="a world without changes is the View"),
        pytest.param(Changes(FOUR[2]), PASS, id="another zone has room"),
        pytest.param(
            Changes(FOUR[2], added=[web("g", "b1"), web("h", "b1")]),
            UNEVEN,
            id="nominated pods fill a zone: 2 + 1 - 1 > 1",
        ),
        pytest.param(
            Changes(FOUR[2], added=[web("g", "b1", deleted=GONE), web("h", "b1", deleted=GONE)]),
            UNEVEN,
            id="in worlds pods that are being deleted count",
        ),
    ],
)
def test_worlds(change: Changes, want: str | None) -> None:
    setting = Setting(FOUR, [web("p", "a1")])

    assert {change.node.name: want} == judged(setting, hard_pod(spread(WEB)), [change])


def hard_pod(*constraints: TopologySpreadConstraint) -> Pod:
    return pod("incoming", labels={"app": "web"}, spread=constraints)


def judged(setting: Setting, incoming: Pod, changes: Sequence[Changes]) -> dict[str, str | None]:
    """What the plugin says of worlds, by node."""
    built = setting.cluster()
    judge = plugin()
    info = compiled(built, incoming)
    plan = prepare(judge, built.view(), info)
    assert not isinstance(plan, Skip)
    worlds = worlds_of(built, changes)
    verdict = judge.filter(info, worlds, plan)
    return {name: why.message if why else None for name, why in by_name(verdict, worlds).items()}


# --- the kernel and its twin


def constraints_of(
    soft: st.SearchStrategy[bool], *, with_empty: bool = True
) -> st.SearchStrategy[TopologySpreadConstraint]:
    policies = st.sampled_from([None, None, None, "Honor", "Ignore"])
    usual = [select(app="x")] * 6
    return st.builds(
        spread,
        st.sampled_from([*usual, *(s for s in SELECTORS if with_empty or s != select())]),
        st.sampled_from(TOPOLOGY_KEYS),
        max_skew=st.sampled_from([1, 1, 1, 2, 3]),
        soft=soft,
        min_domains=st.sampled_from([None, None, None, 1, 2, 3]),
        node_affinity_policy=policies,
        node_taints_policy=policies,
        match_label_keys=st.sampled_from([(), (), ("tier",), ("tier", "app", "nothing")]),
    )


def others(*, with_deleted: bool = True) -> st.SearchStrategy[Pod]:
    """Pods to be placed."""
    return st.builds(
        pod,
        labels=pod_labels(),
        namespace=st.sampled_from(["default", "default", "default", "web"]),
        deleted=st.sampled_from([None, None, None, GONE] if with_deleted else [None]),
    )


@st.composite
def cases(draw: st.DrawFn, *, plain: bool = False) -> tuple[Setting, Pod, list[Changes]]:
    """A setting, a pod with a hard constraint, and worlds; plain ones are without what worlds count otherwise."""
    nodes = draw(node_lists())
    kinds = others(with_deleted=not plain)
    setting = Setting(nodes, draw(pod_lists(nodes, kinds, most=14)))
    incoming = pod(
        "incoming",
        namespace=NAMESPACES[0],
        labels=draw(pod_labels()),
        spread=draw(st.lists(constraints_of(st.just(False), with_empty=not plain), min_size=1, max_size=3)),
        node_selector=draw(st.sampled_from([{}, {DISK: "ssd"}])),
        tolerations=draw(st.sampled_from([(), (tolerate("own"),)])),
    )
    return setting, incoming, draw(change_lists(setting, kinds))


@settings(deadline=None, max_examples=200)
@given(cases())
def test_kernel_agrees_with_its_twin(case: tuple[Setting, Pod, list[Changes]]) -> None:
    setting, incoming, _ = case
    twin = Twin(setting, incoming, incoming.spec.topology_spread_constraints)

    want = {home.name: twin.rejection(home) for home in setting.nodes}
    answer = run_filter(plugin(), setting.cluster(), incoming)

    assert want == {name: why.message if (why := answer.on(name)) else None for name in want}


@settings(deadline=None, max_examples=200)
@given(cases())
def test_worlds_agree_with_the_twin(case: tuple[Setting, Pod, list[Changes]]) -> None:
    setting, incoming, changes = case
    twin = Twin(setting, incoming, incoming.spec.topology_spread_constraints)

    want = {change.node.name: twin.rejection(change.node, change.removed, change.added) for change in changes}

    assert want == judged(setting, incoming, changes)


@settings(deadline=None, max_examples=200)
@given(cases(plain=True))
def test_a_world_is_judged_like_a_cluster_in_which_it_came_true(case: tuple[Setting, Pod, list[Changes]]) -> None:
    setting, incoming, changes = case

    want = {}
    for change in changes:
        why = run_filter(plugin(), change.applied(setting).cluster(), incoming).on(change.node.name)
        want[change.node.name] = why.message if why else None

    assert want == judged(setting, incoming, changes)


@settings(deadline=None, max_examples=200)
@given(cases())
def test_all_rows_any_subset_and_single_rows_agree(case: tuple[Setting, Pod, list[Changes]]) -> None:
    setting, incoming, _ = case

    assert_rows_agree(plugin(), setting.cluster(), incoming)
