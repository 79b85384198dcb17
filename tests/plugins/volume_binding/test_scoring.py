"""How full the storage would be, by the shape that the configuration gives."""

import pytest

from stowplan.api.meta import KubeObject
from stowplan.framework.gates import Gates
from stowplan.framework.plugin import PluginContext
from stowplan.framework.plugin_args import FULL_WHEN_EMPTY, ShapePoint, VolumeBindingArgs
from stowplan.plugins.volume_binding.plugin import VolumeBinding
from stowplan.testing.builders import HOSTNAME, node, node_term, pod
from stowplan.testing.running import run_score
from stowplan.testing.storage import claim, csi_driver, pool, storage_class, volume

OPEN = PluginContext(gates=Gates({"StorageCapacityScoring": True}))
FULLER_IS_BETTER = (ShapePoint(utilization=0, score=0), ShapePoint(utilization=100, score=10))
NODES = [node("n"), node("m")]
HERE = [node_term((HOSTNAME, "In", ["n"]))]
COUNTED = csi_driver("csi.example.com", counts_room=True)
FAST, SLOW = storage_class(), storage_class("slow")


@pytest.mark.parametrize(
    ("objects", "want"),
    [
        pytest.param(
            [
                FAST,
                claim("c", storage_class="fast", size="5Gi"),
                volume("v", size="20Gi", storage_class="fast", on=HERE),
            ],
            {"n": 25, "m": 0},
            id="the share of the volume that the claim needs",
        ),
        pytest.param(
            [FAST, COUNTED, claim("c", storage_class="fast", size="5Gi"), pool("p", storage_class="fast", room="10Gi")],
            {"n": 50, "m": 50},
            id="the share of the pool that the claim needs",
        ),
        pytest.param(
            [
                FAST,
                COUNTED,
                claim("c", storage_class="fast", size="5Gi"),
                claim("d", storage_class="fast", size="3Gi"),
                pool("p", storage_class="fast", room="10Gi"),
            ],
            {"n": 80, "m": 80},
            id="claims of one class share its pool",
        ),
        pytest.param(
            [
                FAST,
                COUNTED,
                claim("c", storage_class="fast", size="8Gi"),
                claim("d", storage_class="fast", size="8Gi"),
                pool("p", storage_class="fast", room="10Gi"),
            ],
            {"n": 100, "m": 100},
            id="beyond the pool it is full",
        ),
        pytest.param(
            [
                FAST,
                SLOW,
                COUNTED,
                claim("c", storage_class="fast", size="5Gi"),
                claim("d", storage_class="slow", size="1Gi"),
                pool("p", storage_class="fast", room="10Gi"),
                pool("q", storage_class="slow", room="40Gi"),
            ],
            {"n": 26, "m": 26},
            id="the mean over classes, rounded half away from zero",
        ),
        pytest.param(
            [
                FAST,
                COUNTED,
                claim("c", storage_class="fast", size="5Gi"),
                claim("d", storage_class="fast", size="1Gi"),
                volume("v", size="20Gi", storage_class="fast", on=HERE),
                pool("p", storage_class="fast", room="10Gi"),
            ],
            {"n": 5, "m": 60},
            id="where a claim finds a volume, pools do not count",
        ),
        pytest.param([FAST, claim("c", storage_class="fast")], {"n": 0, "m": 0}, id="pools that nobody counts"),
        pytest.param([claim("c", bound_to="v"), volume("v")], {"n": 0, "m": 0}, id="all bound"),
    ],
)
def test_score(objects: list[KubeObject], want: dict[str, int]) -> None:
    plugin = VolumeBinding.create(VolumeBindingArgs(shape=FULLER_IS_BETTER), OPEN)
    names = [one.name for one in objects if one.kind == "PersistentVolumeClaim"]

    assert want == run_score(plugin, [*NODES, *objects], pod(claims=names))


def test_it_does_not_score_behind_the_closed_gate_nor_without_claims() -> None:
    objects = [*NODES, FAST, claim("c", storage_class="fast")]

    assert {} == run_score(VolumeBinding(), objects, pod(claims=["c"]))
    assert {} == run_score(VolumeBinding.create(VolumeBindingArgs(shape=FULL_WHEN_EMPTY), OPEN), objects, pod())
