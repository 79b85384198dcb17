"""What becomes of the constraints as written."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from stowplan.api.affinity import TopologySpreadConstraint
from stowplan.api.selectors import compile_label_selector
from stowplan.columns.pod_selectors import PodSelector
from stowplan.framework.gates import Gates
from stowplan.plugins.pod_topology_spread.constraints import SYSTEM_DEFAULTS, Constraint, Constraints
from stowplan.testing.builders import HOSTNAME, ZONE, cluster, pod, select, spread

WEB = select(app="web")


def hard(constraint: TopologySpreadConstraint, gates: Gates, labels: Mapping[str, str]) -> Constraint:
    built = cluster()
    info = built.compiler.compile(pod(labels=labels, spread=[constraint]))
    (found,) = Constraints((), gates).hard(built.view(), info.cls)
    return found


@pytest.mark.parametrize(
    ("constraint", "gates", "want"),
    [
        pytest.param(
            spread(WEB),
            {},
            {"min_domains": 1, "honors_affinity": True, "honors_taints": False, "matches_itself": True},
            id="the defaults: one domain, affinity honoured, taints ignored",
        ),
        pytest.param(
            spread(WEB, node_affinity_policy="Ignore", node_taints_policy="Honor"),
            {},
            {"honors_affinity": False, "honors_taints": True},
            id="policies as written",
        ),
        pytest.param(
            spread(WEB, node_affinity_policy="Ignore", node_taints_policy="Honor"),
            {"NodeInclusionPolicyInPodTopologySpread": False},
            {"honors_affinity": True, "honors_taints": False},
            id="without the gate policies are not read",
        ),
        pytest.param(spread(select(app="db")), {}, {"matches_itself": False}, id="the pod may not match itself"),
        pytest.param(
            spread(None), {}, {"matches_itself": False, "counts_placed": True}, id="no selector matches nobody"
        ),
        pytest.param(
            spread(select()),
            {},
            {"matches_itself": True, "counts_placed": False},
            id="an empty selector matches the pod and counts nobody",
        ),
    ],
)
def test_fields(constraint: TopologySpreadConstraint, gates: Mapping[str, bool], want: Mapping[str, Any]) -> None:
    found = hard(constraint, Gates(gates), {"app": "web"})

    assert want == {name: getattr(found, name) for name in want}


@pytest.mark.parametrize(
    ("keys", "gates", "want"),
    [
        pytest.param([], {}, WEB, id="no keys add nothing"),
        pytest.param(["rev"], {}, select(app="web", rev="7"), id="a key adds the pod's own value"),
        pytest.param(["rev", "none"], {}, select(app="web", rev="7"), id="a key that the pod lacks adds nothing"),
        pytest.param(
            ["rev"], {"MatchLabelKeysInPodTopologySpread": False}, WEB, id="without the gate keys are not read"
        ),
    ],
)
def test_match_label_keys(keys: Sequence[str], gates: Mapping[str, bool], want: Any) -> None:
    found = hard(spread(WEB, match_label_keys=keys), Gates(gates), {"app": "web", "rev": "7"})

    assert PodSelector(compile_label_selector(want), frozenset({"default"})) == found.what


def test_keys_add_nothing_to_a_missing_selector() -> None:
    assert hard(spread(None, match_label_keys=["rev"]), Gates(), {"rev": "7"}).what.selector.is_nothing


def test_the_system_spreads_over_hosts_and_zones() -> None:
    want = [(HOSTNAME, 3, "ScheduleAnyway"), (ZONE, 5, "ScheduleAnyway")]

    assert want == [(c.topology_key, c.max_skew, c.when_unsatisfiable) for c in SYSTEM_DEFAULTS]
