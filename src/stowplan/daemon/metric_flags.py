"""The flags about metrics: which are served, and which label values.

Upstream: staging/src/k8s.io/component-base/metrics/options.go and opts.go (v1.36.4).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, final

import yaml

from stowplan.api.gotext import quote
from stowplan.daemon.flag_parsing import UsageError

_METRIC_AND_LABEL: Final = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*,[a-zA-Z_][a-zA-Z0-9_]*")
_PREVIOUS_MINOR: Final = "1.35"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class MetricsOptions:
    """Metrics that are not served, and label values that are: by metric and label."""

    disabled: tuple[str, ...] = ()
    allowed_values: Mapping[tuple[str, str], frozenset[str]] = field(default_factory=dict)


def read_metric_flags(given: Mapping[str, Any]) -> MetricsOptions:
    """Judge them. Raises UsageError."""
    shown = given.get("show-hidden-metrics-for-version", "")
    if shown not in {"", _PREVIOUS_MINOR}:
        raise UsageError(
            f"metrics.showHiddenMetricsForVersion: Invalid value: {quote(shown)}: must be omitted or have the value "
            f"'{_PREVIOUS_MINOR}'; only the previous minor version is allowed"
        )
    allowed = dict(_manifest(given.get("allow-metric-labels-manifest", "")))
    allowed.update(given.get("allow-metric-labels", {}))
    values: dict[tuple[str, str], frozenset[str]] = {}
    for key, listed in allowed.items():
        if _METRIC_AND_LABEL.fullmatch(key) is None:
            raise UsageError(
                f"--allow-metric-labels must have a key with format `metricName,labelName`, got {quote(key)}"
            )
        metric, _, label = key.partition(",")
        values[metric, label] = frozenset(part.strip() for part in listed.split(","))
    return MetricsOptions(disabled=given.get("disabled-metrics", ()), allowed_values=values)


def _manifest(path: str) -> Mapping[str, str]:
    if not path:
        return {}
    try:
        document = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise UsageError(f"--allow-metric-labels-manifest {path}: {error}") from error
    mapping = document.get("allowListMapping") if isinstance(document, dict) else None
    if not isinstance(mapping, dict) or not all(isinstance(x, str) for pair in mapping.items() for x in pair):
        raise UsageError(f"--allow-metric-labels-manifest {path}: want allowListMapping, a map of strings to strings")
    return mapping
