"""Which resource names belong to whom."""

import pytest

from stowplan.api.resource_names import is_dra_extended, is_extended, is_pod_level, is_scalar


@pytest.mark.parametrize(
    ("name", "extended", "scalar"),
    [
        ("cpu", False, False),
        ("nvidia.com/gpu", True, True),
        ("kubernetes.io/x", False, True),
        ("x.kubernetes.io/y", False, True),
        ("hugepages-2Mi", False, True),
        ("attachable-volumes-aws-ebs", False, True),
        ("requests.nvidia.com/gpu", False, False),
        ("foo", False, False),
        ("bad name/x", False, False),
        ("a/b/c", False, False),
    ],
)
def test_names(name: str, extended: bool, scalar: bool) -> None:
    assert (extended, scalar) == (is_extended(name), is_scalar(name))


def test_devices_may_stand_behind_extended_names_and_device_classes() -> None:
    assert [True, True, False] == [
        is_dra_extended(name) for name in ("nvidia.com/gpu", "deviceclass.resource.kubernetes.io/gpu", "cpu")
    ]


def test_a_pod_as_a_whole_asks_for_cpu_memory_and_huge_pages() -> None:
    assert [True, True, True, False] == [
        is_pod_level(name) for name in ("cpu", "memory", "hugepages-1Gi", "nvidia.com/gpu")
    ]
