"""Keeps the owners of fields current when an object is written by other means than server-side apply.

Objects that were never applied name no owners: tracking begins with the first apply, which finds the fields that were
there in the hands of `before-first-apply`. That keeps creations fast and objects small.
"""

from typing import Any

from stowplan.apiserver.context import Api
from stowplan.apiserver.custom.types import custom_type
from stowplan.apiserver.patch.fieldset import leaves
from stowplan.apiserver.patch.managers import UPDATE, Manager, read_managers, write_managers
from stowplan.apiserver.request import Call
from stowplan.apiserver.schema.types import ObjectType

Json = dict[str, Any]


def merge_type(api: Api, call: Call) -> ObjectType:
    """The type by which objects of this call merge."""
    known = api.type_of(call.resource)
    return custom_type(api.models, call.resource) if known is None else known


def own_created(_api: Api, _call: Call, value: Json) -> None:
    """A created object names no owners."""
    value["metadata"].pop("managedFields", None)


def own_changed(api: Api, call: Call, value: Json, old: Json) -> None:
    """Give what changed to the writer, and take what went from everybody."""
    sent = value["metadata"].get("managedFields")
    if sent == [{}] or (sent == [] and "managedFields" in value["metadata"]):
        # parity: a writer may reset the owners
        value["metadata"].pop("managedFields", None)
        return
    known = old["metadata"].get("managedFields")
    if not known:
        value["metadata"].pop("managedFields", None)
        return
    value["metadata"]["managedFields"] = known
    kind = merge_type(api, call)
    before, after = leaves(old, kind), leaves(value, kind)
    changed = {path for path, leaf in after.items() if path not in before or before[path] != leaf}
    gone = before.keys() - after.keys()
    if not changed and not gone:
        return
    managers = read_managers(value)
    mine = (call.manager, UPDATE, call.subresource)
    writer = next((manager for manager in managers if manager.identity == mine), None)
    for manager in managers:
        manager.paths -= gone
        if manager is not writer:
            manager.paths -= changed
    if changed:
        if writer is None:
            writer = Manager(call.manager, UPDATE, call.resource.api_version, "", call.subresource)
            managers.append(writer)
        writer.paths |= changed
        writer.time = api.now()
    write_managers(value, managers)
