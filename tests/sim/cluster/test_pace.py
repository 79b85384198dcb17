"""Times are read strictly, and many nodes renew less often."""

import pytest

from stowplan.sim.cluster.pace import Pace, read_pace, read_seconds


@pytest.mark.parametrize(
    ("value", "want"),
    [
        pytest.param("1m30s", 90.0, id="as Go writes durations"),
        pytest.param("250ms", 0.25, id="less than a second"),
        pytest.param(2, 2.0, id="a whole number of seconds"),
        pytest.param(0.5, 0.5, id="a fraction of a second"),
    ],
)
def test_durations(value: object, want: float) -> None:
    assert want == read_seconds(value)


@pytest.mark.parametrize(
    "value",
    [
        pytest.param("soon", id="a word"),
        pytest.param("5", id="a text without a unit"),
        pytest.param("-1s", id="less than nothing"),
        pytest.param(-1, id="a negative number"),
        pytest.param(True, id="a truth value"),
        pytest.param(None, id="nothing"),
        pytest.param(float("nan"), id="not a number"),
        pytest.param(float("inf"), id="for ever"),
    ],
)
def test_what_is_no_duration_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="duration"):
        read_seconds(value)


def test_a_file_changes_what_it_names() -> None:
    assert Pace(starting=2.0, spread=0.1) == read_pace({"starting": "2s", "spread": 0.1})


@pytest.mark.parametrize(
    ("values", "want"),
    [
        pytest.param({"begin": "1s"}, "begin: not known; known are starting, ", id="an unknown member is named"),
        pytest.param({"jobs": "x"}, "jobs: 'x' is not a duration", id="a bad duration is named"),
        pytest.param({"spread": "much"}, "spread: 'much' is not a number", id="a bad number is named"),
        pytest.param({"renewals": 0}, "must be more than 0", id="renewals there must be"),
    ],
)
def test_a_bad_member_is_named(values: dict[str, object], want: str) -> None:
    with pytest.raises(ValueError, match=want):
        read_pace(values)


@pytest.mark.parametrize(
    ("nodes", "want"),
    [
        pytest.param(3, 10.0, id="few nodes renew as kubelets do"),
        pytest.param(500, 10.0, id="five hundred still do"),
        pytest.param(5000, 100.0, id="five thousand share fifty renewals a second"),
    ],
)
def test_renewals_are_bounded(nodes: int, want: float) -> None:
    assert want == Pace().lease_interval(nodes)


def test_a_pod_starts_after_a_time_of_its_own() -> None:
    pace = Pace(starting=1.0, spread=0.5)
    times = {pace.starting_of(f"uid-{number}") for number in range(50)}

    assert len(times) > 40
    assert all(1.0 <= time < 1.5 for time in times)
    assert pace.starting_of("a") == pace.starting_of("a")
