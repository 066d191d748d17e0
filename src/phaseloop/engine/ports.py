"""What the loop needs from outside: a log, tools, conditions, contracts, locks, breakers and a clock."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

from phaseloop.core.effects import Check
from phaseloop.core.events import Event
from phaseloop.core.plan import Finding
from phaseloop.core.tables import GateRow, RunRow, Tables, TimerRow
from phaseloop.core.tools import ToolSpec
from phaseloop.core.values import Json, Object

Clock = Callable[[], int]
"""The time now, in milliseconds since 1970 UTC."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """An event with its place in the history of one run. `at` is milliseconds since 1970 UTC."""

    run_id: str
    seq: int
    at: int
    event: Event


class EventLog(Protocol):
    """Append-only, one gapless history per run (contract section 3)."""

    async def append(
        self, run_id: str, expected_seq: int, at: int, events: Sequence[Event], tables: Tables | None
    ) -> None:
        """Write `events` at `expected_seq + 1` and after, in one transaction with the derived `tables`.

        `tables` is `None` when they did not change. Raises `LogConflict` when any of these places is taken
        and `LogBroken` when it is unknown whether the write holds.
        """
        ...

    async def read(self, run_id: str, after: int = 0) -> list[Recorded]:
        """The history after `after`, bodies included. Raises `RecordUnreadable`."""
        ...

    def follow(self, run_id: str, after: int = 0) -> AsyncIterator[Recorded]:
        """The history after `after` and everything appended later, by any process, without end."""
        ...


class Runs(Protocol):
    """Queries over the derived tables."""

    async def list_runs(self, state: str = "", limit: int = 200) -> list[RunRow]: ...

    async def run_row(self, run_id: str) -> RunRow | None: ...

    async def open_gates(self, run_id: str = "") -> list[tuple[str, GateRow]]: ...

    async def timers_due(self, now: int) -> list[tuple[str, TimerRow]]: ...


class Leases(Protocol):
    """Advice on who drives what: rows with a heartbeat, dead after five seconds (contract section 3)."""

    async def take(self, run_id: str, worker: str) -> None:
        """Say that `worker` drives `run_id`; kept alive by `beat`."""
        ...

    async def leave(self, run_id: str, worker: str) -> None: ...

    async def holder(self, run_id: str) -> str | None:
        """The live worker that drives the run."""
        ...

    async def beat(self, worker: str, kind: str = "") -> None:
        """One heartbeat for all leases and locks of `worker`; `kind` is `serve` or `worker` for long-lived ones."""
        ...

    async def servers(self) -> list[str]:
        """Live long-lived workers."""
        ...


class Locks(Protocol):
    """Leases on conflict keys, across runs and processes; held only around write calls (contract section 8)."""

    def hold(self, key: str, owner: str) -> AbstractAsyncContextManager[None]: ...


class Breakers(Protocol):
    """Circuit breakers per tool, shared by all runs and kept in the store (architecture section 4)."""

    async def blocked(self, tool: str) -> int | None:
        """Until when the tool is shut off (milliseconds), or `None`; a half-open breaker lets one call through."""
        ...

    async def note(self, tool: str, ok: bool) -> tuple[str, int, int] | None:
        """Count an ended call. Returns `("opened" | "closed", failures, until)` when the breaker moved."""
        ...


@dataclass(frozen=True, slots=True)
class Returned:
    """How one attempt at a tool ended. `outcome`: ok, failed, retry or unsure."""

    outcome: str
    value: Json = None
    error: str = ""
    error_kind: str = ""
    transient: bool = False
    unsent: bool = False
    masked: bool = False


class Tools(Protocol):
    """The tool layer: one attempt at a call, with its time-out; never raises for a tool's mistake."""

    def catalogue(self) -> tuple[ToolSpec, ...]: ...

    async def call(self, tool: str, args: Json, key: str) -> Returned: ...

    async def verify(self, tool: str, args: Json, key: str) -> tuple[bool | None, Json]:
        """Whether a write in doubt happened, and its result; `(None, None)` when the hook cannot tell."""
        ...


class Conditions(Protocol):
    """CEL, compiled once; every name bound, result must be a boolean (contract section 5)."""

    def evaluate(self, expression: str, names: Object) -> tuple[bool | None, str]:
        """The value, or `None` and why."""
        ...


class Contracts(Protocol):
    """JSON Schema 2020-12, no remote references."""

    def check(self, schema: Object, value: Json, where: str = "") -> tuple[Finding, ...]: ...


class Rules(Protocol):
    """Registered callables that RULE activities name."""

    async def evaluate(self, check: str, names: Object) -> tuple[Json, tuple[Finding, ...]]: ...


class Checks(Protocol):
    """Runs the checks of a step's output at the edge."""

    def run(self, checks: Sequence[Check], output: Json) -> tuple[Finding, ...]: ...
