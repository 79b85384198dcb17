"""Host ports in use: per protocol, port and address a mask over nodes."""

from collections.abc import Iterable
from typing import Final, final

import numpy as np

from stowplan.columns.column import Column, Table

ALL_ADDRESSES: Final = "0.0.0.0"  # noqa: S104 - Kubernetes' name for "every host address", nothing is bound here

HostPort = tuple[str, str, int]
"""Address, protocol, port."""


@final
class PortColumns:
    """Which node uses which host port."""

    __slots__ = ("_by_port", "_table")

    def __init__(self, table: Table) -> None:
        self._table = table
        self._by_port: dict[tuple[str, int], dict[str, Column[np.bool_]]] = {}

    def set(self, row: int, ports: Iterable[HostPort], used: bool) -> None:
        """Mark ports used or free.

        parity: upstream keeps a set, not a count (HostPortInfo in kube-scheduler/framework/types.go): when two pods
        of a node share a port, the first to leave frees it.
        """
        for address, protocol, port in ports:
            addresses = self._by_port.setdefault((protocol, port), {})
            column = addresses.get(address)
            if column is None:
                if not used:
                    continue
                column = addresses[address] = self._table.column(np.bool_, False)
            column.data[row] = used

    def conflicting(self, wanted: HostPort) -> list[tuple[HostPort, Column[np.bool_]]]:
        """The ports that clash with a wanted one, each with its column: any address clashes with the wildcard."""
        address, protocol, port = wanted
        addresses = self._by_port.get((protocol, port), {})
        clashing = addresses if address == ALL_ADDRESSES else dict.fromkeys((ALL_ADDRESSES, address))
        return [((a, protocol, port), addresses[a]) for a in clashing if a in addresses]


def ports_clash(wanted: HostPort, used: HostPort) -> bool:
    """Whether two host ports exclude each other."""
    return wanted[1:] == used[1:] and (wanted[0] == used[0] or ALL_ADDRESSES in (wanted[0], used[0]))
