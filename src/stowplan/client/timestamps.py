"""Seconds since the epoch as the API writes times."""

from datetime import UTC, datetime


def rfc3339(seconds: float) -> str:
    """`metav1.Time`: whole seconds, cut."""
    return datetime.fromtimestamp(int(seconds), UTC).isoformat(timespec="seconds").removesuffix("+00:00") + "Z"


def rfc3339_micro(seconds: float) -> str:
    """`metav1.MicroTime`: six digits."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="microseconds").removesuffix("+00:00") + "Z"
