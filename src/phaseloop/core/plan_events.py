"""Facts about plans and the activities that carry them out."""

from dataclasses import dataclass, field

from phaseloop.core.plan import ActivityType, Finding, Step
from phaseloop.core.values import Json, Object


@dataclass(frozen=True, slots=True)
class PlanUpdated:
    """A plan was adopted. `steps` is the whole plan of the phase in order, finished steps included.

    `reason`: initial, replan, human or given (`planFrom`). `kept`, `added`, `changed` and `dropped` are step ids.
    """

    phase_id: str
    plan_version: int
    goal: str
    steps: tuple[Step, ...]
    constraints: tuple[str, ...] = ()
    result: Json = None
    reason: str = "initial"
    trigger: str = ""
    kept: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    approved_by: str = ""


@dataclass(frozen=True, slots=True)
class PlanRefused:
    """The linter found errors, or the planner raised; `attempt` counts from 1 within one planning."""

    phase_id: str
    plan_version: int
    attempt: int
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class PlanRepaired:
    """What code changed in the planner's plan before it was adopted."""

    phase_id: str
    plan_version: int
    rules: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class ActivityStarted:
    """`hint` is what the last verdict asked for, on a retry."""

    activity_id: str
    type: ActivityType
    step_id: str = ""
    title: str = ""
    attempt: int = 1
    parent_activity_id: str = ""
    hint: str = ""


@dataclass(frozen=True, slots=True)
class ActivityPaused:
    """`reason`: human, suspended or tool_approval."""

    activity_id: str
    reason: str
    step_id: str = ""


@dataclass(frozen=True, slots=True)
class ActivityResumed:
    activity_id: str
    reason: str
    step_id: str = ""


@dataclass(frozen=True, slots=True)
class ActivityCompleted:
    """`output` of an open step; a bound step names the calls that hold it in `output_of`."""

    activity_id: str
    step_id: str = ""
    status: str = "completed"
    output: Json = None
    output_of: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    score: float = 10.0
    issues: tuple[str, ...] = ()
    duration_ms: int = 0
    summary: str = ""


@dataclass(frozen=True, slots=True)
class ActivityFailed:
    """`next`: retry, replan or abort."""

    activity_id: str
    error_kind: str
    message: str
    step_id: str = ""
    attempt: int = 1
    next: str = "replan"


@dataclass(frozen=True, slots=True)
class ResultJudged:
    """A verdict. `scope`: step, plan or deep. `action`: accept, note, ask, retry, replan, veto or abort.

    `by`: rule or model. `output` is the judged value of an open step when no completion follows at once.
    """

    scope: str
    passed: bool
    score: float
    action: str
    by: str = "rule"
    activity_id: str = ""
    step_id: str = ""
    attempt: int = 1
    issues: tuple[str, ...] = ()
    suggestion: str = ""
    findings: tuple[Finding, ...] = ()
    output: Json = None
    format_issue: str = ""


@dataclass(frozen=True, slots=True)
class SubprocessStarted:
    activity_id: str
    step_id: str
    child_run_id: str
    definition_id: str
    attempt: int = 1
    inputs: Object = field(default_factory=dict[str, Json])


@dataclass(frozen=True, slots=True)
class SubprocessCompleted:
    activity_id: str
    step_id: str
    child_run_id: str
    status: str
    artifacts: Object = field(default_factory=dict[str, Json])
    message: str = ""
