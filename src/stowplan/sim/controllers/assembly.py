"""All controllers of a simulated cluster, in one list."""

from stowplan.client.events import EventRecorder
from stowplan.client.transport import ApiClient
from stowplan.clock import Clock
from stowplan.sim.cluster.inventory import Inventory
from stowplan.sim.cluster.pace import Pace
from stowplan.sim.cluster.work import Controller
from stowplan.sim.controllers.deployments import Deployments
from stowplan.sim.controllers.replica_sets import ReplicaSets
from stowplan.sim.controllers.told import Told


def all_controllers(
    client: ApiClient, inventory: Inventory, recorder: EventRecorder, pace: Pace, *, clock: Clock
) -> list[Controller]:
    """Every controller, ready to run."""
    del client, pace
    return [
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
    ]
