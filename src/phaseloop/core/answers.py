"""What comes back over the border: the reports of effects. Words and asks have modules of their own."""

from dataclasses import dataclass, field
from typing import TypeAlias

from phaseloop.core.asks import Ask
from phaseloop.core.call_events import Usage
from phaseloop.core.limits import Limits
from phaseloop.core.plan import Finding, Plan
from phaseloop.core.process import Definition
from phaseloop.core.run_events import Who
from phaseloop.core.tools import ToolSpec
from phaseloop.core.values import Json, Object
from phaseloop.core.words import Word


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a critic thinks, on a scale of 0 to 10 (article 003 section 5.2)."""

    score: float
    passed: bool = True
    issues: tuple[str, ...] = ()
    suggestion: str = ""
    by: str = "rule"
    format_issue: str = ""


# ---- reports: what an effect came to


@dataclass(frozen=True, slots=True)
class Begin:
    """Start a run. The definition's phases are already those that will run."""

    goal: str
    definition: Definition
    limits: Limits
    tools: tuple[ToolSpec, ...] = ()
    prompts: Object = field(default_factory=dict[str, Json])
    title: str = ""
    mode: str = "normal"
    inputs: Object = field(default_factory=dict[str, Json])
    by: Who | None = None
    complexity: Object = field(default_factory=dict[str, Json])
    budget: Object = field(default_factory=dict[str, Json])
    roles: Object = field(default_factory=dict[str, Json])
    parent_run_id: str = ""
    parent_step_id: str = ""


@dataclass(frozen=True, slots=True)
class Drive:
    """A driver takes the run."""

    worker: str


@dataclass(frozen=True, slots=True)
class Planned:
    phase_id: str
    version: int
    attempt: int
    plan: Plan


@dataclass(frozen=True, slots=True)
class PlanningFailed:
    phase_id: str
    version: int
    attempt: int
    reason: str


@dataclass(frozen=True, slots=True)
class StepReturned:
    """An open step or rule ended with `output`; `findings` are what the checks at the edge found."""

    step_id: str
    attempt: int
    output: Json
    findings: tuple[Finding, ...] = ()
    replies: int = 0


@dataclass(frozen=True, slots=True)
class StepRaised:
    """`kind`: error, timeout, max_rounds, loop_detected, refused."""

    step_id: str
    attempt: int
    reason: str
    kind: str = "error"


@dataclass(frozen=True, slots=True)
class Checked:
    """The checks of a bound step's output at the edge."""

    step_id: str
    attempt: int
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class ModelReplied:
    scope: str
    n: int
    reply: Json
    calls: tuple[str, ...] = ()
    ok: bool = True
    error: str = ""
    usage: Usage = Usage()
    cost_usd: float = 0.0
    finish: str = ""
    drift: tuple[str, ...] = ()
    duration_ms: int = 0


@dataclass(frozen=True, slots=True)
class ToolReturned:
    """`outcome`: ok, failed or retry. `transient`: another try may help. `unsent`: nothing left this process."""

    call_id: str
    outcome: str
    value: Json = None
    error: str = ""
    error_kind: str = ""
    transient: bool = False
    unsent: bool = False
    duration_ms: int = 0
    masked: bool = False


@dataclass(frozen=True, slots=True)
class ToolUnsure:
    """The wait for a call ended, and its effect may have happened."""

    call_id: str
    reason: str


@dataclass(frozen=True, slots=True)
class Verified:
    """The `verify` hook's word: happened, did not, or `None` for cannot tell."""

    call_id: str
    happened: bool | None
    value: Json = None


@dataclass(frozen=True, slots=True)
class StepJudged:
    step_id: str
    attempt: int
    scope: str
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class PlanJudged:
    phase_id: str
    version: int
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class ConditionKnown:
    subject: str
    expression: str
    value: bool | None
    error: str = ""


@dataclass(frozen=True, slots=True)
class ChildEnded:
    step_id: str
    attempt: int
    child_run_id: str
    status: str
    artifacts: Object = field(default_factory=dict[str, Json])
    result: Json = None
    message: str = ""


@dataclass(frozen=True, slots=True)
class TimerDue:
    timer_id: str


@dataclass(frozen=True, slots=True)
class BreakerMoved:
    tool: str
    is_open: bool
    failures: int = 0
    until: int = 0


Report: TypeAlias = (
    Begin
    | Drive
    | Planned
    | PlanningFailed
    | StepReturned
    | StepRaised
    | Checked
    | ModelReplied
    | ToolReturned
    | ToolUnsure
    | Verified
    | StepJudged
    | PlanJudged
    | ConditionKnown
    | ChildEnded
    | TimerDue
    | BreakerMoved
)
Answer: TypeAlias = Report | Ask | Word
