"""Reserving, writing, waiting, and taking back."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from stowplan.api.claims import BIND_COMPLETED, BOUND_BY_CONTROLLER, SELECTED_NODE
from stowplan.api.meta import ObjectReference
from stowplan.api.node import Node
from stowplan.api.pod import Pod
from stowplan.api.storage import PersistentVolume, PersistentVolumeClaim
from stowplan.columns.cluster import Cluster
from stowplan.columns.pods import PodInfo
from stowplan.framework.plugin import ApiConflict, Binding, PluginError
from stowplan.framework.plugin_args import VolumeBindingArgs
from stowplan.framework.verdict import Rejection
from stowplan.plugins.volume_binding.binder import bound_to, is_newer
from stowplan.plugins.volume_binding.plan import VolumePlan
from stowplan.plugins.volume_binding.plugin import VolumeBinding
from stowplan.testing.builders import HOSTNAME, ZONE, cluster, node, node_term, pod
from stowplan.testing.running import run_filter
from stowplan.testing.storage import claim, storage_class, volume

LOCAL = storage_class("local", provisioner="kubernetes.io/no-provisioner")
FAST = storage_class()
DISK = volume("v", storage_class="local", version="1", on=[node_term((HOSTNAME, "In", ["n"]))])
STATIC = claim("s", storage_class="local", version="2")
DYNAMIC = claim("d", storage_class="fast", version="3")


class Api:
    """Stores what is written, gives it versions, and lets a second pass at a time."""

    def __init__(self, built: Cluster) -> None:
        self.built = built
        self.version = 100
        self.time = 0.0
        self.written: list[str] = []
        self.refused: set[str] = set()
        self.meanwhile: dict[int, Callable[[], object]] = {}

    async def update(self, obj: Any, *, subresource: str = "") -> Any:
        assert not subresource
        if obj.name in self.refused:
            raise ApiConflict(f"no {obj.name} today")
        self.version += 1
        self.written.append(obj.name)
        return replace(obj, metadata=replace(obj.metadata, resource_version=str(self.version)))

    async def pause(self, seconds: float) -> None:
        self.time += seconds
        step = self.meanwhile.pop(round(self.time), None)
        if step is not None:
            step()

    def now(self) -> float:
        return self.time

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"the binder must not use {name}")


class Stage:
    """A pod that wants volumes on node n."""

    def __init__(self, *claims: PersistentVolumeClaim, timeout: int = 10) -> None:
        self.built = cluster(node("n"), node("m"), LOCAL, FAST, DISK, *claims)
        self.plugin = VolumeBinding(VolumeBindingArgs(bind_timeout_seconds=timeout))
        self.api = Api(self.built)
        self.pod = self.built.compiler.compile(pod(claims=[one.name for one in claims]))
        plan = self.plugin.prepare(self.built.view(), self.pod)
        assert isinstance(plan, VolumePlan)
        self.plan = plan
        self.plans = {self.plugin.name: plan}
        self.found: Node | None = self.built.nodes.records[0]
        self.alive = True

    def reserve(self) -> None:
        assert self.plugin.reserve(self.built.view(), self.pod, "n", self.plans) is None

    def unreserve(self) -> None:
        self.plugin.unreserve(self.built.view(), self.pod, "n", self.plans)

    def bind(self) -> str:
        """What went wrong, if anything."""
        binding = Binding(
            pod=self.pod,
            node_name="n",
            plans=self.plans,
            objects=self.built.objects,
            find_node=lambda: self.found,
            pod_exists=lambda: self.alive,
            writer=self.api,
        )
        try:
            assert asyncio.run(self.plugin.pre_bind(binding)) is None
        except PluginError as error:
            return str(error)
        return ""

    def after(self, seconds: int, *objects: PersistentVolume | PersistentVolumeClaim) -> None:
        """What the watch shows after a while."""

        def show() -> None:
            for obj in objects:
                self.built.put(obj)

        self.api.meanwhile[seconds] = show

    def another(self, asking: Pod) -> dict[str, Rejection | None]:
        """What the plugin says to another pod now."""
        return dict(run_filter(self.plugin, self.built, asking).by_node or {})


BOUND_DISK = volume("v", storage_class="local", version="101", claim=STATIC)
DONE_STATIC = claim("s", storage_class="local", version="102", bound_to="v")


def provisioned(version: str = "103", **marks: str) -> PersistentVolumeClaim:
    return claim("d", storage_class="fast", version=version, bound_to="w", annotations={SELECTED_NODE: "n", **marks})


def waits(version: str = "103", to: str = "n") -> PersistentVolumeClaim:
    return claim("d", storage_class="fast", version=version, annotations={SELECTED_NODE: to, "x": "y"} if to else None)


def test_volumes_are_written_before_claims_and_waited_for() -> None:
    stage = Stage(STATIC, DYNAMIC)
    stage.reserve()
    stage.after(2, BOUND_DISK, DONE_STATIC)
    stage.after(4, volume("w", version="104"), provisioned())

    assert stage.bind() == ""
    assert (["v", "d"], 4.0) == (stage.api.written, stage.api.time)


def test_what_is_reserved_is_not_given_to_another_pod() -> None:
    stage = Stage(STATIC)
    stage.built.put(claim("t", storage_class="local"))
    assert stage.another(pod("other", claims=["t"]))["n"] is None

    stage.reserve()
    assert stage.another(pod("other", claims=["t"]))["n"] is not None
    stage.unreserve()
    assert stage.another(pod("other", claims=["t"]))["n"] is None


def test_a_claim_that_is_reserved_for_a_node_is_for_that_node_in_every_pod() -> None:
    stage = Stage(DYNAMIC)

    stage.reserve()

    said = stage.another(pod("other", claims=["d"]))
    assert (None, True) == (said["n"], said["m"] is not None)
    stage.built.put(claim("d", storage_class="fast", version="4"))
    assert {"n": None, "m": None} == stage.another(pod("other", claims=["d"])), "the watch overtakes"


def test_pods_whose_claims_are_bound_need_nothing() -> None:
    stage = Stage(claim("s", bound_to="v"))

    stage.reserve()

    assert not stage.plugin.pre_bind_needed(stage.built.view(), stage.pod, "n", stage.plans)
    assert (stage.bind(), stage.api.written) == ("", [])


def test_nothing_is_bound_that_was_not_reserved() -> None:
    stage = Stage(STATIC)

    with pytest.raises(PluginError, match='no pod volume found for node "n"'):
        stage.plugin.pre_bind_needed(stage.built.view(), stage.pod, "n", stage.plans)
    assert 'no pod volume found for node "n"' == stage.bind()


def test_reserving_a_node_that_lost_its_volume_fails_and_leaves_nothing_behind() -> None:
    stage = Stage(STATIC)
    stage.built.remove_object(PersistentVolume, "v")

    with pytest.raises(PluginError) as raised:
        stage.reserve()

    assert 'running Reserve plugin "VolumeBinding": node(s) didn\'t find available persistent volumes to bind' == str(
        raised.value
    )


@pytest.mark.parametrize(
    ("refused", "written"),
    [
        pytest.param("v", [], id="a volume is refused"),
        pytest.param("d", ["v"], id="a claim is refused after a volume was written"),
    ],
)
def test_a_refused_write_frees_what_was_not_written(refused: str, written: list[str]) -> None:
    stage = Stage(STATIC, DYNAMIC)
    stage.built.put(claim("t", storage_class="local"))
    stage.reserve()
    stage.api.refused = {refused}

    assert (f"no {refused} today", written) == (stage.bind(), stage.api.written)
    stage.unreserve()
    assert stage.another(pod("other", claims=["d"])) == {"n": None, "m": None}
    is_free = stage.another(pod("other", claims=["t"]))["n"] is None
    assert is_free is (refused == "v"), "a volume that was written stays the claim's until the watch says otherwise"


def binding_volumes(text: str) -> str:
    return f"binding volumes: {text}"


@pytest.mark.parametrize(
    ("shown", "want"),
    [
        pytest.param([], "context deadline exceeded", id="nothing happens"),
        pytest.param([BOUND_DISK], "context deadline exceeded", id="the claim is never bound"),
        pytest.param(
            [volume("v", version="102", on=[node_term((ZONE, "In", ["z"]))], claim=STATIC)],
            'pv "v" node affinity doesn\'t match node "n": no matching NodeSelectorTerms',
            id="the volume moved",
        ),
        pytest.param([volume("v", version="102")], 'ClaimRef got reset for pv "v"', id="the volume was taken back"),
        pytest.param(
            [volume("v", version="x", claim=STATIC)],
            "PersistentVolume v: resource version 'x' is no number",
            id="a version that makes no sense",
        ),
    ],
)
def test_what_can_go_wrong_with_a_volume(shown: list[PersistentVolume], want: str) -> None:
    stage = Stage(STATIC)
    stage.reserve()
    stage.after(3, *shown)

    assert binding_volumes(want) == stage.bind()


@pytest.mark.parametrize(
    ("shown", "want"),
    [
        pytest.param([], "context deadline exceeded", id="nothing happens"),
        pytest.param([waits("102")], "context deadline exceeded", id="nobody makes a volume"),
        pytest.param([waits("102", to="")], 'selectedNode annotation reset for PVC "d"', id="no annotation is left"),
        pytest.param([waits("102", to="m")], 'provisioning failed for PVC "d"', id="another node was selected"),
        pytest.param([provisioned("102")], "context deadline exceeded", id="the volume is never shown"),
        pytest.param(
            [provisioned("102"), volume("w", on=[node_term((ZONE, "Like", ["z"]))])],
            'pv "w" node affinity doesn\'t match node "n": '
            'nodeSelectorTerms[0].matchExpressions[0].operator: Unsupported value: "Like": supported values: '
            '"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"',
            id="the volume is out of reach",
        ),
    ],
)
def test_what_can_go_wrong_with_provisioning(shown: list[Any], want: str) -> None:
    stage = Stage(DYNAMIC)
    stage.reserve()
    stage.after(3, *shown)

    error = stage.bind()

    assert binding_volumes(want) == error
    assert stage.api.time == (10.0 if "deadline" in want else 3.0)


@pytest.mark.parametrize(
    ("gone", "want"),
    [
        pytest.param((PersistentVolume, "v"), 'failed to check binding: persistentvolumes "v" not found', id="volume"),
        pytest.param(
            (PersistentVolumeClaim, "default/s"),
            'failed to check binding: persistentvolumeclaims "default/s" not found',
            id="claim",
        ),
        pytest.param(
            (PersistentVolumeClaim, "default/d"),
            'failed to check provisioning pvc: persistentvolumeclaims "default/d" not found',
            id="claim to be provisioned",
        ),
    ],
)
def test_objects_that_are_deleted_while_it_waits(gone: tuple[type[Any], str], want: str) -> None:
    stage = Stage(STATIC, DYNAMIC)
    stage.reserve()
    stage.after(1, BOUND_DISK, DONE_STATIC)
    stage.api.meanwhile[2] = lambda: stage.built.remove_object(*gone)

    assert binding_volumes(want) == stage.bind()


def test_a_pod_or_a_node_that_goes_ends_the_wait() -> None:
    stage = Stage(STATIC)
    stage.reserve()
    stage.alive = False
    assert binding_volumes('pod does not exist any more: pod "pod" not found') == stage.bind()

    stage = Stage(STATIC)
    stage.reserve()
    stage.found = None
    assert binding_volumes('failed to get node "n": node "n" not found') == stage.bind()


def test_a_volume_gets_a_reference_to_the_claim_and_a_mark() -> None:
    bound = bound_to(volume("v"), STATIC)

    ref = ObjectReference(
        kind="PersistentVolumeClaim",
        namespace="default",
        name="s",
        uid=STATIC.uid,
        api_version="v1",
        resource_version="2",
    )
    assert (ref, {BOUND_BY_CONTROLLER: "yes"}) == (bound.spec.claim_ref, bound.metadata.annotations)


def test_a_volume_that_a_user_made_for_the_claim_gets_no_mark() -> None:
    ready = volume("v", claim=STATIC)
    half = replace(ready, spec=replace(ready.spec, claim_ref=ObjectReference(namespace="default", name="s")))

    assert bound_to(ready, STATIC) is ready
    assert ({}, STATIC.uid) == (
        bound_to(half, STATIC).metadata.annotations,
        bound_to(half, STATIC).spec.claim_ref.uid,  # type: ignore[union-attr]
    )


@pytest.mark.parametrize(
    ("ours", "theirs", "want"),
    [("10", "9", True), ("9", "10", False), ("9", "9", False), ("", "1", False), ("1", "", True)],
)
def test_versions_are_compared_as_numbers(ours: str, theirs: str, want: bool) -> None:
    assert want == is_newer(volume(version=ours), volume(version=theirs))


def test_two_pods_never_get_the_same_volume() -> None:
    built = cluster(node("n"), LOCAL, *(claim(f"c{i}", storage_class="local") for i in range(3)))
    built.put(volume("v", storage_class="local"))
    plugin = VolumeBinding()
    got: list[PodInfo] = []
    for i in range(3):
        info = built.compiler.compile(pod(f"p{i}", claims=[f"c{i}"]))
        view = built.view()
        plan = plugin.prepare(view, info)
        assert isinstance(plan, VolumePlan)
        if plugin.filter(info, view.rows, plan).at(0) is None:
            plugin.reserve(view, info, "n", {plugin.name: plan})
            got.append(info)

    assert ["default/p0"] == [info.key for info in got]
    assert BIND_COMPLETED not in built.objects.all(PersistentVolumeClaim)["default/c0"].metadata.annotations
