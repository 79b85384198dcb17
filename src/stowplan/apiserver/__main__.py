"""`python -m stowplan.apiserver OPTIONS`: one server, told by JSON, saying by one line of JSON that it is ready.

OPTIONS are JSON, or `-`: JSON on standard input.
"""

import logging
import sys

import msgspec

from stowplan.apiserver.embedded import EmbeddedServer, serve
from stowplan.apiserver.options import StartError
from stowplan.apiserver.process import FROM_INPUT, Ready, decode_options


def announce(server: EmbeddedServer) -> None:
    """Say on standard output that the server listens."""
    ready = Ready(server.url, server.token, server.port, server.authority_pem.decode())
    sys.stdout.write(msgspec.json.encode(ready).decode() + "\n")
    sys.stdout.flush()


def run(arguments: list[str]) -> int:
    """Run until told to end; the exit status."""
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    try:
        text = arguments[0] if arguments else "{}"
        options = decode_options(sys.stdin.read() if text == FROM_INPUT else text)
        serve(options, announce)
    except (StartError, msgspec.MsgspecError) as error:
        sys.stderr.write(f"stowplan apiserver: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
