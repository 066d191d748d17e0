"""The event log in one SQLite file: WAL, synced commits, one writer thread, group commit."""

import sqlite3
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path

from phaseloop.adapters.codec import Codec, Encoded
from phaseloop.adapters.sqlite_breakers import SqliteBreakers
from phaseloop.adapters.sqlite_leases import SqliteLeases, SqliteLocks
from phaseloop.adapters.sqlite_schema import MEMORY, open_links
from phaseloop.adapters.sqlite_tables import SqliteRuns, forget_strays, write_tables
from phaseloop.adapters.sqlite_writer import Fault, Writer
from phaseloop.core.errors import LogConflict, RecordUnreadable, StoreUnusable, WrongUse
from phaseloop.core.events import Event
from phaseloop.core.tables import Tables
from phaseloop.engine.ports import Clock, Recorded

BUSY_SECONDS = 30.0  # how long a commit waits for other processes before it is broken


class SqliteLog:
    """`EventLog` on one file; `runs`, `leases`, `locks` and `breakers` are the other ports on the same file.

    May be used from any event loop; `close` it when done.
    """

    def __init__(
        self,
        path: str,
        *,
        clock: Clock | None = None,
        codec: Codec | None = None,
        fault: Fault | None = None,
        slow_ms: float = 0.0,
        busy_seconds: float = BUSY_SECONDS,
    ) -> None:
        """Open or create the store. `fault` and `slow_ms` (added to each commit) are for tests and benches.

        Raises `StoreUnusable`.
        """
        self.path = path
        self.codec = codec or Codec()
        link, self._reader = open_links(path, busy_seconds)
        self._writer = Writer(link, fault, slow_ms)
        clock = clock or _wall_clock
        self.runs = SqliteRuns(self._reader)
        self.locks = SqliteLocks(self._writer, self._reader, clock)
        self.leases = SqliteLeases(self._writer, self._reader, clock, self.locks)
        self.breakers = SqliteBreakers(self._writer, self._reader, clock)

    def close(self) -> None:
        """Write what is queued and let go of the file."""
        self._writer.close()
        self._reader.db.close()

    @property
    def commits(self) -> int:
        """How many commits this process has made."""
        return self._writer.commits

    async def append(
        self, run_id: str, expected_seq: int, at: int, events: Sequence[Event], tables: Tables | None
    ) -> None:
        """Write `events` after `expected_seq`, in one transaction with `tables`; durable when it returns.

        Raises `LogConflict` when any of these places is taken, `LogBroken` when it is unknown whether the
        write holds, and `WrongUse` for a gap or for what cannot be recorded.
        """
        rows = [self.codec.encode(event) for event in events]

        def job(db: sqlite3.Connection) -> None:
            _check_place(run_id, expected_seq, _head(db, run_id))
            _insert(db, run_id, expected_seq, at, rows)
            if tables is not None:
                write_tables(db, run_id, tables)

        await self._writer.submit(job, run_id)

    async def read(self, run_id: str, after: int = 0) -> list[Recorded]:
        """The history after `after`, bodies included. Raises `RecordUnreadable`, `StoreUnusable`."""
        sql = "SELECT seq, at, type, v, body FROM events WHERE run_id = ? AND seq > ? ORDER BY seq"
        return [self._recorded(run_id, *row) for row in self._reader.rows(sql, run_id, after)]

    async def follow(self, run_id: str, after: int = 0) -> AsyncIterator[Recorded]:
        """The history after `after` and all that is appended later, by any process, without end."""
        with self._writer.bell.listen(run_id) as news:
            while True:
                news.clear()
                for recorded in await self.read(run_id, after):
                    after = recorded.seq
                    yield recorded
                await news.wait()

    def blob(self, sha256: str) -> bytes:
        """The JSON text of a `*_ref` or of a snapshot. Raises `RecordUnreadable` when there is none."""
        found = self._reader.rows("SELECT body FROM blobs WHERE sha256 = ?", sha256)
        if not found:
            raise RecordUnreadable(f"blob {sha256}", "the store does not have it")
        return bytes(found[0][0])

    async def run_ids(self) -> list[str]:
        """All runs that have events, whatever the derived tables say; the oldest id first."""
        return [row[0] for row in self._reader.rows("SELECT DISTINCT run_id FROM events ORDER BY run_id")]

    async def rebuild(self, fold: Callable[[str], Awaitable[Tables]]) -> int:
        """Write the derived tables of every run anew, as `fold` finds them; returns how many runs there are.

        A run that gets events meanwhile is folded again. Raises `LogBroken` and what `fold` raises.
        """
        run_ids = await self.run_ids()
        for run_id in run_ids:
            while not await self._rewrite(run_id, self._reader.rows(_HEAD, run_id)[0][0], await fold(run_id)):
                continue
        await self._writer.submit(forget_strays)
        return len(run_ids)

    async def _rewrite(self, run_id: str, seq: int, tables: Tables) -> bool:
        def job(db: sqlite3.Connection) -> bool:
            if _head(db, run_id) != seq:
                return False
            write_tables(db, run_id, tables)
            return True

        return await self._writer.submit(job, run_id)

    def _recorded(self, run_id: str, seq: int, at: int, name: str, version: int, body: bytes) -> Recorded:
        try:
            return Recorded(run_id, seq, at, self.codec.decode(name, version, body, self.blob))
        except RecordUnreadable as error:
            raise RecordUnreadable(f"{error.what} at {seq} of run {run_id}", error.reason) from error


def open_store(
    url: str,
    *,
    clock: Clock | None = None,
    fault: Fault | None = None,
    slow_ms: float = 0.0,
    busy_seconds: float = BUSY_SECONDS,
) -> SqliteLog:
    """The store at `url`: `sqlite:///path`, a plain path, or `memory:` for one that ends with the process.

    Raises `StoreUnusable` with the reason and what to do.
    """
    return SqliteLog(_path(url), clock=clock, fault=fault, slow_ms=slow_ms, busy_seconds=busy_seconds)


_HEAD = "SELECT seq FROM events WHERE run_id = ? ORDER BY seq DESC LIMIT 1"


def _path(url: str) -> str:
    scheme, found, rest = url.partition("://")
    if url in ("memory:", MEMORY):
        return MEMORY
    if found and scheme != "sqlite":
        raise StoreUnusable(url, "this release keeps its log in SQLite: write sqlite:///path, or a path")
    path = rest.removeprefix("/") if found else url
    if not path or (found and not rest.startswith("/")):
        raise StoreUnusable(url, "it names no file: write sqlite:///path, or a path")
    return str(Path(path).expanduser())


def _head(db: sqlite3.Connection, run_id: str) -> int:
    found = db.execute(_HEAD, (run_id,)).fetchone()
    return found[0] if found else 0


def _check_place(run_id: str, expected_seq: int, head: int) -> None:
    if head > expected_seq:
        raise LogConflict(run_id, expected_seq + 1)
    if head < expected_seq:
        raise WrongUse(f"run {run_id} ends at {head}: an append after {expected_seq} would leave a gap")


def _insert(db: sqlite3.Connection, run_id: str, expected_seq: int, at: int, rows: list[Encoded]) -> None:
    db.executemany(
        "INSERT INTO events VALUES(?, ?, ?, ?, ?, ?)",
        [(run_id, seq, at, row.name, row.version, row.body) for seq, row in enumerate(rows, expected_seq + 1)],
    )
    for row in rows:
        if row.blobs:
            db.executemany("INSERT OR IGNORE INTO blobs VALUES(?, ?)", row.blobs)


def _wall_clock() -> int:
    return time.time_ns() // 1_000_000
