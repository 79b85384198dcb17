"""The table of kinds says what every record says of itself."""

import msgspec
import pytest

from stowplan.api.kinds import BY_KIND, BY_RECORD, KINDS, Kind
from stowplan.api.pod import Pod
from stowplan.api.workloads import ReplicaSet


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_every_kind_is_found_by_its_names_and_by_its_record(kind: Kind) -> None:
    assert kind is BY_KIND[kind.api_version, kind.name] is BY_RECORD[kind.record]
    assert kind.record.__name__ == kind.name
    assert kind.plural.startswith(kind.name.lower()[:-1])


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_an_empty_object_of_every_kind_is_an_object(kind: Kind) -> None:
    assert b"{}" == msgspec.json.encode(kind.record())


def test_paths_are_those_of_the_api() -> None:
    assert ["/api/v1/pods", "/apis/apps/v1/replicasets"] == [BY_RECORD[Pod].path, BY_RECORD[ReplicaSet].path]
