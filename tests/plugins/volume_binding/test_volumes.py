"""The best volume for a claim, on all nodes at once, against a twin that asks volume by volume."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stowplan.api.claims import claim_class, volume_class
from stowplan.api.errors import SelectorError
from stowplan.api.quantity import nano_value
from stowplan.api.selectors import compile_label_selector
from stowplan.api.storage import PersistentVolume, PersistentVolumeClaim
from stowplan.columns.cluster import Cluster
from stowplan.plugins.volume_binding.affinity import mismatch
from stowplan.plugins.volume_binding.assume_cache import AssumeCache
from stowplan.plugins.volume_binding.volumes import NONE, VolumeTable
from stowplan.testing.builders import HOSTNAME, ZONE, cluster, node, node_term, select
from stowplan.testing.storage import claim, volume

BETA = "volume.beta.kubernetes.io/storage-class"


def match(built: Cluster, *claims: PersistentVolumeClaim) -> list[dict[str, str | None]]:
    """Per claim: node to the name of the volume it gets there."""
    cache = AssumeCache(PersistentVolume, "persistentvolumes")
    cache.watch(built.objects)
    table = VolumeTable(cache)
    return match_in(table, built, *claims)


def match_in(table: VolumeTable, built: Cluster, *claims: PersistentVolumeClaim) -> list[dict[str, str | None]]:
    table.catch_up(built.objects)
    rows = built.view().rows
    taken: list[Any] = []
    found = []
    for one in claims:
        slots = table.match(rows, one, taken)
        taken.append(slots)
        named = [None if slot == NONE else table.volume(slot).name for slot in slots.tolist()]
        found.append(dict(zip(rows.names, named, strict=True)))
    return found


@pytest.mark.parametrize(
    ("volumes", "asking", "want"),
    [
        pytest.param([volume("a", size="9Gi"), volume("b", size="6Gi")], claim(), "b", id="the smallest that fits"),
        pytest.param([volume("a", size="4Gi")], claim(), None, id="one that is too small"),
        pytest.param([volume("a", size="5Gi")], claim(), "a", id="one of the very size"),
        pytest.param([volume("b"), volume("a")], claim(), "b", id="of equals the one that came first"),
        pytest.param([volume("a", storage_class="slow")], claim(storage_class="fast"), None, id="another class"),
        pytest.param(
            [volume("a", storage_class="slow", annotations={BETA: "fast"})],
            claim(storage_class="fast"),
            "a",
            id="the class of the old annotation",
        ),
        pytest.param([volume("a")], claim(storage_class=None), "a", id="no class on either side"),
        pytest.param([volume("a", mode="Block")], claim(), None, id="another mode"),
        pytest.param([volume("a", mode="Filesystem")], claim(), "a", id="the mode that is meant by none"),
        pytest.param([volume("a")], claim(modes=["ReadWriteMany"]), None, id="a lacking access mode"),
        pytest.param(
            [volume("a", modes=["ReadWriteOnce", "ReadOnlyMany"])], claim(), "a", id="more access modes than asked for"
        ),
        pytest.param([volume("a", attributes="gold")], claim(), None, id="other attributes"),
        pytest.param([volume("a", attributes="gold")], claim(attributes="gold"), "a", id="the same attributes"),
        pytest.param([volume("a", phase="Released")], claim(), None, id="a volume that is not available"),
        pytest.param([volume("a", deleted="2024-01-01T00:00:00Z")], claim(), None, id="a volume that is going"),
        pytest.param([volume("a", claim=claim("x"))], claim(), None, id="a volume of another claim"),
        pytest.param(
            [volume("a"), volume("b", size="20Gi", claim=claim())],
            claim(),
            "b",
            id="one made for the claim counts first",
        ),
        pytest.param([volume("a", claim=claim(), phase="Released")], claim(), "a", id="whatever its phase"),
        pytest.param([volume("a", claim=claim(), size="1Gi")], claim(), None, id="unless it is too small"),
        pytest.param(
            [volume("a", claim=claim(), on=[node_term((ZONE, "In", ["z"]))]), volume("b")],
            claim(),
            None,
            id="one made for the claim but out of reach is not replaced",
        ),
        pytest.param(
            [volume("a"), volume("b", labels={"tier": "x"})], claim(selector=select(tier="x")), "b", id="a selector"
        ),
        pytest.param([volume("a", on=[node_term((HOSTNAME, "In", ["m"]))])], claim(), None, id="one of another node"),
        pytest.param([volume("a", on=[node_term((HOSTNAME, "In", ["n"]))])], claim(), "a", id="one of the node"),
        pytest.param([volume("a", on=[])], claim(), None, id="an affinity without terms"),
        pytest.param(
            [volume("a", on=[node_term((HOSTNAME, "Like", ["n"]))])], claim(), None, id="a malformed affinity"
        ),
        pytest.param(
            [volume("a", on=[node_term((HOSTNAME, "In", ["n"]), (HOSTNAME, "In", ["m"]))])],
            claim(),
            None,
            id="a contradictory affinity",
        ),
        pytest.param([volume("a", on=[node_term(names=["m"])])], claim(), "a", id="node names are not looked at"),
    ],
)
def test_which_volume_a_claim_gets(
    volumes: list[PersistentVolume], asking: PersistentVolumeClaim, want: str | None
) -> None:
    assert [{"n": want}] == match(cluster(node("n"), *volumes), asking)


def test_the_claims_of_a_pod_get_different_volumes() -> None:
    here = [node_term((HOSTNAME, "In", ["n"]))]
    built = cluster(
        node("n"), node("m"), volume("a", size="6Gi", on=here), volume("b", size="7Gi"), volume("c", size="8Gi")
    )

    assert [{"n": "a", "m": "b"}, {"n": "b", "m": "c"}, {"n": "c", "m": None}] == match(
        built, claim("x"), claim("y"), claim("z")
    )


def test_a_malformed_selector_is_an_error() -> None:
    asking = claim(selector=select(("tier", "Like", ["x"])))

    with pytest.raises(SelectorError, match='"Like" is not a valid label selector operator'):
        match(cluster(node("n"), volume("a")), asking)


def twin(
    asking: PersistentVolumeClaim, volumes: list[PersistentVolume], taken: set[str], labels: dict[str, str]
) -> str | None:
    """The loop of the volume controller's helper, as the scheduler uses it."""
    best: PersistentVolume | None = None
    size = {one.name: nano_value(one.spec.capacity["storage"]) for one in volumes}
    for one in volumes:
        ref = one.spec.claim_ref
        meant = ref is not None and (ref.namespace, ref.name, ref.uid) == (
            asking.namespace,
            asking.name,
            ref.uid and asking.uid,
        )
        if one.name in taken or volume_class(one) != claim_class(asking) or (ref is not None and not meant):
            continue
        if size[one.name] < nano_value(asking.spec.resources.requests["storage"]):
            continue
        if (one.spec.volume_mode or "Filesystem") != (asking.spec.volume_mode or "Filesystem"):
            continue
        if one.metadata.deletion_timestamp is not None:
            continue
        fits = mismatch(one.spec.node_affinity, labels) is None
        if meant:
            return one.name if fits else None
        if one.status.phase != "Available" or not fits:
            continue
        selector = asking.spec.selector
        if selector is not None and not compile_label_selector(selector).matches(one.labels):
            continue
        if not set(asking.spec.access_modes) <= set(one.spec.access_modes):
            continue
        if best is None or size[best.name] > size[one.name]:
            best = one
    return None if best is None else best.name


zones, racks, hosts = st.sampled_from(["a", "b"]), st.sampled_from(["1", "2"]), st.sampled_from(["n0", "n1", "n2"])
terms = st.one_of(
    st.builds(lambda zone: node_term((ZONE, "In", [zone])), zones),
    st.builds(lambda zone, rack: node_term((ZONE, "In", [zone]), ("rack", "In", [rack])), zones, racks),
    st.builds(lambda host: node_term((HOSTNAME, "In", [host])), hosts),
    st.builds(lambda rack: node_term(("rack", "NotIn", [rack])), racks),
)
affinities = st.none() | st.lists(terms, max_size=2)
classes = st.sampled_from(["fast", "slow"])
modes = st.sampled_from([["ReadWriteOnce"], ["ReadOnlyMany"], ["ReadWriteOnce", "ReadOnlyMany"]])
claims = st.builds(
    lambda name, size, cls, mode, wanted, tier: claim(
        name,
        size=size,
        storage_class=cls,
        mode=mode,
        modes=wanted,
        selector=None if tier is None else select(tier=tier),
    ),
    st.sampled_from(["x", "y", "z"]),
    st.sampled_from(["1Gi", "5Gi", "5000M"]),
    classes,
    st.sampled_from([None, "Filesystem", "Block"]),
    modes,
    st.sampled_from([None, None, "1"]),
)


def volumes(name: str) -> st.SearchStrategy[PersistentVolume]:
    return st.builds(
        lambda size, cls, mode, offered, on, meant, tier, phase, gone: volume(
            name,
            size=size,
            storage_class=cls,
            mode=mode,
            modes=offered,
            on=on,
            claim=None if meant is None else claim(meant),
            labels={"tier": tier},
            phase=phase,
            deleted="2024-01-01T00:00:00Z" if gone else None,
        ),
        st.sampled_from(["2Gi", "5Gi", "5e9", "20Gi"]),
        classes,
        st.sampled_from([None, "Filesystem", "Block"]),
        modes,
        affinities,
        st.sampled_from([None, None, None, "x", "y"]),
        st.sampled_from(["1", "2"]),
        st.sampled_from(["Available", "Available", "Pending"]),
        st.sampled_from([False, False, False, True]),
    )


names = [f"v{i}" for i in range(6)]
nodes = st.lists(st.fixed_dictionaries({}, optional={ZONE: zones, "rack": racks}), min_size=1, max_size=3).map(
    lambda all_labels: [node(f"n{i}", labels=own) for i, own in enumerate(all_labels)]
)
histories = st.lists(st.sampled_from(names).flatmap(lambda name: st.tuples(st.just(name), st.none() | volumes(name))))


@settings(max_examples=200)
@given(nodes, histories, st.lists(claims, min_size=1, max_size=3), st.integers(0, 8))
def test_all_nodes_at_once_are_served_as_one_by_one(
    where: list[Any],
    history: list[tuple[str, PersistentVolume | None]],
    asking: list[PersistentVolumeClaim],
    early: int,
) -> None:
    built = cluster(*where)
    cache = AssumeCache(PersistentVolume, "persistentvolumes")
    cache.watch(built.objects)
    table = VolumeTable(cache)
    for i, (name, one) in enumerate(history):
        if i == early:
            match_in(table, built, asking[0])
        if one is None:
            built.remove_object(PersistentVolume, name)
        else:
            built.put(one)

    got = match_in(table, built, *asking)

    stored = sorted(built.objects.all(PersistentVolume).values(), key=lambda one: table.slot(one.name))
    for place in where:
        taken: set[str] = set()
        for wanted, found in zip(asking, got, strict=True):
            want = twin(wanted, stored, taken, place.labels)
            assert want == found[place.name]
            taken |= {want} if want else set()
