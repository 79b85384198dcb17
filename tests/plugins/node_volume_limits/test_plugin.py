"""NodeVolumeLimits: as many volumes of a driver as it can attach."""

import pytest

from stowplan.api.meta import KubeObject
from stowplan.api.pod import Pod
from stowplan.api.volumes import AWSElasticBlockStoreVolumeSource, Volume
from stowplan.framework.gates import Gates
from stowplan.framework.plugin import PluginContext
from stowplan.framework.verdict import Rejection, rejection, unresolvable
from stowplan.plugins.node_volume_limits.plugin import TOO_MANY, NodeVolumeLimits
from stowplan.testing.builders import node, pod
from stowplan.testing.running import run_filter
from stowplan.testing.storage import attachment, claim, csi_driver, csi_node, ephemeral, storage_class, volume

CSI = "csi.example.com"
EBS_CSI = "ebs.csi.aws.com"


def ebs(name: str) -> Volume:
    return Volume(name=name, aws_elastic_block_store=AWSElasticBlockStoreVolumeSource(volume_id=name))


def bound(name: str, driver: str = CSI) -> list[KubeObject]:
    return [claim(name, bound_to=name), volume(name, driver=driver)]


def on(limit: int | None, *objects: KubeObject, driver: str = CSI) -> list[KubeObject]:
    return [node("n"), csi_node("n", {driver: limit}), *objects]


OLD = pod("old", on="n", claims=["a"])
NEW = pod(claims=["b"])
A, B = bound("a"), bound("b")


@pytest.mark.parametrize(
    ("objects", "asking", "want"),
    [
        pytest.param(on(2, *A, *B, OLD), NEW, None, id="room for one more"),
        pytest.param(on(1, *A, *B, OLD), NEW, TOO_MANY, id="no room"),
        pytest.param(on(None, *A, *B, OLD), NEW, None, id="a driver without a limit"),
        pytest.param([node("n"), *A, *B, OLD], NEW, None, id="a node without a CSINode"),
        pytest.param(on(0, *A, *B, OLD, driver="other"), NEW, None, id="the limit of another driver"),
        pytest.param(on(1, *A, *bound("b", "other"), OLD), NEW, None, id="a volume of another driver"),
        pytest.param(on(1, *A, OLD), pod(claims=["a"]), None, id="a volume that is there already is not counted again"),
        pytest.param(on(0, *A, OLD), pod(claims=["a"]), None, id="nothing new to a node that is beyond its limit"),
        pytest.param(
            on(1, *B, claim("a", bound_to="a"), OLD), NEW, None, id="a volume that is gone, without a class to count by"
        ),
        pytest.param(
            on(1, *B, claim("a", storage_class="fast"), storage_class(), OLD),
            NEW,
            TOO_MANY,
            id="a volume still to come counts by its class",
        ),
        pytest.param(on(1, *B, OLD), NEW, None, id="a placed pod whose claim is gone does not count"),
        pytest.param(
            on(1, *A, *B, attachment("x", of="a", to="n")),
            NEW,
            TOO_MANY,
            id="a volume attached for nobody's pod counts",
        ),
        pytest.param(
            on(2, *A, *B, OLD, attachment("x", of="a", to="n")),
            NEW,
            None,
            id="an attachment of a pod's volume does not",
        ),
        pytest.param(on(1, *A, *B, attachment("x", of="a", to="m")), NEW, None, id="an attachment elsewhere does not"),
        pytest.param(on(1, *B, attachment("x", of="gone", to="n")), NEW, None, id="nor one of a volume that is gone"),
        pytest.param(
            on(1, pod("old", on="n", volumes=[ebs("v")]), driver=EBS_CSI),
            pod(volumes=[ebs("w")]),
            TOO_MANY,
            id="in-tree volumes count for the driver that took them over",
        ),
        pytest.param(
            on(1, pod("old", on="n", volumes=[ebs("v")]), driver=EBS_CSI),
            pod(volumes=[ebs("v")]),
            None,
            id="an in-tree volume that is there already",
        ),
        pytest.param(
            on(
                1,
                claim("a", bound_to="a"),
                volume("a", aws_elastic_block_store=AWSElasticBlockStoreVolumeSource(volume_id="v")),
                OLD,
                driver=EBS_CSI,
            ),
            pod(volumes=[ebs("w")]),
            TOO_MANY,
            id="a persistent in-tree volume counts too",
        ),
        pytest.param(
            on(1, *A, OLD, claim("pod-e", storage_class="fast", owner=pod()), storage_class()),
            pod(volumes=[ephemeral("e")]),
            TOO_MANY,
            id="an ephemeral volume counts by its claim",
        ),
        pytest.param(
            on(1),
            pod(claims=["b"]),
            unresolvable('looking up PVC default/b: persistentvolumeclaim "b" not found'),
            id="a missing claim",
        ),
        pytest.param(
            on(1, claim("pod-e")),
            pod(volumes=[ephemeral("e")]),
            Rejection(("PVC default/pod-e was not created for pod default/pod (pod is not owner)",), fatal=True),
            id="the claim of somebody else",
        ),
        pytest.param(
            on(9, *B, claim("old-e"), pod("old", on="n", volumes=[ephemeral("e")])),
            NEW,
            Rejection(("PVC default/old-e was not created for pod default/old (pod is not owner)",), fatal=True),
            id="a placed pod with the claim of somebody else",
        ),
        pytest.param(
            on(1),
            pod(volumes=[ebs("aws://a/x")]),
            Rejection(
                (
                    "converting volume(aws://a/x) from inline to csi: failed to translate Kubernetes ID to EBS "
                    "Volume ID Invalid format for AWS volume (aws://a/x)",
                ),
                fatal=True,
            ),
            id="an in-tree volume that makes no sense",
        ),
        pytest.param([node("n")], pod(volumes=[ebs("aws://a/x")]), None, id="which nobody reads without a CSINode"),
    ],
)
def test_filter(objects: list[KubeObject], asking: Pod, want: Rejection | None) -> None:
    assert want == run_filter(NodeVolumeLimits(), objects, asking).on("n")


@pytest.mark.parametrize(
    ("objects", "want"),
    [
        pytest.param(
            [csi_driver(CSI, needed=True)], rejection(f"{CSI} CSI driver is not installed on the node"), id="no CSINode"
        ),
        pytest.param(
            [csi_driver(CSI, needed=True), csi_node("n", {"other": 1})],
            rejection(f"{CSI} CSI driver is not installed on the node"),
            id="a CSINode without it",
        ),
        pytest.param([csi_driver(CSI, needed=True), csi_node("n", {CSI: None})], None, id="the driver is there"),
        pytest.param([csi_driver(CSI)], None, id="a driver that does not ask for it"),
        pytest.param([], None, id="no such driver is known"),
    ],
)
def test_nodes_without_the_driver_are_left_out_behind_the_gate(
    objects: list[KubeObject], want: Rejection | None
) -> None:
    gated = NodeVolumeLimits(PluginContext(gates=Gates({"VolumeLimitScaling": True})))

    assert want == run_filter(gated, [node("n"), *B, *objects], NEW).on("n")
    assert run_filter(NodeVolumeLimits(), [node("n"), *B, *objects], NEW).on("n") is None


def test_it_has_nothing_to_say_about_other_volumes() -> None:
    assert run_filter(NodeVolumeLimits(), on(0), pod(volumes=[Volume(name="scratch")])).skipped
