"""What a screen knows of a run: its phases, gates, artefacts and ending, in one frozen `View`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from phaseloop.core.plan import Step
from phaseloop.core.process import Text
from phaseloop.core.values import Json, Object
from phaseloop.core.view_rows import (
    ActivityRow,
    Clock,
    Diamond,
    GateState,
    Meters,
    PhaseState,
    Row,
    RunState,
)


@dataclass(frozen=True, slots=True)
class PlanVersion:
    """An adopted plan, kept whole for comparison."""

    version: int
    steps: tuple[Step, ...]
    goal: str = ""
    constraints: tuple[str, ...] = ()
    reason: str = "initial"
    at: int = 0


@dataclass(frozen=True, slots=True)
class Output:
    """A declared output of a phase, and whether it has been made."""

    name: str
    produced: bool = False


@dataclass(frozen=True, slots=True)
class PhaseView:
    """A phase with its rows. `duration_ms` counts from the first event to the last, waits included."""

    phase_id: str
    name: Text = ""
    order: int = 1
    state: PhaseState = PhaseState.PENDING
    outputs: tuple[Output, ...] = ()
    diamond: Diamond = Diamond.NONE
    started_at: int | None = None
    ended_at: int | None = None
    active: Clock = Clock()
    rows: tuple[Row, ...] = ()
    plans: tuple[PlanVersion, ...] = ()
    planning: bool = False
    missing: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class Vote:
    """One valid vote at a gate."""

    user: str
    outcome: str
    comment: str = ""


@dataclass(frozen=True, slots=True)
class GateView:
    """A question to a person and what became of it. `waited` is how long it was open, over all versions."""

    id: str
    version: int
    kind: str
    mode: str
    activity_id: str
    phase_id: str = ""
    step_id: str = ""
    call_id: str = ""
    title: Text = ""
    prompt: Text = ""
    payload: Object = field(default_factory=dict[str, Any])
    outcomes: tuple[str, ...] = ()
    consequence: str = ""
    is_exit_gate: bool = False
    timeout_at: int | None = None
    no_match_policy: str = "wait"
    approvers: tuple[str, ...] = ()
    required: int = 1
    votes: tuple[Vote, ...] = ()
    state: GateState = GateState.OPEN
    opened_at: int = 0
    waited: Clock = Clock()
    outcome: str = ""
    by: str = ""
    user: str = ""
    rule: str = ""
    comment: str = ""
    edits: int = 0
    asks: int = 1


@dataclass(frozen=True, slots=True)
class ArtifactView:
    """An artefact by name. `state`: draft, final or superseded."""

    name: str
    version: int
    phase_id: str = ""
    activity_id: str = ""
    state: str = "draft"
    valid: bool = True
    issues: tuple[str, ...] = ()
    approved_by: str = ""


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run ended: its result, or why it stopped."""

    state: RunState
    at: int
    result: Json = None
    score: float = 0.0
    warnings: tuple[str, ...] = ()
    partial: bool = False
    code: str = ""
    reason: str = ""
    explanation: str = ""
    activity_id: str = ""
    by: str = ""
    in_doubt: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class View:
    """A run as a screen shows it, up to event `seq` at `at` (milliseconds since 1970 UTC).

    `focus_id` is a row id or, while a gate of the current phase is open, the gate's id
    (`ui/spec.md` section 6, rule 1). `calls` maps model and tool calls to the rows they are charged to.
    """

    seq: int = 0
    at: int = 0
    title: str = ""
    goal: str = ""
    state: RunState = RunState.CREATED
    definition_id: str = ""
    definition_version: str = ""
    mode: str = "normal"
    by: str = ""
    started_at: int = 0
    parent_run_id: str = ""
    complexity: Object = field(default_factory=dict[str, Any])
    pass_score: float | None = None
    replan_score: float | None = None
    meters: Meters = Meters()
    phases: tuple[PhaseView, ...] = ()
    current: str = ""
    focus_id: str = ""
    gates: tuple[GateView, ...] = ()
    artifacts: tuple[ArtifactView, ...] = ()
    paused_by: str = ""
    near: tuple[str, ...] = ()
    broken_tools: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    ending: Ending | None = None
    calls: Mapping[str, str] = field(default_factory=dict[str, str])
    replan_cause: float | None = None

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the run's end warns of; empty while it goes on."""
        return self.ending.warnings if self.ending else ()

    @property
    def over(self) -> bool:
        """Whether the run ended."""
        return self.ending is not None


def phase_of(view: View, phase_id: str) -> PhaseView | None:
    """The phase with this id."""
    return next((phase for phase in view.phases if phase.phase_id == phase_id), None)


def current_phase(view: View) -> PhaseView | None:
    """The phase the run is in."""
    return phase_of(view, view.current)


def open_gates(view: View) -> tuple[GateView, ...]:
    """Gates that wait for an answer, oldest first."""
    return tuple(gate for gate in view.gates if gate.state is GateState.OPEN)


def activities(phase: PhaseView) -> tuple[ActivityRow, ...]:
    """The activity rows of a phase, in the order they are shown."""
    return tuple(row for row in phase.rows if isinstance(row, ActivityRow))


def find_row(view: View, step_id: str, activity_id: str = "") -> ActivityRow | None:
    """The row of a step or, without one, of an activity; a later phase wins over an earlier one."""
    wanted = step_id or activity_id
    if not wanted:
        return None
    for phase in reversed(view.phases):
        for row in activities(phase):
            if wanted == row.id or (not step_id and wanted == row.activity_id):
                return row
    return None


def with_phase(view: View, phase_id: str, change: Callable[[PhaseView], PhaseView]) -> View:
    """`view` with one phase changed; a phase that is not listed changes nothing."""
    phases = tuple(change(phase) if phase.phase_id == phase_id else phase for phase in view.phases)
    return replace(view, phases=phases)


def with_row(view: View, row_id: str, change: Callable[[ActivityRow], ActivityRow]) -> View:
    """`view` with one activity row changed."""

    def changed(row: Row) -> Row:
        return change(row) if isinstance(row, ActivityRow) and row.id == row_id else row

    phases = tuple(
        replace(phase, rows=tuple(changed(row) for row in phase.rows))
        if any(row.id == row_id for row in phase.rows)
        else phase
        for phase in view.phases
    )
    return replace(view, phases=phases)


def with_rows(view: View, change: Callable[[ActivityRow], ActivityRow]) -> View:
    """`view` with every activity row of the current phase changed."""

    def changed(phase: PhaseView) -> PhaseView:
        rows = tuple(change(row) if isinstance(row, ActivityRow) else row for row in phase.rows)
        return replace(phase, rows=rows)

    return with_phase(view, view.current, changed)


def with_gate(view: View, gate_id: str, change: Callable[[GateView], GateView]) -> View:
    """`view` with one gate changed."""
    return replace(view, gates=tuple(change(gate) if gate.id == gate_id else gate for gate in view.gates))
