"""What the core wants done: a desired set with ids. The driver starts what is missing and stops the rest."""

from dataclasses import dataclass, field
from typing import TypeAlias

from phaseloop.core.plan import Finding, Step
from phaseloop.core.process import Activity
from phaseloop.core.tools import ToolSpec
from phaseloop.core.values import Json, Object


@dataclass(frozen=True, slots=True)
class FinishedStep:
    """A step that is done and must not be planned again (article 003 section 3.3)."""

    id: str
    action: str
    output: Json = None
    activity_id: str | None = None


@dataclass(frozen=True, slots=True)
class MakePlan:
    """Plan the current phase and nothing beyond it.

    `finished` is locked; `pending` may be kept (same id), changed or dropped. `failure` says why a
    re-plan is wanted, `feedback` is a person's comment, `findings` are what the linter refused.
    """

    id: str
    phase_id: str
    version: int
    attempt: int
    reason: str
    goal: str
    phase_name: str = ""
    instruction: str = ""
    later_phases: tuple[str, ...] = ()
    inputs: Object = field(default_factory=dict[str, Json])
    artifacts: Object = field(default_factory=dict[str, Json])
    outputs: tuple[str, ...] = ()
    schemas: Object = field(default_factory=dict[str, Json])
    tools: tuple[ToolSpec, ...] = ()
    broken_tools: tuple[str, ...] = ()
    activities: tuple[Activity, ...] = ()
    finished: tuple[FinishedStep, ...] = ()
    pending: tuple[Step, ...] = ()
    failure: str = ""
    feedback: str = ""
    findings: tuple[Finding, ...] = ()
    max_steps: int = 8


@dataclass(frozen=True, slots=True)
class Check:
    """A check of a step's output at the edge: a JSON Schema, or a CEL expression over `output`."""

    name: str
    schema: Object | None = None
    expression: str = ""
    names: Object = field(default_factory=dict[str, Json])


@dataclass(frozen=True, slots=True)
class RunStep:
    """Carry out an open step. `context` holds the namespaces it may see, in fixed order (article 003 section 6.1)."""

    id: str
    step: Step
    attempt: int
    goal: str
    context: Object = field(default_factory=dict[str, Json])
    tools: tuple[ToolSpec, ...] = ()
    checks: tuple[Check, ...] = ()
    hint: str = ""
    prompt: Json = None
    instruction: str = ""
    rounds: int = 5
    timeout_seconds: float = 300.0
    finished_writes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EvaluateRule:
    """Carry out a RULE activity: a CEL expression over `names`, or a registered callable."""

    id: str
    step: Step
    attempt: int
    check: str
    names: Object = field(default_factory=dict[str, Json])


@dataclass(frozen=True, slots=True)
class CallTool:
    """Carry out a bound step: one call, or one for each element of `each`."""

    id: str
    step: Step
    attempt: int
    calls: tuple[Object, ...]
    checks: tuple[Check, ...] = ()
    timeout_seconds: float = 300.0


@dataclass(frozen=True, slots=True)
class JudgeStep:
    """Judge one result that rules cannot judge (`scope` step), or find the cause of a failure (`deep`)."""

    id: str
    scope: str
    step: Step
    attempt: int
    goal: str
    output: Json = None
    evidence: tuple[Object, ...] = ()
    failure: str = ""


@dataclass(frozen=True, slots=True)
class JudgePlan:
    """Judge the whole phase: goal met, nothing left out, with the tool evidence."""

    id: str
    phase_id: str
    version: int
    goal: str
    results: tuple[FinishedStep, ...] = ()
    evidence: tuple[Object, ...] = ()


@dataclass(frozen=True, slots=True)
class EvaluateCondition:
    """Evaluate a CEL expression; every declared name is bound, what is missing is null (contract section 5)."""

    id: str
    subject: str
    expression: str
    names: Object = field(default_factory=dict[str, Json])


@dataclass(frozen=True, slots=True)
class VerifyCall:
    """Ask the tool's own `verify` hook whether a write in doubt happened."""

    id: str
    call_id: str
    tool: str
    args: Json
    key: str


@dataclass(frozen=True, slots=True)
class StartChild:
    """Run a SUBPROCESS as a run of its own; the same child id on every re-entry."""

    id: str
    step: Step
    attempt: int
    child_run_id: str
    definition_id: str
    goal: str
    inputs: Object = field(default_factory=dict[str, Json])
    outputs: Object = field(default_factory=dict[str, Json])


@dataclass(frozen=True, slots=True)
class SetTimer:
    """Report `TimerDue` at `due_at` (milliseconds since 1970 UTC), or at once when that is past."""

    id: str
    timer_id: str
    due_at: int


Effect: TypeAlias = (
    MakePlan
    | RunStep
    | EvaluateRule
    | CallTool
    | JudgeStep
    | JudgePlan
    | EvaluateCondition
    | VerifyCall
    | StartChild
    | SetTimer
)
