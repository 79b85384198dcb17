"""Where acknowledged writes are kept: nowhere, or in SQLite under a data folder that one process owns."""

import fcntl
import os
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol, final

from stowplan.apiserver.options import StartError

FORMAT = 1
SCHEMA = """
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS objects (
    storage TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL,
    version INTEGER NOT NULL, body BLOB NOT NULL,
    PRIMARY KEY (storage, namespace, name)
);
"""


class NotKeptError(Exception):
    """Raised when a batch of writes cannot be kept: none of it is, and the text says where and why."""


class Write(NamedTuple):
    """One row to keep; no body: one row to forget."""

    storage: str
    namespace: str
    name: str
    version: int
    body: bytes | None


class Journal(Protocol):
    """Keeps batches of writes."""

    def load(self) -> tuple[int, Iterator[Write]]:
        """The last version, and all objects."""

    def commit(self, version: int, writes: Sequence[Write]) -> None:
        """Keep a batch: all of it, or nothing and a NotKeptError."""

    def close(self) -> None:
        """Let go of the folder."""


@final
class NoJournal:
    """Keeps nothing."""

    def load(self) -> tuple[int, Iterator[Write]]:
        """The last version, and all objects."""
        return 0, iter(())

    def commit(self, version: int, writes: Sequence[Write]) -> None:
        """Keep nothing."""

    def close(self) -> None:
        """Nothing to let go."""


@final
class SqliteJournal:
    """One database in WAL mode. A killed process loses no committed batch; the operating system writes it out."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._lock = _locked(folder)
        except OSError as error:
            raise StartError(f"data folder {folder}: {error.strerror}") from error
        try:
            self._db = sqlite3.connect(folder / "state.db", isolation_level=None)
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=NORMAL")
            self._db.execute("PRAGMA wal_autocheckpoint=4000")
            self._db.executescript(SCHEMA)
            self._check_format(folder)
        except sqlite3.Error as error:
            os.close(self._lock)
            raise StartError(f"data folder {folder}: state.db: {error}") from error

    def _check_format(self, folder: Path) -> None:
        row = self._db.execute("SELECT value FROM meta WHERE key='format'").fetchone()
        if row is None:
            self._db.execute("INSERT INTO meta VALUES ('format', ?)", (FORMAT,))
        elif row[0] != FORMAT:
            raise StartError(f"data folder {folder}: state.db has format {row[0]}, this program reads {FORMAT}")

    def load(self) -> tuple[int, Iterator[Write]]:
        """The last version, and all objects."""
        row = self._db.execute("SELECT value FROM meta WHERE key='version'").fetchone()
        rows = self._db.execute("SELECT storage, namespace, name, version, body FROM objects")
        return (row[0] if row else 0), (Write(*found) for found in rows)

    def commit(self, version: int, writes: Sequence[Write]) -> None:
        """Keep a batch: all of it, or nothing and a NotKeptError."""
        last = {(write.storage, write.namespace, write.name): write for write in writes}
        kept = [write for write in last.values() if write.body is not None]
        gone = [key for key, write in last.items() if write.body is None]
        try:
            self._db.execute("BEGIN IMMEDIATE")
            if kept:
                self._db.executemany("INSERT OR REPLACE INTO objects VALUES (?, ?, ?, ?, ?)", kept)
            if gone:
                self._db.executemany("DELETE FROM objects WHERE storage=? AND namespace=? AND name=?", gone)
            self._db.execute("INSERT OR REPLACE INTO meta VALUES ('version', ?)", (version,))
            self._db.execute("COMMIT")
        except sqlite3.Error as error:
            if self._db.in_transaction:  # a full disk ends the transaction by itself
                self._db.execute("ROLLBACK")
            raise NotKeptError(f"data folder {self._folder}: {error}") from error

    def close(self) -> None:
        """Let go of the folder."""
        self._db.close()
        os.close(self._lock)


def _locked(folder: Path) -> int:
    """The open lock file of a folder, with the owner's number in it."""
    lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.ftruncate(lock, 0)
        os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
    except BlockingIOError:
        owner = os.pread(lock, 32, 0).decode("ascii", "replace").strip()
        os.close(lock)
        raise StartError(f"data folder {folder}: locked by process {owner or 'unknown'}") from None
    except OSError:
        os.close(lock)
        raise
    return lock
