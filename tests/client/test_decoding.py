"""Lists and watch lines as records, nulls included: kube-apiserver writes null where Go has a list that is nil."""

from typing import Any

import msgspec
import pytest

from stowplan.api.storage import CSINode
from stowplan.client.decoding import RecordDecoder

DRIVER = {"name": "csi.example.com", "nodeID": "n", "allocatable": {"count": 3}}


def csi_node(drivers: Any) -> dict[str, Any]:
    """A CSINode as the server writes it."""
    return {"metadata": {"name": "n", "uid": "u"}, "spec": {"drivers": drivers}}


SEEN = [
    pytest.param([{**DRIVER, "topologyKeys": None}], ["csi.example.com"], id="a null in an item"),
    pytest.param(None, [], id="a null for a list"),
    pytest.param([{**DRIVER, "topologyKeys": ["zone"]}], ["csi.example.com"], id="no null"),
]


@pytest.mark.parametrize(("drivers", "want"), SEEN)
def test_a_watch_line(drivers: Any, want: list[str]) -> None:
    line = msgspec.json.encode({"type": "ADDED", "object": csi_node(drivers)})

    event = RecordDecoder(CSINode).event(line)

    assert ("ADDED", want) == (event.type, [driver.name for driver in event.object.spec.drivers])


@pytest.mark.parametrize(("drivers", "want"), SEEN)
def test_a_page(drivers: Any, want: list[str]) -> None:
    body = msgspec.json.encode({"metadata": {"resourceVersion": "7"}, "items": [csi_node([]), csi_node(drivers)]})

    page = RecordDecoder(CSINode).page(body)

    assert ("7", ()) == (page.resource_version, page.malformed)
    assert [[], want] == [[driver.name for driver in item.spec.drivers] for item in page.items]


def test_what_does_not_fit_is_still_refused() -> None:
    decoder = RecordDecoder(CSINode)
    bad = csi_node([{**DRIVER, "topologyKeys": 3}])

    with pytest.raises(msgspec.ValidationError, match="Expected `array`, got `int`"):
        decoder.event(msgspec.json.encode({"type": "ADDED", "object": bad}))
    page = decoder.page(msgspec.json.encode({"items": [bad, csi_node([])]}))
    assert (1, 1) == (len(page.items), len(page.malformed))
