"""Rows of the derived tables: the run list, open gates, timers. Rebuildable, never a second truth."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RunRow:
    """One line of the run list (`ui/spec.md` section 3). Times are milliseconds since 1970 UTC."""

    run_id: str
    title: str
    definition_id: str
    state: str
    phase_index: int = 0
    phase_count: int = 1
    need: str = ""
    started_at: int = 0
    ended_at: int | None = None
    tokens: int = 0
    cost_usd: float = 0.0
    parent_run_id: str = ""
    parent_step_id: str = ""


@dataclass(frozen=True, slots=True)
class GateRow:
    """One open gate of the inbox."""

    gate_id: str
    version: int
    kind: str
    mode: str
    activity_id: str
    title: str
    opened_at: int = 0
    timeout_at: int | None = None


@dataclass(frozen=True, slots=True)
class TimerRow:
    """A timer that has not fired."""

    timer_id: str
    due_at: int


@dataclass(frozen=True, slots=True)
class Tables:
    """Everything derived from one run; replaced as a whole when it changed."""

    row: RunRow
    gates: tuple[GateRow, ...] = ()
    timers: tuple[TimerRow, ...] = ()
