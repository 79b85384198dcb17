"""`stowplan scheduler`: the live scheduler, with kube-scheduler's flags."""

import shutil
import sys

import click

from stowplan import __version__

_RAW = {"ignore_unknown_options": True, "help_option_names": [], "allow_interspersed_args": False}


@click.command("scheduler", context_settings=_RAW, add_help_option=False)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def command(arguments: tuple[str, ...]) -> None:
    """Schedule a real cluster: a drop-in for kube-scheduler."""
    from stowplan.daemon.flag_help import help_text
    from stowplan.daemon.flag_parsing import PROGRAM, UsageError
    from stowplan.daemon.options import UPSTREAM_VERSION, parse_options

    try:
        options = parse_options(arguments)
    except UsageError as error:
        click.echo(f"Error: {error}", err=True)
        click.echo(f"See '{PROGRAM} --help' for usage.", err=True)
        sys.exit(1)
    if options.help:
        click.echo(help_text(shutil.get_terminal_size().columns), nl=False)
    elif options.version == "raw":
        click.echo(f"stowplan={__version__} kubernetes={UPSTREAM_VERSION} python={sys.version.split()[0]}")
    elif options.version:
        click.echo(f"Kubernetes {UPSTREAM_VERSION} (stowplan {__version__})")
    else:
        from stowplan.daemon.run import run

        sys.exit(run(options))
