"""Nothing is created in a namespace that does not exist or is on its way out.

Upstream: staging/src/k8s.io/apiserver/pkg/admission/plugin/namespace/lifecycle (v1.36.4).
"""

from stowplan.apiserver.context import NAMESPACES, Api
from stowplan.apiserver.errors import ApiError, Cause, Subject, not_found
from stowplan.apiserver.request import Call

PROTECTED = frozenset({"default", "kube-system", "kube-public", "kube-node-lease"})


def admit_create(api: Api, call: Call, name: str) -> None:
    """Refuse creations where they cannot live."""
    if not call.resource.namespaced:
        return
    entry = api.store.table(NAMESPACES).get("", call.namespace)
    if entry is None:
        raise not_found(Subject("", "namespaces", call.namespace))
    # perf: a namespace that is going away says so in its encoded form; only then it is decoded
    if entry.fields and entry.fields[0] == "Terminating":
        subject = call.resource.subject(name)
        why = f"unable to create new content in namespace {call.namespace} because it is being terminated"
        raise ApiError(
            403,
            f'{subject.qualified} "{name}" is forbidden: {why}',
            subject=subject,
            causes=[
                Cause("NamespaceTerminating", f"namespace {call.namespace} is being terminated", "metadata.namespace")
            ],
        )
