"""What this room must know of plugins, as data: extension points, and who takes part in which."""

from typing import Final, Protocol

import msgspec

# parity: the order in which upstream builds them, so the first error is the same (framework.go getExtensionPoints)
EXTENSION_POINTS: Final = (
    "preFilter",
    "filter",
    "postFilter",
    "reserve",
    "preScore",
    "score",
    "preBind",
    "bind",
    "postBind",
    "permit",
    "preEnqueue",
    "queueSort",
    "placementGenerate",
    "placementScore",
)
MULTI_POINT: Final = "multiPoint"
WEIGHTED_POINTS: Final = frozenset({"score", "placementScore"})

DefaultOrder = tuple[tuple[str, int], ...]


class PluginCatalog(Protocol):
    """The plugins that exist."""

    def points_of(self, name: str) -> frozenset[str] | None:
        """The extension points (EXTENSION_POINTS) a plugin implements; None when there is no such plugin."""
        ...

    def args_type(self, name: str) -> type[msgspec.Struct] | None:
        """The record a plugin outside the tree wants its arguments as; None to get them as they are written."""
        ...


def interface_of(point: str) -> str:
    """What kube-scheduler calls the interface of an extension point."""
    return f"{point[0].upper()}{point[1:]}Plugin"
