"""What can go wrong between us and an API server, as one tree of exceptions parsed from `metav1.Status`.

Upstream: staging/src/k8s.io/apimachinery/pkg/api/errors/errors.go (v1.36.4).
"""
# ruff: noqa: N818 - the names are the server's reasons (Conflict, Gone), which is what people know them by

import msgspec


class StatusCause(msgspec.Struct, frozen=True, gc=False):
    """One field-level cause inside a Status."""

    reason: str | None = ""
    message: str | None = ""
    field: str | None = ""


class StatusDetails(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """What a Status says beyond its reason."""

    name: str | None = ""
    kind: str | None = ""
    causes: list[StatusCause] | None = None
    retry_after_seconds: int | None = None


class Status(msgspec.Struct, frozen=True, gc=False):
    """`metav1.Status`, the body of a refused request and of an ERROR watch event."""

    kind: str | None = ""
    code: int | None = None
    reason: str | None = ""
    message: str | None = ""
    details: StatusDetails | None = None


class ClientError(Exception):
    """Raised when a request did not do what was asked; every failure of this room is one of these."""

    def __init__(self, message: str, *, server: str = "", request: str = "") -> None:
        place = " ".join(part for part in (request, f"({server})" if server else "") if part)
        super().__init__(f"{place}: {message}" if place else message)
        self.message = message
        self.server = server
        self.request = request

    @property
    def told(self) -> str:
        """What pods, events and logs of kube-scheduler would say: the server's own words where it answered."""
        return str(self)


class ConfigError(ClientError):
    """Raised when a kubeconfig or the in-cluster environment cannot be read or asks for what we do not support."""


class CredentialError(ClientError):
    """Raised when a token file, an exec plugin or a client certificate gives no usable credential."""


class Unreachable(ClientError):
    """Raised when the server could not be talked to: refused, unknown host, TLS failure, connection lost."""


class ConnectionLost(Unreachable):
    """Raised when the connection ended after the request went out: the server may or may not have acted on it."""


class RequestTimedOut(Unreachable):
    """Raised when the server did not answer in time: it may or may not have acted on the request."""


class BadResponse(ClientError):
    """Raised when the server's answer is not what the API promises: no JSON, an endless line, a wrong type."""


class ApiError(ClientError):
    """Raised when the server answered and refused, with a reason that no more specific class names."""

    def __init__(
        self,
        message: str,
        *,
        server: str = "",
        request: str = "",
        code: int = 0,
        reason: str = "",
        retry_after: float | None = None,
        causes: tuple[StatusCause, ...] = (),
    ) -> None:
        label = f"{code} {reason}".strip() if code else reason
        super().__init__(f"{label}: {message}" if label else message, server=server, request=request)
        self.message = message
        self.code = code
        self.reason = reason
        self.retry_after = retry_after
        self.causes = causes

    @property
    def told(self) -> str:
        """What the server said."""
        return self.message

    @property
    def namespace_is_going(self) -> bool:
        """Whether nothing new is let into the namespace any more, which is nobody's fault."""
        return any(cause.reason == "NamespaceTerminating" for cause in self.causes)

    @property
    def retriable(self) -> bool:
        """Whether the same request may succeed later without anybody changing it (429 and 5xx)."""
        return self.code == 429 or self.code >= 500


class BadRequest(ApiError):
    """Raised when the server could not understand the request (400)."""


class Unauthorized(ApiError):
    """Raised when the server does not know who we are (401)."""


class Forbidden(ApiError):
    """Raised when the server knows us and does not allow the request (403)."""


class NotFound(ApiError):
    """Raised when the object or the resource does not exist (404)."""


class MethodNotAllowed(ApiError):
    """Raised when the resource does not support the verb (405)."""


class Conflict(ApiError):
    """Raised when the object changed since we read it, or is in a state that excludes the request (409)."""


class AlreadyExists(ApiError):
    """Raised when an object of that name exists already (409); not a Conflict, since reading again does not help."""


class Gone(ApiError):
    """Raised when what was asked for is no longer kept (410)."""


class WatchExpired(Gone):
    """Raised when the server no longer has the resource version we resume from: list again."""


class TooLarge(ApiError):
    """Raised when the request body is larger than the server takes (413)."""


class UnsupportedMediaType(ApiError):
    """Raised when the server does not take the content type, such as a patch of a kind it does not know (415)."""


class Invalid(ApiError):
    """Raised when the object does not pass validation or admission (422)."""


class TooManyRequests(ApiError):
    """Raised when the server asks us to slow down (429); `retry_after` says by how much when it is known."""


class InternalError(ApiError):
    """Raised when the server failed on its side (500)."""


class ServiceUnavailable(ApiError):
    """Raised when the server or what stands behind it is not ready (503)."""


class ServerTimeout(ApiError):
    """Raised when the server gave up on the request in time (500 ServerTimeout, 504 Timeout)."""


class ResourceVersionTooLarge(ServerTimeout):
    """Raised when the server has not yet seen the resource version we ask from, or was restored to an older state."""


class LeadershipLost(ClientError):
    """Raised when the Lease could not be renewed in time: somebody else may lead, so the process has to end."""


_BY_CODE: dict[int, type[ApiError]] = {
    400: BadRequest,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    405: MethodNotAllowed,
    409: Conflict,
    410: Gone,
    413: TooLarge,
    415: UnsupportedMediaType,
    422: Invalid,
    429: TooManyRequests,
    500: InternalError,
    503: ServiceUnavailable,
    504: ServerTimeout,
}

_BY_REASON: dict[str, type[ApiError]] = {
    "AlreadyExists": AlreadyExists,
    "Conflict": Conflict,
    "Expired": WatchExpired,
    "Gone": Gone,
    "Timeout": ServerTimeout,
    "ServerTimeout": ServerTimeout,
    "TooManyRequests": TooManyRequests,
    "ServiceUnavailable": ServiceUnavailable,
}

_TOO_LARGE_VERSION = "ResourceVersionTooLarge"
_TOO_LARGE_TEXT = "Too large resource version"
_LONGEST_QUOTED_BODY = 512
_STATUS = msgspec.json.Decoder(Status)


def error_of_status(status: Status, *, server: str, request: str, retry_after: float | None = None) -> ApiError:
    """The exception that names a decoded Status."""
    code = status.code or 0
    reason = status.reason or ""
    details = status.details or StatusDetails()
    causes = tuple(details.causes or ())
    error_type = _BY_REASON.get(reason) or _BY_CODE.get(code, ApiError)
    # parity: older servers say so in the message only (IsTooLargeResourceVersion in the reflector)
    message = status.message or ""
    if message.startswith(_TOO_LARGE_TEXT) or any(cause.reason == _TOO_LARGE_VERSION for cause in causes):
        error_type = ResourceVersionTooLarge
    if retry_after is None and details.retry_after_seconds:
        retry_after = float(details.retry_after_seconds)
    return error_type(
        message or "the server gave no message",
        server=server,
        request=request,
        code=code,
        reason=reason,
        retry_after=retry_after,
        causes=causes,
    )


def error_of_answer(code: int, body: bytes, *, server: str, request: str, retry_after: str | None = None) -> ApiError:
    """The exception that names a refused HTTP answer, whether or not its body is a Status."""
    try:
        status = _STATUS.decode(body)
    except msgspec.DecodeError:
        status = Status()
    if status.kind != "Status" or not (status.reason or status.message):
        text = body[:_LONGEST_QUOTED_BODY].decode(errors="replace").strip()
        status = Status(message=text or "the answer has no body")
    if not status.code:
        status = msgspec.structs.replace(status, code=code)
    return error_of_status(status, server=server, request=request, retry_after=parse_retry_after(retry_after))


def error_of_object(value: bytes | msgspec.Raw, *, server: str, request: str) -> ApiError:
    """The exception that names the object inside an ERROR watch event, given as JSON."""
    try:
        status = _STATUS.decode(value)
    except msgspec.DecodeError as error:
        return ApiError(f"the watch reported an error that is not a Status: {error}", server=server, request=request)
    return error_of_status(status, server=server, request=request)


def parse_retry_after(value: str | None) -> float | None:
    """Seconds of a Retry-After header; None when absent or not a whole number of seconds."""
    # parity: client-go reads integers only, dates are ignored (rest/request.go retryAfterSeconds)
    return float(value) if value is not None and value.isascii() and value.isdigit() else None
