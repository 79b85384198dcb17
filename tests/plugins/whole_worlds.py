"""Whole clusters by chance: nodes, pods, volumes and devices in few kinds, so that all plugins meet and disagree."""

from dataclasses import dataclass, field
from random import Random
from typing import Final, final

from msgspec.structs import replace

from stowplan.api.affinity import Affinity
from stowplan.api.claims import SELECTED_NODE
from stowplan.api.meta import KubeObject
from stowplan.api.node import Node
from stowplan.api.pod import Container, ContainerPort, ContainerRestartRule, Pod, PodResourceClaim, ResourceRequirements
from stowplan.api.storage import PersistentVolume, PersistentVolumeClaim
from stowplan.api.volumes import GCEPersistentDiskVolumeSource, Volume
from stowplan.columns.cluster import Cluster
from stowplan.testing import builders, storage
from stowplan.testing.builders import HOSTNAME, ZONE, company, node_term, select, spread, taint, term, tolerate
from tests.plugins.dynamic_resources import devices
from tests.plugins.dynamic_resources.devices import gpu, piece

NODES: Final = ("n0", "n1", "n2", "n3", "n4")
ZONES: Final = ("a", "b")
CSI: Final = "csi.example.com"
CLAIMS: Final = ("c0", "c1", "c2", "c3")
VOLUMES: Final = ("v0", "v1", "v2", "v3")
DEVICES: Final = ("g0", "g1", "g2", "g3")
GPU: Final = "example.com/gpu"
MODEL: Final = f'device.attributes["{devices.DRIVER}"].model'
APPS: Final = ("x", "y")


@final
@dataclass(slots=True)
class World:
    """Makes objects, and changes them."""

    random: Random
    objects: dict[tuple[type[KubeObject], str], KubeObject] = field(default_factory=dict)
    """All there is, for whoever wants to build the same anew."""
    built: Cluster = field(default_factory=Cluster)

    def fill(self) -> None:
        """Most of everything, to start with."""
        fixed: list[KubeObject] = [
            storage.storage_class("fast", provisioner=CSI),
            storage.storage_class("zonal", provisioner=CSI, topologies=[{ZONE: ["a"]}]),
            storage.storage_class("local", provisioner="kubernetes.io/no-provisioner"),
            storage.storage_class("now", provisioner=CSI, mode="Immediate"),
            devices.device_class("gpu", extended_resource_name=GPU),
            devices.device_class("good", f'{MODEL} == "x"'),
        ]
        for obj in fixed:
            self.put(obj)
        for name in NODES[: self.random.randint(2, 5)]:
            self.put(self.node(name))
        for _ in range(25):
            self.change()

    def put(self, obj: KubeObject) -> None:
        """Put an object into the cluster and the books."""
        self.objects[type(obj), obj.key] = obj
        self.built.put(obj)

    def drop(self, kind: type[KubeObject], key: str) -> None:
        """Take it away, if it is there."""
        obj = self.objects.pop((kind, key), None)
        if obj is not None:
            self.built.remove(obj)

    def anew(self) -> Cluster:
        """The same cluster without a past."""
        order = sorted(self.objects.values(), key=lambda obj: isinstance(obj, Pod))
        return builders.cluster(*order)

    def change(self) -> None:
        """One step of its life."""
        r = self.random
        match r.randrange(10):
            case 0:
                name = r.choice(NODES)
                self.put(self.node(name))
            case 1:
                gone = r.choice(NODES)
                if not any(isinstance(obj, Pod) and obj.spec.node_name == gone for obj in self.objects.values()):
                    self.drop(Node, gone)
            case 2 | 3:
                self._change_pods()
            case 4 | 5:
                self._change_claims()
            case 6 | 7:
                self._change_volumes()
            case _:
                self._change_devices()

    def _change_pods(self) -> None:
        r = self.random
        name = f"p{r.randrange(8)}"
        old = self.objects.get((Pod, f"default/{name}"))
        homes = [key for kind, key in self.objects if kind is Node]
        if old is not None:
            self.drop(Pod, old.key)
        elif homes:
            self.put(self.pod(name, on=r.choice(homes)))

    def _change_claims(self) -> None:
        r = self.random
        if r.random() < 0.2:
            self.drop(PersistentVolumeClaim, f"default/{r.choice(CLAIMS)}")
            return
        to = r.choice(["", "", *VOLUMES])
        self.put(
            storage.claim(
                r.choice(CLAIMS),
                size=r.choice(["1Gi", "8Gi"]),
                storage_class=r.choice(["fast", "zonal", "local", "now"]),
                bound_to=to,
                modes=[r.choice(["ReadWriteOnce", "ReadWriteOnce", "ReadWriteOncePod"])],
                annotations={SELECTED_NODE: r.choice(NODES)} if not to and r.random() < 0.15 else {},
            )
        )

    def _change_volumes(self) -> None:
        r = self.random
        what = r.random()
        if what < 0.15:
            self.drop(PersistentVolume, r.choice(VOLUMES))
        elif what < 0.3:
            limit = r.choice([0, 1, 1, 2, None])
            self.put(storage.csi_node(r.choice(NODES), {CSI: limit}, migrated=["kubernetes.io/gce-pd"]))
        elif what < 0.4:
            self.put(storage.csi_driver(CSI, counts_room=r.random() < 0.5))
        elif what < 0.5:
            room = r.choice(["1Gi", "100Gi"])
            self.put(storage.pool("pool", storage_class="fast", room=room, near=select(**{ZONE: r.choice(ZONES)})))
        elif what < 0.6:
            self.put(storage.attachment("attached", of=r.choice(VOLUMES), to=r.choice(NODES)))
        else:
            place = r.choice([(ZONE, ZONES), (HOSTNAME, NODES)])
            on = [node_term((place[0], "In", [r.choice(place[1])]))] if r.random() < 0.6 else None
            driver = CSI if r.random() < 0.5 else ""
            labels = {ZONE: r.choice([*ZONES, "a__b"])} if r.random() < 0.5 else {}
            cls = r.choice(["fast", "local"])
            self.put(storage.volume(r.choice(VOLUMES), storage_class=cls, on=on, labels=labels, driver=driver))

    def _change_devices(self) -> None:
        r = self.random
        if r.random() < 0.5:
            on = r.choice(NODES)
            found = [gpu(str(i), model=r.choice("xy")) for i in range(r.randrange(3))]
            where = r.random()
            if where < 0.8:
                self.put(piece(*found, on=on, of=r.choice([1, 1, 1, 2])))
            else:
                self.put(piece(*found, everywhere=True))
            return
        pool = r.choice([*NODES, "shared"])
        held = devices.allocation((pool, r.choice("01")), on=pool if pool in NODES else None)
        wants = r.choice([devices.exactly(), devices.exactly(2), devices.exactly(of="good")])
        either = devices.first_of(("good", 1), ("gpu", 1))
        self.put(
            devices.claim(
                r.choice([wants, either]),
                name=r.choice(DEVICES),
                allocation=held if r.random() < 0.4 else None,
                version=r.randrange(100),
            )
        )

    def node(self, name: str) -> Node:
        """A node that may lack something."""
        r = self.random
        labels = {"disk": r.choice(["ssd", "hdd"]), "gen": r.choice("159")}
        return builders.node(
            name,
            cpu=r.choice([1, 4]),
            memory=r.choice(["1Gi", "8Gi"]),
            pods=r.choice([2, 110]),
            extended={GPU: 2} if r.random() < 0.3 else {},
            labels={key: value for key, value in labels.items() if r.random() < 0.8},
            zone=r.choice([*ZONES, *ZONES, None]),
            taints=[taint("own", effect=r.choice(["NoSchedule", "PreferNoSchedule"]))] if r.random() < 0.3 else [],
            cordoned=r.random() < 0.2,
            images={"big:latest": 800_000_000} if r.random() < 0.5 else {},
            features=["RestartAllContainersOnContainerExits"] if r.random() < 0.5 else [],
        )

    def pod(self, name: str, on: str = "") -> Pod:
        """A pod that wants some of everything; a waiting one may want more."""
        r = self.random
        asks: dict[str, str | int] = {"cpu": r.choice(["100m", "900m", "3"]), "memory": r.choice(["100Mi", "2Gi"])}
        if r.random() < 0.2:
            asks[GPU] = 1
        # parity: a port that two pods of a node have is free once one of them goes, so only one may have it
        ports = (ContainerPort(host_port=80, protocol="TCP"),) if r.random() < 0.3 and not self._uses_ports(on) else ()
        container = Container(
            name="c",
            image="big",
            ports=ports,
            resources=ResourceRequirements(requests={k: str(v) for k, v in asks.items()}),
            restart_policy_rules=(ContainerRestartRule(action="RestartAllContainers"),) if r.random() < 0.1 else (),
        )
        plain = builders.pod(
            name,
            labels={"app": r.choice(APPS)},
            on=on,
            containers=[container],
            claims=r.sample(CLAIMS, r.choice([0, 0, 1, 2])),
            volumes=self._disks(),
            tolerations=[tolerate("own", operator="Exists")] if r.random() < 0.5 else [],
            node_selector=r.choice([{}, {}, {"disk": "ssd"}]),
            affinity=self._affinity(),
            spread=[
                spread(select(app=r.choice(APPS)), r.choice([ZONE, HOSTNAME]), soft=r.random() < 0.5)
                for _ in range(r.choice([0, 1]))
            ],
        )
        wanted = tuple(
            PodResourceClaim(name=one, resource_claim_name=one) for one in r.sample(DEVICES, r.choice([0, 0, 1, 2]))
        )
        return replace(plain, spec=replace(plain.spec, resource_claims=wanted))

    def _uses_ports(self, name: str) -> bool:
        pods = (obj for obj in self.objects.values() if isinstance(obj, Pod) and obj.spec.node_name == name)
        return any(pod.spec.containers[0].ports for pod in pods)

    def _disks(self) -> list[Volume]:
        if self.random.random() < 0.7:
            return []
        return [Volume(name="disk", gce_persistent_disk=GCEPersistentDiskVolumeSource(pd_name="disk"))]

    def _affinity(self) -> Affinity | None:
        r = self.random
        like = term(select(app=r.choice(APPS)), r.choice([ZONE, HOSTNAME]))
        match r.randrange(6):
            case 0:
                return company(near=[like])
            case 1:
                return company(far=[like])
            case 2:
                return company(prefer_near=[(10, like)], prefer_far=[(3, term(select(app="y"), ZONE))])
            case 3:
                wanted = node_term(("gen", r.choice(["Gt", "Lt"]), ["4"]))
                return builders.on_nodes(wanted, prefer=[(5, node_term(("disk", "In", ["ssd"])))])
            case _:
                return None
