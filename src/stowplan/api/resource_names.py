"""Names of resources, and which of them the scheduler counts.

Upstream: pkg/apis/core/v1/helper/helpers.go, pkg/scheduler/util/utils.go (v1.36.4).
"""

from functools import lru_cache

from stowplan.api.gotext import label_key_errors

CPU = "cpu"
MEMORY = "memory"
EPHEMERAL_STORAGE = "ephemeral-storage"
PODS = "pods"
STORAGE = "storage"
HUGE_PAGES_PREFIX = "hugepages-"
ATTACHABLE_PREFIX = "attachable-volumes-"
DEVICE_CLASS_PREFIX = "deviceclass.resource.kubernetes.io/"
_NATIVE_DOMAIN = "kubernetes.io/"
_QUOTA_PREFIX = "requests."


@lru_cache(maxsize=4096)
def is_extended(name: str) -> bool:
    """Whether a resource is of a domain other than Kubernetes' own, such as nvidia.com/gpu."""
    if is_native(name) or name.startswith(_QUOTA_PREFIX):
        return False
    return not label_key_errors(_QUOTA_PREFIX + name)


@lru_cache(maxsize=4096)
def is_scalar(name: str) -> bool:
    """Whether the scheduler counts the resource beside cpu, memory, ephemeral storage and pods."""
    return is_extended(name) or name.startswith((HUGE_PAGES_PREFIX, ATTACHABLE_PREFIX)) or (_NATIVE_DOMAIN in name)


def is_native(name: str) -> bool:
    """Whether a resource is of Kubernetes' own domain, written or implied."""
    return "/" not in name or _NATIVE_DOMAIN in name


def is_dra_extended(name: str) -> bool:
    """Whether devices may stand behind a resource of this name."""
    return is_extended(name) or name.startswith(DEVICE_CLASS_PREFIX)


def is_pod_level(name: str) -> bool:
    """Whether a pod as a whole may ask for the resource."""
    return name in {CPU, MEMORY} or name.startswith(HUGE_PAGES_PREFIX)
