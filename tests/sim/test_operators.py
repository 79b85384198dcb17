"""Operators of selectors over labels and over nodes."""

from typing import Any

import pytest

from stowplan.sim.operators import unknown_operator


def expression(operator: str) -> list[dict[str, Any]]:
    return [{"key": "a", "operator": "In", "values": ["b"]}, {"key": "a", "operator": operator}]


@pytest.mark.parametrize(
    ("document", "want"),
    [
        pytest.param({"selector": {"matchExpressions": expression("Exists")}}, None, id="a known one"),
        pytest.param({"selector": {"matchExpressions": expression("Gt")}}, "selector", id="Gt is not for labels"),
        pytest.param({"nodeSelectorTerms": [{"matchExpressions": expression("Gt")}]}, None, id="Gt is for nodes"),
        pytest.param({"preference": {"matchExpressions": expression("Lt")}}, None, id="so is Lt"),
        pytest.param(
            {"nodeSelectorTerms": [{"matchFields": expression("in")}]}, "nodeSelectorTerms[0]", id="case counts"
        ),
        pytest.param({"tolerations": [{"operator": "Whatever"}]}, None, id="tolerations are another matter"),
        pytest.param({"matchExpressions": "x", "a": {"matchExpressions": [1]}}, None, id="what has no operator"),
    ],
)
def test_unknown_operator(document: dict[str, Any], want: str | None) -> None:
    fault = unknown_operator(document)

    assert (want is None) == (fault is None)
    if fault is not None:
        assert fault.startswith(f"{want}.match")
        assert "[1].operator: " in fault
