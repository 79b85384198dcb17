"""The smaller judgements of controllers, one table each."""

from typing import Any

import pytest

from stowplan.api.affinity import Taint, Toleration
from stowplan.api.meta import time_text
from stowplan.sim.cluster.records import SimPod
from stowplan.sim.controllers.availability import available_after, count_available
from stowplan.sim.controllers.budgets import still_disturbed
from stowplan.sim.controllers.matching import best_volume, names_claim
from stowplan.sim.controllers.node_taints import wanted_taints
from stowplan.sim.controllers.ownership import newest_ready_first
from stowplan.sim.controllers.provisioning import made_volume, provisions, waits_for_pod
from stowplan.sim.controllers.revisions import deployment_annotations, revision_of
from stowplan.sim.controllers.taint_eviction import stays_for
from stowplan.sim.controllers.templates import HASH_LABEL, same_template, template_hash
from tests.sim.objects import NOW, claim, sim_pod, template, volume

Json = dict[str, Any]


@pytest.mark.parametrize(
    ("pod", "min_ready", "want"),
    [
        pytest.param(sim_pod(), 0, None, id="one that is not ready"),
        pytest.param(sim_pod(ready=True), 0, 0.0, id="one that is"),
        pytest.param(sim_pod(ready=True, ready_since=NOW - 4), 10, 6.0, id="not for long enough"),
        pytest.param(sim_pod(ready=True, ready_since=NOW - 14), 10, 0.0, id="for long enough"),
    ],
)
def test_available(pod: SimPod, min_ready: int, want: float | None) -> None:
    assert want == available_after(pod, min_ready, NOW)


def test_the_next_to_be_available_says_when_to_look_again() -> None:
    pods = [sim_pod(), sim_pod(ready=True, ready_since=NOW - 20), sim_pod(ready=True, ready_since=NOW - 7)]

    assert (1, 3.0) == count_available(pods, 10, NOW)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param(sim_pod("a", on=""), sim_pod("b"), id="one without a node"),
        pytest.param(sim_pod("a", phase="Pending"), sim_pod("b", phase="Running"), id="one that does not run"),
        pytest.param(sim_pod("a", phase="Running"), sim_pod("b", phase="Running", ready=True), id="one not ready"),
        pytest.param(sim_pod("a", annotations={"controller.kubernetes.io/pod-deletion-cost": "-5"}), sim_pod("b"),
                     id="a cheap one"),
        pytest.param(sim_pod("a", on="crowded"), sim_pod("b", on="quiet"), id="one among many"),
        pytest.param(sim_pod("a", ready=True, ready_since=NOW), sim_pod("b", ready=True, ready_since=NOW - 9),
                     id="one that was ready later"),
        pytest.param(sim_pod("a", restarts=3), sim_pod("b", restarts=1), id="one that restarted more often"),
        pytest.param(sim_pod("a", created=NOW), sim_pod("b", created=NOW - 9), id="the younger"),
    ],
)  # fmt: skip
def test_who_goes_first(first: SimPod, second: SimPod) -> None:
    related = [sim_pod(f"r{number}", on="crowded", ready=True, phase="Running") for number in range(3)]

    assert [first, second] == newest_ready_first([second, first], related)


@pytest.mark.parametrize(
    ("conditions", "spec", "want"),
    [
        pytest.param({"Ready": "True"}, {}, None, id="a node that is well has what it should"),
        pytest.param({"Ready": "True"}, {"unschedulable": True}, ["unschedulable:NoSchedule"], id="a cordoned one"),
        pytest.param({"Ready": "Unknown"}, {}, ["unreachable:NoExecute", "unreachable:NoSchedule"], id="a silent one"),
        pytest.param({"Ready": "True", "DiskPressure": "True"}, {}, ["disk-pressure:NoSchedule"], id="a full one"),
        pytest.param({"Ready": "True"}, {"taints": [{"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"},
                                                    {"key": "mine", "effect": "NoSchedule"}]},
                     ["mine:NoSchedule"], id="what is over goes, what is not ours stays"),
    ],
)  # fmt: skip
def test_taints_of_nodes(conditions: dict[str, str], spec: Json, want: list[str] | None) -> None:
    found = [{"type": type_, "status": status} for type_, status in conditions.items()]
    taints = wanted_taints({"metadata": {"name": "n"}, "spec": spec, "status": {"conditions": found}}, NOW)

    shown = None if taints is None else [f"{one['key'].rpartition('/')[2]}:{one['effect']}" for one in taints]
    assert want == shown


OUT = Taint(key="out", effect="NoExecute")


@pytest.mark.parametrize(
    ("tolerations", "want"),
    [
        pytest.param([], 0.0, id="without toleration it goes"),
        pytest.param([Toleration(key="out", operator="Exists")], None, id="with one it stays"),
        pytest.param([Toleration(key="out", operator="Exists", toleration_seconds=30)], 20.0, id="for a while"),
        pytest.param([Toleration(key="out", operator="Exists", toleration_seconds=5)], 0.0, id="that is over"),
        pytest.param([Toleration(key="other", operator="Exists")], 0.0, id="another taint's does not help"),
    ],
)
def test_how_long_a_pod_stays(tolerations: list[Toleration], want: float | None) -> None:
    assert want == stays_for([OUT], tolerations, [NOW - 10], NOW)


def test_disturbed_pods_are_forgotten_in_time() -> None:
    pods = [sim_pod("fresh"), sim_pod("stale"), sim_pod("leaving", deleted=NOW)]
    recorded = {"fresh": NOW - 10, "stale": NOW - 121, "leaving": NOW, "gone": NOW}
    budget = {"status": {"disruptedPods": {name: time_text(since) for name, since in recorded.items()}}}

    assert ["fresh"] == list(still_disturbed(budget, pods, NOW))


def bound(name: str, uid: str = "u") -> Json:
    made = claim(name, "c")
    made["metadata"] |= {"namespace": "default", "uid": uid}
    return made


def available(name: str, **more: Any) -> Json:
    return {**volume(name, "c", **more), "status": {"phase": "Available"}}


@pytest.mark.parametrize(
    ("volumes", "want"),
    [
        pytest.param([available("large", size="9Gi"), available("small", size="1Gi")], "small", id="the smallest"),
        pytest.param([available("tiny", size="1Mi")], None, id="not one that is too small"),
        pytest.param([{**available("b"), "status": {"phase": "Released"}}], None, id="not one that was used"),
        pytest.param([available("b", claimRef={"namespace": "default", "name": "other"})], None, id="nor one kept"),
        pytest.param([available("a"), available("b", size="9Gi", claimRef={"namespace": "default", "name": "data"})],
                     "b", id="one kept for it comes first"),
        pytest.param([available("a", accessModes=["ReadOnlyMany"])], None, id="not one of another mode"),
        pytest.param([available("a", volumeMode="Block")], None, id="nor of another kind"),
        pytest.param([available("a", storageClassName="d")], None, id="nor of another class"),
    ],
)  # fmt: skip
def test_the_best_volume(volumes: list[Json], want: str | None) -> None:
    found = best_volume(volumes, bound("data"))

    assert want == (found["metadata"]["name"] if found is not None else None)


def test_a_volume_names_one_incarnation_of_a_claim() -> None:
    reference = {"claimRef": {"namespace": "default", "name": "data", "uid": "before"}}

    assert not names_claim(available("v", **reference), bound("data", uid="now"))
    assert names_claim(available("v", **reference), bound("data", uid="before"))


def test_an_allowed_topology_says_where_a_volume_is() -> None:
    allowed = [{"matchLabelExpressions": [{"key": "zone", "values": ["a", "b"]}]}]
    storage = {"metadata": {"name": "c"}, "provisioner": "p", "allowedTopologies": allowed}

    made = made_volume(bound("data"), storage, None)

    (term,) = made["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
    assert [{"key": "zone", "operator": "In", "values": ["a"]}] == term["matchExpressions"]


@pytest.mark.parametrize(
    ("storage", "want"),
    [
        pytest.param(None, (False, False), id="no class"),
        pytest.param({"provisioner": "p"}, (False, True), id="a class that makes volumes at once"),
        pytest.param({"provisioner": "p", "volumeBindingMode": "WaitForFirstConsumer"}, (True, True), id="or later"),
        pytest.param({"provisioner": "kubernetes.io/no-provisioner"}, (False, False), id="or never"),
    ],
)
def test_classes(storage: Json | None, want: tuple[bool, bool]) -> None:
    assert want == (waits_for_pod(storage), provisions(storage))


def test_templates_are_compared_without_their_mark() -> None:
    plain, marked, other = template("a"), template("a"), template("a", "app:2")
    marked["metadata"]["labels"][HASH_LABEL] = "xyz"
    marked["metadata"]["annotations"] = None

    assert same_template(plain, marked)
    assert not same_template(plain, other)
    assert template_hash(plain) == template_hash(marked)
    assert 3 == len({template_hash(plain), template_hash(other), template_hash(plain, 1)})


def test_a_set_that_becomes_the_newest_again_remembers_what_it_was() -> None:
    deployment = {"metadata": {"annotations": {"team": "x", "deployment.kubernetes.io/revision": "9"}}}
    known = {"deployment.kubernetes.io/revision": "2", "deployment.kubernetes.io/revision-history": "1"}
    found = deployment_annotations(deployment, {"metadata": {"annotations": known}}, 5)

    assert {"team": "x", "deployment.kubernetes.io/revision": "5",
            "deployment.kubernetes.io/revision-history": "1,2"} == found  # fmt: skip
    assert 0 == revision_of({"metadata": {"annotations": {"deployment.kubernetes.io/revision": "much"}}})
