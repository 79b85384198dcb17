"""Extended resources that devices may serve.

Upstream: staging/src/k8s.io/dynamic-resource-allocation/deviceclass/extendedresourcecache (v1.36.4).
"""

from stowplan.api.resource import DeviceClass
from stowplan.api.resource_names import DEVICE_CLASS_PREFIX
from stowplan.columns.view import View


def devices_serve(view: View, resource: str) -> bool:
    """Whether some device class stands for the resource, by its own name or by one it was given."""
    classes = view.objects.all(DeviceClass)
    if not classes:
        return False
    if resource.startswith(DEVICE_CLASS_PREFIX) and resource[len(DEVICE_CLASS_PREFIX) :] in classes:
        return True
    return any(cls.spec.extended_resource_name == resource for cls in classes.values())
