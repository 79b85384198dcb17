"""The words of our own that users may write on nodes and pods."""

DOMAIN = "sim.stowplan.dev"

POOL = f"{DOMAIN}/pool"
"""On nodes, a label: the pool that a node was made from."""

FAILURE = f"{DOMAIN}/failure"
"""On nodes, an annotation: NotReady (the kubelet says so) or Unreachable (the kubelet says nothing any more)."""

KUBELET = f"{DOMAIN}/kubelet"
"""On nodes, an annotation: `none` keeps the simulated kubelets away, for somebody else's."""

DURATION = f"{DOMAIN}/duration"
"""On pods, an annotation: how long they run before they end, such as 30s."""

START_DELAY = f"{DOMAIN}/start-delay"
"""On pods, an annotation: how long they take to start."""

EXIT_CODE = f"{DOMAIN}/exit-code"
"""On pods, an annotation: the exit code with which they end; 0 unless said."""

NOT_READY = "NotReady"
UNREACHABLE = "Unreachable"
NO_KUBELET = "none"
