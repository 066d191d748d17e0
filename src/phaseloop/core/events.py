"""The facts of a run: one class a name, one union. Each name stands in the log, in SSE and in `--json`."""

from typing import TypeAlias, get_args

from phaseloop.core.call_events import (
    BreakerClosed,
    BreakerOpened,
    HistoryDiverged,
    ModelCallFinished,
    ModelCallStarted,
    ToolCallDoubted,
    ToolCallFinished,
    ToolCallReused,
    ToolCallStarted,
)
from phaseloop.core.gate_events import (
    GateAnswered,
    GateExpired,
    GateOpened,
    GateResolved,
    GateTimedOut,
    TimerFired,
    TimerSet,
)
from phaseloop.core.plan_events import (
    ActivityCompleted,
    ActivityFailed,
    ActivityPaused,
    ActivityResumed,
    ActivityStarted,
    PlanRefused,
    PlanRepaired,
    PlanUpdated,
    ResultJudged,
    SubprocessCompleted,
    SubprocessStarted,
)
from phaseloop.core.run_events import (
    ArtifactDrafted,
    ArtifactFinalized,
    BudgetNeared,
    CatalogueChanged,
    ConditionEvaluated,
    DriveStarted,
    LimitRaised,
    LimitReached,
    NoteAdded,
    PhaseAdvanced,
    PhaseBlocked,
    PhaseCompleted,
    PhaseExitReached,
    PhaseFailed,
    PhaseReopened,
    PhaseStarted,
    RunCancelled,
    RunCompleted,
    RunFailed,
    RunPaused,
    RunReopened,
    RunResumed,
    RunStarted,
    SnapshotTaken,
)

Event: TypeAlias = (
    RunStarted
    | SnapshotTaken
    | DriveStarted
    | RunPaused
    | RunResumed
    | RunReopened
    | RunCompleted
    | RunFailed
    | RunCancelled
    | LimitReached
    | LimitRaised
    | BudgetNeared
    | CatalogueChanged
    | NoteAdded
    | ConditionEvaluated
    | PhaseStarted
    | PhaseExitReached
    | PhaseCompleted
    | PhaseAdvanced
    | PhaseBlocked
    | PhaseReopened
    | PhaseFailed
    | ArtifactDrafted
    | ArtifactFinalized
    | PlanUpdated
    | PlanRefused
    | PlanRepaired
    | ActivityStarted
    | ActivityPaused
    | ActivityResumed
    | ActivityCompleted
    | ActivityFailed
    | ResultJudged
    | SubprocessStarted
    | SubprocessCompleted
    | ModelCallStarted
    | ModelCallFinished
    | ToolCallStarted
    | ToolCallFinished
    | ToolCallDoubted
    | ToolCallReused
    | HistoryDiverged
    | BreakerOpened
    | BreakerClosed
    | GateOpened
    | GateAnswered
    | GateResolved
    | GateTimedOut
    | GateExpired
    | TimerSet
    | TimerFired
)
EVENT_TYPES: tuple[type[Event], ...] = get_args(Event)
BODIES = frozenset(
    {"args", "result", "output", "prompt", "reply", "value", "payload", "best_result", "inputs", "artifacts"}
)
"""Fields that move to a blob when they are larger than `INLINE_BYTES`; the log then has `<field>_ref`."""
INLINE_BYTES = 8192
