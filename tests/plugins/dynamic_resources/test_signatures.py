"""Nodes are told apart by whatever can change an outcome, the order of their devices included."""

from stowplan.plugins.dynamic_resources.plugin import DynamicResources
from stowplan.testing.builders import node, pod
from stowplan.testing.running import run_score
from tests.plugins.dynamic_resources.devices import claim, claiming, device_class, exactly, first_of, gpu, piece

BIG = device_class("big", 'device.attributes["gpu.example.com"].size == "big"')


def test_an_alternative_that_earlier_requests_use_up_is_told_from_one_they_leave() -> None:
    big, small, other = gpu("d", size="big"), gpu("e", size="small"), gpu("f", size="small")
    wanted = claim(exactly(2, name="first"), first_of(("big", 1), ("gpu", 1), name="then"))
    objects = [node("a"), node("b"), device_class(), BIG, wanted]
    slices = [piece(big, small, other, on="a"), piece(small, other, big, on="b")]

    scores = run_score(DynamicResources(), [*objects, *slices], claiming(pod(), "claim"), normalized=True)

    assert scores["a"] < scores["b"] == 100
