"""Writes down every finished write: who, what, with which body, to which end."""

import logging
from pathlib import Path
from typing import final

import msgspec

from stowplan.apiserver.options import StartError
from stowplan.apiserver.request import Call

log = logging.getLogger(__name__)


@final
class AuditLog:
    """JSON lines in the order of completion."""

    def __init__(self, path: Path) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("ab", buffering=0)
        except OSError as error:
            raise StartError(f"audit log {path}: {error.strerror}") from error

    def record(self, call: Call, name: str, status: int) -> None:
        """Write one line."""
        line = {
            "user": call.user.name,
            "agent": call.agent,
            "verb": call.verb,
            "group": call.resource.group,
            "version": call.resource.version,
            "resource": call.resource.plural,
            "subresource": call.subresource,
            "namespace": call.namespace,
            "name": name or call.name,
            "dryRun": call.dry_run,
            "contentType": call.content_type,
            "body": _readable(call.body),
            "status": status,
        }
        try:
            self._file.write(msgspec.json.encode(line) + b"\n")
        except OSError as error:  # the write itself is done, and its client must hear so
            log.error("audit log %s: %s", self._file.name, error.strerror)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _readable(body: bytes) -> object:
    if not body.strip():
        return None
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError):
        return body.decode("utf-8", "replace")
