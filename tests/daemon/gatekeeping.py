"""Plugins that stop pods on their way: one holds them for permission, one holds them before the binding."""

import asyncio
from collections.abc import Mapping
from typing import Any, final

from stowplan.columns.pods import PodInfo
from stowplan.columns.view import View
from stowplan.framework.plugin import Binding, Gatekeeper, PermitPlugin, PreBindPlugin, Wait
from stowplan.framework.verdict import Rejection, rejection


@final
class Guard(PermitPlugin):
    """Holds pods as their label `permit` says: `wait`, `short` or `no`; it lets all others pass."""

    name = "Guard"

    def __init__(self) -> None:
        self.gatekeeper: Gatekeeper | None = None
        self.held: dict[str, str] = {}

    def attach(self, gatekeeper: Gatekeeper) -> None:
        """Keep who holds the pods."""
        self.gatekeeper = gatekeeper

    def permit(self, view: View, pod: PodInfo, node_name: str) -> Rejection | Wait | None:
        """As the label says."""
        match pod.pod.metadata.labels.get("permit"):
            case "no":
                return rejection("not on my watch")
            case "wait":
                self.held[pod.key] = pod.uid
                return Wait(60.0)
            case "short":
                return Wait(0.2)
        return None


@final
class Turnstile(PreBindPlugin):
    """Holds pods labelled `turnstile` before their binding until it is opened."""

    name = "Turnstile"

    def __init__(self) -> None:
        self.arrived: list[str] = []
        self.open: asyncio.Event = asyncio.Event()
        self.fails = 0

    def pre_bind_needed(self, view: View, pod: PodInfo, node_name: str, plans: Mapping[str, Any]) -> bool:
        """For those with the label."""
        return "turnstile" in pod.pod.metadata.labels

    async def pre_bind(self, binding: Binding) -> Rejection | None:
        """Wait."""
        self.arrived.append(binding.pod.key)
        await self.open.wait()
        if self.fails:
            self.fails -= 1
            return rejection("the turnstile is stuck")
        return None


CONFIGURATION = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  plugins:
    permit:
      enabled: [{name: Guard}]
    preBind:
      enabled: [{name: Turnstile}]
"""
