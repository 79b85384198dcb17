"""Pods that scheduling cannot tell apart share a class; whatever it reads keeps classes apart."""

from typing import Final

import pytest
from msgspec.structs import replace

from stowplan.api.meta import Condition, LabelSelector, OwnerReference
from stowplan.api.pod import Container, ContainerStatus, Pod, PodStatus, ResourceRequirements
from stowplan.api.selectors import EVERYTHING, NOTHING, compile_label_selector
from stowplan.columns import pods
from stowplan.columns.pods import PodCompiler, class_key, pod_selector
from stowplan.columns.term_counts import TermKind
from stowplan.testing.builders import ZONE, company, node_term, on_nodes, pod, select, spread, term, tolerate

OWNER: Final = OwnerReference(api_version="apps/v1", kind="ReplicaSet", name="rs", uid="u1", controller=True)


def resized(cpu: str) -> Pod:
    plain = pod(containers=[Container(name="c", resources=ResourceRequirements(requests={"cpu": "1"}))])
    status = ContainerStatus(name="c", resources=ResourceRequirements(requests={"cpu": cpu}))
    return replace(plain, status=PodStatus(container_statuses=(status,)))


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(pod("another", uid="u2"), id="name and uid"),
        pytest.param(pod(on="a"), id="the node it is on"),
        pytest.param(pod(nominated="a"), id="its nomination"),
        pytest.param(pod(started="2026-01-01T00:00:00Z"), id="its start"),
        pytest.param(pod(deleted="2026-01-01T00:00:00Z"), id="that it is being deleted"),
        pytest.param(
            replace(pod(), status=PodStatus(conditions=(Condition(type="PodScheduled", status="False"),))),
            id="conditions",
        ),
        pytest.param(replace(pod(), metadata=replace(pod().metadata, annotations={"a": "b"})), id="annotations"),
        pytest.param(pod(owner=replace(OWNER, controller=False)), id="an owner that does not control it"),
    ],
)
def test_one_class_whatever_the(other: Pod) -> None:
    compiler = PodCompiler()

    assert compiler.compile(pod()).cls is compiler.compile(other).cls


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(pod(namespace="web"), id="namespace"),
        pytest.param(pod(labels={"app": "x"}), id="labels"),
        pytest.param(pod(cpu=1), id="requests"),
        pytest.param(pod(overhead={"cpu": "1"}), id="overhead"),
        pytest.param(pod(extended={"example.com/gpu": 1}), id="extended resources"),
        pytest.param(pod(priority=0), id="a priority that is written, though it is the default"),
        pytest.param(pod(priority=5), id="priority"),
        pytest.param(pod(preemption_policy="Never"), id="preemption policy"),
        pytest.param(pod(tolerations=[tolerate("a")]), id="tolerations"),
        pytest.param(pod(node_selector={"a": "b"}), id="node selector"),
        pytest.param(pod(affinity=on_nodes(node_term(names=["a"]))), id="node affinity"),
        pytest.param(pod(affinity=company(far=[term(select(app="x"))])), id="pod affinity"),
        pytest.param(pod(spread=[spread(select(app="x"))]), id="spread constraints"),
        pytest.param(pod(host_ports=[80]), id="host ports"),
        pytest.param(pod(images=["web"]), id="images"),
        pytest.param(pod(claims=["data"]), id="claims"),
        pytest.param(pod(gates=["wait"]), id="gates"),
        pytest.param(pod(owner=OWNER), id="controller"),
        pytest.param(pod(scheduler="other"), id="scheduler name"),
        pytest.param(pod(init_containers=[Container(name="i")]), id="init containers"),
        pytest.param(resized("2"), id="a resize under way"),
    ],
)
def test_classes_are_kept_apart_by(other: Pod) -> None:
    compiler = PodCompiler()

    assert compiler.compile(pod()).cls is not compiler.compile(other).cls


def test_the_order_of_labels_does_not_matter() -> None:
    assert class_key(pod(labels={"a": "1", "b": "2"})) == class_key(pod(labels={"b": "2", "a": "1"}))


def test_a_resize_counts_on_the_node_but_not_in_what_is_wanted() -> None:
    cls = PodCompiler().compile(resized("2")).cls

    assert (1000, 2000, 2000) == (cls.wanted["cpu"], cls.requests["cpu"], cls.nonzero_cpu)
    assert class_key(resized("2")) != class_key(resized("3"))


def test_a_class_holds_what_is_derived_from_a_pod() -> None:
    cls = (
        PodCompiler()
        .compile(
            pod(
                labels={"app": "x"},
                memory="1Gi",
                priority=7,
                host_ports=[80, ("10.0.0.1", "", 53)],
                claims=["data", "data"],
                owner=OWNER,
            )
        )
        .cls
    )

    assert ("default", frozenset({("app", "x")})) == cls.label_key
    assert {"memory": 1 << 30} == {name: amount for name, amount in cls.requests.items() if amount}
    assert (100, 1 << 30) == (cls.nonzero_cpu, cls.nonzero_memory)
    assert (("0.0.0.0", "TCP", 80), ("10.0.0.1", "TCP", 53)) == cls.host_ports
    assert ("default/data", "default/data") == cls.claim_keys
    assert (7, OWNER) == (cls.priority, cls.owner)


def test_terms_of_all_kinds_in_the_order_written() -> None:
    near, far = term(select(a="1"), ZONE), term(select(b="1"))
    affinity = company(near=[near, far], far=[far], prefer_near=[(3, near)], prefer_far=[(4, far)])
    cls = PodCompiler().compile(pod(affinity=affinity)).cls

    assert [ZONE, "kubernetes.io/hostname"] == [t.topology_key for t in cls.terms_of(TermKind.REQUIRED_AFFINITY)]
    assert [0] == [t.weight for t in cls.terms_of(TermKind.REQUIRED_ANTI_AFFINITY)]
    assert [3] == [t.weight for t in cls.terms_of(TermKind.PREFERRED_AFFINITY)]
    assert [4] == [t.weight for t in cls.terms_of(TermKind.PREFERRED_ANTI_AFFINITY)]


def test_a_malformed_term_loses_its_kind_and_is_named() -> None:
    bad = term(select(("app", "Likes", ["x"])))
    good = term(select(app="x"))
    cls = PodCompiler().compile(pod(affinity=company(near=[good, bad], far=[good]))).cls

    assert [TermKind.REQUIRED_ANTI_AFFINITY] == [t.kind for t in cls.terms]
    (error,) = cls.term_errors
    assert error.startswith("requiredAffinityTerms: ")
    assert "Likes" in error


@pytest.mark.parametrize(
    ("namespaces", "selector", "want"),
    [
        pytest.param([], None, (frozenset({"own"}), NOTHING), id="its own namespace when nothing is said"),
        pytest.param(["a", "b"], None, (frozenset({"a", "b"}), NOTHING), id="named namespaces"),
        pytest.param([], LabelSelector(), (frozenset(), EVERYTHING), id="the empty selector means all"),
        pytest.param(
            ["a"],
            select(team="t"),
            (frozenset({"a"}), compile_label_selector(select(team="t"))),
            id="names and a selector",
        ),
    ],
)
def test_whom_a_term_speaks_of(namespaces: list[str], selector: LabelSelector | None, want: object) -> None:
    what = pod_selector("own", term(select(app="x"), namespaces=namespaces, namespace_selector=selector))

    assert want == (what.namespaces, what.namespace_selector)


def test_a_pod_on_a_node_is_the_same_class() -> None:
    info = PodCompiler().compile(pod("p"))
    placed = info.on_node("a")

    assert ("a", "") == (placed.pod.spec.node_name, info.pod.spec.node_name)
    assert info.cls is placed.cls
    assert info.uid == placed.uid


def test_the_key_stands_for_a_uid_that_is_missing() -> None:
    plain = pod("p")
    nameless = replace(plain, metadata=replace(plain.metadata, uid=""))

    assert "default/p" == PodCompiler().compile(nameless).uid


def test_only_so_many_classes_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pods, "MOST_CLASSES", 2)
    compiler = PodCompiler()
    first = compiler.compile(pod(cpu=1)).cls
    compiler.compile(pod(cpu=2))
    latest = compiler.compile(pod(cpu=3)).cls

    assert latest is compiler.compile(pod(cpu=3)).cls
    assert first is not compiler.compile(pod(cpu=1)).cls
