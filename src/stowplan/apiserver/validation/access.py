"""What bindings of roles may say.

Upstream: pkg/apis/rbac/validation/validation.go (v1.36.4).
"""

from collections.abc import Iterator
from typing import Any

from stowplan.apiserver.errors import Cause
from stowplan.apiserver.names import required, unsupported

Json = dict[str, Any]

GROUP = "rbac.authorization.k8s.io"
SUBJECTS = ("ServiceAccount", "User", "Group")


def validate_role_binding(value: Json) -> Iterator[Cause]:
    """A RoleBinding."""
    yield from _faults(value, ("Role", "ClusterRole"))


def validate_cluster_role_binding(value: Json) -> Iterator[Cause]:
    """A ClusterRoleBinding."""
    yield from _faults(value, ("ClusterRole",))


def _faults(value: Json, kinds: tuple[str, ...]) -> Iterator[Cause]:
    role = value.get("roleRef") or {}
    if role.get("apiGroup") != GROUP:
        yield unsupported("roleRef.apiGroup", role.get("apiGroup", ""), (GROUP,))
    if role.get("kind") not in kinds:
        yield unsupported("roleRef.kind", role.get("kind", ""), kinds)
    if not role.get("name"):
        yield required("roleRef.name")
    for index, subject in enumerate(value.get("subjects") or ()):
        where = f"subjects[{index}]"
        if not subject.get("name"):
            yield required(f"{where}.name")
        kind, group = subject.get("kind"), subject.get("apiGroup", "")
        if kind not in SUBJECTS:
            yield unsupported(f"{where}.kind", kind or "", SUBJECTS)
        elif kind == "ServiceAccount":
            if group:
                yield unsupported(f"{where}.apiGroup", group, ("",))
            if len(kinds) == 1 and not subject.get("namespace"):
                yield required(f"{where}.namespace")
        elif group != GROUP:
            yield unsupported(f"{where}.apiGroup", group, (GROUP,))


def keep_role(value: Json, old: Json, _subresource: str) -> Iterator[Cause]:
    """The role of a binding stands."""
    if value.get("roleRef") != old.get("roleRef"):
        yield Cause("FieldValueInvalid", "Invalid value: cannot change roleRef", "roleRef")
