"""`stowplan apiserver`: the embedded API server alone."""

from pathlib import Path

import click


@click.command(name="apiserver")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=6443, show_default=True, help="0: any free port.")
@click.option("--data-dir", type=click.Path(path_type=Path), help="Keep everything there; otherwise in memory.")
@click.option("--cert-dir", type=click.Path(path_type=Path), help="Keep the certificate authority there.")
@click.option(
    "--kubeconfig", type=click.Path(path_type=Path), default=Path("stowplan.kubeconfig"), show_default=True,
    help="Where to write the kubeconfig.",
)  # fmt: skip
@click.option("--token", default="", help="The administrator's bearer token; otherwise one is made.")
@click.option("--audit-log", type=click.Path(path_type=Path), help="Write one JSON line per finished write.")
def command(
    *, host: str, port: int, data_dir: Path | None, cert_dir: Path | None, kubeconfig: Path, token: str,
    audit_log: Path | None,
) -> None:  # fmt: skip
    """Run the embedded API server until Ctrl-C."""
    from stowplan.apiserver.embedded import EmbeddedServer, serve
    from stowplan.apiserver.options import ServerOptions, StartError

    def announce(server: EmbeddedServer) -> None:
        click.echo(f"Kubernetes API on {server.url}")
        click.echo(f"  export KUBECONFIG={kubeconfig.resolve()}")

    options = ServerOptions(
        host=host, port=port, data_dir=data_dir, cert_dir=cert_dir, kubeconfig=kubeconfig, token=token,
        audit_log=audit_log,
    )  # fmt: skip
    try:
        serve(options, announce)
    except StartError as error:
        raise click.ClickException(str(error)) from error
