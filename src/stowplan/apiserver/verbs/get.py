"""GET of one object."""

from stowplan.apiserver.context import Api
from stowplan.apiserver.errors import not_found
from stowplan.apiserver.forms.negotiate import single_reply
from stowplan.apiserver.request import Call, Reply


def get(api: Api, call: Call) -> Reply:
    """One object, as JSON, as a table, or its metadata alone."""
    entry = api.table(call.resource).get(call.namespace, call.name)
    if entry is None:
        raise not_found(call.resource.subject(call.name))
    return single_reply(api, call, entry)
