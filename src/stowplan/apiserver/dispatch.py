"""From a request to the verb that answers it: one table of verbs, one of subresources."""

from collections.abc import Callable, Mapping

from stowplan.apiserver.addresses import Address
from stowplan.apiserver.authentication import Authenticator
from stowplan.apiserver.authorization import Authorizer, Wish
from stowplan.apiserver.context import Api
from stowplan.apiserver.errors import ApiError, Subject, method_not_allowed, no_such_path
from stowplan.apiserver.options import User
from stowplan.apiserver.request import Answer, Call, boolean_parameter, check_dry_run
from stowplan.apiserver.resources.types import Resource
from stowplan.apiserver.subresources.binding import bind
from stowplan.apiserver.subresources.eviction import evict
from stowplan.apiserver.subresources.refused import WHAT, refuse
from stowplan.apiserver.subresources.reviews import REVIEWS, review
from stowplan.apiserver.subresources.scale import scale
from stowplan.apiserver.verbs.create import create
from stowplan.apiserver.verbs.delete import delete, delete_collection
from stowplan.apiserver.verbs.get import get
from stowplan.apiserver.verbs.listing import list_objects
from stowplan.apiserver.verbs.patching import patch
from stowplan.apiserver.verbs.update import update
from stowplan.apiserver.verbs.watching import watch_objects

Verb = Callable[[Api, Call], Answer]

VERBS: Mapping[str, Verb] = {
    "create": create,
    "get": get,
    "list": list_objects,
    "watch": watch_objects,
    "update": update,
    "patch": patch,
    "delete": delete,
    "deletecollection": delete_collection,
}

ACTIONS: Mapping[str, Verb] = {"binding": bind, "eviction": evict, "scale": scale} | dict.fromkeys(WHAT, refuse)
"""Subresources that are more than a part of their object."""

PARTS: Mapping[str, Verb] = {"get": get, "update": update, "patch": patch}

NAMED = frozenset({"get", "update", "patch", "delete"})
NAMELESS = frozenset({"create"})
"""Verbs of one object, and of a collection."""

WRITES = frozenset({"create", "update", "patch", "delete", "deletecollection"})


def verb_of(method: str, address: Address, query: Mapping[str, str]) -> str:
    """What a request wants."""
    if method in ("GET", "HEAD"):
        if address.watch or boolean_parameter(query, "watch"):
            return "watch"
        return "get" if address.name else "list"
    if method == "DELETE":
        return "delete" if address.name else "deletecollection"
    return {"POST": "create", "PUT": "update", "PATCH": "patch"}.get(method, "")


def wish_of(verb: str, address: Address) -> Wish:
    """What the request needs the right to do."""
    return Wish(
        verb=verb,
        group=address.group,
        resource=address.plural,
        subresource=address.subresource,
        namespace=address.namespace,
        name=address.name,
    )


def find_resource(api: Api, address: Address, verb: str) -> Resource:
    """The resource of an address, if it takes part in the verb."""
    resource = api.registry.find(address.group, address.version, address.plural)
    if resource is None or (address.namespace and not resource.namespaced):
        raise no_such_path()
    if address.subresource:
        below = resource.subresources.get(address.subresource.partition("/")[0])
        if below is None:
            raise no_such_path()
        if verb not in below.verbs:
            raise method_not_allowed()
        return resource
    misplaced = verb in (NAMELESS if address.name else NAMED)
    if not verb or verb not in resource.verbs or misplaced:
        raise method_not_allowed()
    if resource.namespaced and not address.namespace and verb not in ("list", "watch", "deletecollection"):
        raise method_not_allowed()
    return resource


def authorize(authorizer: Authorizer, user: User, wish: Wish) -> None:
    """Refuse what the user may not do."""
    if authorizer.allows(user, wish):
        return
    if wish.path:
        raise ApiError(403, f'forbidden: User "{user.name}" cannot {wish.verb} path "{wish.path}"')
    subject = Subject(wish.group, wish.resource, wish.name)
    combined = f"{wish.resource}/{wish.subresource}" if wish.subresource else wish.resource
    scope = f'in the namespace "{wish.namespace}"' if wish.namespace else "at the cluster scope"
    named = f'{subject.qualified} "{wish.name}"' if wish.name else subject.qualified
    raise ApiError(
        403,
        f'{named} is forbidden: User "{user.name}" cannot {wish.verb} resource "{combined}" in API group '
        f'"{wish.group}" {scope}',
        subject=subject,
    )


def answer(api: Api, call: Call, authenticator: Authenticator, authorizer: Authorizer) -> Answer:
    """Do what the call asks."""
    check_dry_run(call.query)
    resource = call.resource
    if resource.kind in REVIEWS and not resource.custom:
        return review(api, call, authenticator, authorizer)
    if resource.plural == "bindings" and resource.group == "":
        return bind(api, call)
    if call.subresource:
        action = ACTIONS.get(call.subresource.partition("/")[0])
        return (action or PARTS[call.verb])(api, call)
    return VERBS[call.verb](api, call)
