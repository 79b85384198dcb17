"""What a pod may say."""

from typing import Any

import pytest

from stowplan.apiserver.validation.pods import validate_pod

CONTAINER = {"name": "c", "image": "i"}
TERM = "requiredDuringSchedulingIgnoredDuringExecution"


def with_container(**members: Any) -> dict[str, Any]:
    """A specification with one container."""
    return {"containers": [{**CONTAINER, **members}]}


def spread(**members: Any) -> dict[str, Any]:
    """A specification with a spread constraint."""
    plain = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
    return {"containers": [CONTAINER], "topologySpreadConstraints": [{**plain, **members}]}


@pytest.mark.parametrize(
    ("spec", "want"),
    [
        pytest.param({"containers": [CONTAINER]}, [], id="a plain pod"),
        pytest.param({"containers": [CONTAINER, CONTAINER]}, ["spec.containers[1].name"], id="two of one name"),
        pytest.param(with_container(name="C"), ["spec.containers[0].name"], id="a bad name"),
        pytest.param(with_container(image=" i"), ["spec.containers[0].image"], id="a blank before the image"),
        pytest.param(with_container(imagePullPolicy="Maybe"), ["spec.containers[0].imagePullPolicy"], id="a policy"),
        pytest.param(with_container(ports=[{"containerPort": 70000}]), ["spec.containers[0].ports[0].containerPort"],
                     id="a port beyond ports"),
        pytest.param(with_container(volumeMounts=[{"name": "v", "mountPath": "/"}]),
                     ["spec.containers[0].volumeMounts[0].name"], id="a volume that is not there"),
        pytest.param(with_container(resources={"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}),
                     ["spec.containers[0].resources.requests"], id="more than the limit"),
        pytest.param(with_container(resources={"requests": {"memory": "-1"}}),
                     ["spec.containers[0].resources.requests[memory]"], id="less than nothing"),
        pytest.param(with_container(resources={"requests": {"x.com/gpu": "1"}}),
                     ["spec.containers[0].resources.limits"], id="a device without a limit"),
        pytest.param(with_container(resources={"limits": {"x.com/gpu": "500m"}}),
                     ["spec.containers[0].resources.limits[x.com/gpu]"], id="half a device"),
        pytest.param({"containers": [CONTAINER], "volumes": [{"name": "v", "emptyDir": {}, "hostPath": {}}]},
                     ["spec.volumes[0].hostPath"], id="a volume of two kinds"),
        pytest.param({"containers": [CONTAINER], "nodeSelector": {"a b": "c"}}, ["spec.nodeSelector"], id="a label"),
        pytest.param({**with_container(), "hostUsers": False, "hostNetwork": True, "hostPID": True},
                     ["spec.hostNetwork", "spec.HostPID"], id="users of its own among the node's"),
        pytest.param(spread(), [], id="a spread"),
        pytest.param(spread(maxSkew=0), ["spec.topologySpreadConstraints[0].maxSkew"], id="no skew"),
        pytest.param(spread(minDomains=1, whenUnsatisfiable="ScheduleAnyway"),
                     ["spec.topologySpreadConstraints[0].minDomains"], id="domains of a wish"),
        pytest.param(spread(nodeTaintsPolicy="Guess"), ["spec.topologySpreadConstraints[0].nodeTaintsPolicy"],
                     id="an unknown policy"),
        pytest.param({"containers": [CONTAINER], "affinity": {"podAffinity": {TERM: [{}]}}},
                     [f"spec.affinity.podAffinity.{TERM}[0].topologyKey"] * 3, id="affinity without a topology"),
        pytest.param({"containers": [CONTAINER], "affinity": {"nodeAffinity": {TERM: {"nodeSelectorTerms": []}}}},
                     [f"spec.affinity.nodeAffinity.{TERM}.nodeSelectorTerms"], id="affinity without a term"),
        pytest.param({"containers": [CONTAINER], "affinity": {"nodeAffinity": {TERM: {"nodeSelectorTerms": [
            {"matchExpressions": [{"key": "a", "operator": "Like", "values": ["b"]}]}]}}}},
            [f"spec.affinity.nodeAffinity.{TERM}.nodeSelectorTerms[0].matchExpressions[0].operator"],
            id="an unknown operator"),
        pytest.param({"containers": [CONTAINER], "tolerations": [{"key": "a", "tolerationSeconds": 5}]},
                     ["spec.tolerations[0].effect"], id="seconds without NoExecute"),
    ],
)  # fmt: skip
def test_a_specification(spec: dict[str, Any], want: list[str]) -> None:
    assert want == [cause.field for cause in validate_pod({"spec": spec})]
