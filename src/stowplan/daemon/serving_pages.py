"""What the debugging pages of the secure port say: /statusz, /flagz, and how a refusal looks.

Upstream: staging/src/k8s.io/apiserver/pkg/server/{statusz,flagz} (v1.36.4).
"""

import platform
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from stowplan import __version__
from stowplan.config.duration import format_duration
from stowplan.daemon.flag_table import FLAGS
from stowplan.daemon.options import MINOR, UPSTREAM_VERSION, Options

COMPONENT: Final = "kube-scheduler"
_FOR_EYES: Final = "Meant to be read by people: the layout may change at any time."
_VERSION: Final = "config.k8s.io/v1beta1"


def statusz(*, started: float, now: float, paths: Iterable[str], as_json: bool) -> bytes:
    """Versions, age and paths of this process."""
    # parity: the page does not list itself
    listed = sorted({path for path in paths if path.count("/") == 1} - {"/statusz"})
    binary = UPSTREAM_VERSION.removeprefix("v")
    since = datetime.fromtimestamp(started, UTC)
    if as_json:
        return msgspec.json.encode(
            {
                "kind": "Statusz",
                "apiVersion": _VERSION,
                "metadata": {"name": COMPONENT},
                "startTime": f"{since:%Y-%m-%dT%H:%M:%SZ}",
                "uptimeSeconds": int(now - started),
                "goVersion": "",
                "binaryVersion": binary,
                "emulationVersion": MINOR,
                "paths": listed,
                "stowplanVersion": __version__,
                "pythonVersion": platform.python_version(),
            }
        )
    hours, rest = divmod(int(now - started), 3600)
    minutes, seconds = divmod(rest, 60)
    lines = [
        "",
        f"{COMPONENT} statusz",
        _FOR_EYES,
        "",
        f"Started  {since:%a %b %d %H:%M:%S} UTC {since:%Y}",
        f"Up  {hours} hr {minutes:02} min {seconds:02} sec",
        f"Stowplan version  {__version__}",
        f"Python version  {platform.python_version()}",
        f"Binary version  {binary}",
        f"Emulation version  {MINOR}",
        f"Paths  {' '.join(listed)}",
        "",
    ]
    return "\n".join(lines).encode()


def flagz(options: Options, *, as_json: bool) -> bytes:
    """Every flag and its value."""
    values = {name: _shown(name, value) for name, value in options.flag_values().items()}
    if as_json:
        return msgspec.json.encode(
            {"kind": "Flagz", "apiVersion": _VERSION, "metadata": {"name": COMPONENT}, "flags": values}
        )
    lines = [f"{name} {value}" for name, value in values.items()]
    return "\n".join(["", f"{COMPONENT} flagz", _FOR_EYES, *lines, ""]).encode()


def refusal(code: int, reason: str, message: str, details: Mapping[str, Any] | None = None) -> bytes:
    """A Status object."""
    status: dict[str, Any] = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason,
    }
    if details is not None:
        status["details"] = details
    status["code"] = code
    return msgspec.json.format(msgspec.json.encode(status), indent=2) + b"\n"


def _shown(name: str, value: Any) -> str:
    kind = FLAGS[name].kind
    if isinstance(value, bool):
        return str(value).lower()
    if kind == "duration":
        return format_duration(value)
    if isinstance(value, Mapping):
        return ",".join(f"{key}={str(held).lower() if kind == 'gates' else held}" for key, held in value.items())
    if kind == "pattern=N,...":
        return ",".join(f"{pattern}={level}" for pattern, level in value)
    if isinstance(value, tuple):
        return f"[{','.join(map(str, value))}]"
    if isinstance(value, float):
        return f"{value:g}"
    return str(value)
