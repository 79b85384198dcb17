"""VolumeRestrictions: disks that are written once, claims that are used once."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stowplan.api.claims import READ_WRITE_ONCE_POD
from stowplan.api.pod import Pod
from stowplan.api.volumes import (
    AWSElasticBlockStoreVolumeSource,
    GCEPersistentDiskVolumeSource,
    ISCSIVolumeSource,
    RBDVolumeSource,
    Volume,
)
from stowplan.columns.pods import PodCompiler
from stowplan.columns.worlds import Worlds
from stowplan.framework.verdict import Rejection, unresolvable
from stowplan.framework.wake import Change, Kind, ObjectEvent
from stowplan.plugins.volume_restrictions import CLAIM_IN_USE, DISK_CONFLICT, Restrictions, VolumeRestrictions
from stowplan.testing.builders import cluster, node, pod
from stowplan.testing.properties import assert_rows_agree, assert_worlds_agree
from stowplan.testing.running import run_filter
from stowplan.testing.storage import claim


def gce(name: str = "d", *, ro: bool = False) -> Volume:
    return Volume(gce_persistent_disk=GCEPersistentDiskVolumeSource(pd_name=name, read_only=ro))


def ebs(name: str = "d", *, ro: bool = False) -> Volume:
    return Volume(aws_elastic_block_store=AWSElasticBlockStoreVolumeSource(volume_id=name, read_only=ro))


def iscsi(name: str = "d", *, ro: bool = False) -> Volume:
    return Volume(iscsi=ISCSIVolumeSource(iqn=name, read_only=ro))


def rbd(*monitors: str, pool: str = "p", image: str = "i", ro: bool = False) -> Volume:
    return Volume(rbd=RBDVolumeSource(monitors=monitors, pool=pool, image=image, read_only=ro))


@pytest.mark.parametrize(
    ("wanted", "used", "want"),
    [
        pytest.param(gce(), gce(), DISK_CONFLICT, id="a disk is written twice"),
        pytest.param(gce(), gce("e"), None, id="another disk"),
        pytest.param(gce(ro=True), gce(ro=True), None, id="a disk is read twice"),
        pytest.param(gce(ro=True), gce(), DISK_CONFLICT, id="a disk is written and to be read"),
        pytest.param(gce(), gce(ro=True), DISK_CONFLICT, id="a disk is read and to be written"),
        pytest.param(ebs(ro=True), ebs(ro=True), DISK_CONFLICT, id="a block store is not even read twice"),
        pytest.param(ebs(), gce(), None, id="the name of a disk of another kind"),
        pytest.param(iscsi(ro=True), iscsi(ro=True), None, id="an iscsi unit is read twice"),
        pytest.param(iscsi(), iscsi(), DISK_CONFLICT, id="an iscsi unit is written twice"),
        pytest.param(rbd("a", "b"), rbd("b", "c"), DISK_CONFLICT, id="an image behind a common monitor"),
        pytest.param(rbd("a"), rbd("b"), None, id="an image behind other monitors"),
        pytest.param(rbd("a"), rbd("a", pool="q"), None, id="an image of another pool"),
        pytest.param(rbd("a"), rbd("a", image="j"), None, id="another image"),
        pytest.param(rbd("a", ro=True), rbd("a", ro=True), None, id="an image is read twice"),
    ],
)
def test_disks(wanted: Volume, used: Volume, want: Rejection | None) -> None:
    objects = [node("n"), node("free"), pod("old", on="n", volumes=[used])]

    answer = run_filter(VolumeRestrictions(), objects, pod(volumes=[wanted]))

    assert (want, None) == (answer.on("n"), answer.on("free"))


def test_a_claim_for_one_pod_only_rejects_all_nodes_while_it_is_used_anywhere() -> None:
    own = claim("c", modes=[READ_WRITE_ONCE_POD])

    answer = run_filter(
        VolumeRestrictions(), [node("n"), node("m"), own, pod("old", on="n", claims=["c"])], pod(claims=["c"])
    )

    assert {"n": CLAIM_IN_USE, "m": CLAIM_IN_USE} == answer.by_node


@pytest.mark.parametrize(
    "objects",
    [
        pytest.param([claim("c")], id="a claim that pods may share"),
        pytest.param([claim("c", modes=[READ_WRITE_ONCE_POD])], id="a claim that nobody uses"),
        pytest.param(
            [claim("c", modes=[READ_WRITE_ONCE_POD]), pod("old", namespace="web", on="n", claims=["c"])],
            id="a claim of that name elsewhere",
        ),
        pytest.param(
            [claim("c", modes=[READ_WRITE_ONCE_POD]), pod("old", on="gone", claims=["c"])],
            id="a claim used on a node that is gone",
        ),
    ],
)
def test_it_has_nothing_to_say_about_claims_that_are_free(objects: list[Pod]) -> None:
    assert run_filter(VolumeRestrictions(), [node("n"), *objects], pod(claims=["c"])).skipped


def test_a_missing_claim_is_named() -> None:
    want = unresolvable('persistentvolumeclaim "c" not found')

    assert want == run_filter(VolumeRestrictions(), [node("n")], pod(claims=["c"])).rejected


def test_evicting_the_user_of_a_claim_frees_it_in_its_world() -> None:
    own = claim("c", modes=[READ_WRITE_ONCE_POD])
    built = cluster(node("n"), node("m"), own, pod("old", on="n", claims=["c"]))
    view, asking = built.view(), built.compiler.compile(pod(claims=["c"]))
    plan = VolumeRestrictions().prepare(view, asking)
    assert isinstance(plan, Restrictions)
    worlds = Worlds(view, view.rows.index)
    worlds.remove(0, worlds.pods(0)[0])

    verdict = VolumeRestrictions().filter(asking, worlds, plan)

    assert [None, CLAIM_IN_USE] == [verdict.at(0), verdict.at(1)]


disks = st.lists(
    st.one_of(
        st.builds(lambda ro: gce(ro=ro), st.booleans()),
        st.builds(lambda ro: ebs(ro=ro), st.booleans()),
        st.builds(lambda ro: iscsi(ro=ro), st.booleans()),
        st.builds(
            lambda monitors, ro: rbd(*monitors, ro=ro), st.lists(st.sampled_from("ab"), max_size=2), st.booleans()
        ),
    ),
    max_size=2,
)


def twin(wanted: list[Volume], used: list[list[Volume]]) -> Rejection | None:
    return DISK_CONFLICT if any(clash(w, u) for w in wanted for volumes in used for u in volumes) else None


def clash(a: Volume, b: Volume) -> bool:
    if a.gce_persistent_disk and b.gce_persistent_disk:
        return not (a.gce_persistent_disk.read_only and b.gce_persistent_disk.read_only)
    if a.iscsi and b.iscsi:
        return not (a.iscsi.read_only and b.iscsi.read_only)
    if a.rbd and b.rbd:
        return bool({*a.rbd.monitors} & {*b.rbd.monitors}) and not (a.rbd.read_only and b.rbd.read_only)
    return bool(a.aws_elastic_block_store and b.aws_elastic_block_store)


@given(disks, st.lists(st.lists(disks, max_size=3), min_size=1, max_size=4), disks)
def test_all_nodes_and_worlds_are_judged_as_one_by_one(
    wanted: list[Volume], used: list[list[list[Volume]]], guest: list[Volume]
) -> None:
    placed = [pod(f"p{i}-{j}", on=f"n{i}", volumes=own) for i, pods in enumerate(used) for j, own in enumerate(pods)]
    objects = [*(node(f"n{i}") for i in range(len(used))), *placed]
    built = cluster(*objects)
    asking = pod("asking", volumes=wanted)

    answer = run_filter(VolumeRestrictions(), built, asking)

    assert [twin(wanted, pods) for pods in used] == [answer.on(f"n{i}") for i in range(len(used))]
    assert_rows_agree(VolumeRestrictions(), built, asking)
    assert_worlds_agree(VolumeRestrictions(), lambda: cluster(*objects), asking, pod("guest", volumes=guest))


def left(gone: Pod) -> ObjectEvent:
    return ObjectEvent(Kind.ASSIGNED_POD, Change.DELETED, PodCompiler().compile(gone), None)


@pytest.mark.parametrize(
    ("event", "want"),
    [
        pytest.param(left(pod("old", volumes=[gce()])), True, id="a pod with its disk went"),
        pytest.param(left(pod("old", volumes=[gce("e")])), False, id="a pod with another disk went"),
        pytest.param(left(pod("old", volumes=[gce()], namespace="web")), False, id="a pod of another namespace went"),
        pytest.param(left(pod("old", claims=["c"])), True, id="a pod with its claim went"),
        pytest.param(left(pod("old", claims=["d"])), False, id="a pod with another claim went"),
        pytest.param(ObjectEvent(Kind.NODE, Change.ADDED, None, node("n")), True, id="a node came"),
        pytest.param(ObjectEvent(Kind.PERSISTENT_VOLUME_CLAIM, Change.ADDED, None, claim("c")), True, id="its claim"),
        pytest.param(
            ObjectEvent(Kind.PERSISTENT_VOLUME_CLAIM, Change.ADDED, None, claim("d")), False, id="another claim"
        ),
        pytest.param(
            ObjectEvent(Kind.PERSISTENT_VOLUME_CLAIM, Change.UPDATED, claim("c"), claim("c")), False, id="it changed"
        ),
    ],
)
def test_wakes(event: ObjectEvent, want: bool) -> None:
    parked = PodCompiler().compile(pod(claims=["c"], volumes=[gce()]))
    heard = [wake for wake in VolumeRestrictions.wakes if wake.hears(event)]

    assert want == any(wake.when is None or wake.when(parked, event, cluster().view()) for wake in heard)
