"""Ports that nobody listens on, for processes that have to be told one."""

import contextlib
import secrets
import socket

LOWEST = 20_000
HIGHEST = 32_000
"""Below the ports that the system gives to outgoing connections: none of those comes in between."""


def free_ports(count: int) -> list[int]:
    """Different ports of this machine that are free."""
    found: set[int] = set()
    while len(found) < count:
        port = LOWEST + secrets.randbelow(HIGHEST - LOWEST)
        with contextlib.suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
            found.add(port)
    return list(found)
