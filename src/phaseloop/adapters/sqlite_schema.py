"""One SQLite file as a store: its tables, how it is opened, and what to say when that fails."""

import sqlite3
import threading
import time
from collections.abc import Callable, Generator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from phaseloop.core.errors import StoreUnusable, WrongUse

APPLICATION = 0x50484C50  # "PHLP": tells our files from other programs' in SQLite's header
MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        "CREATE TABLE events(run_id TEXT NOT NULL, seq INTEGER NOT NULL, at INTEGER NOT NULL,"
        " type TEXT NOT NULL, v INTEGER NOT NULL, body BLOB NOT NULL,"
        " PRIMARY KEY(run_id, seq)) WITHOUT ROWID",
        "CREATE TABLE blobs(sha256 TEXT PRIMARY KEY, body BLOB NOT NULL)",
        "CREATE TABLE runs(run_id TEXT PRIMARY KEY, title TEXT NOT NULL, definition_id TEXT NOT NULL,"
        " state TEXT NOT NULL, phase_index INTEGER NOT NULL, phase_count INTEGER NOT NULL,"
        " need TEXT NOT NULL, started_at INTEGER NOT NULL, ended_at INTEGER, tokens INTEGER NOT NULL,"
        " cost_usd REAL NOT NULL, parent_run_id TEXT NOT NULL, parent_step_id TEXT NOT NULL) WITHOUT ROWID",
        "CREATE INDEX runs_started ON runs(started_at)",
        "CREATE TABLE open_gates(run_id TEXT NOT NULL, gate_id TEXT NOT NULL, version INTEGER NOT NULL,"
        " kind TEXT NOT NULL, mode TEXT NOT NULL, activity_id TEXT NOT NULL, title TEXT NOT NULL,"
        " opened_at INTEGER NOT NULL, timeout_at INTEGER, PRIMARY KEY(run_id, gate_id)) WITHOUT ROWID",
        "CREATE TABLE timers(run_id TEXT NOT NULL, timer_id TEXT NOT NULL, due_at INTEGER NOT NULL,"
        " PRIMARY KEY(run_id, timer_id)) WITHOUT ROWID",
        "CREATE INDEX timers_due ON timers(due_at)",
        "CREATE TABLE breakers(tool TEXT PRIMARY KEY, failures INTEGER NOT NULL, until INTEGER NOT NULL,"
        " probing INTEGER NOT NULL) WITHOUT ROWID",
        "CREATE TABLE workers(worker TEXT PRIMARY KEY, kind TEXT NOT NULL, beat_at INTEGER NOT NULL) WITHOUT ROWID",
        "CREATE TABLE leases(run_id TEXT PRIMARY KEY, worker TEXT NOT NULL) WITHOUT ROWID",
        "CREATE TABLE locks(key TEXT PRIMARY KEY, token TEXT NOT NULL, owner TEXT NOT NULL) WITHOUT ROWID",
    ),
)
"""One entry a schema version; a store of version n gets what follows entry n. Entries never change."""
SCHEMA = len(MIGRATIONS)
MEMORY = ":memory:"
PAGE_BYTES = 16384  # a quarter of it is kept in place: a body of 2 kB does not take a page of its own


@dataclass(frozen=True, slots=True)
class Link:
    """A connection with the lock that keeps its users apart; they live in different threads."""

    db: sqlite3.Connection
    lock: threading.Lock
    store: str

    def rows(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        """The result of one query. Raises `StoreUnusable`, and `WrongUse` for a text that is not Unicode."""
        try:
            with self.lock:
                return self.db.execute(sql, values).fetchall()
        except sqlite3.Error as error:
            raise StoreUnusable(self.store, explain(error)) from error
        except UnicodeEncodeError as error:
            raise WrongUse(f"{error.object!r} is not in the store: no text there is broken Unicode") from error


def _connect(path: str, busy_seconds: float) -> sqlite3.Connection:
    """A connection that waits `busy_seconds` for other processes and syncs at every commit."""
    db = sqlite3.connect(
        path, timeout=busy_seconds, isolation_level=None, check_same_thread=False, cached_statements=256
    )
    db.execute("PRAGMA synchronous=FULL")
    db.execute("PRAGMA wal_autocheckpoint=500")  # pages: 8 MB
    return db


def open_links(path: str, busy_seconds: float) -> tuple[Link, Link]:
    """The writing and the reading side of the store at `path`, which is created where it is missing.

    Brings the schema up to date and proves that the file can be written. Raises `StoreUnusable` with the
    reason and what to do. A store in memory has one connection, whose lock hides what is not yet committed.
    """
    if path == MEMORY:
        link = Link(_connect(path, busy_seconds), threading.Lock(), path)
        _set_up(link.db, path)
        return link, link
    _make_folder(path)
    with _explained(path), ExitStack() as undo:
        writing = undo.enter_context(closing(_connect(path, busy_seconds)))
        _patiently(lambda: _set_up(writing, path), busy_seconds)
        reading = undo.enter_context(closing(_connect(path, busy_seconds)))
        reading.execute("PRAGMA query_only=ON")
        undo.pop_all()
        return Link(writing, threading.Lock(), path), Link(reading, threading.Lock(), path)


def explain(error: sqlite3.Error) -> str:
    """The reason in words, with what to do."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the low byte is the primary result code
    mend = _MENDS.get(code)
    return f"{error}; {mend}" if mend else str(error)


_MENDS = {
    sqlite3.SQLITE_BUSY: "another process holds it: wait for that process or end it",
    sqlite3.SQLITE_LOCKED: "another process holds it: wait for that process or end it",
    sqlite3.SQLITE_FULL: "free some disk space and run the same command again",
    sqlite3.SQLITE_READONLY: "make the file and its folder writable, or name another store",
    sqlite3.SQLITE_CANTOPEN: "check that the folder exists and may be written, or name another store",
    sqlite3.SQLITE_NOTADB: "it is not a phaseloop store: name another file",
    sqlite3.SQLITE_CORRUPT: "restore it from a copy, or name another store",
    sqlite3.SQLITE_IOERR: "check the disk it is on",
}


def _make_folder(path: str) -> None:
    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = f"its folder cannot be made ({error.strerror}): name a place that may be written"
        raise StoreUnusable(path, reason) from error
    if Path(path).is_dir():
        raise StoreUnusable(path, "it is a folder: name a file in it")


def _set_up(db: sqlite3.Connection, path: str) -> None:
    _refuse_strangers(db, path)
    db.execute(f"PRAGMA page_size={PAGE_BYTES}")  # has an effect on a new file only
    mode = db.execute("PRAGMA journal_mode=WAL").fetchone()[0]
    if mode != "wal" and path != MEMORY:
        raise StoreUnusable(path, f"its disk allows journal mode {mode} only: put it on a local disk")
    db.execute("BEGIN IMMEDIATE")
    try:
        _refuse_strangers(db, path)
        if _version(db) < SCHEMA:
            for statement in chain(*MIGRATIONS[_version(db) :]):
                db.execute(statement)
            db.execute(f"PRAGMA application_id={APPLICATION}")
            db.execute(f"PRAGMA user_version={SCHEMA}")
            db.execute("COMMIT")
    finally:
        if db.in_transaction:
            db.execute("ROLLBACK")


def _refuse_strangers(db: sqlite3.Connection, path: str) -> None:
    """Before anything is changed: a file of another program, or of a newer release, stays as it is."""
    found = _version(db)
    ours = db.execute("PRAGMA application_id").fetchone()[0] == APPLICATION
    empty = db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
    if not ours and not (empty and found == 0):
        raise StoreUnusable(path, "it is a SQLite database of another program: name another file")
    if found > SCHEMA:
        raise StoreUnusable(
            path,
            f"it has schema {found}, this release knows {SCHEMA}: upgrade phaseloop, or name another store",
        )


def _version(db: sqlite3.Connection) -> int:
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def _patiently(act: Callable[[], None], seconds: float) -> None:
    """Run `act` until the file is free: the change to WAL reports a busy file without waiting for it."""
    ends = time.monotonic() + seconds
    while True:
        try:
            return act()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() >= ends:
                raise
            time.sleep(0.01)


@contextmanager
def _explained(path: str) -> Generator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise StoreUnusable(path, explain(error)) from error
