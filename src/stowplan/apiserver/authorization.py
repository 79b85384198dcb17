"""Who may do what: masters everything, others what stored roles and bindings say.

Upstream: plugin/pkg/auth/authorizer/rbac/rbac.go, pkg/apis/rbac/v1/evaluation_helpers.go (v1.36.4).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, final

from stowplan.apiserver.options import User
from stowplan.apiserver.storage.store import Store

Json = dict[str, Any]

ROLES = "roles.rbac.authorization.k8s.io"
CLUSTER_ROLES = "clusterroles.rbac.authorization.k8s.io"
ROLE_BINDINGS = "rolebindings.rbac.authorization.k8s.io"
CLUSTER_ROLE_BINDINGS = "clusterrolebindings.rbac.authorization.k8s.io"
SERVICE_ACCOUNT = "system:serviceaccount:"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What somebody wants to do; `path` for addresses that are no resources."""

    verb: str
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""


@final
class Authorizer:
    """Reads roles and bindings from the store; decoded ones are kept until they change."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._decoded: dict[tuple[str, str, str], tuple[int, Json]] = {}

    def allows(self, user: User, wish: Wish) -> bool:
        """True when the user may do this."""
        return user.is_master or any(rule_allows(rule, wish) for rule in self.rules(user, wish.namespace))

    def rules(self, user: User, namespace: str) -> Iterator[Json]:
        """All rules that apply to a user, cluster-wide and in a namespace."""
        for binding in self._all(CLUSTER_ROLE_BINDINGS, ""):
            if _names(binding.get("subjects") or (), user, ""):
                yield from self._role_rules(binding.get("roleRef") or {}, "")
        if namespace:
            for binding in self._all(ROLE_BINDINGS, namespace):
                if _names(binding.get("subjects") or (), user, namespace):
                    yield from self._role_rules(binding.get("roleRef") or {}, namespace)

    def _role_rules(self, ref: Json, namespace: str) -> Iterator[Json]:
        if ref.get("kind") == "ClusterRole":
            role = self._one(CLUSTER_ROLES, "", ref.get("name", ""))
        elif namespace:
            role = self._one(ROLES, namespace, ref.get("name", ""))
        else:
            role = None
        yield from (role or {}).get("rules") or ()

    def _all(self, storage: str, namespace: str) -> Iterator[Json]:
        for entry in self._store.table(storage).slice(namespace):
            found = self._one(storage, entry.namespace, entry.name)
            if found is not None:
                yield found

    def _one(self, storage: str, namespace: str, name: str) -> Json | None:
        entry = self._store.table(storage).get(namespace, name)
        if entry is None:
            return None
        key = (storage, namespace, name)
        known = self._decoded.get(key)
        if known is None or known[0] != entry.version:
            known = self._decoded[key] = (entry.version, entry.decoded())
        return known[1]


def rule_allows(rule: Json, wish: Wish) -> bool:
    """True when one rule covers a wish."""
    if not _covers(rule.get("verbs"), wish.verb):
        return False
    if wish.path:
        return any(
            path in ("*", wish.path) or (path.endswith("*") and wish.path.startswith(path[:-1]))
            for path in rule.get("nonResourceURLs") or ()
        )
    names = rule.get("resourceNames")
    if names and wish.name not in names:
        return False
    if not _covers(rule.get("apiGroups"), wish.group):
        return False
    combined = f"{wish.resource}/{wish.subresource}" if wish.subresource else wish.resource
    wanted = {"*", combined}
    if wish.subresource:
        wanted.add(f"*/{wish.subresource}")
    return any(resource in wanted for resource in rule.get("resources") or ())


def _covers(allowed: Iterable[str] | None, wanted: str) -> bool:
    return any(choice in ("*", wanted) for choice in allowed or ())


def _names(subjects: Iterable[Json], user: User, namespace: str) -> bool:
    for subject in subjects:
        kind, name = subject.get("kind"), subject.get("name", "")
        if kind == "User" and name == user.name:
            return True
        if kind == "Group" and name in user.groups:
            return True
        home = subject.get("namespace") or namespace
        if kind == "ServiceAccount" and user.name == f"{SERVICE_ACCOUNT}{home}:{name}":
            return True
    return False
