"""What follows a write: custom kinds come and go with their definitions."""

from stowplan.apiserver.context import CUSTOM_DEFINITIONS, Api
from stowplan.apiserver.custom.definitions import establish_all
from stowplan.apiserver.resources.types import Resource


def settle(api: Api, resource: Resource) -> None:
    """Bring the rest of the server in line with what was written."""
    if resource.storage == CUSTOM_DEFINITIONS:
        establish_all(api)
