"""A placed pod is counted at once, and by all plugins or by none."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from stowplan.columns.pods import PodInfo
from stowplan.columns.view import View
from stowplan.composition import set_up
from stowplan.framework.plugin import PluginError, ReservePlugin
from stowplan.framework.reserving import assume_and_reserve
from stowplan.framework.runner import Rejected
from stowplan.framework.verdict import Rejection, rejection
from stowplan.testing.builders import cluster, node, pod

FULL = rejection("full")


@dataclass
class Book(ReservePlugin):
    """Writes down what it is told."""

    name = "Book"

    title: str
    heard: list[str]
    answer: Rejection | Exception | None = None
    names: list[str] = field(default_factory=list)

    def reserve(self, view: View, pod: PodInfo, node_name: str, plans: Mapping[str, Any]) -> Rejection | None:
        """Whatever it was made to say."""
        self.heard.append(f"{self.title}+")
        self.names = [info.pod.name for info in view.only([node_name]).pods(0)]
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def unreserve(self, view: View, pod: PodInfo, node_name: str, plans: Mapping[str, Any]) -> None:
        """Cross it out."""
        self.heard.append(f"{self.title}-")


@pytest.mark.parametrize(
    ("answer", "want", "heard", "placed"),
    [
        pytest.param(None, None, ["a+", "b+"], 1, id="all agree, in order"),
        pytest.param(FULL, Rejected("Book", FULL), ["a+", "b+", "b-", "a-"], 0, id="one refuses, all take it back"),
        pytest.param(PluginError("broken"), "broken", ["a+", "b+", "b-", "a-"], 0, id="one fails, all take it back"),
    ],
)
def test_all_or_none(
    answer: Rejection | Exception | None, want: Rejected | str | None, heard: list[str], placed: int
) -> None:
    said: list[str] = []
    books = (Book("a", said), Book("b", said, answer))
    profile = replace(set_up().first, reserves=books)
    state = cluster(node("n"))
    info = state.compiler.compile(pod("p"))

    if isinstance(want, str):
        with pytest.raises(PluginError, match=want):
            assume_and_reserve(state, profile, info, "n", {})
    else:
        assert want == assume_and_reserve(state, profile, info, "n", {})
    assert (heard, placed, ["p"]) == (said, state.placed_count, books[0].names)
