"""--feature-gates: which of the given gates mean something, which do not, and which cannot be had.

Upstream: staging/src/k8s.io/component-base/featuregate/feature_gate.go (v1.36.4).
"""

from collections.abc import Mapping

from stowplan.api.gotext import aggregate
from stowplan.daemon.flag_parsing import UsageError
from stowplan.daemon.gate_names import LOCKED_OFF, LOCKED_ON, OTHERS_OFF, OTHERS_ON, UNSUPPORTED
from stowplan.framework.gates import DEFAULTS, Gates


def read_gates(given: Mapping[str, bool]) -> tuple[Gates, tuple[str, ...]]:
    """The gates, and what has no effect of what was given. Raises UsageError."""
    faults = [fault for name, on in given.items() if (fault := _fault(name, on))]
    if faults:
        raise UsageError(aggregate(faults))
    ours = {name: on for name, on in given.items() if name in DEFAULTS}
    ignored = tuple(
        f"--feature-gates: {name}={str(on).lower()} has no effect: nothing that is decided here depends on it"
        for name, on in given.items()
        if name not in DEFAULTS and on != (name in LOCKED_ON or name in OTHERS_ON)
    )
    return Gates(ours), ignored


def _fault(name: str, on: bool) -> str:
    if name not in DEFAULTS and name not in LOCKED_ON | LOCKED_OFF | OTHERS_ON | OTHERS_OFF:
        return f"unrecognized feature gate: {name}"
    if (name in LOCKED_ON and not on) or (name in LOCKED_OFF and on):
        locked = "true" if name in LOCKED_ON else "false"
        return f"cannot set feature gate {name} to {str(on).lower()}, feature is locked to {locked}"
    if name in UNSUPPORTED and on:
        return f"feature gate {name} is not supported by stowplan: what it switches on does not exist here"
    if name == "AllBeta" and not on:
        return "feature gate AllBeta=false is not supported by stowplan: name the gates one by one"
    return ""
