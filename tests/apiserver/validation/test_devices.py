"""What becomes of a device claim."""

from typing import Any

import pytest

from stowplan.apiserver.validation.devices import keep_device_claim

RESULT = {"request": "r", "driver": "d.example.com", "pool": "p", "device": "0"}
GIVEN = {"devices": {"results": [RESULT]}}
OTHER = {"devices": {"results": [{**RESULT, "device": "1"}]}}
DEVICE = {"driver": "d.example.com", "pool": "p", "device": "0"}
CONSUMER = {"resource": "pods", "name": "a", "uid": "1"}


def claim(status: dict[str, Any], **meta: Any) -> dict[str, Any]:
    """A claim in some state."""
    return {"metadata": {"name": "c", **meta}, "spec": {}, "status": status}


@pytest.mark.parametrize(
    ("old", "new", "want"),
    [
        pytest.param({}, {"allocation": GIVEN, "reservedFor": [CONSUMER]}, [], id="allocated and reserved"),
        pytest.param({"allocation": GIVEN}, {"allocation": GIVEN}, [], id="left as it was"),
        pytest.param({"allocation": GIVEN}, {}, [], id="taken away"),
        pytest.param({"allocation": GIVEN}, {"allocation": OTHER}, ["status.allocation"], id="exchanged"),
        pytest.param({}, {"reservedFor": [CONSUMER]}, ["status.reservedFor"], id="reserved before it is allocated"),
        pytest.param({"allocation": GIVEN}, {"allocation": GIVEN, "devices": [DEVICE]}, [], id="a device reports"),
        pytest.param({"allocation": OTHER}, {"allocation": OTHER, "devices": [DEVICE]}, ["status.devices[0]"],
                     id="a device reports that is not in it"),
    ],
)  # fmt: skip
def test_a_new_status(old: dict[str, Any], new: dict[str, Any], want: list[str]) -> None:
    assert want == [cause.field for cause in keep_device_claim(claim(new), claim(old), "status")]


def test_nobody_reserves_a_claim_that_is_going() -> None:
    old, new = {"allocation": GIVEN}, {"allocation": GIVEN, "reservedFor": [CONSUMER]}

    causes = keep_device_claim(claim(new, deletionTimestamp="2026-01-01T00:00:00Z"), claim(old), "status")

    assert ["status.reservedFor"] == [cause.field for cause in causes]


def test_the_specification_stands() -> None:
    changed = {**claim({}), "spec": {"devices": {}}}

    assert ["spec"] == [cause.field for cause in keep_device_claim(changed, claim({}), "")]
