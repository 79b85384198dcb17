"""With which clients the secure port asks the cluster about users: those of its flags, or the scheduler's own.

Upstream: getClient in staging/src/k8s.io/apiserver/pkg/server/options/{authentication,authorization}.go (v1.36.4).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

from stowplan.client.errors import ConfigError
from stowplan.client.kubeconfig import connect_daemon, in_cluster
from stowplan.client.transport import ApiClient, RequestObserver, TransportSettings
from stowplan.clock import Clock
from stowplan.daemon.options import Options
from stowplan.daemon.serving_tls import ServingError

TIMEOUT: float = 10.0


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Delegates:
    """The clients, and those of them that have to be closed."""

    authentication: ApiClient
    authorization: ApiClient
    own: tuple[ApiClient, ...] = ()

    async def close(self) -> None:
        """Close what was made here."""
        for client in self.own:
            await client.close()


def delegates(
    options: Options,
    client: ApiClient,
    *,
    environment: Mapping[str, str],
    clock: Clock,
    observer: RequestObserver | None = None,
) -> Delegates:
    """A flag's kubeconfig, else in-cluster, else the scheduler's own client. Raises ServingError.

    The last is where kube-scheduler would recognise nobody: whoever gives one kubeconfig means one cluster.
    """

    def made(kubeconfig: str, flag: str) -> ApiClient | None:
        try:
            if kubeconfig:
                connection = connect_daemon(kubeconfig=kubeconfig, environment=environment, clock=clock)
            else:
                connection = in_cluster(environment=environment, clock=clock)
        except ConfigError as error:
            if kubeconfig:
                raise ServingError(f"--{flag} {kubeconfig}: {error}") from error
            return None
        settings = TransportSettings(request_timeout=TIMEOUT, max_connections=10)
        return ApiClient(connection, clock=clock, settings=settings, observer=observer)

    authentication = made(options.authentication.kubeconfig, "authentication-kubeconfig")
    authorization = (
        authentication
        if options.authorization.kubeconfig == options.authentication.kubeconfig
        else made(options.authorization.kubeconfig, "authorization-kubeconfig")
    )
    own = {id(made_here): made_here for made_here in (authentication, authorization) if made_here is not None}
    return Delegates(
        authentication=authentication or client, authorization=authorization or client, own=tuple(own.values())
    )
