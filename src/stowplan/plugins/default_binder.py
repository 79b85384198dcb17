"""DefaultBinder: write the binding of a pod to the API.

Upstream: pkg/scheduler/framework/plugins/defaultbinder (v1.36.4).
"""

from typing import final

from stowplan.framework.plugin import Binding, BindPlugin


@final
class DefaultBinder(BindPlugin):
    """Takes care of every pod."""

    name = "DefaultBinder"

    async def bind(self, binding: Binding) -> bool:
        """Bind it."""
        await binding.writer.bind(binding.pod, binding.node_name)
        return True
