"""Preferred terms: tables, and the kernel against its twin."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stowplan.api.affinity import Affinity
from stowplan.api.pod import Pod
from stowplan.framework.plugin import PluginContext, Skip
from stowplan.framework.plugin_args import InterPodAffinityArgs
from stowplan.plugins.inter_pod_affinity.plugin import InterPodAffinity
from stowplan.testing.builders import HOSTNAME, ZONE, company, pod, select, term
from stowplan.testing.running import run_score
from tests.plugins.inter_pod_affinity.cases import Case, cases
from tests.plugins.inter_pod_affinity.test_filtering import DB, FOUR, WEB, web
from tests.plugins.inter_pod_affinity.twin import Twin
from tests.plugins.small_clusters import GONE, compiled


def plugin(hard_weight: int = 1, *, ignores_others: bool = False) -> InterPodAffinity:
    args = InterPodAffinityArgs(
        hard_pod_affinity_weight=hard_weight, ignore_preferred_terms_of_existing_pods=ignores_others
    )
    return InterPodAffinity.create(args, PluginContext())


LIKES_WEB = company(prefer_near=[(5, term(WEB, ZONE))])


@pytest.mark.parametrize(
    ("others", "affinity", "want"),
    [
        pytest.param([web("p", "a1")], None, {}, id="nobody has a preference"),
        pytest.param([], LIKES_WEB, {}, id="a preference for pods that are nowhere"),
        pytest.param([web("p", "bare")], LIKES_WEB, {}, id="or only on nodes without the label"),
        pytest.param(
            [web("p", "a1")],
            LIKES_WEB,
            {"a1": (5, 100), "a2": (5, 100), "b1": (0, 0), "bare": (0, 0)},
            id="the pod likes a zone",
        ),
        pytest.param(
            [web("p", "a1"), web("q", "a2"), web("r", "b1")],
            LIKES_WEB,
            {"a1": (10, 100), "b1": (5, 50), "bare": (0, 0)},
            id="each pod counts: 2 x 5 of at most 10",
        ),
        pytest.param([web("p", "a1", deleted=GONE)], LIKES_WEB, {"a1": (5, 100)}, id="also one that is being deleted"),
        pytest.param(
            [web("p", "a1")],
            company(prefer_far=[(5, term(WEB, ZONE))]),
            {"a1": (-5, 0), "b1": (0, 100), "bare": (0, 100)},
            id="the pod dislikes a zone",
        ),
        pytest.param(
            [web("p", "a1"), pod("q", on="b1", labels={"tier": "1"})],
            company(
                prefer_near=[(3, term(WEB, ZONE)), (1, term(WEB, HOSTNAME))], prefer_far=[(2, term(select(tier="1")))]
            ),
            {"a1": (4, 100), "a2": (3, 83), "b1": (-2, 0), "bare": (0, 33)},
            id="likes and dislikes add up: of -2..4, 3 is 500 / 6 = 83 and 0 is 200 / 6 = 33",
        ),
        pytest.param(
            [pod("p", on="a1", affinity=company(prefer_near=[(7, term(DB, ZONE))]))],
            None,
            {"a1": (7, 100), "b1": (0, 0)},
            id="a placed pod likes the pod",
        ),
        pytest.param(
            [pod("p", on="a1", affinity=company(prefer_far=[(7, term(DB, ZONE))]))],
            None,
            {"a1": (-7, 0), "b1": (0, 100)},
            id="a placed pod dislikes the pod",
        ),
        pytest.param(
            [pod("p", on="a1", affinity=company(near=[term(DB, ZONE)]))],
            None,
            {"a1": (1, 100), "b1": (0, 0)},
            id="a placed pod needs the pod: the hard weight",
        ),
        pytest.param(
            [pod("p", on="a1", affinity=company(far=[term(DB, ZONE)]))],
            None,
            {},
            id="required anti-affinity of placed pods does not score",
        ),
        pytest.param(
            [pod("p", on="a1", affinity=company(prefer_near=[(7, term(WEB, ZONE))]))],
            None,
            {},
            id="a placed pod likes others",
        ),
        pytest.param(
            [web("p", "a1"), pod("q", on="a1", affinity=company(prefer_far=[(5, term(DB, ZONE))]))],
            LIKES_WEB,
            {"a1": (0, 0), "b1": (0, 0)},
            id="what cancels out is worth nothing to anyone",
        ),
    ],
)
def test_scores(others: Sequence[Pod], affinity: Affinity | None, want: dict[str, tuple[int, int]]) -> None:
    incoming = pod(labels={"app": "db"}, affinity=affinity)

    raw = run_score(plugin(), [*FOUR, *others], incoming)
    normalized = run_score(plugin(), [*FOUR, *others], incoming, normalized=True)

    assert want == {name: (raw[name], normalized[name]) for name in want or raw}


NEEDS_AND_LIKES_DB = pod("p", on="a1", affinity=company(near=[term(DB, ZONE)], prefer_near=[(7, term(DB, ZONE))]))


@pytest.mark.parametrize(
    ("judge", "affinity", "want"),
    [
        pytest.param(plugin(), None, 8, id="by default the hard weight is 1, and likes of placed pods count"),
        pytest.param(plugin(100), None, 107, id="the hard weight can be higher"),
        pytest.param(plugin(0), None, 7, id="or nothing"),
        pytest.param(plugin(ignores_others=True), None, None, id="likes of placed pods can be ignored"),
        pytest.param(
            plugin(ignores_others=True), LIKES_WEB, 8, id="but they count for a pod that has likes of its own"
        ),
    ],
)
def test_arguments(judge: InterPodAffinity, affinity: Affinity | None, want: int | None) -> None:
    got = run_score(judge, [*FOUR, NEEDS_AND_LIKES_DB], pod(labels={"app": "db"}, affinity=affinity))

    assert want == got.get("a1")


# --- the kernel and its twin


@settings(deadline=None, max_examples=60)
@given(cases(), st.sampled_from([0, 1, 50]), st.booleans(), st.data())
def test_kernel_agrees_with_its_twin(case: Case, hard_weight: int, ignores_others: bool, data: st.DataObject) -> None:
    setting, incoming, _ = case
    feasible = [home for home in setting.nodes if data.draw(st.booleans())] or list(setting.nodes)
    built = setting.cluster()
    view, info = built.view(), compiled(built, incoming)
    judge, rows = plugin(hard_weight, ignores_others=ignores_others), view.only([home.name for home in feasible])

    plan = judge.prepare_score(info, rows, {})
    got = None
    if not isinstance(plan, Skip):
        raw_n = judge.score(info, rows, plan)
        normalized_n = judge.normalize(info, rows, plan, raw_n)
        got = (
            dict(zip(rows.names, raw_n.tolist(), strict=True)),
            dict(zip(rows.names, normalized_n.tolist(), strict=True)),
        )

    assert Twin(setting, incoming, hard_weight, ignores_others).scores(feasible) == got
