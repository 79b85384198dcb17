"""Strategic merge patches, on real types."""

from typing import Any

import pytest

from stowplan.apiserver.errors import ApiError
from stowplan.apiserver.patch.strategic import apply_strategic_patch
from stowplan.apiserver.schema.models import Models

POD = Models().get("core_v1", "Pod")
NODE = Models().get("core_v1", "Node")
DEPLOYMENT = Models().get("apps_v1", "Deployment")


def spec(**members: Any) -> dict[str, Any]:
    """An object with a specification."""
    return {"spec": members}


A, B, C = {"name": "a", "image": "1"}, {"name": "b", "image": "1"}, {"name": "c", "image": "1"}


@pytest.mark.parametrize(
    ("before", "patch", "want"),
    [
        pytest.param(spec(containers=[A, B]), spec(containers=[{"name": "b", "image": "2"}]),
                     spec(containers=[A, {"name": "b", "image": "2"}]), id="a container is changed by its name"),
        pytest.param(spec(containers=[A]), spec(containers=[B]), spec(containers=[A, B]), id="a container is added"),
        pytest.param(spec(containers=[A, B]), spec(containers=[{"name": "a", "$patch": "delete"}]),
                     spec(containers=[B]), id="a container is deleted by its name"),
        pytest.param(spec(containers=[A, B]), spec(containers=[C, {"$patch": "replace"}]), spec(containers=[C]),
                     id="all containers are replaced"),
        pytest.param(spec(containers=[A, B, C]),
                     {"spec": {"$setElementOrder/containers": [{"name": "c"}, {"name": "a"}]}},
                     spec(containers=[B, C, A]), id="the order is set, others keep their place"),
        pytest.param(spec(tolerations=[{"key": "a"}]), spec(tolerations=[{"key": "b"}]),
                     spec(tolerations=[{"key": "b"}]), id="tolerations are replaced whole"),
        pytest.param(spec(nodeSelector={"a": "1"}), spec(nodeSelector={"b": "2"}),
                     spec(nodeSelector={"a": "1", "b": "2"}), id="a map is merged"),
        pytest.param(spec(nodeSelector={"a": "1"}), spec(nodeSelector={"a": None}), spec(nodeSelector={}),
                     id="null takes away"),
        pytest.param(spec(hostNetwork=True), spec(hostNetwork=None), spec(), id="null takes a plain member away"),
        pytest.param({"metadata": {"finalizers": ["a", "b"]}}, {"metadata": {"finalizers": ["c", "a"]}},
                     {"metadata": {"finalizers": ["a", "b", "c"]}}, id="finalizers are a set"),
        pytest.param({"metadata": {"finalizers": ["a", "b"]}},
                     {"metadata": {"$deleteFromPrimitiveList/finalizers": ["a"]}},
                     {"metadata": {"finalizers": ["b"]}}, id="a finalizer is taken away"),
        pytest.param(spec(volumes=[{"name": "v", "emptyDir": {}}]),
                     spec(volumes=[{"name": "v", "$retainKeys": ["name", "hostPath"], "hostPath": {"path": "/"}}]),
                     spec(volumes=[{"name": "v", "hostPath": {"path": "/"}}]), id="a volume changes its kind"),
        pytest.param(spec(affinity={"nodeAffinity": {"x": 1}}),
                     spec(affinity={"$patch": "replace", "podAffinity": {}}), spec(affinity={"podAffinity": {}}),
                     id="an object is replaced whole"),
        pytest.param(spec(affinity={"nodeAffinity": {}}), spec(affinity={"$patch": "delete"}), spec(affinity={}),
                     id="an object is emptied"),
        pytest.param({"status": {"conditions": [{"type": "Ready", "status": "True"}]}},
                     {"status": {"conditions": [{"type": "Ready", "status": "False"}, {"type": "New"}]}},
                     {"status": {"conditions": [{"type": "Ready", "status": "False"}, {"type": "New"}]}},
                     id="conditions merge by their type"),
    ],
)  # fmt: skip
def test_a_pod_is_patched(before: dict[str, Any], patch: dict[str, Any], want: dict[str, Any]) -> None:
    assert want == apply_strategic_patch(before, patch, POD)


def test_the_target_is_left_alone() -> None:
    before = spec(containers=[A])

    apply_strategic_patch(before, spec(containers=[{"name": "a", "image": "2"}]), POD)

    assert spec(containers=[{"name": "a", "image": "1"}]) == before


def test_a_strategy_changes_its_type() -> None:
    before = spec(strategy={"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}})

    got = apply_strategic_patch(before, spec(strategy={"$retainKeys": ["type"], "type": "Recreate"}), DEPLOYMENT)

    assert spec(strategy={"type": "Recreate"}) == got


@pytest.mark.parametrize(
    ("patch", "want"),
    [
        pytest.param([], "a strategic merge patch is an object", id="a list"),
        pytest.param(spec(containers=[{"image": "2"}]), "does not contain declared merge key: name", id="no key"),
        pytest.param(spec(containers=["a"]), "cannot be patched with str", id="a text among objects"),
        pytest.param({"$patch": "burn"}, "unrecognized directive", id="an unknown directive"),
        pytest.param({"$setElementOrder/containers": 1}, "must be a list", id="an order that is no list"),
    ],
)
def test_a_bad_patch_is_refused(patch: Any, want: str) -> None:
    with pytest.raises(ApiError, match=want):
        apply_strategic_patch(spec(containers=[A]), patch, POD)


def test_addresses_of_a_node_merge_by_their_type() -> None:
    before = {"status": {"addresses": [{"type": "InternalIP", "address": "1"}]}}
    patch = {"status": {"addresses": [{"type": "Hostname", "address": "n"}]}}

    got = apply_strategic_patch(before, patch, NODE)

    assert ["InternalIP", "Hostname"] == [found["type"] for found in got["status"]["addresses"]]
