"""The words for where a run, a phase, an activity, a call and a gate stand."""

from enum import StrEnum


class RunStatus(StrEnum):
    """A run's own status; `waiting` is derived (contract section 9)."""

    CREATED = "created"
    RUNNING = "running"
    PAUSED = "paused"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


class PhaseStatus(StrEnum):
    """Behaviours 2.9, phase."""

    PENDING = "pending"
    ACTIVE = "active"
    BLOCKED = "blocked"
    AWAITING_HUMAN = "awaiting_human"
    AWAITING_ADVANCE = "awaiting_advance"
    COMPLETED = "completed"
    FAILED = "failed"


class ActivityStatus(StrEnum):
    """Behaviours 2.9, activity; `judging` waits for a critic."""

    PENDING = "pending"
    RUNNING = "running"
    PAUSED = "paused"
    JUDGING = "judging"
    COMPLETED = "completed"
    SKIPPED = "skipped"
    FAILED = "failed"


class CallStatus(StrEnum):
    """Where a tool call stands. `waiting`: for a person's approval; `ready`: may be sent."""

    WAITING = "waiting"
    READY = "ready"
    STARTED = "started"
    IN_DOUBT = "in_doubt"
    FINISHED = "finished"


class GateStatus(StrEnum):
    """Whether a question still waits for an answer."""

    OPEN = "open"
    RESOLVED = "resolved"
    EXPIRED = "expired"


class LoopState(StrEnum):
    """The inner loop of the active phase (article 003 section 6.2); derived, never stored."""

    PLANNING = "PLANNING"
    EXECUTING = "EXECUTING"
    REFLECTING = "REFLECTING"
    REPLANNING = "REPLANNING"
    DONE = "DONE"
    FAILED = "FAILED"
