"""stowplan explain: say why a pod goes where it goes, or why it cannot."""

import sys
from collections.abc import Sequence

import click
import msgspec
import yaml
from rich.table import Table
from rich.text import Text

from stowplan.cli.files import read_config
from stowplan.cli.terminal import complain, output, plain_table
from stowplan.config.errors import ConfigError
from stowplan.cycle.explanation import Explanation, NodeScore
from stowplan.sim.explaining import Question, explain_in
from stowplan.sim.snapshot import SnapshotError, load_snapshot


@click.command("explain")
@click.argument("resource", metavar="pod/NAME")
@click.option("--snapshot", required=True, metavar="FILE", help="kubectl get -o json|yaml list, YAML or a scenario.")
@click.option("-n", "--namespace", default="default", show_default=True, help="The pod's namespace.")
@click.option("--node", default="", metavar="N", help="Tell of this node as well, whatever became of it.")
@click.option(
    "--exhaustive", is_flag=True, help="Judge every node by every filter, not only up to the first rejection."
)
@click.option("--best", default=10, show_default=True, type=click.IntRange(1), help="How many nodes' scores to show.")
@click.option("--config", metavar="FILE", help="A KubeSchedulerConfiguration.")
@click.option("-o", "form", type=click.Choice(["table", "json", "yaml"]), default="table", show_default=True)
def command(
    *,
    resource: str,
    snapshot: str,
    namespace: str,
    node: str,
    exhaustive: bool,
    best: int,
    config: str | None,
    form: str,
) -> None:
    """Explain the decision about a pod in a snapshot. The exit status is 1 when it fits on no node."""
    kind, _, name = resource.rpartition("/")
    if kind not in {"", "pod", "pods", "po"} or not name:
        complain(f"{resource}: only pods can be explained; write pod/NAME")
        sys.exit(2)
    key = f"{namespace}/{name}"
    question = Question(pod_key=key, node=node, exhaustive=exhaustive, best=best)
    try:
        found = load_snapshot(snapshot, pod_key=key)
        told = explain_in(found, question, config=read_config(config), config_name=config or f"{snapshot}: config")
    except ConfigError as error:
        complain(str(error))
        sys.exit(2)
    except SnapshotError as error:
        complain(str(error) if str(error).startswith(snapshot) else f"{snapshot}: {error}")
        sys.exit(2)
    if form == "json":
        click.echo(msgspec.json.format(msgspec.json.encode(told), indent=2).decode())
    elif form == "yaml":
        click.echo(yaml.safe_dump(msgspec.to_builtins(told), sort_keys=False, allow_unicode=True), nl=False)
    else:
        _print(told)
    sys.exit(0 if told.schedulable else 1)


def _print(told: Explanation) -> None:
    console = output()
    console.print(Text(told.verdict, "bold green" if told.schedulable else "bold red"))
    if told.reasons:
        console.print()
        console.print(
            plain_table(
                ("PLUGIN", "NODES", "REASON", "EVICTING HELPS", "FOR EXAMPLE"),
                [
                    (
                        reason.plugin,
                        str(reason.nodes),
                        reason.reason,
                        "perhaps" if reason.code == "Unschedulable" else "no",
                        ", ".join(reason.examples) + (", …" if reason.nodes > len(reason.examples) > 0 else ""),
                    )
                    for reason in told.reasons
                ],
                right=("NODES",),
            )
        )
    if told.scores:
        console.print()
        console.print(_score_table(told.scores))
    if told.preemption is not None:
        console.print()
        console.print(f"To make room on {told.preemption.node}, evict: {', '.join(told.preemption.victims)}")
    if told.asked is not None:
        console.print()
        console.print(Text(f"Node {told.asked.node}: {'fits' if told.asked.fits else 'does not fit'}", "bold"))
        for reason in told.asked.rejections:
            console.print(f"  {reason.plugin}: {reason.reason}")
        if told.asked.score is not None and told.asked.score not in told.scores:
            console.print(_score_table((told.asked.score,)))


def _score_table(scores: Sequence[NodeScore]) -> Table:
    """Nodes down, plugins across; each cell raw → normalised x weight = score."""
    plugins = [told.plugin for told in scores[0].plugins]
    headers = ("NODE", "TOTAL", *plugins)
    return plain_table(headers, [_score_row(score) for score in scores], right=("TOTAL",))


def _score_row(score: NodeScore) -> tuple[str, ...]:
    cells = (f"{p.raw} → {p.normalized} x {p.weight} = {p.score}" for p in score.plugins)
    return (score.node, str(score.total), *cells)
