"""DynamicResources as the profile sees it."""

from random import Random
from typing import Any

import msgspec
import pytest

from stowplan.api.meta import KubeObject, OwnerReference
from stowplan.api.pod import Container, Pod, ResourceRequirements
from stowplan.api.resource import ResourceClaim
from stowplan.columns.cluster import Cluster
from stowplan.columns.pods import PodInfo
from stowplan.composition import set_up
from stowplan.cycle.decide import Circumstances, decide
from stowplan.cycle.decision import Decision
from stowplan.framework.gates import Gates
from stowplan.framework.plugin import Books, PluginContext, PluginError
from stowplan.framework.post_filter import Write
from stowplan.framework.verdict import Rejection, unresolvable
from stowplan.plugins.dynamic_resources.extended import ANNOTATION
from stowplan.plugins.dynamic_resources.plan import DevicePlan
from stowplan.plugins.dynamic_resources.plugin import DynamicResources
from stowplan.testing.builders import cluster, node, pod
from stowplan.testing.running import run_filter, run_score, run_wakes
from tests.plugins.dynamic_resources.devices import (
    DRIVER,
    allocation,
    claim,
    claiming,
    device_class,
    exactly,
    first_of,
    gpu,
    piece,
)

A, B = node("a"), node("b")
CLASS = device_class("gpu")
ON_A, ON_B = piece(gpu("0", model="x"), on="a"), piece(gpu("0", model="y"), gpu("1", model="y"), on="b")
FLEET = (A, B, CLASS, ON_A, ON_B)
ASKING = claiming(pod(uid="mine"), "claim")
NOT_THERE = unresolvable("resourceclaim not available on the node")
NONE_LEFT = unresolvable("cannot allocate all claims")
FOO = "example.com/foo"


def plugin(books: Books | None = None, **gates: bool) -> DynamicResources:
    return DynamicResources(None, PluginContext(gates=Gates(gates), books=books or Books()))


@pytest.mark.parametrize(
    ("objects", "on_a", "on_b"),
    [
        pytest.param([claim()], None, None, id="a device is free everywhere"),
        pytest.param([claim(exactly(2))], NONE_LEFT, None, id="two devices are on one node only"),
        pytest.param(
            [claim(), claim(name="other", allocation=allocation(("a", "0")))], NONE_LEFT, None, id="a device is in use"
        ),
        pytest.param([claim(allocation=allocation(("a", "0"), on="a"))], None, NOT_THERE, id="the claim is allocated"),
        pytest.param([claim(allocation=allocation(("n", "0")))], None, None, id="and can be used from everywhere"),
        pytest.param(
            [claim(allocation=allocation(("a", "0"), binding_conditions=("up",)))], None, None, id="or is not ready yet"
        ),
    ],
)
def test_nodes_of_a_claim(objects: list[KubeObject], on_a: Rejection | None, on_b: Rejection | None) -> None:
    answer = run_filter(plugin(), [*FLEET, *objects], ASKING)

    assert (on_a, on_b) == (answer.on("a"), answer.on("b"))


@pytest.mark.parametrize(
    ("asking", "objects", "want"),
    [
        pytest.param(ASKING, [], 'could not find ResourceClaim "default/claim"', id="a claim that does not exist"),
        pytest.param(
            ASKING, [claim(exactly(of="none"))], "request r: device class none does not exist", id="a missing class"
        ),
        pytest.param(
            ASKING,
            [claim(first_of(("gpu", 1), ("none", 1)))],
            "request r/s1: device class none does not exist",
            id="a missing class of an alternative",
        ),
    ],
)
def test_claims_that_no_node_can_help(asking: Pod, objects: list[KubeObject], want: str) -> None:
    answer = run_filter(plugin(), [*FLEET, *objects], asking)

    assert unresolvable(want) == answer.rejected


def test_a_pod_without_claims_is_not_looked_at() -> None:
    assert run_filter(plugin(), FLEET, pod()).skipped
    assert run_filter(plugin(DynamicResourceAllocation=False), [*FLEET, claim()], ASKING).skipped


def test_gates_that_are_not_supported_are_named() -> None:
    with pytest.raises(ValueError, match="DynamicResources: the feature gate DRADeviceTaintRules is not supported"):
        DynamicResources.create(None, PluginContext(gates=Gates({"DRADeviceTaintRules": True})))


def test_the_preferred_alternative_scores_best() -> None:
    wanted = claim(first_of(("gpu", 1, f'device.attributes["{DRIVER}"].model == "y"'), ("gpu", 1)))

    assert {"a": 87, "b": 100} == run_score(plugin(), [*FLEET, wanted], ASKING, normalized=True)


def prepared(of: DynamicResources, state: Cluster, asking: Pod) -> tuple[PodInfo, dict[str, Any], Rejection | None]:
    info = state.compiler.compile(asking)
    plan = of.prepare(state.view(), info)
    return info, {of.name: plan}, plan if isinstance(plan, Rejection) else None


def test_a_device_is_given_once_also_between_profiles() -> None:
    books = Books()
    one, other = plugin(books), plugin(books)
    state = cluster(*FLEET, claim(name="c"), claim(name="d"))
    info, plans, _ = prepared(one, state, claiming(pod("p"), "c"))
    assert one.reserve(state.view(), info, "a", plans) is None
    shared = prepared(other, state, claiming(pod("q"), "c"))[2]
    verdict = run_filter(other, state, claiming(pod("q"), "d"))
    one.unreserve(state.view(), info, "a", plans)
    after = run_filter(other, state, claiming(pod("q"), "d"))

    assert unresolvable("resource claim default/c is in the process of being allocated") == shared
    assert (NONE_LEFT, None) == (verdict.on("a"), verdict.on("b"))
    assert (None, None) == (after.on("a"), after.on("b"))


def test_unreserving_takes_the_pod_off_claims_that_were_written() -> None:
    of, state = plugin(), cluster(*FLEET, claim(allocation=allocation(("a", "0")), reserved_for=["mine"]))
    info, plans, _ = prepared(of, state, ASKING)
    (write,) = of.unreserve(state.view(), info, "a", plans)

    assert ("default/claim", "status") == (write.obj.key, write.subresource)
    assert (
        b'{"metadata":{"uid":"uid-claim"},"status":{"reservedFor":[{"$patch":"delete","uid":"mine"}]}}' == write.patch
    )


def test_a_broken_selector_fails_the_attempt_only_where_it_is_reached() -> None:
    broken = claim(exactly(where=["nope == 1"]))
    reached = outcome(*FLEET, broken)
    state = cluster(node("a", cordoned=True), node("b", cordoned=True), CLASS, ON_A, ON_B, broken)
    cordoned = attempt(state)

    assert reached.startswith(
        'running "DynamicResources" filter plugin: claim default/claim: selector #0: '
        "CEL compile error: compilation failed: ERROR"
    )
    assert cordoned.trace.message.startswith("0/2 nodes are available: 2 node(s) were unschedulable.")


def attempt(state: Cluster, asking: Pod = ASKING) -> Decision:
    given = Circumstances(rng=Random(0), now=0.0, ties="first")
    return decide(state.view(), state.compiler.compile(asking), set_up().first, given)[0]


def outcome(*objects: KubeObject) -> str:
    with pytest.raises(PluginError) as failed:
        attempt(cluster(*objects))
    return str(failed.value)


@pytest.mark.parametrize(
    ("reserved_for", "want"),
    [
        pytest.param([], ["deallocation of ResourceClaim completed"], id="an idle claim is freed"),
        pytest.param(["mine"], ["deallocation of ResourceClaim completed"], id="so is one that only this pod uses"),
        pytest.param(["theirs"], ["still not schedulable"], id="one that others use is not"),
        pytest.param(["mine", "theirs"], ["still not schedulable"], id="nor one that is shared"),
    ],
)
def test_an_idle_claim_is_freed(reserved_for: list[str], want: list[str]) -> None:
    held = claim(allocation=allocation(("gone", "0"), on="gone"), reserved_for=reserved_for)
    decision = attempt(cluster(*FLEET, held))
    writes = [effect for effect in decision.effects if isinstance(effect, Write)]
    freed = [(w.obj.status.allocation, w.obj.status.reserved_for) for w in writes if isinstance(w.obj, ResourceClaim)]

    assert want == decision.trace.message.split(". ")[1].split(", preemption")[:1]
    assert ([(None, ())] if want[0].startswith("dealloc") else []) == freed


def served(asking: Pod) -> Pod:
    wants = Container(name="c", resources=ResourceRequirements(requests={FOO: "1"}))
    return msgspec.structs.replace(asking, spec=msgspec.structs.replace(asking.spec, containers=(wants,)))


def test_devices_serve_extended_resources_where_the_node_does_not() -> None:
    stocked = node("stocked", extended={FOO: 4})
    serving = device_class("foo", extended_resource_name=FOO)
    bare = node("bare")
    of = plugin()
    state = cluster(A, bare, stocked, serving, ON_A)
    asking = served(pod(uid="mine"))
    answer = run_filter(of, state, asking)
    info, plans, _ = prepared(of, state, asking)
    of.reserve(state.view(), info, "a", plans)
    plan = plans[of.name]
    assert isinstance(plan, DevicePlan)
    assert plan.reservation is not None

    assert (None, NONE_LEFT, None) == (answer.on("a"), answer.on("bare"), answer.on("stocked"))
    assert [("container-0-request-0", "0")] == [
        (result.request, result.device) for result in plan.reservation.allocations[0].devices.results
    ]


def test_a_claim_for_extended_resources_that_was_left_behind_is_deleted() -> None:
    owner = OwnerReference(kind="Pod", name="pod", uid="mine", controller=True)
    left = claim(
        name="pod-extended-resources-x",
        annotations={ANNOTATION: "true"},
        owner_references=(owner,),
        finalizers=("f", "resource.kubernetes.io/delete-protection"),
    )
    decision = attempt(cluster(A, device_class("foo", extended_resource_name=FOO), ON_A, left), served(pod(uid="mine")))
    writes = [effect for effect in decision.effects if isinstance(effect, Write)]

    assert decision.trace.message.startswith(
        "0/1 nodes are available: 1 cannot schedule extended resource claim. deletion of ResourceClaim completed"
    )
    assert [(("f",), False, True)] == [
        (w.obj.metadata.finalizers, w.delete, w.then is not None and w.then.delete) for w in writes
    ]


def test_a_pod_waits_outside_until_its_claims_exist() -> None:
    of, state = plugin(), cluster(*FLEET)
    info = state.compiler.compile(ASKING)
    before = of.pre_enqueue(state.view(), info)
    state.put(claim())

    assert (unresolvable('could not find ResourceClaim "default/claim"'), None) == (
        before,
        of.pre_enqueue(state.view(), info),
    )


OTHER = claim(name="other", allocation=allocation(("a", "0")))


@pytest.mark.parametrize(
    ("old", "new", "want"),
    [
        pytest.param(None, claim(), True, id="its claim came"),
        pytest.param(claim(), claim(finalizers=("f",)), False, id="its claim changed where the pod does not care"),
        pytest.param(claim(), claim(allocation=allocation(("a", "0"))), True, id="its claim has another status"),
        pytest.param(None, claim(name="other"), False, id="another claim came"),
        pytest.param(OTHER, claim(name="other"), True, id="another claim gave back its devices"),
        pytest.param(None, ON_A, True, id="devices came"),
        pytest.param(CLASS, device_class("gpu", "true"), True, id="a class changed"),
        pytest.param(ON_A, None, False, id="devices went"),
        pytest.param(None, A, True, id="a node came"),
        pytest.param(A, node("a", labels={"x": "y"}), True, id="a node has another label"),
    ],
)
def test_what_wakes_a_pod(old: KubeObject | None, new: KubeObject | None, want: bool) -> None:
    assert want == run_wakes(plugin(), ASKING, old=old, new=new, objects=[*FLEET, claim()])
