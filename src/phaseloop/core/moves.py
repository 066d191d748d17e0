"""The tables of legal moves. What is not listed is refused; the diagrams in the docs are drawn from here."""

from collections.abc import Mapping
from enum import StrEnum
from typing import TypeVar

from phaseloop.core.errors import IllegalMove
from phaseloop.core.events import EVENT_TYPES
from phaseloop.core.statuses import ActivityStatus, CallStatus, GateStatus, PhaseStatus, RunStatus

Status = TypeVar("Status", bound=StrEnum)
Moves = Mapping[Status, Mapping[str, Status]]
_NAMES = tuple(event_type.__name__ for event_type in EVENT_TYPES)

_BEGINS = frozenset(  # while paused nothing new starts; what is in flight ends, people may speak (contract 9)
    {
        "RunStarted",
        "SnapshotTaken",
        "RunPaused",
        "RunReopened",
        "RunCompleted",
        "PhaseStarted",
        "PhaseExitReached",
        "PhaseCompleted",
        "PhaseAdvanced",
        "PhaseBlocked",
        "PhaseFailed",
        "ArtifactDrafted",
        "ArtifactFinalized",
        "ActivityStarted",
        "SubprocessStarted",
        "ModelCallStarted",
        "ToolCallStarted",
        "ToolCallReused",
    }
)
_ENDS = {
    "RunCompleted": RunStatus.COMPLETED,
    "RunFailed": RunStatus.FAILED,
    "RunCancelled": RunStatus.CANCELLED,
}

RUN_MOVES: dict[RunStatus, dict[str, RunStatus]] = {
    RunStatus.CREATED: {"RunStarted": RunStatus.RUNNING},
    RunStatus.RUNNING: {
        **{n: RunStatus.RUNNING for n in _NAMES if n not in ("RunStarted", "RunResumed", "RunReopened")},
        "RunPaused": RunStatus.PAUSED,
        **_ENDS,
    },
    RunStatus.PAUSED: {
        **{n: RunStatus.PAUSED for n in _NAMES if n not in _BEGINS},
        "RunResumed": RunStatus.RUNNING,
        "RunFailed": RunStatus.FAILED,
        "RunCancelled": RunStatus.CANCELLED,
    },
    RunStatus.COMPLETED: {"NoteAdded": RunStatus.COMPLETED},
    RunStatus.FAILED: {
        "NoteAdded": RunStatus.FAILED,
        "LimitRaised": RunStatus.FAILED,
        "RunReopened": RunStatus.RUNNING,
    },
    RunStatus.CANCELLED: {"NoteAdded": RunStatus.CANCELLED},
}

PHASE_MOVES: dict[PhaseStatus, dict[str, PhaseStatus]] = {
    PhaseStatus.PENDING: {
        "PhaseStarted": PhaseStatus.ACTIVE,
        "PhaseBlocked": PhaseStatus.BLOCKED,
        "PhaseReopened": PhaseStatus.PENDING,
    },
    PhaseStatus.BLOCKED: {"PhaseStarted": PhaseStatus.ACTIVE, "PhaseReopened": PhaseStatus.PENDING},
    PhaseStatus.ACTIVE: {
        "PhaseExitReached": PhaseStatus.ACTIVE,
        "ExitGateOpened": PhaseStatus.AWAITING_HUMAN,
        "AdvanceGateOpened": PhaseStatus.AWAITING_ADVANCE,
        "PhaseCompleted": PhaseStatus.COMPLETED,
        "PhaseFailed": PhaseStatus.FAILED,
        "PhaseReopened": PhaseStatus.PENDING,
    },
    PhaseStatus.AWAITING_HUMAN: {
        "GatePassed": PhaseStatus.ACTIVE,
        "ChangesWanted": PhaseStatus.ACTIVE,
        "PhaseReopened": PhaseStatus.PENDING,
        "PhaseFailed": PhaseStatus.FAILED,
    },
    PhaseStatus.AWAITING_ADVANCE: {
        "GatePassed": PhaseStatus.ACTIVE,
        "ChangesWanted": PhaseStatus.ACTIVE,
        "PhaseReopened": PhaseStatus.PENDING,
        "PhaseFailed": PhaseStatus.FAILED,
    },
    PhaseStatus.COMPLETED: {"PhaseReopened": PhaseStatus.PENDING},
    PhaseStatus.FAILED: {"RunReopened": PhaseStatus.ACTIVE},
}

ACTIVITY_MOVES: dict[ActivityStatus, dict[str, ActivityStatus]] = {
    ActivityStatus.PENDING: {
        "ActivityStarted": ActivityStatus.RUNNING,
        "ActivityCompleted": ActivityStatus.SKIPPED,
        "PlanUpdated": ActivityStatus.SKIPPED,
    },
    ActivityStatus.RUNNING: {
        "ActivityStarted": ActivityStatus.RUNNING,
        "ActivityPaused": ActivityStatus.PAUSED,
        "ActivityCompleted": ActivityStatus.COMPLETED,
        "ActivityFailed": ActivityStatus.FAILED,
        "JudgingAsked": ActivityStatus.JUDGING,
    },
    ActivityStatus.PAUSED: {
        "ActivityPaused": ActivityStatus.PAUSED,
        "ActivityResumed": ActivityStatus.RUNNING,
        "ActivityCompleted": ActivityStatus.COMPLETED,
        "ActivityFailed": ActivityStatus.FAILED,
        "ActivityStarted": ActivityStatus.RUNNING,
        "JudgingAsked": ActivityStatus.JUDGING,
    },
    ActivityStatus.JUDGING: {
        "ActivityStarted": ActivityStatus.RUNNING,
        "ActivityCompleted": ActivityStatus.COMPLETED,
        "ActivityFailed": ActivityStatus.FAILED,
    },
    ActivityStatus.COMPLETED: {},
    ActivityStatus.SKIPPED: {},
    ActivityStatus.FAILED: {"PlanUpdated": ActivityStatus.SKIPPED, "ActivityStarted": ActivityStatus.RUNNING},
}

CALL_MOVES: dict[CallStatus, dict[str, CallStatus]] = {
    CallStatus.WAITING: {"Approved": CallStatus.READY, "Refused": CallStatus.FINISHED},
    CallStatus.READY: {"ToolCallStarted": CallStatus.STARTED, "ToolCallFinished": CallStatus.FINISHED},
    CallStatus.STARTED: {
        "ToolCallFinished": CallStatus.FINISHED,
        "ToolCallToRepeat": CallStatus.READY,
        "ToolCallDoubted": CallStatus.IN_DOUBT,
        "DriveStartedOverRead": CallStatus.READY,
        "DriveStartedOverWrite": CallStatus.IN_DOUBT,
    },
    CallStatus.IN_DOUBT: {
        "ToolCallToRepeat": CallStatus.READY,
        "ToolCallFinished": CallStatus.FINISHED,
        "Happened": CallStatus.FINISHED,
        "RunIt": CallStatus.READY,
        "Abandoned": CallStatus.FINISHED,
    },
    CallStatus.FINISHED: {},
}

GATE_MOVES: dict[GateStatus, dict[str, GateStatus]] = {
    GateStatus.OPEN: {
        "GateOpened": GateStatus.OPEN,
        "GateAnswered": GateStatus.OPEN,
        "GateTimedOut": GateStatus.OPEN,
        "GateResolved": GateStatus.RESOLVED,
        "GateExpired": GateStatus.EXPIRED,
    },
    GateStatus.RESOLVED: {"GateOpened": GateStatus.OPEN},
    GateStatus.EXPIRED: {"GateOpened": GateStatus.OPEN},
}


def move(moves: Moves[Status], status: Status, event: str, subject: str) -> Status:
    """The status after `event`. Raises `IllegalMove` when the table has no such move."""
    try:
        return moves[status][event]
    except KeyError:
        raise IllegalMove(event, subject, status) from None
