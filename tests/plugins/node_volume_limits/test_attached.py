"""What is counted step by step is what is counted at once, and what a reading of upstream's loop counts."""

from collections.abc import Callable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from stowplan.api.pod import Pod
from stowplan.api.storage import CSINode, PersistentVolume, PersistentVolumeClaim, VolumeAttachment
from stowplan.api.volumes import AWSElasticBlockStoreVolumeSource, Volume
from stowplan.columns.cluster import Cluster
from stowplan.framework.verdict import Rejection
from stowplan.plugins.node_volume_limits.plugin import TOO_MANY, NodeVolumeLimits
from stowplan.testing.builders import cluster, node, pod
from stowplan.testing.properties import assert_rows_agree, assert_worlds_agree
from stowplan.testing.running import run_filter
from stowplan.testing.storage import attachment, claim, csi_node, storage_class, volume

DRIVERS = ("ebs.csi.aws.com", "csi.example.com")
NODES = ("n0", "n1", "n2")
NAMES = ("a", "b", "c", "d")

names = st.sampled_from(NAMES)
ebs = st.builds(
    lambda name: Volume(name=name, aws_elastic_block_store=AWSElasticBlockStoreVolumeSource(volume_id=name)), names
)
drivers = st.sampled_from(DRIVERS)


def pods(name: str, where: st.SearchStrategy[str]) -> st.SearchStrategy[Pod]:
    return st.builds(
        lambda on, claims, volumes: pod(name, on=on, claims=claims, volumes=volumes),
        where,
        st.lists(names, max_size=3),
        st.lists(ebs, max_size=2),
    )


limits = st.dictionaries(drivers, st.none() | st.integers(0, 4))
objects: st.SearchStrategy[Any] = st.one_of(
    st.builds(csi_node, st.sampled_from(NODES), limits),
    st.builds(lambda name, driver: volume(name, driver=driver), names, drivers),
    st.builds(
        lambda name, handle: volume(name, aws_elastic_block_store=AWSElasticBlockStoreVolumeSource(volume_id=handle)),
        names,
        names,
    ),
    st.builds(lambda name, to: claim(name, bound_to=to, storage_class="fast"), names, st.just("") | names),
    st.builds(
        lambda name, of, to, by: attachment(name, of=of, to=to, by=by), names, names, st.sampled_from(NODES), drivers
    ),
    st.integers(0, 5).flatmap(lambda i: pods(f"p{i}", st.sampled_from(NODES))),
    st.builds(node, st.sampled_from(NODES)),
)
scenes = st.lists(objects, min_size=4, max_size=16).map(lambda some: [storage_class(), *map(node, NODES), *some])


def removal(kind: type[Any], key: str) -> Callable[[Cluster], object]:
    return lambda built: built.remove_object(kind, key)


steps = st.lists(
    st.one_of(
        objects.map(lambda obj: lambda built: built.put(obj)),
        st.builds(removal, st.sampled_from([PersistentVolume, VolumeAttachment]), names),
        st.builds(lambda name: removal(PersistentVolumeClaim, f"default/{name}"), names),
        st.builds(lambda name: removal(CSINode, name), st.sampled_from(NODES)),
        st.builds(lambda i: lambda built: built.remove_pod(f"uid-default-p{i}"), st.integers(0, 5)),
        st.builds(lambda name: lambda built: built.remove_node(name), st.sampled_from(NODES)),
    ),
    min_size=1,
    max_size=8,
)
everything = pod(
    "asking",
    claims=NAMES[:3],
    volumes=[Volume(name="z", aws_elastic_block_store=AWSElasticBlockStoreVolumeSource(volume_id="z"))],
)


def volumes_of(built: Cluster, asking: Pod) -> dict[str, str]:
    """Unique name to driver, as on a node with a CSINode."""
    found = {}
    for mounted in asking.spec.volumes:
        if mounted.aws_elastic_block_store is not None:
            found[f"{DRIVERS[0]}/{mounted.aws_elastic_block_store.volume_id}"] = DRIVERS[0]
            continue
        assert mounted.persistent_volume_claim is not None
        name = mounted.persistent_volume_claim.claim_name
        asked = built.objects.get(PersistentVolumeClaim, f"default/{name}")
        if asked is None:
            continue
        bound = built.objects.get(PersistentVolume, asked.spec.volume_name)
        if bound is None:
            found[f"{DRIVERS[1]}/to come {name}"] = DRIVERS[1]
        elif bound.spec.csi is not None:
            found[f"{bound.spec.csi.driver}/{bound.spec.csi.volume_handle}"] = bound.spec.csi.driver
        elif bound.spec.aws_elastic_block_store is not None:
            found[f"{DRIVERS[0]}/{bound.spec.aws_elastic_block_store.volume_id}"] = DRIVERS[0]
    return found


def twin(built: Cluster, asking: Pod, name: str) -> Rejection | None:
    csi = built.objects.get(CSINode, name)
    if csi is None:
        return None
    there: dict[str, str] = {}
    for placed in built.nodes.pods_on[built.nodes.row_of[name]]:
        there |= volumes_of(built, placed.pod)
    new = {key: driver for key, driver in volumes_of(built, asking).items() if key not in there}
    attached = dict(there)
    for one in built.objects.all(VolumeAttachment).values():
        bound = built.objects.get(PersistentVolume, one.spec.source.persistent_volume_name or "")
        if one.spec.node_name == name and bound is not None and bound.spec.csi is not None:
            attached[f"{one.spec.attacher}/{bound.spec.csi.volume_handle}"] = one.spec.attacher
    for driver in csi.spec.drivers:
        limit = driver.allocatable.count if driver.allocatable is not None else None
        coming = list(new.values()).count(driver.name)
        if limit is not None and coming and list(attached.values()).count(driver.name) + coming > limit:
            return TOO_MANY
    return None


@settings(max_examples=150)
@given(scenes, steps)
def test_counting_step_by_step(scene: list[Any], changes: list[Callable[[Cluster], object]]) -> None:
    built, plugin = cluster(*scene), NodeVolumeLimits()
    for change in (None, *changes):
        if change is not None:
            change(built)
        for name in NAMES[:3]:
            if built.objects.get(PersistentVolumeClaim, f"default/{name}") is None:
                built.put(claim(name, storage_class="fast"))
        answer = run_filter(plugin, built, everything)
        got = {name: answer.on(name) for name in built.view().rows.names}
        assert {name: twin(built, everything, name) for name in got} == got


@settings(max_examples=60)
@given(scenes, pods("guest", st.just("")))
def test_rows_and_worlds(scene: list[Any], guest: Pod) -> None:
    scene = [*scene, *(claim(name, storage_class="fast") for name in NAMES)]

    assert_rows_agree(NodeVolumeLimits(), cluster(*scene), everything)
    assert_worlds_agree(NodeVolumeLimits(), lambda: cluster(*scene), everything, guest)
