"""After any history every column says what a scalar twin works out from scratch, and nothing is left behind."""

from typing import Any, Final

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from stowplan.api.errors import QuantityError
from stowplan.api.meta import Namespace
from stowplan.api.node import Node
from stowplan.api.selectors import EVERYTHING, NOTHING, compile_label_selector
from stowplan.columns.cluster import Cluster
from stowplan.columns.journal import Changed
from stowplan.columns.pod_selectors import PodSelector
from stowplan.columns.term_counts import AffinityTerm
from stowplan.testing.builders import ZONE, cluster, namespace, node, pod, select, taint
from tests.columns.twin import GONE, KINDS, OLD_ZONE, WANTED_PORTS, ClusterTwin, Kind

NAMES: Final = ("a", "b", "c", "d")
PODS: Final = ("p0", "p1", "p2", "p3", "p4", "p5")
LABEL_KEYS: Final = (ZONE, "disk")
RESOURCES: Final = ("cpu", "memory", "example.com/gpu")
VARIANTS: Final[tuple[dict[str, Any], ...]] = (
    {},
    {"zone": "z1", "cpu": 4},
    {"zone": "z2", "labels": {"disk": "ssd"}, "taints": [taint("own")]},
    {"zone": "z1", "labels": {OLD_ZONE: ""}, "cordoned": True},
    {"labels": {"disk": "hdd", OLD_ZONE: "z2"}, "extended": {"example.com/gpu": 8}, "images": {"web:v1": 10}},
)
SELECTORS: Final = (
    PodSelector(compile_label_selector(select(app="x")), frozenset({"default"})),
    PodSelector(compile_label_selector(select(app="x")), frozenset({"web", "unseen"})),
    PodSelector(EVERYTHING, frozenset(), EVERYTHING),
    PodSelector(compile_label_selector(select(("app", "NotIn", ["x"]))), frozenset({"default"}), EVERYTHING),
    PodSelector(EVERYTHING, frozenset({"unseen"}), compile_label_selector(select(team="t"))),
    PodSelector(compile_label_selector(select(tier="1")), frozenset(), compile_label_selector(select(team="t"))),
    PodSelector(NOTHING, frozenset({"default"}), EVERYTHING),
)

names = st.sampled_from(NAMES)
pods = st.sampled_from(PODS)
kinds = st.sampled_from(KINDS)


class ClusterMachine(RuleBasedStateMachine):
    """Does the same to the Cluster and to its twin."""

    def __init__(self) -> None:
        super().__init__()
        self.cluster = Cluster()
        self.twin = ClusterTwin()
        self.asked: set[tuple[PodSelector, bool]] = set()
        self.facts: dict[str, Any] = {}
        self.generation = 0

    @rule(name=names, variant=st.sampled_from(VARIANTS))
    def put_node(self, name: str, variant: dict[str, Any]) -> None:
        made = node(name, **variant)
        self.cluster.put_node(made)
        self.twin.put_node(made)

    @rule(name=names)
    def remove_node(self, name: str) -> None:
        self.cluster.remove_node(name)
        if name in self.twin.nodes:
            self.twin.remove_node(name)

    @rule(name=pods, on=names, kind=kinds, deleted=st.sampled_from([None, None, GONE]))
    def put_pod(self, name: str, on: str, kind: Kind, deleted: str | None) -> None:
        made = kind.pod(name, on=on, deleted=deleted)
        self.cluster.put_pod(made)
        if made.uid in self.twin.placed:
            self.twin.leave(made.uid)
        self.twin.place(kind, made, on, assumed=False)

    @rule(name=pods)
    def remove_pod(self, name: str) -> None:
        uid = f"uid-{name}"
        gone = self.cluster.remove_pod(uid)
        assert (uid in self.twin.placed) == (gone is not None)
        if uid in self.twin.placed:
            self.twin.leave(uid)

    @rule(name=pods, on=names, kind=kinds)
    def assume(self, name: str, on: str, kind: Kind) -> None:
        made = kind.pod(name)
        if made.uid not in self.twin.placed:
            self.cluster.assume(self.cluster.compiler.compile(made), on)
            self.twin.place(kind, made, on, assumed=True)

    @rule(name=pods)
    def forget(self, name: str) -> None:
        uid = f"uid-{name}"
        self.cluster.forget(uid)
        if uid in self.twin.placed and self.twin.placed[uid].assumed:
            self.twin.leave(uid)

    @precondition(lambda self: any(placed.assumed for placed in self.twin.placed.values()))
    @rule(data=st.data())
    def confirm(self, data: st.DataObject) -> None:
        uid = data.draw(st.sampled_from([uid for uid, placed in self.twin.placed.items() if placed.assumed]))
        placed = self.twin.placed[uid]
        bound = placed.kind.pod(placed.pod.name, on=placed.node)
        self.cluster.put_pod(bound)
        self.twin.leave(uid)
        self.twin.place(placed.kind, bound, placed.node, assumed=False)

    @rule(name=st.sampled_from(["default", "web"]), team=st.sampled_from([None, "t", "u"]))
    def put_namespace(self, name: str, team: str | None) -> None:
        made = namespace(name, **({"team": team} if team else {}))
        self.cluster.put(made)
        self.twin.namespaces[name] = made.labels

    @rule(name=st.sampled_from(["default", "web"]))
    def remove_namespace(self, name: str) -> None:
        self.cluster.remove_object(Namespace, name)
        self.twin.namespaces.pop(name, None)

    @rule(what=st.sampled_from(SELECTORS), live_only=st.booleans())
    def ask(self, what: PodSelector, live_only: bool) -> None:
        self.cluster.view().count(what, live_only=live_only)
        self.asked.add((what, live_only))

    @invariant()
    def rows_are_those_in_use(self) -> None:
        nodes, want = self.cluster.nodes, self.twin.rows()
        assert want == set(nodes.row_of)
        assert want == {name for name in nodes.names if name}
        free = nodes.table.size - len(want)
        assert bool(free) == nodes.table.has_holes
        view = self.cluster.view()
        assert sorted(self.twin.nodes) == sorted(view.rows.names)
        assert self.twin.tree.names() == [nodes.names[row] for row in view.order]
        index = view.rows.index.tolist()
        assert sorted(set(index)) == index

    @invariant()
    def nodes_say_what_they_said_last(self) -> None:
        rows = self.cluster.view().rows
        for at, name in enumerate(rows.names):
            said = self.twin.nodes[name]
            for key in LABEL_KEYS:
                column = self.cluster.nodes.label(key)
                code = int(rows.label(key)[at])
                assert said.labels.get(key) == (column.values.values[code] if code >= 0 else None)
            assert said.spec.unschedulable == bool(rows.take(self.cluster.nodes.cordoned)[at])
            taints = self.cluster.nodes.taint_sets.values[int(rows.take(self.cluster.nodes.taint_set)[at])]
            assert said.spec.taints == taints
            assert int(said.status.allocatable.get("example.com/gpu", 0)) == int(
                rows.allocatable("example.com/gpu")[at]
            )
            assert 1000 * int(said.status.allocatable["cpu"]) == int(rows.allocatable("cpu")[at])
        with_image = {name for name, said in self.twin.nodes.items() if said.status.images}
        state = self.cluster.nodes.images.get("web:v1")
        assert with_image == {self.cluster.nodes.names[row] for row in (state.rows if state else ())}

    @invariant()
    def loads_add_up(self) -> None:
        nodes = self.cluster.nodes
        assert len(self.twin.placed) == self.cluster.placed_count
        for name, row in nodes.row_of.items():
            requested = self.twin.requested(name)
            assert {r: requested[r] for r in RESOURCES} == {r: int(nodes.requested(r).data[row]) for r in RESOURCES}
            assert self.twin.nonzero(name) == (int(nodes.nonzero_cpu.data[row]), int(nodes.nonzero_memory.data[row]))
            here = {placed.pod.uid for placed in self.twin.on(name)}
            assert here == {info.uid for info in nodes.pods_on[row]}
            assert len(here) == int(nodes.pod_count.data[row]) == len(nodes.pods_on[row])
            claims = self.twin.claims(name)
            for key in ("unseen/data", "default/data", "default/logs"):
                assert claims[key] == nodes.volumes.of_claim(key).get(row, 0)
        assert {uid for uid, placed in self.twin.placed.items() if placed.assumed} == {
            info.uid for info in self.cluster.assumed()
        }
        for uid, placed in self.twin.placed.items():
            assert placed.node == self.cluster.node_of(uid)

    @invariant()
    def ports_are_those_of_upstreams_set(self) -> None:
        rows = self.cluster.view().rows
        for wanted in WANTED_PORTS:
            clash = rows.port_clash(wanted)
            want = [self.twin.port_taken(name, wanted) for name in rows.names]
            assert want == ([False] * len(rows) if clash is None else clash.tolist())

    @invariant()
    def selectors_count_their_pods(self) -> None:
        view, nodes = self.cluster.view(), self.cluster.nodes
        for what, live_only in self.asked:
            column = view.count(what, live_only=live_only).column
            want = {name: self.twin.count(what, name, live_only=live_only) for name in nodes.row_of}
            assert want == {name: int(column.data[row]) for name, row in nodes.row_of.items()}
            assert sum(want.values()) == int(column.data.sum()), "a free row still counts pods"

    @invariant()
    def terms_are_those_of_placed_pods(self) -> None:
        nodes, terms = self.cluster.nodes, self.cluster.terms
        terms_of = {info.uid: info.cls.terms for pods in nodes.pods_on for info in pods}
        by_name = {name: self.twin.terms(name, terms_of) for name in nodes.row_of}
        distinct = {term for counted in by_name.values() for term in counted}
        assert len(distinct) == len(terms)
        for kind in KINDS:
            want: set[AffinityTerm] = {term for term in distinct if self.twin.picks(term.what, kind, unknown={})}
            found = {count.term: count for count in terms.about(kind.namespace, kind.labels)}
            assert want == set(found)
            for term, count in found.items():
                assert {name: by_name[name][term] for name in nodes.row_of} == {
                    name: int(count.column.data[row]) for name, row in nodes.row_of.items()
                }
                assert count.pods == sum(counted[term] for counted in by_name.values())

    @invariant()
    def what_changed_is_in_the_journal(self) -> None:
        nodes = self.cluster.nodes
        facts: dict[str, tuple[Node | None, frozenset[int]]] = {
            name: (nodes.records[row], frozenset(id(info) for info in nodes.pods_on[row]))
            for name, row in nodes.row_of.items()
        }
        changes = self.cluster.journal.since(self.generation)
        assert changes is not None
        for name, (record, pods_there) in facts.items():
            change = changes.get(nodes.row_of[name], Changed(0))
            was_record, were_there = self.facts.get(name, (None, frozenset()))
            assert record is was_record or Changed.NODE in change
            assert (record is None) == (was_record is None) or Changed.MEMBERS in change
            assert pods_there == were_there or change & (Changed.LOAD | Changed.STATE)
        self.facts, self.generation = facts, self.cluster.journal.generation

    def teardown(self) -> None:
        """When all pods and nodes are gone, nothing is left of them."""
        for uid in list(self.twin.placed):
            self.cluster.remove_pod(uid)
        for name in list(self.twin.nodes):
            self.cluster.remove_node(name)
        nodes, selectors = self.cluster.nodes, self.cluster.selectors
        assert {} == nodes.row_of
        assert 0 == len(self.cluster.terms) == self.cluster.placed_count == len(self.cluster.view())
        assert ({}, {}) == (selectors._groups, selectors._groups_by_pair)
        assert nodes.volumes._claims == {}
        assert not nodes.pod_count.data.any()
        assert not nodes.alive.data.any()
        for resource in RESOURCES:
            assert not nodes.requested(resource).data.any()
            assert not nodes.allocatable(resource).data.any()
        assert self.cluster.view().rows.port_clash(("0.0.0.0", "TCP", 80)) is None or not any(
            column.data.any() for _, column in nodes.ports.conflicting(("0.0.0.0", "TCP", 80))
        )


TestEveryHistory = ClusterMachine.TestCase
TestEveryHistory.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)


def test_a_malformed_node_changes_nothing() -> None:
    built = cluster(node("a", cpu=4))
    before = built.journal.generation

    with pytest.raises(QuantityError):
        built.put_node(node("a", cpu="lots"))
    with pytest.raises(QuantityError):
        built.put_node(node("b", cpu="lots"))

    assert before == built.journal.generation
    assert ["a"] == list(built.view().rows.names)
    assert [4000] == built.view().rows.allocatable("cpu").tolist()
    assert {"a"} == set(built.nodes.row_of)


def test_a_malformed_pod_changes_nothing() -> None:
    built = cluster(node("a"), pod("p", cpu=1, on="a"))

    with pytest.raises(QuantityError):
        built.put_pod(pod("p", cpu="1x", on="a"))

    assert [1000] == built.view().rows.requested("cpu").tolist()


def test_a_node_that_comes_back_finds_its_pods() -> None:
    built = cluster(node("a"), pod("p", cpu=1, on="a"))
    built.remove_node("a")
    assert 0 == len(built.view())

    built.put_node(node("a"))

    assert [1000] == built.view().rows.requested("cpu").tolist()


def test_assuming_twice_is_a_mistake() -> None:
    built = cluster(node("a"))
    info = built.compiler.compile(pod("p"))
    built.assume(info, "a")

    with pytest.raises(AssertionError, match="placed already"):
        built.assume(info, "a")


def test_a_confirmed_pod_is_not_forgotten() -> None:
    built = cluster(node("a"))
    built.assume(built.compiler.compile(pod("p")), "a")
    assert built.is_assumed("uid-default-p")

    built.put_pod(pod("p", on="a"))
    built.forget("uid-default-p")

    assert not built.is_assumed("uid-default-p")
    assert "a" == built.node_of("uid-default-p")


def test_a_pod_confirmed_on_another_node_moves() -> None:
    built = cluster(node("a"), node("b"))
    built.assume(built.compiler.compile(pod("p", cpu=1)), "a")

    built.put_pod(pod("p", cpu=1, on="b"))

    assert {"a": 0, "b": 1000} == dict(
        zip(built.view().rows.names, built.view().rows.requested("cpu").tolist(), strict=True)
    )


def test_put_and_remove_go_by_kind_and_leave_waiting_pods_alone() -> None:
    built = cluster(node("a"), pod("waits"), pod("p", on="a"), namespace("web", team="t"))
    assert 1 == built.placed_count

    built.remove(pod("p", on="a"))
    built.remove(namespace("web"))
    built.remove(node("a"))
    built.remove(node("never-seen"))

    assert (0, {}, 0) == (built.placed_count, built.namespaces, len(built.view()))


def test_a_new_selector_counts_the_pods_that_are_there() -> None:
    built = cluster(node("a"), *(KINDS[1].pod(f"p{i}", on="a") for i in range(3)))

    count = built.view().count(SELECTORS[0])

    assert [3] == built.view().rows.count(count).tolist()
