"""What the server answers when it refuses: one exception that carries a metav1.Status, and a builder per reason.

Upstream: staging/src/k8s.io/apimachinery/pkg/api/errors/errors.go (v1.36.4).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

REASON_BY_CODE: Mapping[int, str] = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    405: "MethodNotAllowed",
    406: "NotAcceptable",
    409: "Conflict",
    410: "Expired",
    413: "RequestEntityTooLarge",
    415: "UnsupportedMediaType",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
}


@dataclass(frozen=True, slots=True)
class Cause:
    """One reason among several, with the field it is about."""

    reason: str
    message: str
    field: str = ""

    def as_json(self) -> dict[str, str]:
        """The wire form: empty members are left out."""
        body = {"reason": self.reason, "message": self.message}
        if self.field:
            body["field"] = self.field
        return body


@dataclass(frozen=True, slots=True)
class Subject:
    """What an answer is about: group and resource (or kind) and the object's name."""

    group: str
    resource: str
    name: str = ""

    @property
    def qualified(self) -> str:
        """`pods` for the core group, `deployments.apps` otherwise."""
        return f"{self.resource}.{self.group}" if self.group else self.resource


class ApiError(Exception):
    """Raised when a request is refused; becomes a metav1.Status with the right code."""

    def __init__(
        self,
        code: int,
        message: str,
        *,
        reason: str | None = None,
        subject: Subject | None = None,
        causes: Sequence[Cause] = (),
        retry_after: int = 0,
        uid: str = "",
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.reason = REASON_BY_CODE.get(code, "") if reason is None else reason
        self.subject = subject
        self.causes = tuple(causes)
        self.retry_after = retry_after
        self.uid = uid

    def status(self) -> dict[str, Any]:
        """The metav1.Status object."""
        details: dict[str, Any] = {}
        if self.subject is not None:
            if self.subject.name:
                details["name"] = self.subject.name
            if self.subject.group:
                details["group"] = self.subject.group
            details["kind"] = self.subject.resource
        if self.uid:
            details["uid"] = self.uid
        if self.causes:
            details["causes"] = [cause.as_json() for cause in self.causes]
        if self.retry_after:
            details["retryAfterSeconds"] = self.retry_after
        body: dict[str, Any] = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
        }
        if self.reason:
            body["reason"] = self.reason
        if details:
            body["details"] = details
        body["code"] = self.code
        return body

    def encoded(self) -> bytes:
        """The metav1.Status as JSON."""
        return msgspec.json.encode(self.status())


def success(subject: Subject | None = None, uid: str = "") -> dict[str, Any]:
    """The Status that says that all went well."""
    body: dict[str, Any] = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
    if subject is not None:
        details = {"name": subject.name, "kind": subject.resource}
        if subject.group:
            details["group"] = subject.group
        if uid:
            details["uid"] = uid
        body["details"] = details
    return body


def not_found(subject: Subject) -> ApiError:
    """The object does not exist."""
    return ApiError(404, f'{subject.qualified} "{subject.name}" not found', subject=subject)


def no_such_path() -> ApiError:
    """The address means nothing here."""
    return ApiError(404, "the server could not find the requested resource")


def already_exists(subject: Subject, *, leaving: bool = False) -> ApiError:
    """An object of this name exists, perhaps not for long."""
    message = f'{subject.qualified} "{subject.name}" already exists'
    if leaving:
        message = f"object is being deleted: {message}"
    return ApiError(409, message, reason="AlreadyExists", subject=subject)


def conflict(subject: Subject, why: str, causes: Sequence[Cause] = ()) -> ApiError:
    """The change cannot be made to the object as it is now."""
    message = f'Operation cannot be fulfilled on {subject.qualified} "{subject.name}": {why}'
    return ApiError(409, message, subject=subject, causes=causes)


def stale(subject: Subject) -> ApiError:
    """The writer has not seen the newest version."""
    return conflict(
        subject, "the object has been modified; please apply your changes to the latest version and try again"
    )


def invalid(subject: Subject, causes: Sequence[Cause]) -> ApiError:
    """The object is well formed and wrong."""
    texts = [f"{cause.field}: {cause.message}" if cause.field else cause.message for cause in causes]
    listed = texts[0] if len(texts) == 1 else "[" + ", ".join(texts) + "]"
    message = f'{subject.qualified} "{subject.name}" is invalid: {listed}'
    return ApiError(422, message, subject=subject, causes=causes)


def bad_request(message: str) -> ApiError:
    """The request cannot be understood."""
    return ApiError(400, message)


def forbidden(subject: Subject, why: str) -> ApiError:
    """The request is understood and not allowed."""
    named = f'{subject.qualified} "{subject.name}"' if subject.name else subject.qualified
    return ApiError(403, f"{named} is forbidden: {why}", subject=subject)


def expired(message: str) -> ApiError:
    """What is asked for is no longer remembered."""
    return ApiError(410, message)


def method_not_allowed() -> ApiError:
    """The resource does not take part in this verb."""
    return ApiError(405, "the server does not allow this method on the requested resource")


def unsupported_media_type(accepted: Sequence[str]) -> ApiError:
    """The body is in a format that is not read here."""
    listed = ", ".join(accepted)
    return ApiError(415, f"the body of the request was in an unknown format - accepted media types include: {listed}")


def not_acceptable(offered: Sequence[str]) -> ApiError:
    """None of the formats asked for is spoken here."""
    return ApiError(406, "only the following media types are accepted: " + ", ".join(offered))
