"""Publishing: what is written when a pod is bound, in which order, and what happens when the API refuses."""

import asyncio
from typing import Any

import msgspec
import pytest

from stowplan.api.meta import Condition
from stowplan.api.pod import Container, Pod, ResourceRequirements
from stowplan.api.resource import AllocatedDeviceStatus, ResourceClaim
from stowplan.framework.plugin import ApiConflict, ApiFailure, Binding, PluginContext, PluginError
from stowplan.framework.plugin_args import SECOND_NS, DynamicResourcesArgs
from stowplan.plugins.dynamic_resources.ledger import Ledger
from stowplan.plugins.dynamic_resources.plan import DevicePlan
from stowplan.plugins.dynamic_resources.plugin import DynamicResources
from stowplan.testing.builders import cluster, node, pod
from tests.plugins.dynamic_resources.devices import (
    DRIVER,
    allocation,
    claim,
    claiming,
    device_class,
    gpu,
    piece,
)
from tests.plugins.dynamic_resources.fake_api import FakeApi

ASKING = claiming(pod(uid="mine"), "claim")
FINALIZER = "resource.kubernetes.io/delete-protection"


class Story:
    """A pod that was reserved on node a and is being bound."""

    def __init__(self, *claims: ResourceClaim, asking: Pod = ASKING, conditions: tuple[str, ...] = ()) -> None:
        state = cluster(
            node("a"),
            device_class("gpu", extended_resource_name="example.com/foo"),
            piece(gpu("0", conditions=conditions), on="a"),
            *claims,
        )
        self.context = PluginContext()
        args = DynamicResourcesArgs(binding_timeout_ns=60 * SECOND_NS)
        self.plugin = DynamicResources(args, self.context)
        self.api, self.state = FakeApi(state), state
        info = state.compiler.compile(asking)
        plan = self.plugin.prepare(state.view(), info)
        assert isinstance(plan, DevicePlan)
        self.plan = plan
        self.binding = Binding(
            pod=info,
            node_name="a",
            plans={self.plugin.name: plan},
            objects=state.objects,
            find_node=lambda: None,
            pod_exists=lambda: True,
            writer=self.api,
        )
        self.plugin.reserve(state.view(), info, "a", self.binding.plans)

    def bind(self) -> str:
        """What went wrong, if anything."""
        try:
            asyncio.run(self.plugin.pre_bind(self.binding))
        except PluginError as error:
            return str(error)
        return ""

    @property
    def ledger(self) -> Ledger:
        return self.context.books.of(Ledger)


def test_finalizer_allocation_and_reservation_are_written_in_order() -> None:
    story = Story(claim())
    told = story.bind()
    stored = story.api.claims["default/claim"]
    assert stored.status.allocation is not None

    assert ("", ["update claim", "update claim/status"]) == (told, story.api.asked)
    assert (FINALIZER,) == stored.metadata.finalizers
    assert ["0"] == [result.device for result in stored.status.allocation.devices.results]
    assert "2027-01-15T08:00:00Z" == stored.status.allocation.allocation_timestamp
    assert [("", "pods", "pod", "mine")] == [
        (one.api_group, one.resource, one.name, one.uid) for one in stored.status.reserved_for
    ]
    assert {} == story.ledger.in_flight
    assert stored is story.ledger.find(story.state.objects, "default/claim")


def test_a_claim_that_is_allocated_is_only_reserved() -> None:
    story = Story(claim(allocation=allocation(("a", "0")), reserved_for=["theirs"]))
    told = story.bind()

    assert ("", ["update claim/status"]) == (told, story.api.asked)
    assert ["theirs", "mine"] == [one.uid for one in story.api.claims["default/claim"].status.reserved_for]


def test_a_claim_that_is_reserved_is_left_alone() -> None:
    story = Story(claim(allocation=allocation(("a", "0")), reserved_for=["mine"]))

    assert ("", []) == (story.bind(), story.api.asked)


def test_a_conflict_is_tried_again_with_what_is_stored() -> None:
    story = Story(claim())
    story.api.failures = {"update claim/status": [ApiConflict("it was changed")]}
    told = story.bind()

    assert ("", ["update claim", "update claim/status", "get default/claim", "update claim/status"]) == (
        told,
        story.api.asked,
    )


@pytest.mark.parametrize(
    ("changed", "failures", "want"),
    [
        pytest.param(
            claim(),
            {"update claim": [ApiFailure("no")]},
            "add finalizer to claim default/claim: no",
            id="the finalizer is refused",
        ),
        pytest.param(
            claim(),
            {"update claim/status": [ApiFailure("no")]},
            "add allocation and reservation to claim default/claim: no",
            id="the status is refused",
        ),
        pytest.param(
            claim(),
            {"update claim/status": [ApiConflict("changed")]},
            "add finalizer to claim default/claim: default/claim was changed",
            id="others never stop writing",
        ),
        pytest.param(
            claim(allocation=allocation(("b", "0")), version=7),
            {"update claim/status": [ApiConflict("changed")]},
            "claim default/claim got allocated elsewhere in the meantime",
            id="somebody else allocated it",
        ),
        pytest.param(
            claim(deletion_timestamp="2026-01-01T00:00:00Z", version=7),
            {"update claim/status": [ApiConflict("changed")]},
            "claim default/claim got deleted in the meantime",
            id="it is being deleted",
        ),
    ],
)
def test_what_fails_is_told_and_leaves_no_device_behind(
    changed: ResourceClaim, failures: dict[str, list[ApiFailure]], want: str
) -> None:
    story = Story(claim())
    story.api.failures = {what: list(some) for what, some in failures.items()}
    kept = story.api.get

    async def get(kind: type[Any], key: str) -> Any:
        await kept(kind, key)
        return changed

    story.api.get = get  # type: ignore[method-assign]
    told = story.bind()
    view = story.state.view()
    story.plugin.unreserve(view, story.binding.pod, "a", story.binding.plans)

    assert want == told
    assert not story.ledger.state(story.state.objects, shares_apart=True).in_use((DRIVER, "a", "0"))


def ready(of: ResourceClaim) -> ResourceClaim:
    met = Condition(type="up", status="True")
    device = AllocatedDeviceStatus(driver=DRIVER, pool="a", device="0", conditions=(met,))
    metadata = msgspec.structs.replace(of.metadata, resource_version=str(int(of.metadata.resource_version) + 1))
    return msgspec.structs.replace(of, metadata=metadata, status=msgspec.structs.replace(of.status, devices=(device,)))


def test_the_pod_waits_for_devices_that_are_made_ready() -> None:
    story = Story(claim(), conditions=("up",))
    story.api.on_pause = lambda: story.state.put(ready(story.api.claims["default/claim"]))
    told = story.bind()

    assert "" == told
    assert (
        "event BindingConditionsPending Scheduling: waiting for binding conditions for device on node a"
        == (story.api.asked[-1])
    )


def test_a_device_that_does_not_get_ready_is_given_up() -> None:
    story = Story(claim(), conditions=("up",))
    told = story.bind()
    stored = story.api.claims["default/claim"]
    story.state.put(stored)
    again = story.plugin.prepare(story.state.view(), story.binding.pod)
    assert isinstance(again, DevicePlan)

    assert "device binding timeout: context deadline exceeded" == told
    assert (0,) == again.unready


def test_a_wait_that_began_before_a_restart_is_not_begun_anew() -> None:
    held = allocation(("a", "0"), binding_conditions=("up",))
    since = msgspec.structs.replace(held, allocation_timestamp="2020-01-01T00:00:00Z")
    story = Story(claim(allocation=since))
    began = story.api.time

    assert ("device binding timeout: claim=claim", began) == (story.bind(), story.api.time)


def test_a_device_that_fails_is_told() -> None:
    story = Story(claim(), conditions=("up",))
    told: list[str] = []

    def fail() -> None:
        stored = story.api.claims["default/claim"]
        allocated = stored.status.allocation
        assert allocated is not None
        results = tuple(
            msgspec.structs.replace(one, binding_failure_conditions=("broken",)) for one in allocated.devices.results
        )
        devices = msgspec.structs.replace(allocated.devices, results=results)
        status = msgspec.structs.replace(stored.status, allocation=msgspec.structs.replace(allocated, devices=devices))
        why = Condition(type="broken", status="True", reason="Burnt", message="smoke")
        failed = ready(msgspec.structs.replace(stored, status=status))
        device = msgspec.structs.replace(failed.status.devices[0], conditions=(why,))
        story.state.put(
            msgspec.structs.replace(failed, status=msgspec.structs.replace(failed.status, devices=(device,)))
        )

    story.api.on_pause = fail
    told.append(story.bind())

    assert ['device binding failed: claim=claim, reason=Burnt, message="smoke"'] == told


def test_extended_resources_get_a_claim_of_their_own() -> None:
    wants = Container(name="c", resources=ResourceRequirements(requests={"example.com/foo": "1"}))
    asking = pod(uid="mine", containers=[wants])
    story = Story(asking=asking)
    told = story.bind()
    stored = story.api.claims["default/pod-extended-resources-x"]
    written = list(story.api.asked)
    view = story.state.view()
    undone = story.plugin.unreserve(view, story.binding.pod, "a", story.binding.plans)

    assert "" == told
    assert [
        "create pod-extended-resources-",
        "update pod-extended-resources-x",
        "update pod-extended-resources-x/status",
        'patch pod/status {"status":{"extendedResourceClaimStatus":{"requestMappings":'
        '[{"containerName":"c","resourceName":"example.com/foo","requestName":"container-0-request-0"}],'
        '"resourceClaimName":"pod-extended-resources-x"}}}',
    ] == written
    assert ["mine"] == [one.uid for one in stored.status.reserved_for]
    assert [True] == [write.then is not None and write.then.delete for write in undone]
