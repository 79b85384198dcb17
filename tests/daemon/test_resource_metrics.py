"""/metrics/resources: requests and limits of pods as the scheduler counts them."""

from typing import Any

import pytest

from stowplan.api.codec import decode_as
from stowplan.api.pod import Pod
from stowplan.daemon.resource_metrics import resource_exposition


def pod(resources: dict[str, Any], **spec: Any) -> Pod:
    """A pod with one container."""
    return decode_as(
        Pod,
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "web", "namespace": "shop"},
            "spec": {
                "schedulerName": "default-scheduler",
                "containers": [{"name": "c", "resources": resources}],
                **{key: value for key, value in spec.items() if key != "phase"},
            },
            "status": {"phase": spec["phase"]} if "phase" in spec else {},
        },
    )


@pytest.mark.parametrize(
    ("given", "want"),
    [
        pytest.param(
            pod({"requests": {"cpu": "250m"}}, nodeName="n1", priority=7),
            [
                'kube_pod_resource_request{namespace="shop",node="n1",pod="web",priority="7",resource="cpu",'
                'scheduler="default-scheduler",unit="cores"} 0.25'
            ],
            id="cpu is in cores, and who, where and how important is told",
        ),
        pytest.param(
            pod({"limits": {"memory": "1Gi"}}),
            [
                'kube_pod_resource_limit{namespace="shop",node="",pod="web",priority="",resource="memory",'
                'scheduler="default-scheduler",unit="bytes"} 1.073741824e+09'
            ],
            id="memory is in bytes; a waiting pod has no node",
        ),
        pytest.param(
            pod({"requests": {"hugepages-2Mi": "4Mi"}}),
            [
                'kube_pod_resource_request{namespace="shop",node="",pod="web",priority="",resource="hugepages-2Mi",'
                'scheduler="default-scheduler",unit="bytes"} 4.194304e+06'
            ],
            id="huge pages are in bytes",
        ),
        pytest.param(
            pod({"requests": {"example.com/gpu": 2}}),
            [
                'kube_pod_resource_request{namespace="shop",node="",pod="web",priority="",resource="example.com/gpu",'
                'scheduler="default-scheduler",unit=""} 2.0'
            ],
            id="what nobody knows has no unit",
        ),
        pytest.param(pod({"requests": {"cpu": "0"}}), [], id="nothing asked, nothing told"),
        pytest.param(
            pod({"requests": {"cpu": 1}}, nodeName="n1", phase="Succeeded"), [], id="an ended pod is left out"
        ),
    ],
)
def test_series(given: Pod, want: list[str]) -> None:
    lines = resource_exposition([given]).decode().splitlines()

    assert want == [line for line in lines if not line.startswith("#")]
