"""Explaining a pod of a snapshot decides about it as the scheduler would."""

import pytest

from stowplan.api.meta import KubeObject
from stowplan.config.errors import ConfigError
from stowplan.sim.explaining import Question, explain_in
from stowplan.sim.snapshot import Snapshot, SnapshotError
from stowplan.testing.builders import node, pod

PENDING = Question(pod_key="default/p")


def snapshot(*objects: KubeObject, first: tuple[str, ...] = ()) -> Snapshot:
    return Snapshot(objects, tuple(pod(name, cpu=4) for name in first))


def test_a_pod_that_has_its_node_is_explained_as_if_it_had_none() -> None:
    told = explain_in(snapshot(node("a", cpu=4), node("b", cpu=2), pod("p", cpu=4, on="a")), PENDING)

    assert ("a", True, 1) == (told.node, told.schedulable, told.feasible)
    assert [("NodeResourcesFit", "Insufficient cpu", 1)] == [(r.plugin, r.reason, r.nodes) for r in told.reasons]


def test_pods_before_it_take_their_room() -> None:
    told = explain_in(snapshot(node("a", cpu=4), pod("p", cpu=4), first=("other",)), PENDING)

    assert not told.schedulable


@pytest.mark.parametrize(
    ("question", "want"),
    [
        pytest.param(Question(pod_key="default/q"), "there is no pod q in namespace default", id="no such pod"),
        pytest.param(
            Question(pod_key="web/p"),
            "there is no pod p in namespace web; namespace default has one of that name",
            id="another namespace",
        ),
        pytest.param(Question(pod_key="default/p", node="zz"), "there is no node zz", id="no such node"),
    ],
)
def test_what_is_not_there(question: Question, want: str) -> None:
    with pytest.raises(SnapshotError) as caught:
        explain_in(snapshot(node("a"), pod("p")), question)

    assert want == str(caught.value)


def test_a_pod_of_another_scheduler_is_an_error() -> None:
    with pytest.raises(SnapshotError, match=r"^Pod default/p: no profile for scheduler name 'other'$"):
        explain_in(snapshot(node("a"), pod("p", scheduler="other")), PENDING)


def test_exhaustive_asks_every_filter_about_every_node() -> None:
    full_and_cordoned = node("a", cpu=1, cordoned=True)
    first = explain_in(snapshot(full_and_cordoned, pod("p", cpu=4)), PENDING)
    every = explain_in(snapshot(full_and_cordoned, pod("p", cpu=4)), Question(pod_key="default/p", exhaustive=True))

    assert ["NodeUnschedulable"] == [reason.plugin for reason in first.reasons]
    assert {"NodeUnschedulable", "NodeResourcesFit"} == {reason.plugin for reason in every.reasons}
    assert (False, True) == (first.exhaustive, every.exhaustive)


def test_a_configuration_counts() -> None:
    without_fit = b"""
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles: [{plugins: {filter: {disabled: [{name: NodeResourcesFit}]}}}]
"""

    assert explain_in(snapshot(node("a", cpu=1), pod("p", cpu=4)), PENDING, config=without_fit).schedulable
    with pytest.raises(ConfigError, match=r"^my\.yaml"):
        explain_in(snapshot(node("a"), pod("p")), PENDING, config=b"kind: Nope", config_name="my.yaml")
