"""Facts about a run and its phases."""

from dataclasses import dataclass, field

from phaseloop.core.limits import Limits
from phaseloop.core.process import Definition, Text
from phaseloop.core.tools import ToolSpec
from phaseloop.core.values import Json, Object


@dataclass(frozen=True, slots=True)
class Who:
    """A person, and the door they came through: `cli`, `page`, `api`, `library`, `policy`."""

    id: str
    via: str = "library"
    roles: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PhaseRow:
    """A phase as `run_started` lists it; later phases are known by name only (002 section 3.2)."""

    phase_id: str
    display_name: Text
    order: int
    classification: str = ""
    status: str = "pending"
    produced_outputs: tuple[str, ...] = ()
    entry_condition: str = ""
    exit_human_activity_id: str | None = None
    auto_advance: bool = False


@dataclass(frozen=True, slots=True)
class Stats:
    """What a phase or run used."""

    model_calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost_usd: float = 0.0
    tool_calls: int = 0
    retries: int = 0
    replans: int = 0


@dataclass(frozen=True, slots=True)
class RunStarted:
    goal: str
    title: str = ""
    definition_id: str = "flat"
    definition_version: str = "1"
    mode: str = "normal"
    inputs: Object = field(default_factory=dict[str, Json])
    by: Who | None = None
    complexity: Object = field(default_factory=dict[str, Json])
    phases: tuple[PhaseRow, ...] = ()
    budget: Object = field(default_factory=dict[str, Json])
    thresholds: Object = field(default_factory=dict[str, Json])
    roles: Object = field(default_factory=dict[str, Json])
    parent_run_id: str = ""
    parent_step_id: str = ""


@dataclass(frozen=True, slots=True)
class SnapshotTaken:
    """What the run started with; stored as shared blobs, named by hash in the log (contract section 3)."""

    definition: Definition
    limits: Limits
    tools: tuple[ToolSpec, ...] = ()
    prompts: Object = field(default_factory=dict[str, Json])


@dataclass(frozen=True, slots=True)
class DriveStarted:
    """The first append of every drive: it takes the fence and decides what is in doubt (contract section 3)."""

    drive: int
    worker: str


@dataclass(frozen=True, slots=True)
class RunPaused:
    by: Who
    reason: str = ""


@dataclass(frozen=True, slots=True)
class RunResumed:
    by: Who
    reason: str = ""


@dataclass(frozen=True, slots=True)
class RunReopened:
    by: Who
    reason: str = ""
    limits: Object = field(default_factory=dict[str, Json])


@dataclass(frozen=True, slots=True)
class RunCompleted:
    status: str = "completed"
    result: Json = None
    score: float = 10.0
    warnings: tuple[str, ...] = ()
    partial: bool = False
    stats: Stats = Stats()


@dataclass(frozen=True, slots=True)
class RunFailed:
    """`code`: replans_exhausted, retries_exhausted, revisions_exhausted, plan_refused, contract_unmet, budget_exceeded,
    entry_condition_false or internal.
    """

    code: str
    reason: str
    explanation: str = ""
    best_result: Json = None
    partial: bool = True
    activity_id: str = ""
    score: float = 0.0
    warnings: tuple[str, ...] = ()
    stats: Stats = Stats()


@dataclass(frozen=True, slots=True)
class RunCancelled:
    by: Who
    reason: str = ""
    in_doubt: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LimitReached:
    """`kind`: step_retries, task_replans, rounds, timeout, budget, plan_steps, revisions, idle_drives."""

    kind: str
    limit: float
    value: float
    activity_id: str = ""


@dataclass(frozen=True, slots=True)
class LimitRaised:
    kind: str
    limit: float
    by: Who


@dataclass(frozen=True, slots=True)
class BudgetNeared:
    kind: str
    used: float
    limit: float


@dataclass(frozen=True, slots=True)
class CatalogueChanged:
    tools: tuple[ToolSpec, ...] = ()


@dataclass(frozen=True, slots=True)
class NoteAdded:
    text: str
    by: Who


@dataclass(frozen=True, slots=True)
class ConditionEvaluated:
    """`subject`: `phase:<id>`, `step:<id>` or `gate:<activity id>`; `value` is null when `error` says why."""

    subject: str
    expression: str
    value: bool | None
    error: str = ""


@dataclass(frozen=True, slots=True)
class PhaseStarted:
    phase_id: str
    order: int = 1
    start_activity_id: str = ""
    entry_condition: str = ""


@dataclass(frozen=True, slots=True)
class PhaseExitReached:
    """`contract`: `{satisfied, missing}`; `waiting_for`: human, advance or none."""

    phase_id: str
    contract: Object = field(default_factory=dict[str, Json])
    waiting_for: str = "none"


@dataclass(frozen=True, slots=True)
class PhaseCompleted:
    phase_id: str
    outputs: tuple[str, ...] = ()
    duration_ms: int = 0
    stats: Stats = Stats()


@dataclass(frozen=True, slots=True)
class PhaseAdvanced:
    """Only when the next phase really starts. `by`: user, auto or timeout."""

    from_phase_id: str
    to_phase_id: str
    first_activity_id: str = ""
    by: str = "auto"


@dataclass(frozen=True, slots=True)
class PhaseBlocked:
    phase_id: str
    condition: str = ""
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PhaseReopened:
    phase_id: str
    reason: str = ""
    superseded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PhaseFailed:
    phase_id: str
    error_kind: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class ArtifactDrafted:
    """A step's output as an artefact, version n; the value is the output of `value_of` (contract section 6)."""

    name: str
    version: int
    value_of: str
    produced_by_activity_id: str
    phase_id: str
    valid: bool = True
    issues: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ArtifactFinalized:
    """The artefact that later phases may use. `value` only when a gate showed or edited another one."""

    name: str
    version: int
    produced_by_activity_id: str
    phase_id: str
    value: Json = None
    value_of: str = ""
    confirmed_by: str = ""
    approved_by: str = ""
    valid: bool = True
