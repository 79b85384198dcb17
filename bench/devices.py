"""Devices of the cases, and claims for them."""

from collections import Counter
from collections.abc import Iterable, Iterator

from bench.wants import Document, Want

DRIVER = "test-driver.cdi.k8s.io"
SELECTOR = f'device.driver == "{DRIVER}"'
SCORED: Document = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [
        {
            "schedulerName": "default-scheduler",
            "pluginConfig": [
                {
                    "name": "NodeResourcesFit",
                    "args": {
                        "scoringStrategy": {
                            "type": "LeastAllocated",
                            "resources": [
                                {"name": "cpu", "weight": 1},
                                {"name": "memory", "weight": 1},
                                {"name": "example.com/gpu-0", "weight": 1},
                            ],
                        }
                    },
                }
            ],
        }
    ],
}


def devices(asked: Document) -> Want:
    """What a case asks for."""
    return ExtendedDevices(asked) if asked["by"] == "extended" else ClaimedDevices(asked)


class ClaimedDevices:
    """Every pod has a claim for one device; those of running pods are allocated."""

    def __init__(self, asked: Document) -> None:
        self._each = asked["each"]
        self._given: Counter[str] = Counter()
        self.configuration: Document = {}

    def cluster(self, nodes: list[Document]) -> Iterator[Document]:
        """The class, and the devices of the nodes."""
        yield device_class("test-class")
        for node in nodes:
            yield device_slice(node["metadata"]["name"], self._each)

    def equip(self, _i: int, pod: Document) -> Iterable[Document]:
        """A claim for one device."""
        meta, spec = pod["metadata"], pod["spec"]
        name = f"claim-{meta['name']}"
        spec["resourceClaims"] = [{"name": "resource", "resourceClaimName": name}]
        request = {"name": "request", "exactly": {"deviceClassName": "test-class", "count": 1}}
        request["exactly"] |= {"allocationMode": "ExactCount"}
        claim: Document = {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": {"namespace": meta["namespace"], "name": name, "uid": f"uid-{name}"},
            "spec": {"devices": {"requests": [request]}},
        }
        if "nodeName" in spec:
            self._allocate(claim, pod)
        return [claim]

    def _allocate(self, claim: Document, pod: Document) -> None:
        node_name = pod["spec"]["nodeName"]
        at = self._given[node_name]
        self._given[node_name] += 1
        result = {"request": "request", "driver": DRIVER, "pool": node_name, "device": f"instance-{at}"}
        field = {"key": "metadata.name", "operator": "In", "values": [node_name]}
        claim["status"] = {
            "allocation": {
                "devices": {"results": [result]},
                "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [field]}]},
            },
            "reservedFor": [{"resource": "pods", "name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"]}],
        }


class ExtendedDevices:
    """Every pod asks for one of an extended resource that a device class serves."""

    def __init__(self, asked: Document) -> None:
        self._claimed = ClaimedDevices(asked)
        self._each = asked["each"]
        self._classes = asked["classes"]
        self.configuration: Document = SCORED if asked.get("scored") else {}

    def cluster(self, nodes: list[Document]) -> Iterator[Document]:
        """The classes, and the devices of the nodes."""
        for i in range(self._classes):
            yield device_class(f"class-{i}", f"example.com/gpu-{i}")
        for node in nodes:
            yield device_slice(node["metadata"]["name"], self._each)

    def equip(self, i: int, pod: Document) -> Iterable[Document]:
        """A request of the pod's container; a running pod has the claim that was made for it."""
        if "nodeName" in pod["spec"]:
            return self._claimed.equip(i, pod)
        requests = pod["spec"]["containers"][0]["resources"].setdefault("requests", {})
        requests[f"example.com/gpu-{i % self._classes}"] = "1"
        return []


def device_class(name: str, resource: str = "") -> Document:
    """A class of all devices of the driver."""
    spec: Document = {"selectors": [{"cel": {"expression": SELECTOR}}]}
    if resource:
        spec["extendedResourceName"] = resource
    return {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": name}, "spec": spec}


def device_slice(node_name: str, count: int) -> Document:
    """The devices of a node."""
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": f"slice-{node_name}"},
        "spec": {
            "driver": DRIVER,
            "nodeName": node_name,
            "pool": {"name": node_name, "generation": 1, "resourceSliceCount": 1},
            "devices": [device(i) for i in range(count)],
        },
    }


def device(i: int) -> Document:
    """One device."""
    return {
        "name": f"instance-{i}",
        "attributes": {
            "model": {"string": "A100"},
            "family": {"string": "GPU"},
            "driverVersion": {"version": "1.2.3"},
            "numa": {"int": i},
        },
        "capacity": {"memory": {"value": "1Gi"}},
    }
