"""The asyncio shell of the live scheduler: informers in, effects out, health and metrics."""
