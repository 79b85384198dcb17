"""The binary form, written here by hand from its rules and read back."""

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stowplan.apiserver.protobuf.decode import UnknownTypeError, read_envelope, read_message
from stowplan.apiserver.protobuf.numbers import NUMBERS
from stowplan.apiserver.protobuf.wire import WireError
from stowplan.apiserver.schema.models import Models
from tests.apiserver.running import PODS, running

MODELS = Models()
PROTOBUF = "application/vnd.kubernetes.protobuf"


def varint(value: int) -> bytes:
    """A number of variable length."""
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def field(number: int, value: int | str | bytes) -> bytes:
    """One field."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def envelope(api_version: str, kind: str, raw: bytes) -> bytes:
    """An object with the mark that says what it is."""
    return b"k8s\0" + field(1, field(1, api_version) + field(2, kind)) + field(2, raw) + field(3, "") + field(4, "")


def pair(key: str, value: bytes | str) -> bytes:
    """One entry of a map."""
    return field(1, key) + field(2, value)


META = field(1, "a") + field(2, "") + field(8, b"") + field(11, pair("app", "web"))
QUANTITY = field(1, "500m")
CONTAINER = field(1, "c") + field(2, "image") + field(8, field(2, pair("cpu", QUANTITY)))
PROBE = field(1, field(2, field(1, "/ok") + field(2, field(1, 0) + field(2, 80) + field(3, "")))) + field(2, 3)
VOLUME = field(1, "v") + field(2, field(2, field(1, "")))


@pytest.mark.parametrize(
    ("model", "raw", "want"),
    [
        pytest.param(("core_v1", "Pod"), field(1, META) + field(2, field(2, CONTAINER) + field(4, 0) + field(10, "")),
                     {"metadata": {"name": "a", "labels": {"app": "web"}},
                      "spec": {"containers": [{"name": "c", "image": "image",
                                               "resources": {"requests": {"cpu": "500m"}}}],
                               "terminationGracePeriodSeconds": 0}}, id="a pod: zeros count where they say something"),
        pytest.param(("core_v1", "Volume"), VOLUME, {"name": "v", "emptyDir": {}}, id="members shown one level higher"),
        pytest.param(("core_v1", "Probe"), PROBE,
                     {"httpGet": {"path": "/ok", "port": 80}, "initialDelaySeconds": 3}, id="a number or a text"),
        pytest.param(("core_v1", "Secret"), field(2, pair("k", b"\xff\x00")), {"data": {"k": "/wA="}}, id="bytes"),
        pytest.param(("coordination_v1", "LeaseSpec"), field(1, "") + field(3, field(1, 1) + field(2, 5000)),
                     {"holderIdentity": "", "acquireTime": "1970-01-01T00:00:01.000005Z"}, id="a lease that is free"),
        pytest.param(("scheduling_v1", "PriorityClass"), field(2, -5), {"value": -5}, id="a negative number"),
        pytest.param(("meta_v1", "DeleteOptions"), field(1, 0) + field(5, "All"),
                     {"gracePeriodSeconds": 0, "dryRun": ["All"]}, id="options of a deletion"),
        pytest.param(("core_v1", "Pod"), field(99, "later"), {}, id="a field of the future"),
    ],
)  # fmt: skip
def test_a_message_is_read(model: tuple[str, str], raw: bytes, want: dict[str, Any]) -> None:
    assert want == read_message(MODELS.get(*model), memoryview(raw))


def test_an_envelope_says_what_is_in_it() -> None:
    api_version, kind, raw = read_envelope(envelope("apps/v1", "Deployment", b"abc"))

    assert ("apps/v1", "Deployment", b"abc") == (api_version, kind, bytes(raw))


@given(st.binary(max_size=80))
def test_bytes_are_a_message_or_refused(data: bytes) -> None:
    for model in (("core_v1", "Pod"), ("apps_v1", "Deployment"), ("meta_v1", "DeleteOptions")):
        try:
            assert isinstance(read_message(MODELS.get(*model), memoryview(data)), dict)
        except (WireError, UnknownTypeError, ValueError):
            continue


def test_the_table_names_only_what_there_is() -> None:
    unknown = []
    for room, types in NUMBERS.items():
        for name, numbers in types.items():
            module = "autoscaling_v1" if room == "autoscaling" else f"{room}_v1"
            try:
                kind = MODELS.get(module, name)
            except AttributeError:
                # types that JSON shows one level higher have no model of their own
                continue
            unknown += [
                f"{name}.{member}"
                for member in numbers.split()
                if member != "-" and not member.startswith("@") and member not in kind.fields
            ]
    assert {"NodeSpec.externalID", "NodeStatus.config", "PodStatus.resize"} >= set(unknown), unknown


@pytest.mark.parametrize(
    ("body", "status"),
    [
        pytest.param(envelope("v1", "Pod", field(1, META) + field(2, field(2, CONTAINER))), 201, id="a pod"),
        pytest.param(b"no magic", 400, id="no magic prefix"),
        pytest.param(envelope("v1", "Gadget", b""), 400, id="an unknown kind"),
        pytest.param(envelope("v1", "Node", field(1, META)), 400, id="another kind"),
        pytest.param(envelope("v1", "Pod", b"\x08"), 400, id="half a message"),
        pytest.param(envelope("flowcontrol.apiserver.k8s.io/v1", "FlowSchema", field(1, META)), 415, id="not read"),
    ],
)
def test_a_binary_body_is_read(body: bytes, status: int) -> None:
    async def story() -> None:
        async with running() as api:
            got = await api.call("POST", PODS, body, content_type=PROTOBUF)
            assert status == got.status, got.body

    asyncio.run(story())
