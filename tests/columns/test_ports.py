"""Host ports in use: upstream's set, whatever the history."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stowplan.columns.column import Table
from stowplan.columns.ports import HostPort, PortColumns, ports_clash

ADDRESSES = ("0.0.0.0", "10.0.0.1", "10.0.0.2")
port = st.tuples(st.sampled_from(ADDRESSES), st.sampled_from(["TCP", "UDP"]), st.sampled_from([80, 90]))


@given(st.lists(st.tuples(st.integers(0, 2), st.lists(port, max_size=3), st.booleans()), max_size=20), port)
def test_conflicts_are_those_of_a_set_per_row(
    history: list[tuple[int, list[HostPort], bool]], wanted: HostPort
) -> None:
    ports = PortColumns(Table())
    twin: dict[int, set[HostPort]] = {0: set(), 1: set(), 2: set()}
    for row, changed, used in history:
        ports.set(row, changed, used)
        if used:
            twin[row] |= set(changed)
        else:
            twin[row] -= set(changed)

    found = ports.conflicting(wanted)
    for row, in_use in twin.items():
        want = any(ports_clash(wanted, used) for used in in_use)
        assert want == any(column.data[row] for _, column in found)
        assert {used for used in in_use if ports_clash(wanted, used)} == {p for p, column in found if column.data[row]}


@pytest.mark.parametrize(
    ("wanted", "used", "want"),
    [
        pytest.param(("0.0.0.0", "TCP", 80), ("10.0.0.1", "TCP", 80), True, id="every address includes each"),
        pytest.param(("10.0.0.1", "TCP", 80), ("0.0.0.0", "TCP", 80), True, id="each is among every address"),
        pytest.param(("10.0.0.1", "TCP", 80), ("10.0.0.1", "TCP", 80), True, id="the same address"),
        pytest.param(("10.0.0.1", "TCP", 80), ("10.0.0.2", "TCP", 80), False, id="two addresses share a port number"),
        pytest.param(("0.0.0.0", "TCP", 80), ("0.0.0.0", "UDP", 80), False, id="protocols are apart"),
        pytest.param(("0.0.0.0", "TCP", 80), ("0.0.0.0", "TCP", 81), False, id="another number"),
    ],
)
def test_ports_clash(wanted: HostPort, used: HostPort, want: bool) -> None:
    assert want == ports_clash(wanted, used)


def test_the_first_of_two_pods_to_leave_frees_a_shared_port() -> None:
    ports = PortColumns(Table())
    ports.set(0, [("0.0.0.0", "TCP", 80)], True)
    ports.set(0, [("0.0.0.0", "TCP", 80)], True)

    ports.set(0, [("0.0.0.0", "TCP", 80)], False)

    assert not any(column.data[0] for _, column in ports.conflicting(("0.0.0.0", "TCP", 80)))


def test_freeing_a_port_that_nobody_ever_used_is_nothing() -> None:
    ports = PortColumns(Table())

    ports.set(0, [("0.0.0.0", "TCP", 80)], False)

    assert [] == ports.conflicting(("0.0.0.0", "TCP", 80))
