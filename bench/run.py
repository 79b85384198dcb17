"""Runs the cases, each in a process of its own, and prints a table: `python -m bench.run [CASE...]`."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.generate import case, names, write

COLUMNS = ("id", "nodes", "bound", "pods", "scheduled", "pods_per_second", "p50_us", "p99_us", "max_rss_mb")


def main(wanted: list[str]) -> int:
    """Run the named cases, or all."""
    known = names()
    unknown = [name for name in wanted if name not in known]
    if unknown:
        print(f"no such case: {', '.join(unknown)}; there are {', '.join(known)}", file=sys.stderr)  # noqa: T201
        return 2
    print("".join(f"{column:>24}" if column == "id" else f"{column:>16}" for column in COLUMNS))  # noqa: T201
    with tempfile.TemporaryDirectory() as folder:
        for name in wanted or known:
            path = write(name, case(name), Path(folder))
            command = [sys.executable, "-m", "stowplan", "bench", str(path)]
            done = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603 - our own command
            measured = json.loads(done.stdout)
            print("".join(f"{measured[c]:>24}" if c == "id" else f"{measured[c]:>16}" for c in COLUMNS), flush=True)  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
