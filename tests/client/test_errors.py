"""Refused answers become the exception that names them."""

import json
from typing import Any

import msgspec
import pytest

from stowplan.client import errors
from tests.client.fake_server import status_body


def answer(code: int, body: Any, retry_after: str | None = None) -> errors.ApiError:
    """The exception of one answer."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return errors.error_of_answer(code, raw, server="https://api", request="GET /x", retry_after=retry_after)


@pytest.mark.parametrize(
    ("code", "reason", "want"),
    [
        pytest.param(400, "BadRequest", errors.BadRequest, id="a request that cannot be understood"),
        pytest.param(401, "Unauthorized", errors.Unauthorized, id="an unknown user"),
        pytest.param(403, "Forbidden", errors.Forbidden, id="a user without the right"),
        pytest.param(404, "NotFound", errors.NotFound, id="no such object"),
        pytest.param(405, "MethodNotAllowed", errors.MethodNotAllowed, id="no such verb"),
        pytest.param(409, "Conflict", errors.Conflict, id="a changed object"),
        pytest.param(409, "AlreadyExists", errors.AlreadyExists, id="a name that is taken is no conflict"),
        pytest.param(410, "Expired", errors.WatchExpired, id="an expired version"),
        pytest.param(410, "Gone", errors.Gone, id="a version that is gone"),
        pytest.param(413, "RequestEntityTooLarge", errors.TooLarge, id="a body that is too large"),
        pytest.param(415, "UnsupportedMediaType", errors.UnsupportedMediaType, id="an unknown kind of patch"),
        pytest.param(422, "Invalid", errors.Invalid, id="an invalid object"),
        pytest.param(429, "TooManyRequests", errors.TooManyRequests, id="too many requests"),
        pytest.param(500, "InternalError", errors.InternalError, id="a failure of the server"),
        pytest.param(500, "ServerTimeout", errors.ServerTimeout, id="a time-out that comes as 500"),
        pytest.param(503, "ServiceUnavailable", errors.ServiceUnavailable, id="a server that is not ready"),
        pytest.param(504, "Timeout", errors.ServerTimeout, id="a time-out"),
        pytest.param(418, "Teapot", errors.ApiError, id="anything else"),
    ],
)
def test_each_reason_has_its_class(code: int, reason: str, want: type[errors.ApiError]) -> None:
    error = answer(code, status_body(code, reason, "the text"))

    assert want is type(error)
    assert f"GET /x (https://api): {code} {reason}: the text" == str(error)
    assert (code, reason) == (error.code, error.reason)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(
            status_body(504, "Timeout", causes=[{"reason": "ResourceVersionTooLarge", "message": "x"}]),
            id="by its cause",
        ),
        pytest.param(
            status_body(504, "Timeout", "Too large resource version: 9, current: 5"), id="by the text of older servers"
        ),
    ],
)
def test_a_version_from_the_future_is_named(body: dict[str, Any]) -> None:
    assert errors.ResourceVersionTooLarge is type(answer(504, body))


@pytest.mark.parametrize(
    ("body", "header", "want"),
    [
        pytest.param({}, None, None, id="nothing said"),
        pytest.param({}, "7", 7.0, id="in the header"),
        pytest.param({}, "Wed, 21 Oct 2026 07:28:00 GMT", None, id="a date is not read"),
        pytest.param({}, "-1", None, id="a negative number is not read"),
        pytest.param({"retryAfterSeconds": 3}, None, 3.0, id="in the details"),
        pytest.param({"retryAfterSeconds": 3}, "9", 9.0, id="the header wins"),
    ],
)
def test_retry_after(body: dict[str, Any], header: str | None, want: float | None) -> None:
    assert want == answer(429, status_body(429, "TooManyRequests", **body), header).retry_after


@pytest.mark.parametrize(
    ("body", "want"),
    [
        pytest.param(b"<html>bad gateway</html>", "<html>bad gateway</html>", id="a page of a proxy is quoted"),
        pytest.param(b"", "the answer has no body", id="an empty answer says so"),
        pytest.param(b'{"kind":"Pod"}', '{"kind":"Pod"}', id="another object is quoted"),
        pytest.param(b"x" * 9999, "x" * 512, id="a long answer is cut"),
    ],
)
def test_answers_that_are_no_status(body: bytes, want: str) -> None:
    error = answer(503, body)

    assert want == error.message
    assert errors.ServiceUnavailable is type(error)
    assert error.retriable


def test_an_error_event_that_is_no_status_is_still_an_error() -> None:
    error = errors.error_of_object(msgspec.Raw(b"[1]"), server="https://api", request="WATCH /x")

    assert "not a Status" in str(error)
