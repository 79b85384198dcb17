"""The text that says why no node took a pod."""

import pytest

from stowplan.framework.fit_error import fit_error_text
from stowplan.framework.verdict import Rejection, rejection, unresolvable

CPU = rejection("Insufficient cpu")
BOTH = rejection("Insufficient cpu", "Insufficient memory")
ABSENT = unresolvable("node(s) didn't satisfy plugin(s) [NodeAffinity]")


@pytest.mark.parametrize(
    ("pre_filter", "rejections", "absent", "post_filter", "want"),
    [
        pytest.param("", [], None, "", "0/9 nodes are available:", id="nobody said a word"),
        pytest.param("", [(CPU, 9)], None, "", "0/9 nodes are available: 9 Insufficient cpu.", id="one reason"),
        pytest.param("", [(CPU, 2), (BOTH, 7)], None, "",
                     "0/9 nodes are available: 7 Insufficient memory, 9 Insufficient cpu.",
                     id="every reason of a node counts"),
        pytest.param("", [(CPU, 3), (unresolvable("Insufficient cpu"), 6)], None, "",
                     "0/9 nodes are available: 9 Insufficient cpu.", id="equal texts count together"),
        pytest.param("", [(CPU, 5)], ABSENT, "",
                     "0/9 nodes are available: 4 node(s) didn't satisfy plugin(s) [NodeAffinity], 5 Insufficient cpu.",
                     id="nodes that were not judged have the reason of the absent ones"),
        pytest.param("", [(CPU, 9)], ABSENT, "", "0/9 nodes are available: 9 Insufficient cpu.", id="none is absent"),
        pytest.param("no such claim", [(CPU, 9)], ABSENT, "", "0/9 nodes are available: no such claim.",
                     id="what PreFilter said stands alone"),
        pytest.param("", [(CPU, 9)], None, "preemption: no luck",
                     "0/9 nodes are available: 9 Insufficient cpu. preemption: no luck", id="PostFilter ends it"),
        pytest.param("no such claim", [], None, "preemption: no luck",
                     "0/9 nodes are available: no such claim. preemption: no luck", id="also after PreFilter"),
    ],
)  # fmt: skip
def test_text(
    pre_filter: str, rejections: list[tuple[Rejection, int]], absent: Rejection | None, post_filter: str, want: str
) -> None:
    assert want == fit_error_text(
        nodes=9,
        pre_filter_message=pre_filter,
        rejections=rejections,
        absent=absent,
        post_filter_message=post_filter,
    )


def test_reasons_are_sorted_as_text_with_the_count_first() -> None:
    rejections = [(rejection("a"), 2), (rejection("b"), 10), (rejection("c"), 1)]

    text = fit_error_text(nodes=13, pre_filter_message="", rejections=rejections, absent=None, post_filter_message="")

    assert "0/13 nodes are available: 1 c, 10 b, 2 a." == text
