"""stowplan up: a cluster on this machine, with simulated nodes."""

import signal
import sys
import threading
from pathlib import Path

import click

from stowplan import __version__
from stowplan.cli.terminal import complain
from stowplan.clock import SystemClock
from stowplan.sim.up import Up, UpError, UpOptions, shown

POLL = 0.2
# The promise is to have something to say within three seconds; nodes that take longer come later.
PATIENCE = 2.3


@click.command("up")
@click.option("--nodes", default="3", show_default=True, metavar="N|FILE", help="How many nodes, or a file with pools.")
@click.option("--port", default=0, type=click.IntRange(0, 65535), help="The port of the API server (default: any).")
@click.option("--kubeconfig", metavar="PATH", help="Where to write the kubeconfig (default: a temporary folder).")
@click.option("--data-dir", metavar="DIR", help="Keep the state here (default: in memory).")
@click.option("--config", "config", metavar="FILE", help="A KubeSchedulerConfiguration for the scheduler.")
@click.option("--no-scheduler", is_flag=True, help="Leave scheduling to somebody else.")
def command(
    *, nodes: str, port: int, kubeconfig: str | None, data_dir: str | None, config: str | None, no_scheduler: bool
) -> None:
    """Run an API server with simulated nodes, workload controllers and the scheduler, until Ctrl-C."""
    options = UpOptions(
        nodes=nodes,
        port=port,
        kubeconfig=Path(kubeconfig) if kubeconfig else None,
        data_dir=Path(data_dir) if data_dir else None,
        scheduler_config=Path(config) if config else None,
        with_scheduler=not no_scheduler,
    )
    clock = SystemClock()
    started = clock.monotonic()
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda _number, _frame: ended.set())
    try:
        with Up(options, clock=clock) as cluster:
            registered = cluster.wait_nodes(max(started + PATIENCE - clock.monotonic(), 0.0))
            click.echo(_welcome(cluster, options, registered=registered))
            sys.stdout.flush()
            while not ended.wait(POLL):
                cluster.watch(complain)
    except UpError as error:
        complain(f"stowplan up: {error}")
        sys.exit(error.status)


def _welcome(cluster: Up, options: UpOptions, *, registered: bool) -> str:
    nodes = f"{cluster.node_count} nodes" if registered else f"{cluster.node_count} nodes (still registering)"
    scheduler = "scheduler" if cluster.has_scheduler else "no scheduler"
    kept = f"State is kept in {options.data_dir}" if options.data_dir else "State is in memory"
    return f"""\
stowplan {__version__}: API server at {cluster.ready.url}, {nodes}, controllers, {scheduler}
{kept}; logs are in {cluster.folder}. Ctrl-C ends all of it.

  export KUBECONFIG={shown(cluster.kubeconfig)}

Try:
  kubectl get nodes
  kubectl create deployment web --image=nginx --replicas=20
  kubectl get pods --output=wide --watch
"""
