"""What brings back pods that found no volumes."""

from typing import Any

import pytest

from stowplan.api.volumes import CSIVolumeSource, Volume
from stowplan.columns.pods import PodCompiler
from stowplan.framework.wake import Change, Kind, ObjectEvent
from stowplan.plugins.volume_binding.plugin import VolumeBinding
from stowplan.testing.builders import ZONE, cluster, node, pod
from stowplan.testing.storage import claim, csi_driver, csi_node, ephemeral, pool, storage_class, volume

PARKED = pod(claims=["c"], volumes=[ephemeral("e"), Volume(name="i", csi=CSIVolumeSource(driver="d"))])


def came(kind: Kind, new: Any) -> ObjectEvent:
    return ObjectEvent(kind, Change.ADDED, None, new)


def changed(kind: Kind, old: Any, new: Any) -> ObjectEvent:
    return ObjectEvent(kind, Change.UPDATED, old, new)


@pytest.mark.parametrize(
    ("event", "want"),
    [
        pytest.param(came(Kind.STORAGE_CLASS, storage_class()), True, id="a class came"),
        pytest.param(
            changed(Kind.STORAGE_CLASS, storage_class(), storage_class(topologies=[{ZONE: ["a"]}])),
            True,
            id="a class allows other topologies",
        ),
        pytest.param(
            changed(Kind.STORAGE_CLASS, storage_class(), storage_class(provisioner="x")),
            False,
            id="it changed otherwise",
        ),
        pytest.param(came(Kind.PERSISTENT_VOLUME_CLAIM, claim("c")), True, id="its claim came"),
        pytest.param(changed(Kind.PERSISTENT_VOLUME_CLAIM, claim("c"), claim("c")), True, id="its claim changed"),
        pytest.param(came(Kind.PERSISTENT_VOLUME_CLAIM, claim("pod-e")), True, id="its ephemeral volume's claim came"),
        pytest.param(came(Kind.PERSISTENT_VOLUME_CLAIM, claim("d")), False, id="another claim came"),
        pytest.param(
            came(Kind.PERSISTENT_VOLUME_CLAIM, claim("c", namespace="web")), False, id="a claim of that name elsewhere"
        ),
        pytest.param(came(Kind.PERSISTENT_VOLUME, volume()), True, id="a volume came"),
        pytest.param(changed(Kind.PERSISTENT_VOLUME, volume(), volume()), True, id="a volume changed"),
        pytest.param(
            ObjectEvent(Kind.PERSISTENT_VOLUME, Change.DELETED, volume(), None), False, id="a volume was deleted"
        ),
        pytest.param(came(Kind.NODE, node("n")), True, id="a node came"),
        pytest.param(
            ObjectEvent(Kind.NODE, Change.NODE_LABELS, node("n"), node("n", zone="a")), True, id="a node was relabelled"
        ),
        pytest.param(ObjectEvent(Kind.NODE, Change.NODE_ALLOCATABLE, node(), node()), False, id="a node grew"),
        pytest.param(came(Kind.CSI_NODE, csi_node("n")), True, id="a CSINode came"),
        pytest.param(
            changed(Kind.CSI_NODE, csi_node("n"), csi_node("n", migrated=["p"])), True, id="a plugin was taken over"
        ),
        pytest.param(
            changed(Kind.CSI_NODE, csi_node("n"), csi_node("n", {"d": 1})), False, id="a driver came to a node"
        ),
        pytest.param(
            changed(Kind.CSI_DRIVER, csi_driver("d", counts_room=True), csi_driver("d")),
            True,
            id="its inline volume's driver stopped counting",
        ),
        pytest.param(
            changed(Kind.CSI_DRIVER, csi_driver("d"), csi_driver("d", counts_room=True)), False, id="it began counting"
        ),
        pytest.param(
            changed(Kind.CSI_DRIVER, csi_driver("x", counts_room=True), csi_driver("x")), False, id="another driver"
        ),
        pytest.param(came(Kind.CSI_DRIVER, csi_driver("d")), False, id="a driver came"),
        pytest.param(came(Kind.CSI_STORAGE_CAPACITY, pool("p", storage_class="fast")), True, id="a pool came"),
        pytest.param(
            changed(
                Kind.CSI_STORAGE_CAPACITY,
                pool("p", storage_class="fast", room="1Gi"),
                pool("p", storage_class="fast", room="2Gi"),
            ),
            True,
            id="a pool grew",
        ),
        pytest.param(
            changed(
                Kind.CSI_STORAGE_CAPACITY,
                pool("p", storage_class="fast", room="1Gi", largest="1Gi"),
                pool("p", storage_class="fast", room="2Gi", largest="1Gi"),
            ),
            False,
            id="a pool grew, but not what it takes at most",
        ),
        pytest.param(
            changed(
                Kind.CSI_STORAGE_CAPACITY,
                pool("p", storage_class="fast", room=None),
                pool("p", storage_class="fast", room="0"),
            ),
            True,
            id="a pool says how large it is",
        ),
    ],
)
def test_wakes(event: ObjectEvent, want: bool) -> None:
    info = PodCompiler().compile(PARKED)
    heard = [wake for wake in VolumeBinding.wakes if wake.hears(event)]

    assert want == any(wake.when is None or wake.when(info, event, cluster().view()) for wake in heard)
