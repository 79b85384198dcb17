"""Soft spread constraints: tables, and the kernel against its twin."""

from collections.abc import Iterable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stowplan.api.affinity import TopologySpreadConstraint
from stowplan.api.meta import KubeObject, ObjectMeta
from stowplan.api.node import Node
from stowplan.api.pod import Pod
from stowplan.api.selectors import compile_label_selector
from stowplan.api.workloads import Service, ServiceSpec
from stowplan.framework.plugin import PluginContext, Skip
from stowplan.framework.plugin_args import LIST_DEFAULTING, PodTopologySpreadArgs
from stowplan.plugins.pod_topology_spread.constraints import SYSTEM_DEFAULTS
from stowplan.plugins.pod_topology_spread.plugin import PodTopologySpread
from stowplan.testing.builders import HOSTNAME, node, pod, select, spread, taint, tolerate
from stowplan.testing.properties import assert_rows_agree
from stowplan.testing.running import run_score
from tests.plugins.pod_topology_spread.test_filtering import FOUR, WEB, constraints_of, others, plugin, web
from tests.plugins.pod_topology_spread.twin import Twin
from tests.plugins.small_clusters import DISK, GONE, Setting, compiled, node_lists, pod_labels, pod_lists


def service(name: str = "svc", **selector: str) -> Service:
    return Service(metadata=ObjectMeta(name=name, namespace="default"), spec=ServiceSpec(selector=selector))


SOFT = spread(WEB, soft=True)
BY_ZONE = [service(app="web")]


@pytest.mark.parametrize(
    ("nodes", "others", "constraints", "want"),
    [
        pytest.param(FOUR, [], [spread(WEB)], {}, id="hard constraints do not score"),
        pytest.param(FOUR, [], [SOFT], {"a1": (0, 100), "b1": (0, 100)}, id="an empty cluster scores equally"),
        pytest.param(
            FOUR,
            [web("p", "a1"), web("q", "a2")],
            [SOFT],
            {"a1": (3, 0), "a2": (3, 0), "b1": (0, 100)},
            id="two pods in one of two zones: round(2 ln 4) = 3",
        ),
        pytest.param(
            FOUR,
            [web("p", "a1"), web("q", "a2"), web("r", "b1")],
            [spread(WEB, soft=True, max_skew=3)],
            {"a1": (5, 60), "b1": (3, 100)},
            id="maxSkew waters down: round(2 ln 4 + 2) = 5, round(ln 4 + 2) = 3, 100 (5 + 3 - 5) / 5 = 60",
        ),
        pytest.param(
            FOUR,
            [web("p", "a1"), web("q", "a1")],
            [spread(WEB, HOSTNAME, soft=True)],
            {"a1": (4, 0), "a2": (0, 100)},
            id="by host name every node is a domain: round(2 ln 6) = 4",
        ),
        pytest.param(
            [*FOUR, node("bare")],
            [web("p", "a1"), web("q", "bare")],
            [SOFT],
            {"a1": (1, 0), "b1": (0, 100), "bare": (0, 0)},
            id="a node that lacks the label gets nothing, and its pods do not count",
        ),
        pytest.param([node("bare")], [], [SOFT], {"bare": (0, 0)}, id="when all nodes lack the label, all get nothing"),
        pytest.param(
            FOUR,
            [web("p", "a1", deleted=GONE)],
            [SOFT],
            {"a1": (0, 100)},
            id="a pod that is being deleted does not count",
        ),
        pytest.param(
            FOUR,
            [web("p", "a1")],
            [spread(select(), soft=True)],
            {"a1": (0, 100)},
            id="an empty selector counts nobody",
        ),
        pytest.param(
            FOUR, [web("p", "a1")], [], {}, id="without constraints, services and controllers nothing is to be spread"
        ),
        pytest.param(
            FOUR,
            [*BY_ZONE, web("p", "a1")],
            [],
            {"a1": (9, 66), "a2": (7, 88), "b1": (6, 100)},
            id="a service's pods by the system's constraints: round(ln 6 + 2 + ln 4 + 4) = 9, round(6 + ln 4) = 7, 6",
        ),
        pytest.param(
            FOUR, [*BY_ZONE, web("p", "a1")], [spread(WEB)], {}, id="a pod with a constraint of its own has no others"
        ),
        pytest.param(
            [*FOUR, node("bare"), node("blank", zone="")],
            [web("p", "bare"), web("q", "bare")],
            [SOFT],
            {"a1": (0, 100), "blank": (0, 100), "bare": (0, 0)},
            id="an empty label is a domain of its own",
        ),
        pytest.param(
            [*FOUR, node("bare"), node("blank", zone="")],
            [*BY_ZONE, web("p", "bare"), web("q", "bare")],
            [],
            {"a1": (6, 100), "blank": (9, 66), "bare": (6, 100)},
            id="by the system's constraints it holds the nodes without the label too: round(2 + 2 ln 5 + 4) = 9",
        ),
        pytest.param(
            [*FOUR, node("bare")],
            [*BY_ZONE, web("p", "bare")],
            [],
            {"bare": (4, 100), "a1": (6, 66)},
            id="by the system's constraints a node without a zone is spread over by host name: round(ln 7 + 2) = 4",
        ),
    ],
)
def test_scores(
    nodes: Sequence[Node],
    others: Sequence[KubeObject],
    constraints: Iterable[TopologySpreadConstraint],
    want: dict[str, tuple[int, int]],
) -> None:
    incoming = pod(labels={"app": "web"}, spread=constraints)
    raw = run_score(plugin(), [*nodes, *others], incoming)
    normalized = run_score(plugin(), [*nodes, *others], incoming, normalized=True)

    got = {name: (raw[name], normalized[name]) for name in want or raw}
    assert want == got


@pytest.mark.parametrize(
    ("constraint", "want"),
    [
        pytest.param(SOFT, 0, id="by default nodes that the node selector excludes do not count"),
        pytest.param(spread(WEB, soft=True, node_affinity_policy="Ignore"), 1, id="policy Ignore counts them: ln 4"),
        pytest.param(
            spread(WEB, soft=True, node_affinity_policy="Ignore", node_taints_policy="Honor"),
            0,
            id="policy Honor leaves nodes with untolerated taints out",
        ),
        pytest.param(
            spread(WEB, HOSTNAME, soft=True, node_taints_policy="Honor"),
            2,
            id="by host name policies do not matter: ln 6",
        ),
    ],
)
def test_inclusion_policies(constraint: TopologySpreadConstraint, want: int) -> None:
    """The pod in zone a is on a node that is tainted and has no disk; by host name it is the node that is asked."""
    nodes = [
        node("a1", zone="a", labels={DISK: "ssd"}),
        node("a2", zone="a", taints=[taint("own")]),
        node("b1", zone="b", labels={DISK: "ssd"}),
        node("b2", zone="b"),
    ]
    incoming = pod(labels={"app": "web"}, spread=[constraint], node_selector={DISK: "ssd"})

    got = run_score(plugin(), [*nodes, web("p", "a2")], incoming)

    assert want == got["a2" if constraint.topology_key == HOSTNAME else "a1"]


def test_only_feasible_nodes_make_the_domains() -> None:
    """The third zone has no feasible node, so two domains remain: round(1 ln 4) = 1, not round(1 ln 5) = 2."""
    built = Setting([*FOUR, node("c1", zone="c")], [web("p", "a1")]).cluster()
    view, info = built.view(), compiled(built, pod(labels={"app": "web"}, spread=[SOFT]))
    judge, feasible = plugin(), view.only(["a1", "b1"])

    plan = judge.prepare_score(info, feasible, {})

    assert not isinstance(plan, Skip)
    assert [1, 0] == judge.score(info, feasible, plan).tolist()


def test_a_profile_can_list_its_own_defaults() -> None:
    args = PodTopologySpreadArgs(
        defaulting_type=LIST_DEFAULTING, default_constraints=(spread(None, soft=True, max_skew=1),)
    )
    judge = PodTopologySpread.create(args, PluginContext())

    got = run_score(judge, [*FOUR, node("bare"), *BY_ZONE, web("p", "a1")], pod(labels={"app": "web"}))

    assert {"a1": 1, "a2": 1, "b1": 0, "b2": 0, "bare": 0} == got


# --- the kernel and its twin


@st.composite
def cases(draw: st.DrawFn) -> tuple[Setting, Pod, list[Node]]:
    """A setting, a pod with soft constraints or none of its own, and the feasible nodes."""
    nodes = draw(node_lists())
    setting = Setting(nodes, draw(pod_lists(nodes, others(), most=14)), others=[service(app="x")])
    incoming = pod(
        "incoming",
        labels=draw(pod_labels()),
        spread=draw(st.lists(constraints_of(st.booleans()), max_size=3)),
        node_selector=draw(st.sampled_from([{}, {DISK: "ssd"}])),
        tolerations=draw(st.sampled_from([(), (tolerate("own"),)])),
    )
    feasible = [home for home in nodes if draw(st.booleans())]
    return setting, incoming, feasible or nodes


def twin_of(setting: Setting, incoming: Pod) -> Twin:
    own = incoming.spec.topology_spread_constraints
    if own:
        return Twin(setting, incoming, own)
    served = incoming.metadata.labels.get("app") == "x"
    selector = compile_label_selector(select(app="x"))
    return Twin(setting, incoming, SYSTEM_DEFAULTS if served else (), selector, needs_all_keys=False)


@settings(deadline=None, max_examples=200)
@given(cases())
def test_kernel_agrees_with_its_twin(case: tuple[Setting, Pod, list[Node]]) -> None:
    setting, incoming, feasible = case
    built = setting.cluster()
    view, info = built.view(), compiled(built, incoming)
    judge, rows = plugin(), view.only([home.name for home in feasible])

    plan = judge.prepare_score(info, rows, {})
    got = None
    if not isinstance(plan, Skip):
        raw_n = judge.score(info, rows, plan)
        normalized_n = judge.normalize(info, rows, plan, raw_n)
        got = (
            dict(zip(rows.names, raw_n.tolist(), strict=True)),
            dict(zip(rows.names, normalized_n.tolist(), strict=True)),
        )

    assert twin_of(setting, incoming).scores(feasible) == got


@settings(deadline=None, max_examples=200)
@given(cases())
def test_all_rows_any_subset_and_single_rows_agree(case: tuple[Setting, Pod, list[Node]]) -> None:
    setting, incoming, _ = case

    assert_rows_agree(plugin(), setting.cluster(), incoming)
