"""Which taints a toleration covers."""

import pytest

from stowplan.api.affinity import Taint, Toleration
from stowplan.api.tolerations import first_untolerated, tolerates

GPU = Taint(key="gpu", value="a", effect="NoSchedule")
SLA = Taint(key="sla", value="950", effect="NoSchedule")


@pytest.mark.parametrize(
    ("toleration", "taint", "want"),
    [
        pytest.param(Toleration(key="gpu", value="a"), GPU, True, id="no operator means equal"),
        pytest.param(Toleration(key="gpu", operator="Equal", value="b"), GPU, False, id="another value"),
        pytest.param(Toleration(key="gpu", operator="Exists"), GPU, True, id="any value"),
        pytest.param(Toleration(operator="Exists"), GPU, True, id="any key"),
        pytest.param(Toleration(key="gpu", operator="Exists", effect="NoExecute"), GPU, False, id="another effect"),
        pytest.param(Toleration(key="cpu", operator="Exists"), GPU, False, id="another key"),
        pytest.param(Toleration(key="gpu", operator="Like", value="a"), GPU, False, id="an unknown operator"),
        pytest.param(Toleration(key="sla", operator="Gt", value="900"), SLA, False, id="comparisons are off"),
    ],
)
def test_tolerates(toleration: Toleration, taint: Taint, want: bool) -> None:
    assert want == tolerates(toleration, taint)


@pytest.mark.parametrize(
    ("operator", "value", "want"),
    [
        ("Gt", "900", True),
        ("Gt", "950", False),
        ("Lt", "951", True),
        ("Lt", "0950", False),
        ("Lt", "+951", False),
        ("Lt", "many", False),
        ("Lt", str(2**63), False),
    ],
)
def test_comparisons_read_canonical_integers_only(operator: str, value: str, want: bool) -> None:
    assert want == tolerates(Toleration(key="sla", operator=operator, value=value), SLA, comparisons=True)


def test_the_first_taint_that_matters_is_reported() -> None:
    soft = Taint(key="soft", effect="PreferNoSchedule")
    hard = Taint(key="hard", effect="NoExecute")

    assert hard == first_untolerated([soft, GPU, hard], [Toleration(key="gpu", operator="Exists")])
    assert soft == first_untolerated([soft, hard], [], ["PreferNoSchedule"])
    assert first_untolerated([GPU], [Toleration(operator="Exists")]) is None
