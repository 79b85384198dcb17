"""Who may do what on the secure port: some paths are for everybody, for the rest the cluster is asked.

Upstream: staging/src/k8s.io/apiserver/plugin/pkg/authorizer/webhook, pkg/authorization/path (v1.36.4).
"""

from dataclasses import dataclass
from typing import Any, final

from stowplan.client.paths import SUBJECT_ACCESS_REVIEWS
from stowplan.client.transport import ApiClient
from stowplan.clock import Clock
from stowplan.config.spec import SECOND_NS
from stowplan.daemon.options import AuthorizationOptions
from stowplan.daemon.serving_auth import Kept, User


@final
@dataclass(frozen=True, slots=True)
class Permission:
    """Whether something may be done, and what the cluster says to that."""

    allowed: bool
    reason: str = ""


@final
class Authorizer:
    """Finds out what somebody may do."""

    def __init__(self, options: AuthorizationOptions, client: ApiClient | None, clock: Clock) -> None:
        paths = [path.removeprefix("/") for path in options.always_allow_paths]
        self._open = frozenset(path for path in paths if not path.endswith("*"))
        self._open_prefixes = tuple(path.removesuffix("*") for path in paths if path.endswith("*"))
        self._options = options
        self._client = client
        self._kept: Kept[Permission] = Kept(clock)

    async def allows(self, user: User, verb: str, path: str) -> Permission:
        """Whether a user may do this to a path. Raises ClientError when the cluster does not say."""
        bare = path.removeprefix("/")
        if bare in self._open or (self._open_prefixes and bare.startswith(self._open_prefixes)):
            return Permission(True)
        if self._client is None:
            return Permission(False)
        extra = tuple(sorted(user.extra.items()))
        key = (user.name, user.uid, user.groups, extra, verb, path)
        kept = self._kept.get(key)
        if kept is not None:
            return kept
        permission = await self._ask(self._client, user, verb, path)
        lasting = self._options.allowed_cache_ns if permission.allowed else self._options.denied_cache_ns
        self._kept.put(key, permission, lasting / SECOND_NS)
        return permission

    async def _ask(self, client: ApiClient, user: User, verb: str, path: str) -> Permission:
        spec: dict[str, Any] = {
            "user": user.name,
            "groups": user.groups,
            "nonResourceAttributes": {"path": path, "verb": verb},
        }
        if user.uid:
            spec["uid"] = user.uid
        if user.extra:
            spec["extra"] = user.extra
        wish = {
            "apiVersion": SUBJECT_ACCESS_REVIEWS.api_version,
            "kind": SUBJECT_ACCESS_REVIEWS.kind,
            "spec": spec,
        }
        answer = await client.post(SUBJECT_ACCESS_REVIEWS.collection(), wish)
        status = answer.get("status") if isinstance(answer, dict) else None
        if not isinstance(status, dict):
            return Permission(False)
        reason = status.get("reason")
        return Permission(status.get("allowed") is True, reason if isinstance(reason, str) else "")
