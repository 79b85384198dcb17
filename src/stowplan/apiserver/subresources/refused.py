"""What a cluster without containers cannot do, said clearly."""

from stowplan.apiserver.context import Api
from stowplan.apiserver.errors import ApiError, not_found
from stowplan.apiserver.request import Call, Reply

WHAT = {
    "log": "there are no logs",
    "exec": "nothing can be executed",
    "attach": "there is nothing to attach to",
    "portforward": "no port can be forwarded",
    "proxy": "there is nothing to connect to",
    "token": "there are no service account tokens",
}


def refuse(api: Api, call: Call) -> Reply:
    """Refuse a subresource that needs a running container."""
    if api.table(call.resource).get(call.namespace, call.name) is None:
        raise not_found(call.resource.subject(call.name))
    raise ApiError(
        501,
        f'{call.resource.plural} "{call.name}": {WHAT[call.subresource]}: the nodes of this cluster are simulated and '
        "run no containers",
        reason="NotImplemented",
        subject=call.resource.subject(call.name),
    )
