"""What stays the same while the process lives: versions and feature gates.

Upstream: staging/src/k8s.io/component-base/metrics/prometheus/{version,feature,compatversion} (v1.36.4).
"""

import platform
from collections.abc import Mapping
from typing import Final

from stowplan import __version__
from stowplan.daemon.instruments import Definition, Instruments
from stowplan.daemon.options import MINOR, UPSTREAM_VERSION
from stowplan.framework.gates import DEFAULTS, Gates

BUILD: Final = Definition(
    name="kubernetes_build_info",
    about=(
        "A metric with a constant '1' value labeled by major, minor, git version, git commit, git tree state, "
        "build date, Go version, and compiler from which Kubernetes was built, and platform on which it is running."
    ),
    stability="BETA",
    labels=(
        "major", "minor", "git_version", "git_commit", "git_tree_state", "build_date", "go_version", "compiler",
        "platform",
    ),
)  # fmt: skip
OWN_BUILD: Final = Definition(
    name="stowplan_build_info",
    about="Constant 1 with the versions of stowplan and of Python.",
    stability="STABLE",
    labels=("version", "python"),
)
FEATURES: Final = Definition(
    name="kubernetes_feature_enabled",
    about="This metric records the data about the stage and enablement of a k8s feature.",
    stability="BETA",
    labels=("name", "stage"),
)
GO_ARCHITECTURES: Final = {"x86_64": "amd64", "AMD64": "amd64", "aarch64": "arm64"}
GENERALLY_AVAILABLE: Final = frozenset(
    {
        "DRAAdminAccess",
        "DRAPrioritizedList",
        "DynamicResourceAllocation",
        "InPlacePodVerticalScaling",
        "NodeInclusionPolicyInPodTopologySpread",
        "SchedulerQueueingHints",
    }
)
ALPHA: Final = frozenset(
    {
        "DRAListTypeAttributes",
        "DRANodeAllocatableResources",
        "StorageCapacityScoring",
        "TaintTolerationComparisonOperators",
        "VolumeLimitScaling",
    }
)


def tell_build(instruments: Instruments) -> None:
    """Whose place this takes, and what it is."""
    major, minor = MINOR.split(".")
    values: Mapping[str, str] = {
        "major": major,
        "minor": minor,
        "git_version": UPSTREAM_VERSION,
        "compiler": platform.python_implementation().lower(),
        "platform": f"{platform.system().lower()}/{GO_ARCHITECTURES.get(platform.machine(), platform.machine())}",
    }
    instruments.values(BUILD).of(*(values.get(label, "") for label in BUILD.labels)).set(1)
    instruments.values(OWN_BUILD).of(__version__, platform.python_version()).set(1)


def tell_gates(instruments: Instruments, gates: Gates) -> None:
    """Which features are on."""
    family = instruments.values(FEATURES)
    for name in sorted(DEFAULTS):
        stage = "" if name in GENERALLY_AVAILABLE else "ALPHA" if name in ALPHA else "BETA"
        family.of(name, stage).set(float(gates.on(name)))
