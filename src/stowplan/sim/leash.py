"""`python -m stowplan.sim.leash FD MODULE ARGUMENTS...`: a module that ends when the process that started it does.

The starter holds the other end of the pipe FD. Whatever way it ends, the pipe is closed by the kernel, and the module
is asked to end, then made to.
"""

import os
import runpy
import signal
import sys
import threading

PATIENCE = 10.0


def follow(pipe: int) -> None:
    """Wait for the starter's end, then end this process."""
    while os.read(pipe, 64):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    threading.Event().wait(PATIENCE)
    os._exit(1)


def run(arguments: list[str]) -> None:
    """Run a module as if it had been started by `python -m`."""
    pipe, module, *rest = arguments
    threading.Thread(target=follow, args=(int(pipe),), name="leash", daemon=True).start()
    sys.argv = [module, *rest]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    run(sys.argv[1:])
