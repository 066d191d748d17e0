"""Who drives which run and who holds which lock: rows with a heartbeat in the store."""

import asyncio
import itertools
import sqlite3
import uuid
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress

from phaseloop.adapters.sqlite_schema import Link
from phaseloop.adapters.sqlite_writer import Writer
from phaseloop.core.errors import LogBroken, StoreUnusable
from phaseloop.engine.ports import Clock

DEAD_AFTER_MS = 5000  # five missed heartbeats: contract section 3
FRESH_MS = 500  # a worker that was heard of so recently is not written anew for every run it takes
FORGOTTEN_AFTER_MS = 60_000  # rows of workers that ended without a word; long enough to look at them
POLL_SECONDS = (0.005, 0.2)  # first and longest wait for a lock that another process holds


class SqliteLeases:
    """`Leases` on the tables `workers` and `leases`. Advice only: the log is the fence."""

    def __init__(self, writer: Writer, reader: Link, clock: Clock, locks: "SqliteLocks") -> None:
        self._writer = writer
        self._reader = reader
        self._clock = clock
        self._locks = locks
        self._beaten: dict[str, int] = {}

    async def take(self, run_id: str, worker: str) -> None:
        """Say that `worker` drives `run_id`; the last word counts. Raises `LogBroken`."""
        now = self._clock()
        known = now - self._beaten.get(worker, -DEAD_AFTER_MS) < FRESH_MS

        def job(db: sqlite3.Connection) -> None:
            if not known:
                _beat(db, worker, "", now)
            db.execute("INSERT OR REPLACE INTO leases VALUES(?, ?)", (run_id, worker))

        await self._writer.submit(job)
        if not known:
            self._beaten[worker] = now

    async def leave(self, run_id: str, worker: str) -> None:
        """Take back what `take` said; nothing when another worker has the run by now. Raises `LogBroken`."""

        def job(db: sqlite3.Connection) -> None:
            db.execute("DELETE FROM leases WHERE run_id = ? AND worker = ?", (run_id, worker))

        await self._writer.submit(job)

    async def holder(self, run_id: str) -> str | None:
        """The live worker that drives the run."""
        found = self._reader.rows(
            "SELECT worker FROM leases JOIN workers USING (worker) WHERE run_id = ? AND beat_at > ?",
            run_id,
            self._clock() - DEAD_AFTER_MS,
        )
        return str(found[0][0]) if found else None

    async def beat(self, worker: str, kind: str = "") -> None:
        """One heartbeat for all that `worker` has; forgets workers that are long dead. Raises `LogBroken`."""
        now = self._clock()

        def job(db: sqlite3.Connection) -> None:
            _beat(db, worker, kind, now)
            db.execute("DELETE FROM workers WHERE beat_at < ?", (now - FORGOTTEN_AFTER_MS,))
            for table, column in (("leases", "worker"), ("locks", "owner")):
                db.execute(f"DELETE FROM {table} WHERE {column} NOT IN (SELECT worker FROM workers)")
            self._locks.sweep(db)

        await self._writer.submit(job)

    async def servers(self) -> list[str]:
        """Live workers that said they are long-lived, in order of their names."""
        found = self._reader.rows(
            "SELECT worker FROM workers WHERE kind <> '' AND beat_at > ? ORDER BY worker",
            self._clock() - DEAD_AFTER_MS,
        )
        return [str(row[0]) for row in found]


class SqliteLocks:
    """`Locks` on the table `locks`: one holder a key, over all processes (contract section 8).

    A lock lives as long as its owner's heartbeat, so an owner that holds one must `beat` every second.
    """

    def __init__(self, writer: Writer, reader: Link, clock: Clock) -> None:
        self._writer = writer
        self._reader = reader
        self._clock = clock
        self._name = uuid.uuid4().hex
        self._count = itertools.count()
        self._held: set[str] = set()
        self._queues: dict[tuple[int, str], tuple[asyncio.Lock, list[None]]] = {}

    @asynccontextmanager
    async def hold(self, key: str, owner: str) -> AsyncGenerator[None]:
        """Wait until the key is free or its holder is dead, in order of asking within this process.

        Raises `LogBroken` when the store does not take the row.
        """
        key = key.encode(errors="backslashreplace").decode()  # a model's arguments may hold broken Unicode
        async with self._turn(key):
            token = f"{self._name}:{next(self._count)}"
            self._held.add(token)
            try:
                await self._acquire(key, token, owner)
                yield
            finally:
                self._held.discard(token)
                # a row that stays behind is swept by the next heartbeat, or by the next who wants the key
                with suppress(LogBroken, StoreUnusable):
                    await self._writer.submit(lambda db: _release(db, token))

    def sweep(self, db: sqlite3.Connection) -> None:
        """Delete rows of this process that nobody holds any more: their release was lost with its commit."""
        for (token,) in db.execute("SELECT token FROM locks").fetchall():
            if self._is_stale(token):
                _release(db, token)

    def _is_stale(self, token: str) -> bool:
        return token.startswith(self._name) and token not in self._held

    @asynccontextmanager
    async def _turn(self, key: str) -> AsyncGenerator[None]:
        """First come, first served within this loop, so that one task a process asks the store."""
        place = id(asyncio.get_running_loop()), key
        lock, users = self._queues.setdefault(place, (asyncio.Lock(), []))
        users.append(None)
        try:
            async with lock:
                yield
        finally:
            users.pop()
            if not users:
                self._queues.pop(place, None)

    async def _acquire(self, key: str, token: str, owner: str) -> None:
        wait, longest = POLL_SECONDS
        while True:
            if self._looks_free(key) and await self._writer.submit(lambda db: self._try(db, key, token, owner)):
                return
            await asyncio.sleep(wait)
            wait = min(wait * 2, longest)

    def _looks_free(self, key: str) -> bool:
        """A look without a commit; only `_try` decides."""
        found = self._reader.rows(_HOLDER, self._clock() - DEAD_AFTER_MS, key)
        return not found or self._is_stale(found[0][0])

    def _try(self, db: sqlite3.Connection, key: str, token: str, owner: str) -> bool:
        now = self._clock()
        found = db.execute(_HOLDER, (now - DEAD_AFTER_MS, key)).fetchone()
        if found and not self._is_stale(found[0]):
            return False
        _beat(db, owner, "", now)
        db.execute("INSERT OR REPLACE INTO locks VALUES(?, ?, ?)", (key, token, owner))
        return True


_HOLDER = "SELECT token FROM locks JOIN workers ON worker = owner AND beat_at > ? WHERE key = ?"


def _release(db: sqlite3.Connection, token: str) -> None:
    db.execute("DELETE FROM locks WHERE token = ?", (token,))


def _beat(db: sqlite3.Connection, worker: str, kind: str, now: int) -> None:
    """An empty `kind` leaves the one that is known."""
    db.execute(
        "INSERT INTO workers VALUES(?, ?, ?) ON CONFLICT(worker) DO UPDATE SET beat_at = excluded.beat_at,"
        " kind = CASE excluded.kind WHEN '' THEN kind ELSE excluded.kind END",
        (worker, kind, now),
    )
