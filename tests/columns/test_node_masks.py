"""Selectors over nodes as masks."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stowplan.api.node_selectors import RequiredNodes, required_nodes
from stowplan.api.pod import Pod
from stowplan.api.selectors import NOTHING, Operator, Requirement
from stowplan.columns.node_masks import matcher_mask, required_mask, requirement_mask
from stowplan.columns.rows import Rows
from tests.plugins.generated import LABELS, Scene, pods, scenes

requirements = st.builds(
    Requirement,
    st.sampled_from([*LABELS, "missing"]),
    st.sampled_from([Operator.IN, Operator.NOT_IN]),
    st.lists(st.sampled_from(["ssd", "hdd", "4", "a", "none"]), min_size=1, unique=True).map(
        lambda v: tuple(sorted(v))
    ),
) | st.builds(
    Requirement,
    st.sampled_from([*LABELS, "missing"]),
    st.sampled_from([Operator.EXISTS, Operator.DOES_NOT_EXIST]),
)
comparisons = st.builds(
    Requirement,
    st.sampled_from([*LABELS, "missing"]),
    st.sampled_from([Operator.GREATER_THAN, Operator.LESS_THAN]),
    st.sampled_from([("0",), ("4",), ("9",)]),
)


@given(scenes(), requirements | comparisons)
def test_a_requirement_holds_where_its_twin_says_so(scene: Scene, requirement: Requirement) -> None:
    rows = scene.cluster().view().rows

    want = [requirement.matches(node.labels) for node in scene.nodes]

    assert want == requirement_mask(rows, requirement).tolist()


@given(scenes(), pods())
def test_required_nodes_are_those_that_the_twin_matches(scene: Scene, pod: Pod) -> None:
    rows = scene.cluster().view().rows
    required = required_nodes(pod)

    assert [required.matches(n.labels, n.name) for n in scene.nodes] == required_mask(rows, required).tolist()
    if required.affinity is not None:
        matcher = required.affinity
        assert [matcher.matches(n.labels, n.name) for n in scene.nodes] == matcher_mask(rows, matcher).tolist()


@given(scenes(), pods())
def test_some_rows_give_that_part_of_the_mask(scene: Scene, pod: Pod) -> None:
    view = scene.cluster().view()
    required = required_nodes(pod)
    whole = required_mask(view.rows, required)

    backwards = Rows(view, np.flip(view.rows.index))

    assert whole[::-1].tolist() == required_mask(backwards, required).tolist()


def test_a_selector_that_selects_nothing_matches_no_node() -> None:
    rows = Scene((), {}).cluster().view().rows

    assert [] == required_mask(rows, RequiredNodes(NOTHING, None)).tolist()
