"""Facts about model calls and tool calls: the grain of the log."""

from dataclasses import dataclass

from phaseloop.core.values import Json


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one model call."""

    tokens_in: int = 0
    tokens_out: int = 0
    tokens_cached: int = 0


@dataclass(frozen=True, slots=True)
class ModelCallStarted:
    """`key` is `<scope>/m<n>`, where scope names the effect that asks: `step/s3/1`, `plan/p1/2/1`, `judge/plan/2`."""

    call_id: str
    role: str
    model: str
    scope: str
    n: int
    key: str
    fingerprint: str = ""
    activity_id: str = ""
    step_id: str = ""
    prompt: Json = None


@dataclass(frozen=True, slots=True)
class ModelCallFinished:
    """`reply` is the library's own JSON; `calls` are the digests of the tool calls in it, in order."""

    call_id: str
    scope: str
    n: int
    reply: Json = None
    calls: tuple[str, ...] = ()
    ok: bool = True
    error: str = ""
    usage: Usage = Usage()
    cost_usd: float = 0.0
    finish: str = ""
    drift: tuple[str, ...] = ()
    duration_ms: int = 0


@dataclass(frozen=True, slots=True)
class ToolCallStarted:
    """The last fact before the bytes leave. `(n, i)` is the place: reply n, i-th call; bound steps use n = 0."""

    call_id: str
    tool: str
    key: str
    args: Json = None
    activity_id: str = ""
    step_id: str = ""
    attempt: int = 1
    n: int = 0
    i: int = 0
    read_only: bool = False
    fallback_of: str = ""


@dataclass(frozen=True, slots=True)
class ToolCallFinished:
    """`outcome`: ok, failed or retry (the tool asks the model to try again). `next`: again, fallback or nothing."""

    call_id: str
    outcome: str = "ok"
    result: Json = None
    error: str = ""
    error_kind: str = ""
    attempts: int = 1
    duration_ms: int = 0
    next: str = ""
    masked: bool = False
    by: str = ""


@dataclass(frozen=True, slots=True)
class ToolCallDoubted:
    """The wait for a call ended: time-out, cut connection, cancel."""

    call_id: str
    reason: str


@dataclass(frozen=True, slots=True)
class ToolCallReused:
    """An equal finished write answers this call; nothing was sent (contract section 8)."""

    call_id: str
    of: str
    tool: str
    key: str
    activity_id: str = ""
    step_id: str = ""
    attempt: int = 1
    n: int = 0
    i: int = 0


@dataclass(frozen=True, slots=True)
class HistoryDiverged:
    """A re-entered step asked something else than the record; the record wins (contract section 4)."""

    step_id: str
    n: int
    what: str
    recorded: str = ""
    asked: str = ""


@dataclass(frozen=True, slots=True)
class BreakerOpened:
    tool: str
    consecutive_failures: int
    until: int


@dataclass(frozen=True, slots=True)
class BreakerClosed:
    tool: str
