"""What can go wrong while devices are allocated."""


class AllocationError(Exception):
    """Raised when the claims, their classes or the slices are wrong, so that no other node can do better."""


class NodeAllocationError(AllocationError):
    """Raised when one node cannot be used for a reason that other nodes may not have."""


class SearchTimeoutError(AllocationError):
    """Raised when the search for devices on a node takes more steps than it may."""


class ClaimError(Exception):
    """Raised when the claims of a pod cannot be found or used, with upstream's text."""
