"""The virtual-time shell: life cycles of nodes and pods, workload controllers, replay, what-if."""
