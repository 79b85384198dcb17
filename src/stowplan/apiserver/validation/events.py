"""What events may say.

Upstream: pkg/apis/core/validation/events.go (v1.36.4). Only what both forms of an event are held to.
"""

from collections.abc import Iterator
from typing import Any

from stowplan.apiserver.errors import Cause
from stowplan.apiserver.names import invalid_value, qualified_faults, required

Json = dict[str, Any]

LIMITS = {"reportingInstance": 128, "action": 128, "reason": 128, "message": 1024}
NEEDED = frozenset({"reportingInstance", "action", "reason"})
FREE_NAMESPACES = ("default", "kube-system")


def validate_event(event: Json) -> Iterator[Cause]:
    """An event; one with an `eventTime` is of the newer form."""
    namespace = event["metadata"].get("namespace", "")
    about = (event.get("involvedObject") or {}).get("namespace", "")
    newer = bool(event.get("eventTime"))
    free = FREE_NAMESPACES if newer else FREE_NAMESPACES[:1]
    if (about and about != namespace and not newer) or (not about and namespace not in free):
        yield invalid_value("involvedObject.namespace", about, "does not match event.namespace")
    if not newer:
        return
    controller = event.get("reportingComponent", "")
    if not controller:
        yield required("reportingController")
    for why in qualified_faults(controller):
        yield invalid_value("reportingController", controller, why)
    for name, longest in LIMITS.items():
        text = event.get(name, "")
        if not text and name in NEEDED:
            yield required(name)
        elif len(text.encode()) > longest:
            yield invalid_value(name, "", f"can have at most {longest} characters")
