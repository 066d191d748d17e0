"""The derived tables of a store: how they are written in an append, and the queries over them."""

import sqlite3
from dataclasses import fields
from operator import attrgetter
from typing import Any

from phaseloop.adapters.sqlite_schema import Link
from phaseloop.core.tables import GateRow, RunRow, Tables, TimerRow

_RUN = ", ".join(f.name for f in fields(RunRow))
_GATE = ", ".join(f.name for f in fields(GateRow))
_TIMER = ", ".join(f.name for f in fields(TimerRow))


def _slots(row: type[Any], more: int) -> str:
    return ", ".join("?" * (len(fields(row)) + more))


_run_values = attrgetter(*(f.name for f in fields(RunRow)))
_gate_values = attrgetter(*(f.name for f in fields(GateRow)))
_timer_values = attrgetter(*(f.name for f in fields(TimerRow)))
_PUT_RUN = f"INSERT OR REPLACE INTO runs({_RUN}) VALUES({_slots(RunRow, 0)})"
_PUT_GATE = f"INSERT INTO open_gates(run_id, {_GATE}) VALUES({_slots(GateRow, 1)})"
_PUT_TIMER = f"INSERT INTO timers(run_id, {_TIMER}) VALUES({_slots(TimerRow, 1)})"


def write_tables(db: sqlite3.Connection, run_id: str, tables: Tables) -> None:
    """Replace everything that is derived from `run_id`; inside the transaction of its append."""
    db.execute(_PUT_RUN, _run_values(tables.row))
    db.execute("DELETE FROM open_gates WHERE run_id = ?", (run_id,))
    db.execute("DELETE FROM timers WHERE run_id = ?", (run_id,))
    if tables.gates:
        db.executemany(_PUT_GATE, [(run_id, *_gate_values(gate)) for gate in tables.gates])
    if tables.timers:
        db.executemany(_PUT_TIMER, [(run_id, *_timer_values(timer)) for timer in tables.timers])


def forget_strays(db: sqlite3.Connection) -> None:
    """Delete derived rows of runs that have no events."""
    for table in ("runs", "open_gates", "timers"):
        db.execute(f"DELETE FROM {table} WHERE run_id NOT IN (SELECT run_id FROM events WHERE seq = 1)")


class SqliteRuns:
    """`Runs`: the run list, the inbox of gates, the timers that are due."""

    def __init__(self, reader: Link) -> None:
        self._reader = reader

    async def list_runs(self, state: str = "", limit: int = 200) -> list[RunRow]:
        """The newest `limit` runs, of one state or of all; the newest first."""
        where, values = ("WHERE state = ? ", (state,)) if state else ("", ())
        sql = f"SELECT {_RUN} FROM runs {where}ORDER BY started_at DESC, run_id DESC LIMIT ?"
        return [RunRow(*row) for row in self._reader.rows(sql, *values, limit)]

    async def run_row(self, run_id: str) -> RunRow | None:
        """One line of the run list, or `None` for an unknown run."""
        found = self._reader.rows(f"SELECT {_RUN} FROM runs WHERE run_id = ?", run_id)
        return RunRow(*found[0]) if found else None

    async def open_gates(self, run_id: str = "") -> list[tuple[str, GateRow]]:
        """(run id, gate) of all open gates, or of one run; the one that waits longest first."""
        where, values = ("WHERE run_id = ? ", (run_id,)) if run_id else ("", ())
        sql = f"SELECT run_id, {_GATE} FROM open_gates {where}ORDER BY opened_at, run_id, gate_id"
        return [(row[0], GateRow(*row[1:])) for row in self._reader.rows(sql, *values)]

    async def timers_due(self, now: int) -> list[tuple[str, TimerRow]]:
        """(run id, timer) of all timers due at `now` (milliseconds since 1970 UTC), the oldest first."""
        sql = f"SELECT run_id, {_TIMER} FROM timers WHERE due_at <= ? ORDER BY due_at, run_id, timer_id"
        return [(row[0], TimerRow(*row[1:])) for row in self._reader.rows(sql, now)]
