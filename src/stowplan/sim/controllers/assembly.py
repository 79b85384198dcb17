"""All controllers of a simulated cluster, in one list."""

import random

from stowplan.client.events import EventRecorder
from stowplan.client.transport import ApiClient
from stowplan.clock import Clock
from stowplan.sim.cluster.inventory import Inventory
from stowplan.sim.cluster.pace import Pace
from stowplan.sim.cluster.work import Controller
from stowplan.sim.controllers.budgets import Budgets
from stowplan.sim.controllers.claims import Claims
from stowplan.sim.controllers.daemon_sets import DaemonSets
from stowplan.sim.controllers.deployments import Deployments
from stowplan.sim.controllers.ephemeral_volumes import EphemeralVolumes
from stowplan.sim.controllers.garbage import Garbage
from stowplan.sim.controllers.job_orphans import JobOrphans
from stowplan.sim.controllers.jobs import Jobs
from stowplan.sim.controllers.namespaces import Namespaces
from stowplan.sim.controllers.node_health import NodeHealth
from stowplan.sim.controllers.node_taints import NodeTaints
from stowplan.sim.controllers.pod_gc import PodCollector
from stowplan.sim.controllers.replica_sets import ReplicaSets
from stowplan.sim.controllers.resource_claims import ResourceClaims
from stowplan.sim.controllers.stateful_sets import StatefulSets
from stowplan.sim.controllers.taint_eviction import TaintEviction
from stowplan.sim.controllers.told import Told
from stowplan.sim.controllers.volumes import Volumes


def all_controllers(
    client: ApiClient, inventory: Inventory, recorder: EventRecorder, pace: Pace, *, clock: Clock, rng: random.Random
) -> tuple[list[Controller], Garbage]:
    """Every controller, ready to run; the garbage collector among them has watches of its own."""
    garbage = Garbage(client, inventory, clock=clock, rng=rng)
    controllers: list[Controller] = [
        Deployments(inventory, Told(recorder, "deployment-controller"), clock=clock),
        ReplicaSets(
            inventory,
            inventory.replica_sets,
            Told(recorder, "replicaset-controller"),
            name="replicasets",
            clock=clock,
        ),
        ReplicaSets(
            inventory,
            inventory.replication_controllers,
            Told(recorder, "replication-controller"),
            name="replicationcontrollers",
            clock=clock,
        ),
        StatefulSets(inventory, Told(recorder, "statefulset-controller"), clock=clock),
        DaemonSets(inventory, clock=clock),
        Jobs(inventory, Told(recorder, "job-controller"), pace, clock=clock),
        JobOrphans(inventory),
        Claims(inventory, Told(recorder, "persistentvolume-controller"), pace, clock=clock),
        Volumes(inventory, Told(recorder, "persistentvolume-controller")),
        EphemeralVolumes(inventory),
        ResourceClaims(inventory),
        NodeTaints(inventory, clock=clock),
        NodeHealth(inventory, pace, clock=clock),
        TaintEviction(inventory, clock=clock),
        PodCollector(inventory, pace, clock=clock),
        Namespaces(client, inventory, clock=clock),
        Budgets(inventory, clock=clock),
        garbage,
    ]
    return controllers, garbage
