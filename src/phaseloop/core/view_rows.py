"""What a screen knows of activities: their states, clocks, attempts and rows, and the run's meters."""

from dataclasses import dataclass
from enum import StrEnum


class RunState(StrEnum):
    """The seven run states of contract section 9; `waiting` is derived, never stored in the log."""

    CREATED = "created"
    RUNNING = "running"
    WAITING = "waiting"
    PAUSED = "paused"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


class RowState(StrEnum):
    """The state words of an activity (`ui/spec.md` section 12)."""

    NOT_STARTED = "not_started"
    RUNNING = "running"
    CHECKING = "checking"
    RETRYING = "retrying"
    DONE = "done"
    FAILED = "failed"
    REPLACED = "replaced"
    SKIPPED = "skipped"
    CANCELLED = "cancelled"
    PAUSED = "paused"
    WAITING = "waiting"


ACTIVE = frozenset({RowState.RUNNING, RowState.CHECKING, RowState.RETRYING})
"""States in which work is going on and the clock of a row runs."""
OVER = frozenset({RowState.DONE, RowState.SKIPPED, RowState.REPLACED, RowState.CANCELLED})
"""States that no later event of the same plan changes, besides `failed`, which a retry leaves."""


class PhaseState(StrEnum):
    """The states of a phase on the track."""

    PENDING = "pending"
    ACTIVE = "active"
    WAITING = "waiting"
    DONE = "done"
    FAILED = "failed"
    BLOCKED = "blocked"
    SKIPPED = "skipped"
    CANCELLED = "cancelled"


class Diamond(StrEnum):
    """The exit gate between two phases on the track; `none` when the phase asks nobody."""

    NONE = "none"
    FUTURE = "future"
    AUTO = "auto"
    ANSWERED = "answered"
    OPEN = "open"


class GateState(StrEnum):
    """Where a gate stands. `auto`: passed by a declared rule, without a person."""

    OPEN = "open"
    ANSWERED = "answered"
    AUTO = "auto"
    EXPIRED = "expired"


@dataclass(frozen=True, slots=True)
class Clock:
    """Active time in milliseconds: what is over, and since when it runs again; `None` at rest."""

    ms: int = 0
    since: int | None = None


def started(clock: Clock, at: int) -> Clock:
    """`clock` running from `at`; one that runs already is left alone."""
    return clock if clock.since is not None else Clock(clock.ms, at)


def stopped(clock: Clock, at: int) -> Clock:
    """`clock` at rest, with the time up to `at` counted."""
    return clock if clock.since is None else Clock(elapsed(clock, at), None)


def elapsed(clock: Clock, now: int) -> int:
    """Milliseconds of active time at `now`."""
    return clock.ms + (max(0, now - clock.since) if clock.since is not None else 0)


@dataclass(frozen=True, slots=True)
class Meters:
    """What a run has used (tokens in and out, US dollars, active time) and its limits; `None` is none."""

    tokens: int = 0
    tokens_limit: float | None = None
    cost_usd: float = 0.0
    cost_limit: float | None = None
    active: Clock = Clock()
    seconds_limit: float | None = None
    replans: int = 0
    replans_limit: float | None = None
    model_calls: int = 0
    tool_calls: int = 0


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try of an activity and what its verdict did."""

    n: int
    started_at: int
    ended_at: int | None = None
    score: float | None = None
    action: str = ""
    issues: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ActivityRow:
    """One line of the activity list. `id` is the step id, else the activity id, else `<phase>_first`.

    `line` is the second line: the summary, the last issue or the error. `plan_version` is 0 for an
    activity that no plan lists. A `placeholder` stands for the first activity of a phase that has
    advanced and not yet begun (behaviours 2.10).
    """

    id: str
    activity_id: str = ""
    step_id: str = ""
    type: str = "LLM"
    title: str = ""
    tool: str = ""
    depends_on: tuple[str, ...] = ()
    produces: str = ""
    state: RowState = RowState.NOT_STARTED
    attempt: int = 0
    score: float | None = None
    issues: tuple[str, ...] = ()
    line: str = ""
    active: Clock = Clock()
    tokens: int = 0
    cost_usd: float = 0.0
    tool_calls: int = 0
    attempts: tuple[Attempt, ...] = ()
    plan_version: int = 0
    child_run_id: str = ""
    child_state: str = ""
    placeholder: bool = False
    kind: str = "activity"


@dataclass(frozen=True, slots=True)
class ReplanRow:
    """The line before the first new step of a later plan. `n` counts re-plans; 0 when a person asked."""

    id: str
    plan_version: int
    n: int
    reason: str
    trigger: str = ""
    score: float | None = None
    kept: int = 0
    removed: int = 0
    added: int = 0
    changed: int = 0
    at: int = 0
    kind: str = "replan"


Row = ActivityRow | ReplanRow
