"""Which taints a pod bears with.

Upstream: staging/src/k8s.io/api/core/v1/toleration.go, component-helpers/scheduling/corev1/helpers.go (v1.36.4).
"""

import re
from collections.abc import Iterable, Sequence

from stowplan.api.affinity import Taint, Toleration
from stowplan.api.selectors import go_int64

NO_SCHEDULE = "NoSchedule"
PREFER_NO_SCHEDULE = "PreferNoSchedule"
NO_EXECUTE = "NoExecute"

_CANONICAL_INTEGER = re.compile(r"0|-?[1-9][0-9]*", re.ASCII)


def tolerates(toleration: Toleration, taint: Taint, *, comparisons: bool = False) -> bool:
    """Whether the toleration covers the taint; Lt and Gt count only with `comparisons` (an alpha gate upstream)."""
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    match toleration.operator:
        case "" | "Equal":
            return toleration.value == taint.value
        case "Exists":
            return True
        case "Lt" | "Gt" if comparisons:
            return _compares(toleration, taint)
        case _:
            return False


def tolerated(tolerations: Iterable[Toleration], taint: Taint, *, comparisons: bool = False) -> bool:
    """Whether any of the tolerations covers the taint."""
    return any(tolerates(toleration, taint, comparisons=comparisons) for toleration in tolerations)


def first_untolerated(
    taints: Iterable[Taint],
    tolerations: Sequence[Toleration],
    effects: Sequence[str] = (NO_SCHEDULE, NO_EXECUTE),
    *,
    comparisons: bool = False,
) -> Taint | None:
    """The first taint of these effects that no toleration covers."""
    for taint in taints:
        if taint.effect in effects and not tolerated(tolerations, taint, comparisons=comparisons):
            return taint
    return None


def _compares(toleration: Toleration, taint: Taint) -> bool:
    want, have = _integer(toleration.value), _integer(taint.value)
    if want is None or have is None:
        return False
    return have < want if toleration.operator == "Lt" else have > want


def _integer(text: str) -> int | None:
    return go_int64(text) if _CANONICAL_INTEGER.fullmatch(text) else None
