"""Binding by the API."""

import asyncio
from typing import Any

from stowplan.columns.pods import PodCompiler, PodInfo
from stowplan.framework.plugin import Binding
from stowplan.plugins.default_binder import DefaultBinder
from stowplan.testing.builders import cluster, pod


class Writer:
    """Remembers bindings."""

    def __init__(self) -> None:
        self.bound: list[tuple[str, str]] = []

    async def bind(self, pod: PodInfo, node_name: str) -> None:
        self.bound.append((pod.key, node_name))

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"the binder must not use {name}")


def test_it_writes_the_binding_and_takes_care_of_every_pod() -> None:
    writer = Writer()
    web = PodCompiler().compile(pod("web"))
    binding = Binding(
        pod=web,
        node_name="a",
        plans={},
        objects=cluster().objects,
        find_node=lambda: None,
        pod_exists=lambda: True,
        writer=writer,
    )

    assert asyncio.run(DefaultBinder().bind(binding))
    assert [("default/web", "a")] == writer.bound
