"""Facts about gates and timers."""

from dataclasses import dataclass, field

from phaseloop.core.process import GateKind, GateMode
from phaseloop.core.run_events import Who
from phaseloop.core.values import Json, Object


@dataclass(frozen=True, slots=True)
class GateOpened:
    """A question to a person. Asking again keeps `request_id` and adds one to `version`.

    `payload` depends on the mode: behaviours 2.7. `outcomes` are the ones an answer may name.
    `timeout_at` is milliseconds since 1970 UTC.
    """

    request_id: str
    version: int
    kind: GateKind
    activity_id: str
    human_mode: GateMode
    title: str = ""
    prompt: str = ""
    payload: Object = field(default_factory=dict[str, Json])
    outcomes: tuple[str, ...] = ()
    is_exit_gate: bool = False
    phase_id: str = ""
    step_id: str = ""
    call_id: str = ""
    auto_pass: bool = False
    timeout_at: int | None = None
    no_match_policy: str = "wait"
    approvers: tuple[str, ...] = ()
    required: int = 1
    separation_of_duties: bool = False
    consequence: str = ""


@dataclass(frozen=True, slots=True)
class GateAnswered:
    """A valid vote; the gate resolves when enough are there. `key` is the answer's idempotency key."""

    request_id: str
    version: int
    outcome: str
    by: Who
    value: Json = None
    comment: str = ""
    key: str = ""


@dataclass(frozen=True, slots=True)
class GateResolved:
    """`by`: user, auto_pass, timeout, no_match or testimony (the call's own late result)."""

    request_id: str
    activity_id: str
    outcome: str
    by: str = "user"
    value: Json = None
    comment: str = ""
    user: str = ""
    rule: str = ""
    edits: int = 0


@dataclass(frozen=True, slots=True)
class GateTimedOut:
    request_id: str
    policy: str
    asks: int = 1


@dataclass(frozen=True, slots=True)
class GateExpired:
    """The question is over without an answer: its run ended, its step was replaced."""

    request_id: str
    reason: str


@dataclass(frozen=True, slots=True)
class TimerSet:
    """`due_at` is milliseconds since 1970 UTC; `purpose`: gate_timeout, gate_reminder."""

    timer_id: str
    due_at: int
    purpose: str = "gate_timeout"


@dataclass(frozen=True, slots=True)
class TimerFired:
    timer_id: str
