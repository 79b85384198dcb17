"""Objects against their types."""

from typing import Any

import pytest

from stowplan.apiserver.schema.decode import DecodeError, decode
from stowplan.apiserver.schema.models import Models

MODELS = Models()
POD = MODELS.get("core_v1", "Pod")


@pytest.mark.parametrize(
    ("value", "want"),
    [
        pytest.param({"spec": {"nodeName": ""}}, {"spec": {}}, id="an empty node name is none"),
        pytest.param({"metadata": {"labels": {}, "finalizers": []}}, {"metadata": {}}, id="empty lists and maps go"),
        pytest.param({"spec": {"affinity": None}}, {"spec": {}}, id="null is nothing"),
        pytest.param({"spec": {"volumes": [{"name": "v", "emptyDir": {}}]}},
                     {"spec": {"volumes": [{"name": "v", "emptyDir": {}}]}}, id="an empty object says something"),
        pytest.param({"metadata": {"creationTimestamp": "2026-01-01T01:00:00+01:00"}},
                     {"metadata": {"creationTimestamp": "2026-01-01T00:00:00Z"}}, id="times are in UTC"),
        pytest.param({"metadata": {"creationTimestamp": "2026-01-01T01:00:00.999Z"}},
                     {"metadata": {"creationTimestamp": "2026-01-01T01:00:00Z"}}, id="times are in seconds"),
        pytest.param({"spec": {"overhead": {"cpu": 0.5, "memory": 1024}}},
                     {"spec": {"overhead": {"cpu": "500m", "memory": "1024"}}}, id="numbers are quantities"),
        pytest.param({"spec": {"priority": 5.0}}, {"spec": {"priority": 5}}, id="a whole float is an integer"),
        pytest.param({"metadata": {"labels": {"a": None}}}, {"metadata": {"labels": {"a": ""}}}, id="a null label"),
    ],
)  # fmt: skip
def test_a_value_is_cleaned(value: dict[str, Any], want: dict[str, Any]) -> None:
    assert want == decode(POD, value).value


@pytest.mark.parametrize(
    ("value", "want"),
    [
        pytest.param({"bogus": 1}, ["bogus"], id="at the top"),
        pytest.param({"spec": {"containers": [{"name": "a"}, {"bogus": 1}]}}, ["spec.containers[1].bogus"], id="deep"),
        pytest.param({"metadata": {"labels": {"any": "thing"}}}, [], id="a map has no unknown members"),
    ],
)
def test_unknown_members_are_named(value: dict[str, Any], want: list[str]) -> None:
    assert want == decode(POD, value).unknown


@pytest.mark.parametrize(
    ("value", "want"),
    [
        pytest.param({"spec": "x"}, "cannot unmarshal string into Go struct field Pod.spec of type v1.PodSpec", id="1"),
        pytest.param({"spec": {"containers": {}}}, "cannot unmarshal object into Go struct field "
                     r"PodSpec.spec.containers of type \[\]v1.Container", id="an object for a list"),
        pytest.param({"metadata": {"labels": {"a": 1}}}, "cannot unmarshal number into Go struct field "
                     "ObjectMeta.metadata.labels of type string", id="a number for a text"),
        pytest.param({"spec": {"priority": 1.5}}, "cannot unmarshal number", id="a fraction for an integer"),
        pytest.param({"spec": {"priority": True}}, "cannot unmarshal bool", id="a flag for an integer"),
        pytest.param({"spec": {"priority": 2**70}}, "cannot unmarshal number", id="too large a number"),
        pytest.param({"metadata": {"creationTimestamp": "yesterday"}}, 'parsing time "yesterday"', id="no time"),
        pytest.param({"metadata": {"creationTimestamp": "2026-13-01T00:00:00Z"}}, "out of range", id="no month"),
        pytest.param({"spec": {"overhead": {"cpu": "much"}}}, "quantities must match", id="no quantity"),
        pytest.param({"spec": {"containers": [None]}}, "null is not allowed in a list", id="null in a list"),
    ],
)  # fmt: skip
def test_a_wrong_shape_is_refused(value: dict[str, Any], want: str) -> None:
    with pytest.raises(DecodeError, match=want):
        decode(POD, value)


@pytest.mark.parametrize("name", ["JSONSchemaProps", "CustomResourceDefinition"])
def test_types_that_contain_themselves_are_read(name: str) -> None:
    kind = MODELS.get("apiextensions_v1", name)

    assert {} == decode(kind, {"properties": {}} if name == "JSONSchemaProps" else {}).value


def test_every_built_in_kind_has_a_type() -> None:
    from stowplan.apiserver.resources.builtin import builtin_resources

    for resource in builtin_resources():
        assert resource.model is not None
        kind = MODELS.get(*resource.model)
        assert {"metadata", "kind", "apiVersion"} <= kind.fields.keys(), resource.kind
