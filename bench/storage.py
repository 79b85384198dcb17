"""Volumes and claims of the cases."""

from collections.abc import Iterable, Iterator

from bench.wants import Document, Want

DRIVER = "ebs.csi.aws.com"
PLACES = 39
HOSTNAME = "kubernetes.io/hostname"
MIGRATED = {"storage.alpha.kubernetes.io/migrated-plugins": "kubernetes.io/aws-ebs"}
CLASSES = {"delayed": DRIVER, "local": "kubernetes.io/no-provisioner"}


def storage(kind: str) -> Want:
    """What a case asks for by name."""
    return DelayedVolumes(kind) if kind in CLASSES else BoundVolumes(kind)


class BoundVolumes:
    """Every pod has a volume that is bound to its claim; with a driver, nodes have room for so many."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self.configuration: Document = {}

    def cluster(self, nodes: list[Document]) -> Iterator[Document]:
        """What drivers say of the nodes."""
        if self._kind == "in-tree":
            return
        for node in nodes:
            yield csi_node(node["metadata"]["name"], MIGRATED if self._kind == "migrated" else {})

    def equip(self, i: int, pod: Document) -> Iterable[Document]:
        """A volume and its claim."""
        claim = claim_for(pod)
        volume = volume_named(f"volume-{i}")
        source = (
            {"csi": {"driver": DRIVER, "volumeHandle": f"volume-{i}"}}
            if self._kind == "csi"
            else {"awsElasticBlockStore": {"volumeID": f"volume-{i}"}}
        )
        volume["spec"] |= {**source, "claimRef": reference(claim)}
        volume["status"] = {"phase": "Bound"}
        bind(claim, f"volume-{i}")
        return [volume, claim]


class DelayedVolumes:
    """Claims that wait for their first consumer; those of running pods are bound."""

    def __init__(self, kind: str) -> None:
        self._local = kind == "local"
        self._provisioner = CLASSES[kind]
        self.configuration: Document = {}

    def cluster(self, nodes: list[Document]) -> Iterator[Document]:
        """The class, what the driver says of the nodes, and local volumes for all of them."""
        yield {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": "delayed"},
            "provisioner": self._provisioner,
            "volumeBindingMode": "WaitForFirstConsumer",
        }
        for node in nodes:
            name = node["metadata"]["name"]
            if self._local:
                yield local_volume(name)
            else:
                yield csi_node(name, {})

    def equip(self, i: int, pod: Document) -> Iterable[Document]:
        """A claim, bound where the pod runs."""
        claim = claim_for(pod)
        claim["spec"] |= {"storageClassName": "delayed", "accessModes": ["ReadWriteOnce"]}
        if "nodeName" not in pod["spec"]:
            return [claim]
        volume = local_volume(pod["spec"]["nodeName"])
        volume["spec"] |= {"claimRef": reference(claim)}
        if not self._local:
            volume["metadata"] = {"name": f"made-{i}"}
            del volume["spec"]["local"]
            volume["spec"] |= {"csi": {"driver": DRIVER, "volumeHandle": f"made-{i}"}}
        volume["status"] = {"phase": "Bound"}
        bind(claim, volume["metadata"]["name"])
        return [volume, claim]


def csi_node(name: str, annotations: Document) -> Document:
    """A node with the driver."""
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSINode",
        "metadata": {"name": name, "annotations": annotations},
        "spec": {"drivers": [{"name": DRIVER, "nodeID": name, "topologyKeys": [], "allocatable": {"count": PLACES}}]},
    }


def volume_named(name: str) -> Document:
    """A volume without a source."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadOnlyMany"],
            "persistentVolumeReclaimPolicy": "Retain",
        },
    }


def local_volume(node_name: str) -> Document:
    """A volume on a node."""
    volume = volume_named(f"local-{node_name}")
    volume["spec"] |= {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "delayed",
        "local": {"path": "/data"},
        "nodeAffinity": {
            "required": {
                "nodeSelectorTerms": [
                    {"matchExpressions": [{"key": HOSTNAME, "operator": "In", "values": [node_name]}]}
                ]
            }
        },
    }
    volume["status"] = {"phase": "Available"}
    return volume


def claim_for(pod: Document) -> Document:
    """A claim that the pod uses."""
    meta = pod["metadata"]
    name = f"data-{meta['name']}"
    pod["spec"]["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": name}}]
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"namespace": meta["namespace"], "name": name, "uid": f"uid-{meta['namespace']}-{name}"},
        "spec": {"accessModes": ["ReadOnlyMany"], "resources": {"requests": {"storage": "1Gi"}}},
    }


def reference(claim: Document) -> Document:
    """What a volume says of its claim."""
    meta = claim["metadata"]
    return {"kind": "PersistentVolumeClaim", **{key: meta[key] for key in ("namespace", "name", "uid")}}


def bind(claim: Document, volume_name: str) -> None:
    """Bind a claim to a volume."""
    claim["metadata"]["annotations"] = {"pv.kubernetes.io/bind-completed": "true"}
    claim["spec"]["volumeName"] = volume_name
    claim["status"] = {"phase": "Bound"}
