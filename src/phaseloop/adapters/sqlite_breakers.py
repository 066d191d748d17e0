"""Circuit breakers of tools, one row each, shared by all runs and processes of a store."""

import math
import sqlite3
import time
from collections.abc import Callable
from typing import TypeVar

from phaseloop.adapters.sqlite_schema import Link
from phaseloop.adapters.sqlite_writer import Writer
from phaseloop.engine.ports import Clock

OPEN_AT = 5  # consecutive failed calls: architecture section 4
HALF_OPEN_AFTER_MS = 60_000  # then one call may try
LOOK_SECONDS = 0.1  # the table is looked at before and after every call; it changes when a tool fails
T = TypeVar("T")


class SqliteBreakers:
    """`Breakers` on the table `breakers`. A tool whose last call went well has no row."""

    def __init__(self, writer: Writer, reader: Link, clock: Clock) -> None:
        self._writer = writer
        self._reader = reader
        self._clock = clock
        self._rows: dict[str, tuple[int, int]] = {}
        self._looked_at = -math.inf

    async def blocked(self, tool: str) -> int | None:
        """Until when the tool is shut off, in milliseconds, or `None`.

        After that time one caller gets `None` and is the probe; the others wait for its end, or another
        minute if it never reports. Raises `LogBroken`.
        """
        failures, until = self._row(tool)
        if failures < OPEN_AT:
            return None
        now = self._clock()
        if until > now:
            return until
        return await self._change(lambda db: _probe(db, tool, now))

    async def note(self, tool: str, ok: bool) -> tuple[str, int, int] | None:
        """Count an ended call. Returns `(opened | closed, failures, until)` when the breaker moved.

        A success of a tool without failures costs no commit. Raises `LogBroken`.
        """
        if ok and not self._row(tool)[0]:
            return None
        now = self._clock()
        return await self._change(lambda db: _close(db, tool) if ok else _count(db, tool, now))

    async def _change(self, job: Callable[[sqlite3.Connection], T]) -> T:
        try:
            return await self._writer.submit(job)
        finally:
            self._looked_at = -math.inf

    def _row(self, tool: str) -> tuple[int, int]:
        """Failures and the end of the pause, no older than `LOOK_SECONDS` where another process changed them."""
        if time.monotonic() - self._looked_at > LOOK_SECONDS:
            self._looked_at = time.monotonic()
            found = self._reader.rows("SELECT tool, failures, until FROM breakers")
            self._rows = {str(name): (int(failures), int(until)) for name, failures, until in found}
        return self._rows.get(tool, (0, 0))


def _probe(db: sqlite3.Connection, tool: str, now: int) -> int | None:
    found = db.execute("SELECT failures, until FROM breakers WHERE tool = ?", (tool,)).fetchone()
    if found is None or found[0] < OPEN_AT:
        return None
    if found[1] > now:
        return int(found[1])
    until = now + HALF_OPEN_AFTER_MS
    db.execute("UPDATE breakers SET until = ?, probing = 1 WHERE tool = ?", (until, tool))
    return None


def _close(db: sqlite3.Connection, tool: str) -> tuple[str, int, int] | None:
    found = db.execute("DELETE FROM breakers WHERE tool = ? RETURNING failures", (tool,)).fetchall()
    if not found or found[0][0] < OPEN_AT:
        return None
    return "closed", int(found[0][0]), 0


def _count(db: sqlite3.Connection, tool: str, now: int) -> tuple[str, int, int] | None:
    """A straggler that fails while the breaker is open is counted and moves nothing; a failed probe opens."""
    found = db.execute("SELECT failures, until, probing FROM breakers WHERE tool = ?", (tool,)).fetchone()
    before, until, probing = found or (0, 0, 0)
    failures = before + 1
    opens = failures >= OPEN_AT and (before < OPEN_AT or bool(probing))
    until = now + HALF_OPEN_AFTER_MS if opens else until
    db.execute("INSERT OR REPLACE INTO breakers VALUES(?, ?, ?, ?)", (tool, failures, until, 0))
    return ("opened", failures, until) if opens else None
