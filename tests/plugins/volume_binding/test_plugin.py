"""VolumeBinding's filter: bound claims, claims that wait for a node, claims that somebody else binds."""

from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stowplan.api.claims import SELECTED_NODE
from stowplan.api.meta import KubeObject, RawQuantity
from stowplan.api.pod import Pod
from stowplan.api.storage import CSIStorageCapacity, PersistentVolume, PersistentVolumeClaim, StorageClass
from stowplan.api.volumes import AWSElasticBlockStoreVolumeSource
from stowplan.framework.plugin import PluginError
from stowplan.framework.verdict import Rejection, unresolvable
from stowplan.plugins.volume_binding.finding import BIND_CONFLICT, NODE_CONFLICT, NOT_ENOUGH_SPACE, VOLUME_MISSING
from stowplan.plugins.volume_binding.plugin import VolumeBinding
from stowplan.testing.builders import HOSTNAME, ZONE, cluster, node, node_term, pod, select
from stowplan.testing.properties import assert_rows_agree
from stowplan.testing.running import run_filter
from stowplan.testing.storage import claim, csi_driver, csi_node, ephemeral, pool, storage_class, volume

CSI = "csi.example.com"
FAST = storage_class()
LOCAL = storage_class("local", provisioner="kubernetes.io/no-provisioner")
WAITING = claim("c", storage_class="fast")
IN_A = [node_term((ZONE, "In", ["a"]))]
NODES = [node("n", zone="a"), node("m", zone="b")]


def on_both(objects: Iterable[KubeObject], *claims: str) -> tuple[Rejection | None, Rejection | None]:
    answer = run_filter(VolumeBinding(), [*NODES, *objects], pod(claims=claims or ["c"]))
    return answer.on("n"), answer.on("m")


NO_AFFINITY = unresolvable(NODE_CONFLICT)
NO_VOLUME = unresolvable(BIND_CONFLICT)
NO_SPACE = unresolvable(NOT_ENOUGH_SPACE)
GONE = unresolvable(VOLUME_MISSING)


@pytest.mark.parametrize(
    ("objects", "want"),
    [
        pytest.param([claim("c", bound_to="v"), volume("v")], (None, None), id="a bound volume without affinity"),
        pytest.param([claim("c", bound_to="v"), volume("v", on=IN_A)], (None, NO_AFFINITY), id="one with affinity"),
        pytest.param([claim("c", bound_to="v")], (GONE, GONE), id="a bound volume that is gone"),
        pytest.param([LOCAL, claim("c", storage_class="local")], (NO_VOLUME, NO_VOLUME), id="nothing to be had"),
        pytest.param(
            [LOCAL, claim("c", storage_class="local"), volume("v", storage_class="local", on=IN_A)],
            (None, NO_VOLUME),
            id="a volume to be had on one node",
        ),
        pytest.param([FAST, WAITING], (None, None), id="a volume can be made anywhere"),
        pytest.param(
            [storage_class(provisioner=""), WAITING], (NO_VOLUME, NO_VOLUME), id="nobody is there to make one"
        ),
        pytest.param(
            [storage_class(topologies=[{ZONE: ["b", "c"]}]), WAITING], (NO_VOLUME, None), id="where topologies allow it"
        ),
        pytest.param(
            [storage_class(topologies=[{ZONE: ["b"], HOSTNAME: ["n"]}, {ZONE: ["a"]}]), WAITING],
            (None, NO_VOLUME),
            id="one of several topology terms",
        ),
        pytest.param([storage_class(topologies=[{}]), WAITING], (NO_VOLUME, NO_VOLUME), id="an empty topology term"),
        pytest.param(
            [storage_class(topologies=[{"no key": ["a"]}]), WAITING], (NO_VOLUME, NO_VOLUME), id="a malformed one"
        ),
        pytest.param(
            [FAST, claim("c", storage_class="fast", annotations={SELECTED_NODE: "m"})],
            (NO_VOLUME, None),
            id="a node was selected before",
        ),
        pytest.param(
            [FAST, claim("c", storage_class="fast", annotations={SELECTED_NODE: "gone"})],
            (NO_VOLUME, NO_VOLUME),
            id="a node was selected that is gone",
        ),
        pytest.param(
            [
                claim("c", storage_class="fast", annotations={SELECTED_NODE: "n"}),
                FAST,
                volume("v", storage_class="fast"),
            ],
            (None, NO_VOLUME),
            id="then no other volume is looked for",
        ),
        pytest.param([FAST, WAITING, csi_driver(CSI, counts_room=True)], (NO_SPACE, NO_SPACE), id="no pool"),
        pytest.param(
            [
                FAST,
                WAITING,
                csi_driver(CSI, counts_room=True),
                pool("p", storage_class="fast", near=select(**{ZONE: "a"})),
            ],
            (None, NO_SPACE),
            id="a pool near one node",
        ),
        pytest.param(
            [FAST, WAITING, csi_driver(CSI, counts_room=True), pool("p", storage_class="fast", room="4Gi")],
            (NO_SPACE, NO_SPACE),
            id="a pool without room",
        ),
        pytest.param(
            [FAST, WAITING, csi_driver(CSI, counts_room=True), pool("p", storage_class="fast", largest="4Gi")],
            (NO_SPACE, NO_SPACE),
            id="a pool for smaller volumes",
        ),
        pytest.param(
            [FAST, WAITING, csi_driver(CSI, counts_room=True), pool("p", storage_class="slow")],
            (NO_SPACE, NO_SPACE),
            id="a pool of another class",
        ),
        pytest.param(
            [FAST, WAITING, csi_driver(CSI, counts_room=True), pool("p", storage_class="fast", room=None)],
            (NO_SPACE, NO_SPACE),
            id="a pool that does not say how large it is",
        ),
        pytest.param(
            [FAST, WAITING, csi_driver(CSI, counts_room=True), pool("p", storage_class="fast", near=None)],
            (NO_SPACE, NO_SPACE),
            id="a pool that is nowhere",
        ),
        pytest.param(
            [
                FAST,
                WAITING,
                csi_driver(CSI, counts_room=True),
                pool("p", storage_class="fast", near=select((ZONE, "Like", ["a"]))),
            ],
            (NO_SPACE, NO_SPACE),
            id="a pool with a malformed topology",
        ),
        pytest.param([FAST, WAITING, csi_driver(CSI)], (None, None), id="a driver that does not count its room"),
        pytest.param(
            [FAST, claim("c", storage_class="fast", size=None), csi_driver(CSI, counts_room=True)],
            (None, None),
            id="a claim without a size needs no room",
        ),
    ],
)
def test_filter(objects: list[KubeObject], want: tuple[Rejection | None, Rejection | None]) -> None:
    assert want == on_both(objects)


def test_reasons_are_given_together_in_upstreams_order() -> None:
    objects = [LOCAL, claim("c", bound_to="v"), volume("v", on=IN_A), claim("d", storage_class="local")]

    assert (NO_VOLUME, unresolvable(NODE_CONFLICT, BIND_CONFLICT)) == on_both(objects, "c", "d")


def test_larger_claims_are_served_after_smaller_ones() -> None:
    claims = [claim("big", size="8Gi", storage_class="local"), claim("small", size="1Gi", storage_class="local")]
    volumes = [volume("v", size="2Gi", storage_class="local"), volume("w", size="9Gi", storage_class="local")]

    assert (None, None) == on_both([LOCAL, *claims, *volumes], "big", "small")


def fatal(text: str) -> Rejection:
    return Rejection((text,), fatal=True)


@pytest.mark.parametrize(
    ("objects", "want"),
    [
        pytest.param(
            [FAST, claim("c", storage_class="fast", selector=select(("x", "Like", ["y"])))],
            "error creating internal label selector for claim: default/c: "
            '"Like" is not a valid label selector operator',
            id="a malformed selector",
        ),
        pytest.param(
            [
                csi_node("n", migrated=["kubernetes.io/aws-ebs"]),
                claim("c", bound_to="v"),
                volume("v", aws_elastic_block_store=AWSElasticBlockStoreVolumeSource(volume_id="aws://x/y")),
            ],
            "could not translate pv: failed to translate Kubernetes ID to EBS Volume ID "
            "Invalid format for AWS volume (aws://x/y)",
            id="a volume that cannot be translated",
        ),
    ],
)
def test_what_cannot_be_judged_is_an_error(objects: list[KubeObject], want: str) -> None:
    assert fatal(want) == on_both(objects)[0]


def test_in_tree_volumes_are_looked_for_by_the_drivers_labels_where_it_took_over() -> None:
    disk = volume("v", aws_elastic_block_store=AWSElasticBlockStoreVolumeSource(volume_id="vol-1"), on=IN_A)
    objects = [claim("c", bound_to="v"), disk, csi_node("n", migrated=["kubernetes.io/aws-ebs"])]

    assert (NO_AFFINITY, NO_AFFINITY) == on_both(objects)
    assert (None, NO_AFFINITY) == on_both(objects[:2])


@pytest.mark.parametrize(
    ("objects", "asking", "want"),
    [
        pytest.param([], pod(claims=["c"]), 'persistentvolumeclaim "c" not found', id="a missing claim"),
        pytest.param(
            [],
            pod(volumes=[ephemeral("e")]),
            'waiting for ephemeral volume controller to create the persistentvolumeclaim "pod-e"',
            id="an ephemeral volume without its claim",
        ),
        pytest.param(
            [claim("pod-e")],
            pod(volumes=[ephemeral("e")]),
            "PVC default/pod-e was not created for pod default/pod (pod is not owner)",
            id="an ephemeral volume with the claim of somebody else",
        ),
        pytest.param(
            [claim("c", bound_to="v", phase="Lost")],
            pod(claims=["c"]),
            'persistentvolumeclaim "c" bound to non-existent persistentvolume "v"',
            id="a lost claim",
        ),
        pytest.param(
            [claim("c", deleted="2024-01-01T00:00:00Z")],
            pod(claims=["c"]),
            'persistentvolumeclaim "c" is being deleted',
            id="a claim that is going",
        ),
        pytest.param(
            [claim("c", storage_class="fast"), storage_class(mode="Immediate")],
            pod(claims=["c"]),
            "pod has unbound immediate PersistentVolumeClaims",
            id="an immediate claim",
        ),
        pytest.param(
            [claim("c", storage_class="missing")],
            pod(claims=["c"]),
            "pod has unbound immediate PersistentVolumeClaims",
            id="a claim of a missing class",
        ),
        pytest.param(
            [claim("c")],
            pod(claims=["c"]),
            "pod has unbound immediate PersistentVolumeClaims",
            id="a claim without a class",
        ),
        pytest.param(
            [FAST, claim("c", storage_class="fast", bound_to="v", complete=False), volume("v")],
            pod(claims=["c"]),
            "pod has unbound immediate PersistentVolumeClaims",
            id="a claim that names its volume and is not bound yet",
        ),
    ],
)
def test_pods_wait_for_claims_that_cannot_be_used(objects: list[KubeObject], asking: Pod, want: str) -> None:
    assert unresolvable(want) == run_filter(VolumeBinding(), [*NODES, *objects], asking).rejected


def test_the_claim_of_an_ephemeral_volume_is_used() -> None:
    asking = pod(volumes=[ephemeral("e")])
    objects = [*NODES, claim("pod-e", bound_to="v", owner=asking), volume("v", on=IN_A)]

    assert {"n"} == run_filter(VolumeBinding(), objects, asking).passed()


def test_a_class_without_a_mode_is_an_error() -> None:
    with pytest.raises(PluginError) as raised:
        run_filter(VolumeBinding(), [*NODES, storage_class(mode=None), WAITING], pod(claims=["c"]))

    assert 'VolumeBindingMode not set for StorageClass "fast"' == str(raised.value)


def test_pods_without_claims_are_none_of_its_business() -> None:
    assert run_filter(VolumeBinding(), NODES, pod()).skipped


zones = st.sampled_from(["a", "b", "c"])
classes = st.sampled_from(["fast", "local", "zonal"])
sizes = st.sampled_from(["1Gi", "5Gi", "20Gi"])
affinities = st.none() | st.builds(lambda zone: [node_term((ZONE, "In", [zone]))], zones)
volumes = st.integers(0, 4).flatmap(
    lambda i: st.builds(
        lambda size, cls, on: volume(f"v{i}", size=size, storage_class=cls, on=on), sizes, classes, affinities
    )
)
pools = st.integers(0, 3).flatmap(
    lambda i: st.builds(
        lambda cls, room, zone: pool(f"p{i}", storage_class=cls, room=room, near=select(**{ZONE: zone})),
        classes,
        sizes,
        zones,
    )
)
claims = st.tuples(
    *(
        st.builds(
            lambda name, size, cls, to: claim(name, size=size, storage_class=cls, bound_to=to),
            st.just(name),
            sizes,
            classes,
            st.sampled_from(["", "", "v0", "v9"]),
        )
        for name in "xyz"
    )
)
scenes = st.builds(
    lambda placed, given, found, allowed, counts: [
        *(node(f"n{i}", zone=zone) for i, zone in enumerate(placed)),
        *given,
        *found,
        FAST,
        LOCAL,
        storage_class("zonal", topologies=[{ZONE: [allowed]}]),
        csi_driver(CSI, counts_room=counts),
    ],
    st.lists(zones, min_size=1, max_size=4),
    claims,
    st.lists(volumes | pools, max_size=8),
    zones,
    st.booleans(),
)


def twin(objects: list[KubeObject], asking: list[PersistentVolumeClaim], zone: str) -> Rejection | None:
    """FindPodVolumes for one node."""
    volumes = {one.name: one for one in objects if isinstance(one, PersistentVolume)}
    classes = {one.name: one for one in objects if isinstance(one, StorageClass)}
    pools = {one.key: one for one in objects if isinstance(one, CSIStorageCapacity)}.values()
    counted = csi_driver(CSI, counts_room=True) in objects

    def reaches(one: PersistentVolume) -> bool:
        return one.spec.node_affinity in (None, volume(on=[node_term((ZONE, "In", [zone]))]).spec.node_affinity)

    gib: dict[RawQuantity, int] = {"1Gi": 1, "5Gi": 5, "20Gi": 20}
    reasons: list[str] = []
    missing = False
    for one in asking:
        if one.spec.volume_name and not missing and not reasons:
            if one.spec.volume_name not in volumes:
                missing = True
            elif not reaches(volumes[one.spec.volume_name]):
                reasons.append(NODE_CONFLICT)
    taken: set[str] = set()
    unmatched = []
    for one in sorted(
        (c for c in asking if not c.spec.volume_name), key=lambda c: gib[c.spec.resources.requests["storage"]]
    ):
        wanted = gib[one.spec.resources.requests["storage"]]
        fitting = [
            v
            for v in volumes.values()
            if v.name not in taken
            and v.spec.storage_class_name == one.spec.storage_class_name
            and gib[v.spec.capacity["storage"]] >= wanted
            and reaches(v)
        ]
        if fitting:
            taken.add(min(fitting, key=lambda v: gib[v.spec.capacity["storage"]]).name)
        else:
            unmatched.append((one, wanted))
    for one, wanted in unmatched:
        of = classes[str(one.spec.storage_class_name)]
        if of.provisioner != CSI or (
            of.allowed_topologies and zone not in of.allowed_topologies[0].match_label_expressions[0].values
        ):
            reasons.append(BIND_CONFLICT)
            break
        if counted and not any(
            p.storage_class_name == of.name
            and gib[p.capacity or 0] >= wanted
            and p.node_topology == select(**{ZONE: zone})
            for p in pools
        ):
            reasons.append(NOT_ENOUGH_SPACE)
            break
    if missing:
        reasons.append(VOLUME_MISSING)
    return unresolvable(*reasons) if reasons else None


@settings(max_examples=200)
@given(scenes)
def test_all_nodes_at_once_are_judged_as_one_by_one(objects: list[KubeObject]) -> None:
    built = cluster(*objects)
    asking = [one for one in objects if isinstance(one, PersistentVolumeClaim)]

    answer = run_filter(VolumeBinding(), built, pod(claims=[one.name for one in asking]))

    for place in built.nodes.records:
        assert place is not None
        assert twin(objects, asking, place.labels[ZONE]) == answer.on(place.name)
    assert_rows_agree(VolumeBinding(), built, pod(claims=[one.name for one in asking]))
