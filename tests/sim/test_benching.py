"""Measuring counts what was placed and how long it took."""

import json

import pytest

from stowplan.clock import FakeClock
from stowplan.sim.benching import measure
from stowplan.sim.scenario import ScenarioError
from tests.sim.manifests import Document, node, pod, scenario


class TickingClock:
    """Every reading is a millisecond later."""

    def __init__(self) -> None:
        self._clock = FakeClock()

    def now(self) -> float:
        return self._clock.now()

    def monotonic(self) -> float:
        self._clock.advance(0.001)
        return self._clock.monotonic()


def line(*nodes: str, pods: int, **spec: str) -> bytes:
    bound = [pod("bound", nodeName=name) for name in nodes[:1]]
    objects = [*(node(name) for name in nodes), *bound]
    return json.dumps(scenario("s", *objects, pending=[pod(f"p{i}", **spec) for i in range(pods)])).encode()


def test_a_measurement() -> None:
    measured = measure(line("a", "b", pods=9), TickingClock())

    assert ("s", 2, 1, 9, 7, 2) == (
        measured.id,
        measured.nodes,
        measured.bound,
        measured.pods,
        measured.scheduled,
        measured.unschedulable,
    )
    assert (0.001, 0.009) == (measured.load_seconds, measured.seconds)
    assert 1000 == round(measured.pods_per_second)
    assert 1000 == round(measured.p50_us) == round(measured.p99_us)
    assert measured.max_rss_mb > 10


def test_nothing_to_place() -> None:
    measured = measure(line("a", pods=0), TickingClock())

    assert (0, 0.0, 0.0) == (measured.pods, measured.seconds, measured.pods_per_second)


def test_a_pod_of_another_scheduler_is_an_error() -> None:
    with pytest.raises(ScenarioError, match=r"^Pod default/p0: no profile for scheduler name 'other'$"):
        measure(line("a", pods=1, schedulerName="other"), TickingClock())


def test_what_a_pod_reserved_is_gone_for_those_that_follow() -> None:
    driver, names = "gpu.example.com", ["c0", "c1", "c2"]
    api = "resource.k8s.io/v1"
    pool = {"name": "a", "generation": 1, "resourceSliceCount": 1}
    devices = [{"name": "gpu-0"}, {"name": "gpu-1"}]
    request = {"name": "r", "exactly": {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1}}
    objects: list[Document] = [
        node("a"),
        {"apiVersion": api, "kind": "DeviceClass", "metadata": {"name": "gpu"}, "spec": {}},
        {
            "apiVersion": api,
            "kind": "ResourceSlice",
            "metadata": {"name": "s"},
            "spec": {"driver": driver, "nodeName": "a", "pool": pool, "devices": devices},
        },
        *(
            {
                "apiVersion": api,
                "kind": "ResourceClaim",
                "metadata": {"namespace": "default", "name": name, "uid": f"uid-{name}"},
                "spec": {"devices": {"requests": [request]}},
            }
            for name in names
        ),
    ]
    pending = [pod(f"p-{name}", resourceClaims=[{"name": "r", "resourceClaimName": name}]) for name in names]
    measured = measure(json.dumps(scenario("s", *objects, pending=pending)).encode(), TickingClock())

    assert (2, 1) == (measured.scheduled, measured.unschedulable)
