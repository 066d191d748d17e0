"""How runs and phases change with each event."""

from collections.abc import Callable
from typing import Any

from phaseloop.core.changes import replace
from phaseloop.core.events import Event
from phaseloop.core.limits import Limits
from phaseloop.core.moves import CALL_MOVES, PHASE_MOVES, move
from phaseloop.core.paths import is_object
from phaseloop.core.process import FLAT_PHASE
from phaseloop.core.run_events import (
    ArtifactDrafted,
    ArtifactFinalized,
    CatalogueChanged,
    ConditionEvaluated,
    DriveStarted,
    LimitRaised,
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
    RunReopened,
    RunResumed,
    RunStarted,
    SnapshotTaken,
)
from phaseloop.core.state import ArtifactState, PhaseState, RunFacts, RunState
from phaseloop.core.statuses import CallStatus, PhaseStatus
from phaseloop.core.values import Json


def with_phase(state: RunState, phase: PhaseState, index: int | None = None) -> RunState:
    """The state with one phase replaced, the current one by default."""
    at = state.phase_index if index is None else index
    return replace(state, phases=(*state.phases[:at], phase, *state.phases[at + 1 :]))


def phase_at(state: RunState, phase_id: str) -> int:
    """The index of a phase by id."""
    return next(n for n, phase in enumerate(state.phases) if phase.phase.phase_id == phase_id)


def _run_started(state: RunState, event: RunStarted, at: int) -> RunState:
    facts = RunFacts(
        goal=event.goal,
        title=event.title,
        mode=event.mode,
        inputs=event.inputs,
        by=event.by,
        started_at=at,
        parent_run_id=event.parent_run_id,
        parent_step_id=event.parent_step_id,
    )
    return replace(state, facts=facts)


def _snapshot_taken(state: RunState, event: SnapshotTaken, at: int) -> RunState:
    tools = {tool.name: tool for tool in event.tools}
    facts = replace(state.facts, definition=event.definition, tools=tools, prompts=event.prompts)
    phases = tuple(PhaseState(phase) for phase in event.definition.phases or (FLAT_PHASE,))
    return replace(state, facts=facts, limits=event.limits, phases=phases)


def _drive_started(state: RunState, event: DriveStarted, at: int) -> RunState:
    """What an earlier drive had started and not ended is open again, or in doubt (contract section 8)."""
    calls = state.calls
    if any(call.status is CallStatus.STARTED for call in calls.values()):
        calls = {}
        for call_id, call in state.calls.items():
            if call.status is CallStatus.STARTED:
                kind = "Write" if state.facts.tools[call.tool].writes else "Read"
                status = move(CALL_MOVES, call.status, f"DriveStartedOver{kind}", f"call {call_id}")
                call = replace(call, status=status)
            calls[call_id] = call
    return replace(state, drive=event.drive, idle_drives=state.idle_drives + 1, calls=calls)


def _ended(state: RunState, event: RunCompleted | RunFailed | RunCancelled, at: int) -> RunState:
    reason = event.reason if isinstance(event, RunFailed | RunCancelled) else ""
    facts = replace(state.facts, ended_at=at)
    open_calls = {  # a failed run may be reopened: a write whose end is not known stays in doubt
        call_id: call
        for call_id, call in state.calls.items()
        if isinstance(event, RunFailed) and call.status in (CallStatus.STARTED, CallStatus.IN_DOUBT)
    }
    return replace(state, facts=facts, failure=reason, records={}, timers={}, calls=open_calls, conditions={})


def _resumed(state: RunState, event: RunResumed, at: int) -> RunState:
    return replace(state, idle_drives=0)


def _reopened(state: RunState, event: RunReopened, at: int) -> RunState:
    """A person gives a failed run more room: the phase is re-planned from where it stands."""
    phase = state.phase
    if phase.status is PhaseStatus.FAILED:
        phase = replace(phase, status=move(PHASE_MOVES, phase.status, "RunReopened", phase.phase.phase_id))
    phase = replace(phase, trigger="human", refusals=0, judged="", exit_reached=False, findings=())
    phase = replace(phase, feedback=event.reason or phase.feedback, contract_replanned=False)
    facts = replace(state.facts, ended_at=None)
    raised = raise_limits(state.limits, dict(event.limits))
    return replace(with_phase(state, phase), facts=facts, limits=raised, failure="", idle_drives=0)


RAISABLE = ("task_replans", "step_retries", "revisions")
"""The counters that a person may raise, by the names that `limit_reached` uses (contract section 7)."""


def raise_limits(limits: Limits, more: dict[str, float]) -> Limits:
    """Limits with counters raised by `more`; `task_replans` and `step_retries` are the names events use."""
    return replace(
        limits,
        replans=limits.replans + int(more.get("task_replans", 0)),
        step_retries=limits.step_retries + int(more.get("step_retries", 0)),
        revisions_per_gate=limits.revisions_per_gate + int(more.get("revisions", 0)),
    )


def _limit_raised(state: RunState, event: LimitRaised, at: int) -> RunState:
    return replace(state, limits=raise_limits(state.limits, {event.kind: event.limit}))


def _catalogue_changed(state: RunState, event: CatalogueChanged, at: int) -> RunState:
    """A tool that went away stays known while a call of it, or one that may fall back on it, is not over."""
    used = {call.tool for call in state.calls.values()}
    used |= {state.facts.tools[name].fallback for name in used if name in state.facts.tools}
    held = {name: tool for name, tool in state.facts.tools.items() if name in used}
    return replace(state, facts=replace(state.facts, tools={**held, **{tool.name: tool for tool in event.tools}}))


def _condition_evaluated(state: RunState, event: ConditionEvaluated, at: int) -> RunState:
    return replace(state, conditions={**state.conditions, event.subject: event.value})


def _phase_started(state: RunState, event: PhaseStarted, at: int) -> RunState:
    index = phase_at(state, event.phase_id)
    phase = state.phases[index]
    status = move(PHASE_MOVES, phase.status, "PhaseStarted", event.phase_id)
    trigger = "given" if phase.phase.plan_from else "initial"
    phase = replace(phase, status=status, started_at=at, trigger=phase.trigger or trigger)
    return replace(with_phase(state, phase, index), phase_index=index)


def _phase_exit_reached(state: RunState, event: PhaseExitReached, at: int) -> RunState:
    phase = state.phase
    status = move(PHASE_MOVES, phase.status, "PhaseExitReached", event.phase_id)
    return with_phase(state, replace(phase, status=status, exit_reached=True))


def _phase_completed(state: RunState, event: PhaseCompleted, at: int) -> RunState:
    status = move(PHASE_MOVES, state.phase.status, "PhaseCompleted", event.phase_id)
    return replace(with_phase(state, replace(state.phase, status=status)), conditions={})


def _phase_blocked(state: RunState, event: PhaseBlocked, at: int) -> RunState:
    index = phase_at(state, event.phase_id)
    phase = state.phases[index]
    status = move(PHASE_MOVES, phase.status, "PhaseBlocked", event.phase_id)
    return with_phase(state, replace(phase, status=status), index)


def _phase_reopened(state: RunState, event: PhaseReopened, at: int) -> RunState:
    """`return_to`: the phase and all after it begin again; their artefacts no longer count."""
    index = phase_at(state, event.phase_id)
    phases = list(state.phases)
    for n in range(index, len(phases)):
        phase = phases[n]
        status = move(PHASE_MOVES, phase.status, "PhaseReopened", phase.phase.phase_id)
        plan = replace(phase.plan, order=(), tails={}, result=None)
        phases[n] = PhaseState(phase.phase, status=status, plan=plan, stats=phase.stats)
    phases[index] = replace(phases[index], trigger="human", feedback=event.reason)
    artifacts = {
        name: replace(artifact, final=False, valid=False) if name in event.superseded else artifact
        for name, artifact in state.artifacts.items()
    }
    return replace(state, phases=tuple(phases), phase_index=index - 1, artifacts=artifacts, conditions={})


def _phase_failed(state: RunState, event: PhaseFailed, at: int) -> RunState:
    status = move(PHASE_MOVES, state.phase.status, "PhaseFailed", event.phase_id)
    return with_phase(state, replace(state.phase, status=status))


def _phase_advanced(state: RunState, event: PhaseAdvanced, at: int) -> RunState:
    return state


def _artifact_value(state: RunState, event: ArtifactDrafted | ArtifactFinalized) -> Json:
    """The value, and who confirmed or approved it (contract section 6)."""
    value = event.value if isinstance(event, ArtifactFinalized) else None
    if value is None and event.value_of:
        value = state.steps[event.value_of].output
    if isinstance(event, ArtifactFinalized) and is_object(value):
        by = {"confirmedBy": event.confirmed_by, "approvedBy": event.approved_by}
        value = {**value, **{name: who for name, who in by.items() if who}}
    return value


def _artifact(state: RunState, event: ArtifactDrafted | ArtifactFinalized, at: int) -> RunState:
    artifact = ArtifactState(
        name=event.name,
        version=event.version,
        value=_artifact_value(state, event),
        phase_id=event.phase_id,
        activity_id=event.produced_by_activity_id,
        step_id=event.value_of,
        valid=event.valid,
        final=isinstance(event, ArtifactFinalized),
        issues=event.issues if isinstance(event, ArtifactDrafted) else (),
    )
    return replace(state, artifacts={**state.artifacts, event.name: artifact})


APPLY: dict[type[Event], Callable[[RunState, Any, int], RunState]] = {
    RunStarted: _run_started,
    SnapshotTaken: _snapshot_taken,
    DriveStarted: _drive_started,
    RunResumed: _resumed,
    RunReopened: _reopened,
    RunCompleted: _ended,
    RunFailed: _ended,
    RunCancelled: _ended,
    LimitRaised: _limit_raised,
    CatalogueChanged: _catalogue_changed,
    ConditionEvaluated: _condition_evaluated,
    PhaseStarted: _phase_started,
    PhaseExitReached: _phase_exit_reached,
    PhaseCompleted: _phase_completed,
    PhaseAdvanced: _phase_advanced,
    PhaseBlocked: _phase_blocked,
    PhaseReopened: _phase_reopened,
    PhaseFailed: _phase_failed,
    ArtifactDrafted: _artifact,
    ArtifactFinalized: _artifact,
}
