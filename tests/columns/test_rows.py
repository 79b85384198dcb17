"""Rows: every fact along the chosen nodes, in their order."""

import numpy as np
import pytest

from stowplan.columns.rows import Rows
from stowplan.testing.builders import ZONE, cluster, node, pod

BUILT = cluster(
    *(node(name, cpu=cpu, zone=zone) for name, cpu, zone in (("a", 1, "x"), ("b", 2, "y"), ("c", 3, "x"))),
    pod("p", cpu="100m", on="b"),
    pod("q", cpu="200m", host_ports=[80], on="c"),
)


@pytest.mark.parametrize(
    ("chosen", "contiguous", "want"),
    [
        pytest.param([0, 1, 2], True, "abc", id="all, as a slice"),
        pytest.param([0, 1, 2], False, "abc", id="all, one by one"),
        pytest.param([1, 2], True, "bc", id="a slice of them"),
        pytest.param([2, 0], False, "ca", id="another order"),
        pytest.param([1, 1], False, "bb", id="one of them twice"),
        pytest.param([], True, "", id="none"),
    ],
)
def test_facts_run_along_the_rows(chosen: list[int], contiguous: bool, want: str) -> None:
    rows = Rows(BUILT.view(), np.array(chosen, np.int64), contiguous=contiguous)
    values = {"a": (1000, 0, 0, 0), "b": (2000, 100, 1, 100), "c": (3000, 200, 1, 200)}
    zones = BUILT.nodes.label(ZONE).values

    assert list(want) == list(rows.names)
    assert [values[name] for name in want] == list(
        zip(
            rows.allocatable("cpu").tolist(),
            rows.requested("cpu").tolist(),
            rows.pod_count.tolist(),
            rows.nonzero_cpu.tolist(),
            strict=True,
        )
    )
    assert ["y" if name == "b" else "x" for name in want] == [zones.values[code] for code in rows.label(ZONE)]
    clash = rows.port_clash(("0.0.0.0", "TCP", 80))
    assert clash is not None
    assert [name == "c" for name in want] == clash.tolist()
    assert [[] if name == "a" else [name] for name in want] == [
        ["b" if info.pod.name == "p" else "c" for info in rows.pods(at)] for at in range(len(rows))
    ]


def test_select_keeps_the_order() -> None:
    rows = Rows(BUILT.view(), np.array([2, 0, 1], np.int64))

    assert ["c", "b"] == list(rows.select(np.array([True, False, True])).names)


def test_nothing_differs_from_the_view() -> None:
    rows = BUILT.view().rows
    assert not rows.differs
    assert () == rows.added_terms()
    assert rows.port_clash(("0.0.0.0", "TCP", 81)) is None
