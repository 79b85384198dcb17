"""VolumeZone: nodes in the zones of the pod's bound volumes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stowplan.api.meta import KubeObject
from stowplan.api.storage import PersistentVolume
from stowplan.columns.pods import PodCompiler
from stowplan.framework.verdict import Rejection, unresolvable
from stowplan.framework.wake import Change, Kind, ObjectEvent
from stowplan.plugins.volume_zone import CONFLICT, REGION, SUCCESSORS, TOPOLOGY_KEYS, ZONE, VolumeZone
from stowplan.testing.builders import cluster, node, pod
from stowplan.testing.properties import assert_rows_agree
from stowplan.testing.running import run_filter
from stowplan.testing.storage import claim, storage_class, volume

OLD_ZONE, OLD_REGION = SUCCESSORS
BOUND = claim("c", bound_to="v")


@pytest.mark.parametrize(
    ("volume_labels", "node_labels", "want"),
    [
        pytest.param({ZONE: "a"}, {ZONE: "a"}, None, id="the same zone"),
        pytest.param({ZONE: "a"}, {ZONE: "b"}, CONFLICT, id="another zone"),
        pytest.param({ZONE: "a__b"}, {ZONE: "b"}, None, id="one of several zones"),
        pytest.param({ZONE: "a"}, {}, None, id="a node without zone or region takes all"),
        pytest.param({ZONE: "a"}, {REGION: "r"}, CONFLICT, id="a node that has only a region"),
        pytest.param({OLD_ZONE: "a"}, {ZONE: "a"}, None, id="an old label of the volume, the new one of the node"),
        pytest.param({OLD_ZONE: "a"}, {OLD_ZONE: "b", ZONE: "a"}, CONFLICT, id="the node's old label counts first"),
        pytest.param({ZONE: "a"}, {OLD_ZONE: "a"}, CONFLICT, id="an old label of the node, the new one of the volume"),
        pytest.param({ZONE: "a", REGION: "r"}, {ZONE: "a", REGION: "s"}, CONFLICT, id="the zone, in another region"),
    ],
)
def test_filter(volume_labels: dict[str, str], node_labels: dict[str, str], want: Rejection | None) -> None:
    objects = [node("n", labels=node_labels), BOUND, volume("v", labels=volume_labels)]

    assert want == run_filter(VolumeZone(), objects, pod(claims=["c"])).on("n")


@pytest.mark.parametrize(
    ("objects", "want"),
    [
        pytest.param([], 'persistentvolumeclaim "c" not found', id="no claim"),
        pytest.param([BOUND], 'persistentvolume "v" not found', id="no volume"),
        pytest.param(
            [claim("c", storage_class=None)],
            "PersistentVolumeClaim had no pv name and storageClass name",
            id="a claim with neither volume nor class",
        ),
        pytest.param(
            [claim("c", storage_class="fast")], 'storageclass.storage.k8s.io "fast" not found', id="a missing class"
        ),
        pytest.param(
            [claim("c", storage_class="fast"), storage_class(mode=None)],
            'VolumeBindingMode not set for StorageClass "fast"',
            id="a class without a mode",
        ),
        pytest.param(
            [claim("c", storage_class="fast"), storage_class(mode="Immediate")],
            "PersistentVolume had no name",
            id="a claim that should be bound by now",
        ),
    ],
)
def test_pods_whose_claims_cannot_be_judged_are_rejected(objects: list[KubeObject], want: str) -> None:
    assert unresolvable(want) == run_filter(VolumeZone(), [node("n"), *objects], pod(claims=["c"])).rejected


@pytest.mark.parametrize(
    "objects",
    [
        pytest.param([claim("c", storage_class="fast"), storage_class()], id="a claim that waits for its first pod"),
        pytest.param([BOUND, volume("v")], id="a volume without places"),
        pytest.param([BOUND, volume("v", labels={ZONE: "a__"})], id="a malformed label"),
    ],
)
def test_it_has_nothing_to_say_without_places(objects: list[KubeObject]) -> None:
    assert run_filter(VolumeZone(), [node("n"), *objects], pod(claims=["c"])).skipped


def test_a_claim_without_a_name_is_named_so() -> None:
    assert unresolvable("PersistentVolumeClaim had no name") == run_filter(VolumeZone(), [], pod(claims=[""])).rejected


labels = st.dictionaries(st.sampled_from(TOPOLOGY_KEYS), st.sampled_from(["a", "b", "a__b"]))


def twin(volumes: list[PersistentVolume], have: dict[str, str]) -> Rejection | None:
    if not any(key in have for key in TOPOLOGY_KEYS):
        return None
    for bound in volumes:
        for key in TOPOLOGY_KEYS:
            if key in bound.labels:
                value = have.get(key, have.get(SUCCESSORS.get(key, key)))
                if value not in bound.labels[key].split("__"):
                    return CONFLICT
    return None


@given(st.lists(labels, min_size=1, max_size=3), st.lists(labels, min_size=1, max_size=5))
def test_all_nodes_at_once_are_judged_as_one_by_one(
    volume_labels: list[dict[str, str]], node_labels: list[dict[str, str]]
) -> None:
    volumes = [volume(f"v{i}", labels=own) for i, own in enumerate(volume_labels)]
    claims = [claim(f"c{i}", bound_to=f"v{i}") for i in range(len(volumes))]
    built = cluster(*(node(f"n{i}", labels=own) for i, own in enumerate(node_labels)), *claims, *volumes)
    asking = pod(claims=[c.name for c in claims])

    answer = run_filter(VolumeZone(), built, asking)

    assert [twin(volumes, have) for have in node_labels] == [answer.on(f"n{i}") for i in range(len(node_labels))]
    assert_rows_agree(VolumeZone(), built, asking)


@pytest.mark.parametrize(
    ("event", "want"),
    [
        pytest.param(ObjectEvent(Kind.STORAGE_CLASS, Change.ADDED, None, storage_class()), True, id="a waiting class"),
        pytest.param(
            ObjectEvent(Kind.STORAGE_CLASS, Change.ADDED, None, storage_class(mode="Immediate")), False, id="another"
        ),
        pytest.param(
            ObjectEvent(Kind.STORAGE_CLASS, Change.UPDATED, storage_class(), storage_class()),
            False,
            id="a class changed",
        ),
        pytest.param(ObjectEvent(Kind.NODE, Change.ADDED, None, node("n")), True, id="a node came"),
        pytest.param(ObjectEvent(Kind.NODE, Change.NODE_TAINTS, node("n"), node("n")), False, id="taints changed"),
        pytest.param(ObjectEvent(Kind.PERSISTENT_VOLUME_CLAIM, Change.UPDATED, BOUND, BOUND), True, id="its claim"),
        pytest.param(
            ObjectEvent(Kind.PERSISTENT_VOLUME_CLAIM, Change.ADDED, None, claim("other")), False, id="another claim"
        ),
        pytest.param(
            ObjectEvent(Kind.PERSISTENT_VOLUME_CLAIM, Change.ADDED, None, claim("c", namespace="web")),
            False,
            id="a claim of that name elsewhere",
        ),
        pytest.param(ObjectEvent(Kind.PERSISTENT_VOLUME, Change.ADDED, None, volume("v")), True, id="a volume came"),
        pytest.param(
            ObjectEvent(Kind.PERSISTENT_VOLUME, Change.UPDATED, volume("v"), volume("v", labels={ZONE: "a"})),
            True,
            id="a volume moved",
        ),
        pytest.param(
            ObjectEvent(Kind.PERSISTENT_VOLUME, Change.UPDATED, volume("v"), volume("v", labels={"x": "y"})),
            False,
            id="a volume changed otherwise",
        ),
    ],
)
def test_wakes(event: ObjectEvent, want: bool) -> None:
    parked = PodCompiler().compile(pod(claims=["c"]))
    view = cluster().view()

    heard = [wake for wake in VolumeZone.wakes if wake.hears(event)]

    assert want == any(wake.when is None or wake.when(parked, event, view) for wake in heard)
