"""Questions about tokens and rights: TokenReview, the SubjectAccessReviews, SelfSubjectReview.

Upstream: pkg/registry/authentication, pkg/registry/authorization (v1.36.4).
"""

from collections.abc import Callable, Mapping
from typing import Any

from stowplan.apiserver.authentication import Authenticator
from stowplan.apiserver.authorization import Authorizer, Wish
from stowplan.apiserver.body import check_kind, read_object, typed
from stowplan.apiserver.context import Api
from stowplan.apiserver.errors import Subject, bad_request, invalid
from stowplan.apiserver.names import invalid_value
from stowplan.apiserver.options import User
from stowplan.apiserver.request import Call, Reply, reply_json

Json = dict[str, Any]
Review = Callable[[Call, Json, Authenticator, Authorizer], Json]

RULES_INCOMPLETE: Mapping[str, Any] = {"incomplete": False}


def review(api: Api, call: Call, authenticator: Authenticator, authorizer: Authorizer) -> Reply:
    """Answer a question; nothing is stored."""
    value = read_object(api, call)
    check_kind(value, call.resource)
    warnings: list[str] = []
    value = typed(api, call, value, warnings)
    value.setdefault("metadata", {})
    value["status"] = REVIEWS[call.resource.kind](call, value, authenticator, authorizer)
    reply = reply_json(value, 201)
    reply.warnings = warnings
    return reply


def review_token(_call: Call, value: Json, authenticator: Authenticator, _authorizer: Authorizer) -> Json:
    """Who holds a token."""
    token = (value.get("spec") or {}).get("token", "")
    if not token:
        raise bad_request("token is required for TokenReview in authentication")
    user = authenticator.by_token(token)
    if user is None:
        return {"user": {}, "error": "invalid bearer token"}
    return {"authenticated": True, "user": user_info(user)}


def review_self(call: Call, _value: Json, _authenticator: Authenticator, _authorizer: Authorizer) -> Json:
    """Who is asking."""
    return {"userInfo": user_info(call.user)}


def user_info(user: User) -> Json:
    """A user as the API describes one."""
    return {"username": user.name, "groups": list(user.groups)}


def review_access(call: Call, value: Json, _authenticator: Authenticator, authorizer: Authorizer) -> Json:
    """Whether somebody may do something."""
    spec = value.get("spec") or {}
    if call.resource.kind == "SelfSubjectAccessReview":
        user = call.user
    else:
        user = User(spec.get("user", ""), tuple(spec.get("groups") or ()))
        if not user.name and not user.groups:
            cause = invalid_value("spec.user", "", "at least one of user or group must be specified")
            raise invalid(Subject("authorization.k8s.io", call.resource.kind), [cause])
    allowed = authorizer.allows(user, _wish(call, spec))
    return {"allowed": True} if allowed else {"allowed": False, "reason": "no RBAC policy matched"}


def _wish(call: Call, spec: Json) -> Wish:
    asked: Json | None = spec.get("resourceAttributes")
    path: Json | None = spec.get("nonResourceAttributes")
    if (asked is None) == (path is None):
        text = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        raise invalid(Subject("authorization.k8s.io", call.resource.kind), [invalid_value("spec", "", text)])
    if path is not None:
        return Wish(verb=path.get("verb", ""), path=path.get("path", "") or "/")
    assert asked is not None
    namespace = asked.get("namespace", "")
    if call.resource.kind == "LocalSubjectAccessReview":
        if namespace not in ("", call.namespace):
            text = f"must match metadata.namespace: {call.namespace}"
            raise invalid(
                Subject("authorization.k8s.io", call.resource.kind),
                [invalid_value("spec.resourceAttributes.namespace", namespace, text)],
            )
        namespace = call.namespace
    return Wish(
        verb=asked.get("verb", ""),
        group=asked.get("group", ""),
        resource=asked.get("resource", ""),
        subresource=asked.get("subresource", ""),
        namespace=namespace,
        name=asked.get("name", ""),
    )


def review_rules(call: Call, value: Json, _authenticator: Authenticator, authorizer: Authorizer) -> Json:
    """What the one who asks may do in a namespace."""
    namespace = (value.get("spec") or {}).get("namespace", "")
    if not namespace:
        raise bad_request("no namespace on request")
    if call.user.is_master:
        everything = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}
        anywhere = {"verbs": ["*"], "nonResourceURLs": ["*"]}
        return {"resourceRules": [everything], "nonResourceRules": [anywhere], **RULES_INCOMPLETE}
    found = list(authorizer.rules(call.user, namespace))
    return {
        "resourceRules": [rule for rule in found if rule.get("resources")],
        "nonResourceRules": [rule for rule in found if rule.get("nonResourceURLs")],
        **RULES_INCOMPLETE,
    }


REVIEWS: Mapping[str, Review] = {
    "TokenReview": review_token,
    "SelfSubjectReview": review_self,
    "SubjectAccessReview": review_access,
    "SelfSubjectAccessReview": review_access,
    "LocalSubjectAccessReview": review_access,
    "SelfSubjectRulesReview": review_rules,
}
