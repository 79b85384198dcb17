"""A server with pods and an informer that follows them, and who writes down what it tells."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, final

from stowplan.api.pod import Pod
from stowplan.client.decoding import RecordDecoder
from stowplan.client.informer import Informer
from stowplan.client.paths import PODS
from stowplan.client.transport import ApiClient
from tests.client.fake_server import FakeResource, FakeServer
from tests.client.virtual_time import LoopClock, until

PATH = "/api/v1/pods"


@final
class Journal:
    """Writes down what a handler is told, and keeps its own copy by it."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.copy: dict[str, str] = {}

    def on_add(self, obj: Pod, initial: bool) -> None:
        """An object is there."""
        assert obj.name not in self.copy, "added twice"
        self.copy[obj.name] = obj.metadata.resource_version
        self.lines.append(f"add {obj.name}{' initial' if initial else ''}")

    def on_update(self, old: Pod, new: Pod) -> None:
        """An object changed."""
        assert self.copy[old.name] == old.metadata.resource_version, "the old state was never told"
        self.copy[new.name] = new.metadata.resource_version
        self.lines.append(f"update {new.name}")

    def on_delete(self, obj: Pod) -> None:
        """An object is gone."""
        del self.copy[obj.name]
        self.lines.append(f"delete {obj.name}")


@final
@dataclass
class Scene:
    """A server, its pods, and an informer that follows them."""

    server: FakeServer
    pods: FakeResource
    client: ApiClient
    informer: Informer[Pod]
    journal: Journal = field(default_factory=Journal)

    async def caught_up(self) -> None:
        """Wait until the informer holds what the server holds."""
        await until(lambda: self.journal.copy == self.truth())

    def truth(self) -> dict[str, str]:
        """What the server holds."""
        return {name: obj["metadata"]["resourceVersion"] for name, obj in self.pods.objects.items()}

    async def watching(self) -> None:
        """Wait until a watch is open."""
        await until(lambda: self.pods.watching)


@asynccontextmanager
async def scene(*names: str, **options: Any) -> AsyncIterator[Scene]:
    """A running informer over the named pods; stopped at the end."""
    server = FakeServer()
    pods = FakeResource(server, PATH)
    for name in names:
        pods.put(name)
    before = options.pop("before", None)
    if before is not None:
        before(server, pods)
    async with server.listening(), server.client() as client:
        informer = Informer(client, PODS, RecordDecoder(Pod), clock=LoopClock(), rng=random.Random(7), **options)
        stage = Scene(server, pods, client, informer)
        informer.add_handler(stage.journal)
        task = asyncio.create_task(informer.run())
        try:
            yield stage
        finally:
            assert not task.done(), task.exception()
            task.cancel()
            await asyncio.wait([task])
