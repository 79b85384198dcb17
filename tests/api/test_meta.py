"""Metadata, owners and times."""

import pytest

from stowplan.api.meta import ObjectMeta, OwnerReference, controller_of, micro_time_text, time_seconds, time_text
from stowplan.api.node import Node
from stowplan.api.pod import Pod, PodSpec, PodStatus, is_terminal, is_terminating, pod_priority, pod_start_seconds


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("1970-01-01T00:00:10Z", 10.0),
        ("1970-01-01T01:00:10+01:00", 10.0),
        ("1970-01-01T00:00:10.25Z", 10.25),
        ("1970-01-01T00:00:10.123456789Z", 10.123456),
    ],
)
def test_times_are_seconds(text: str, want: float) -> None:
    assert want == time_seconds(text)


@pytest.mark.parametrize("text", ["", "yesterday", "1970-01-01T00:00:10", "1970-13-01T00:00:10Z"])
def test_what_is_no_time_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the text is Python's for most of them
        time_seconds(text)


def test_times_are_written_as_the_api_writes_them() -> None:
    assert "1970-01-01T00:00:10Z" == time_text(10.9)
    assert "1970-01-01T00:00:10.900000Z" == micro_time_text(10.9)


def test_the_controller_is_the_owner_that_says_so() -> None:
    owner = OwnerReference(kind="ReplicaSet", name="b", controller=True)

    assert owner == controller_of(ObjectMeta(owner_references=(OwnerReference(name="a"), owner)))
    assert controller_of(ObjectMeta(owner_references=(OwnerReference(name="a", controller=False),))) is None


def test_keys_name_objects_as_upstream_does() -> None:
    assert "ns/a" == Pod(metadata=ObjectMeta(name="a", namespace="ns")).key
    assert "n1" == Node(metadata=ObjectMeta(name="n1")).key


def test_small_questions_about_pods() -> None:
    assert [0, 0, -7] == [pod_priority(Pod(spec=PodSpec(priority=priority))) for priority in (None, 0, -7)]
    assert pod_start_seconds(Pod()) is None
    assert 10.0 == pod_start_seconds(Pod(status=PodStatus(start_time="1970-01-01T00:00:10Z")))
    assert [False, True, True] == [
        is_terminal(Pod(status=PodStatus(phase=p))) for p in ("Running", "Failed", "Succeeded")
    ]
    assert is_terminating(Pod(metadata=ObjectMeta(deletion_timestamp="1970-01-01T00:00:10Z")))
