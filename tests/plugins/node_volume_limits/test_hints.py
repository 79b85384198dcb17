"""What brings back pods that found no room for their volumes."""

import pytest

from stowplan.api.pod import Pod
from stowplan.api.volumes import AWSElasticBlockStoreVolumeSource, Volume
from stowplan.columns.pods import PodCompiler
from stowplan.framework.wake import Change, Kind, ObjectEvent
from stowplan.plugins.node_volume_limits.plugin import NodeVolumeLimits
from stowplan.testing.builders import cluster, pod
from stowplan.testing.storage import attachment, claim, csi_node, ephemeral


def ebs(name: str = "v") -> Volume:
    return Volume(name="x", aws_elastic_block_store=AWSElasticBlockStoreVolumeSource(volume_id=name))


def left(gone: Pod) -> ObjectEvent:
    return ObjectEvent(Kind.ASSIGNED_POD, Change.DELETED, PodCompiler().compile(gone), None)


def limits(old: dict[str, int | None], new: dict[str, int | None]) -> ObjectEvent:
    return ObjectEvent(Kind.CSI_NODE, Change.UPDATED, csi_node("n", old), csi_node("n", new))


def detached(by: str) -> ObjectEvent:
    return ObjectEvent(Kind.VOLUME_ATTACHMENT, Change.DELETED, attachment("x", of="v", to="n", by=by), None)


def came(name: str, namespace: str = "default") -> ObjectEvent:
    return ObjectEvent(Kind.PERSISTENT_VOLUME_CLAIM, Change.ADDED, None, claim(name, namespace=namespace))


CLAIMS = pod(claims=["c"], volumes=[ephemeral("e")])


@pytest.mark.parametrize(
    ("parked", "event", "want"),
    [
        pytest.param(CLAIMS, left(pod(on="n", claims=["x"])), True, id="a pod with a claim left its node"),
        pytest.param(CLAIMS, left(pod(on="n", volumes=[ebs()])), True, id="a pod with an in-tree volume left its node"),
        pytest.param(CLAIMS, left(pod(on="n")), False, id="a pod without volumes left"),
        pytest.param(CLAIMS, left(pod(on="n", volumes=[Volume()])), False, id="a pod with scratch space left"),
        pytest.param(CLAIMS, left(pod(claims=["x"])), False, id="a pod that had no node went"),
        pytest.param(CLAIMS, left(pod(nominated="n", claims=["x"])), True, id="a pod that was to have a node went"),
        pytest.param(CLAIMS, came("c"), True, id="its claim came"),
        pytest.param(CLAIMS, came("pod-e"), True, id="the claim of its ephemeral volume came"),
        pytest.param(CLAIMS, came("c", "web"), False, id="a claim of that name came elsewhere"),
        pytest.param(CLAIMS, came("d"), False, id="another claim came"),
        pytest.param(CLAIMS, limits({"d": 1}, {"d": 2}), True, id="a limit was raised"),
        pytest.param(CLAIMS, limits({"d": 2}, {"d": 1}), False, id="a limit was lowered"),
        pytest.param(CLAIMS, limits({}, {"d": 1}), True, id="a driver came"),
        pytest.param(CLAIMS, limits({}, {"d": None}), False, id="a driver came without a limit"),
        pytest.param(CLAIMS, limits({"d": 1}, {"d": None}), False, id="a limit went, which reads as none at all"),
        pytest.param(CLAIMS, ObjectEvent(Kind.CSI_NODE, Change.ADDED, None, csi_node("n")), True, id="a CSINode came"),
        pytest.param(CLAIMS, detached("any"), True, id="whatever was detached, when the pod has a claim"),
        pytest.param(pod(volumes=[ebs()]), detached("ebs.csi.aws.com"), True, id="a volume of the driver it needs"),
        pytest.param(pod(volumes=[ebs()]), detached("other"), False, id="a volume of another driver"),
        pytest.param(pod(volumes=[ebs("aws://x/y")]), detached("other"), True, id="when its own makes no sense"),
        pytest.param(
            pod(volumes=[ephemeral("e")]), detached("other"), False, id="an ephemeral volume is not looked at"
        ),
    ],
)
def test_wakes(parked: Pod, event: ObjectEvent, want: bool) -> None:
    info = PodCompiler().compile(parked)
    heard = [wake for wake in NodeVolumeLimits.wakes if wake.hears(event)]

    assert want == any(wake.when is None or wake.when(info, event, cluster().view()) for wake in heard)
