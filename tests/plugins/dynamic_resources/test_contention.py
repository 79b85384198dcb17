"""Many pods compete for few devices while their bindings overlap: no device is given away twice, none is lost."""

import asyncio
from collections import Counter
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from stowplan.columns.pods import PodInfo
from stowplan.framework.plugin import ApiConflict, ApiFailure, Binding, PluginContext, PluginError
from stowplan.framework.verdict import Rejection
from stowplan.plugins.dynamic_resources.plan import DevicePlan
from stowplan.plugins.dynamic_resources.plugin import DynamicResources
from stowplan.testing.builders import cluster, node, pod
from tests.plugins.dynamic_resources.devices import claim, claiming, device_class, gpu, piece
from tests.plugins.dynamic_resources.fake_api import FakeApi

NODES, PER_NODE, PODS = 8, 4, 48


class Contest:
    """A scheduler that starts the next pod while earlier ones are still being bound."""

    def __init__(self, rng: Random) -> None:
        names = [f"n{i}" for i in range(NODES)]
        self.rng = rng
        self.state = cluster(
            *map(node, names),
            device_class("gpu"),
            *(piece(*(gpu(str(j)) for j in range(PER_NODE)), on=name) for name in names),
            *(claim(name=f"c{i}") for i in range(PODS)),
        )
        self.plugin = DynamicResources(None, PluginContext())
        self.api = FakeApi(self.state)
        self.bound: set[str] = set()

    async def run(self) -> None:
        waiting = [self.state.compiler.compile(claiming(pod(f"p{i}", uid=f"p{i}"), f"c{i}")) for i in range(PODS)]
        for _ in range(4):
            bindings = []
            for info in waiting:
                if (binding := self._reserve(info)) is not None:
                    bindings.append(asyncio.create_task(self._bind(binding)))
                if self.rng.random() < 0.3:
                    await asyncio.sleep(0)
            await asyncio.gather(*bindings)
            waiting = [info for info in waiting if info.uid not in self.bound]

    def _reserve(self, info: PodInfo) -> Binding | None:
        view = self.state.view()
        plan = self.plugin.prepare(view, info)
        assert isinstance(plan, DevicePlan | Rejection)
        if isinstance(plan, Rejection):
            return None
        passed_n = self.plugin.filter(info, view.rows, plan).passed_n
        names = list((view.rows if passed_n is None else view.rows.select(passed_n)).names)
        if not names:
            return None
        name, plans = self.rng.choice(names), {self.plugin.name: plan}
        self.plugin.reserve(view, info, name, plans)
        return Binding(
            pod=info,
            node_name=name,
            plans=plans,
            objects=self.state.objects,
            find_node=lambda: None,
            pod_exists=lambda: True,
            writer=self.api,
        )

    async def _bind(self, binding: Binding) -> None:
        key = binding.pod.pod.spec.resource_claims[0].name
        chance = self.rng.random()
        if chance < 0.3:
            failure = ApiConflict("changed") if chance < 0.15 else ApiFailure("refused")
            self.api.failures[f"update {key}/status"] = [failure]
        try:
            await self.plugin.pre_bind(binding)
        except PluginError:
            self.plugin.unreserve(self.state.view(), binding.pod, binding.node_name, binding.plans)
            return
        self.bound.add(binding.pod.uid)
        if self.rng.random() < 0.7:
            self.state.put(self.api.claims[f"default/{key}"])  # the watch shows it, sooner or later


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000))
def test_every_device_ends_with_one_claim(seed: int) -> None:
    contest = Contest(Random(seed))
    asyncio.run(contest.run())
    holders = Counter(
        (result.pool, result.device)
        for stored in contest.api.claims.values()
        if stored.status.reserved_for and stored.status.allocation is not None
        for result in stored.status.allocation.devices.results
    )

    assert NODES * PER_NODE == len(contest.bound) == len(holders)
    assert {1} == set(holders.values())
