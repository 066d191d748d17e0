"""Where a run stands; only ever built by folding events."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from phaseloop.core.gate_events import GateAnswered, GateOpened
from phaseloop.core.limits import Limits
from phaseloop.core.plan import Finding, Step
from phaseloop.core.process import FLAT, Definition, Phase
from phaseloop.core.run_events import Stats, Who
from phaseloop.core.statuses import ActivityStatus, CallStatus, GateStatus, PhaseStatus, RunStatus
from phaseloop.core.tools import ToolSpec
from phaseloop.core.values import Json, Object


@dataclass(frozen=True, slots=True)
class RunFacts:
    """What a run started with."""

    goal: str = ""
    title: str = ""
    definition: Definition = FLAT
    tools: Mapping[str, ToolSpec] = field(default_factory=dict[str, ToolSpec])
    prompts: Object = field(default_factory=dict[str, Json])
    mode: str = "normal"
    inputs: Object = field(default_factory=dict[str, Json])
    by: Who | None = None
    started_at: int = 0
    ended_at: int | None = None
    parent_run_id: str = ""
    parent_step_id: str = ""


@dataclass(frozen=True, slots=True)
class PlanFacts:
    """The plan in force of one phase; `order` lists its steps, finished ones included."""

    version: int = 0
    goal: str = ""
    order: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    result: Json = None
    tails: Mapping[str, int] = field(default_factory=dict[str, int])
    approved_by: str = ""
    approved_tools: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class PhaseState:
    """One phase. `trigger` says why a plan is wanted (initial, given, replan, human; empty: none is)."""

    phase: Phase
    status: PhaseStatus = PhaseStatus.PENDING
    started_at: int = 0
    plan: PlanFacts = PlanFacts()
    trigger: str = ""
    refusals: int = 0
    findings: tuple[Finding, ...] = ()
    failure: str = ""
    feedback: str = ""
    judged: str = ""
    score: float = 10.0
    issues: tuple[str, ...] = ()
    exit_reached: bool = False
    contract_replanned: bool = False
    passed_by: str = ""
    passed: tuple[str, ...] = ()
    stats: Stats = Stats()


@dataclass(frozen=True, slots=True)
class StepState:
    """One step and the activity that carries it out."""

    spec: Step
    phase_id: str
    status: ActivityStatus = ActivityStatus.PENDING
    attempt: int = 0
    started_at: int = 0
    hint: str = ""
    output: Json = None
    score: float = -1.0
    issues: tuple[str, ...] = ()
    best_score: float = -1.0
    best_output: Json = None
    wrote: bool = False
    tainted: bool = False
    failure: str = ""
    judging: str = ""
    child_run_id: str = ""

    @property
    def activity_id(self) -> str:
        """The declared activity, else the step's own id (contract section 1)."""
        return self.spec.activity_id or self.spec.id

    @property
    def active(self) -> bool:
        """Whether its effect is under way or held by a question."""
        return self.status in (ActivityStatus.RUNNING, ActivityStatus.PAUSED)

    @property
    def ended(self) -> bool:
        """Whether nothing of it will run again under this plan."""
        return self.status in (ActivityStatus.COMPLETED, ActivityStatus.SKIPPED)


@dataclass(frozen=True, slots=True)
class CallState:
    """A tool call of a step that is not over yet."""

    call_id: str
    key: str
    step_id: str
    attempt: int
    n: int
    i: int
    tool: str
    args: Json
    status: CallStatus
    tries: int = 0
    gate_id: str = ""
    outcome: str = ""
    value: Json = None
    error: str = ""
    asked: str = ""
    fallback_of: str = ""
    next: str = ""
    refused: bool = False
    of: str = ""


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """A finished write of the run: whichever step or attempt asks again is answered from it."""

    call_id: str
    tool: str
    key: str
    step_id: str
    value: Json = None
    outcome: str = "ok"
    error: str = ""


@dataclass(frozen=True, slots=True)
class ModelRecord:
    """Replies 1..N of one scope: `(ok, reply or error)`, the digests of their calls, their fingerprints.

    `prompt` is the rendered first prompt; every re-entry uses it (contract section 3).
    """

    replies: tuple[tuple[bool, Json], ...] = ()
    calls: tuple[tuple[str, ...], ...] = ()
    fingerprints: tuple[str, ...] = ()
    call_ids: tuple[str, ...] = ()
    diverged: int = 0
    prompt: Json = None


@dataclass(frozen=True, slots=True)
class GateState:
    """A question: as it was last asked, its votes, and how it ended."""

    asked: GateOpened
    opened_at: int
    status: GateStatus = GateStatus.OPEN
    votes: tuple[GateAnswered, ...] = ()
    asks: int = 1
    revisions: int = 0
    outcome: str = ""
    value: Json = None
    comment: str = ""
    by: str = ""
    user: str = ""


@dataclass(frozen=True, slots=True)
class ArtifactState:
    """An artefact's newest version; only `final` ones satisfy entry conditions (contract section 6)."""

    name: str
    version: int
    value: Json
    phase_id: str
    activity_id: str
    step_id: str = ""
    valid: bool = True
    final: bool = False
    issues: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RunState:
    """Everything the next decision depends on."""

    status: RunStatus = RunStatus.CREATED
    facts: RunFacts = RunFacts()
    limits: Limits = Limits()
    drive: int = 0
    idle_drives: int = 0
    phase_index: int = -1
    phases: tuple[PhaseState, ...] = ()
    steps: Mapping[str, StepState] = field(default_factory=dict[str, StepState])
    calls: Mapping[str, CallState] = field(default_factory=dict[str, CallState])
    ledger: Mapping[str, LedgerEntry] = field(default_factory=dict[str, LedgerEntry])
    records: Mapping[str, ModelRecord] = field(default_factory=dict[str, ModelRecord])
    gates: Mapping[str, GateState] = field(default_factory=dict[str, GateState])
    timers: Mapping[str, int] = field(default_factory=dict[str, int])
    artifacts: Mapping[str, ArtifactState] = field(default_factory=dict[str, ArtifactState])
    conditions: Mapping[str, bool | None] = field(default_factory=dict[str, bool | None])
    broken_tools: tuple[str, ...] = ()
    next_step: int = 1
    next_call: int = 1
    replans: int = 0
    stats: Stats = Stats()
    warnings: tuple[str, ...] = ()
    failure: str = ""

    @property
    def over(self) -> bool:
        """Whether the run ended."""
        return self.status in (RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.CANCELLED)

    @property
    def phase(self) -> PhaseState:
        """The current phase. Only while there is one (`phase_index >= 0`)."""
        return self.phases[self.phase_index]


def open_gates(state: RunState) -> list[tuple[str, GateState]]:
    """Open gates, oldest first."""
    return [(gate_id, gate) for gate_id, gate in state.gates.items() if gate.status is GateStatus.OPEN]


def active_steps(state: RunState) -> list[StepState]:
    """Steps of the current plan that are under way, in plan order."""
    return [state.steps[sid] for sid in state.phase.plan.order if state.steps[sid].active]


def final_artifacts(state: RunState) -> dict[str, Json]:
    """Values of the artefacts that count, by name, sorted."""
    known = state.artifacts
    return {name: known[name].value for name in sorted(known) if known[name].final}
