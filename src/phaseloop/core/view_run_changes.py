"""How the view changes with facts about a run and its limits."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from phaseloop.core.events import Event
from phaseloop.core.run_events import (
    BudgetNeared,
    DriveStarted,
    LimitRaised,
    NoteAdded,
    PhaseRow,
    RunCancelled,
    RunCompleted,
    RunFailed,
    RunPaused,
    RunReopened,
    RunResumed,
    RunStarted,
    SnapshotTaken,
)
from phaseloop.core.values import Object
from phaseloop.core.view_rows import (
    ACTIVE,
    ActivityRow,
    Clock,
    Diamond,
    GateState,
    Meters,
    PhaseState,
    RowState,
    RunState,
    stopped,
)
from phaseloop.core.view_run import Ending, GateView, Output, PhaseView, View, with_phase, with_rows

Change = Callable[[View, Any, int], View]

_LIMITS = {
    "tokens": "tokens_limit",
    "cost_usd": "cost_limit",
    "seconds": "seconds_limit",
    "replans": "replans_limit",
    "task_replans": "replans_limit",
}
"""Names of limits in budgets and in `limit_raised`, and the meter each belongs to."""


def number(value: object) -> float | None:
    """A JSON number, else `None`: budgets come from files that people write."""
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _phase(row: PhaseRow) -> PhaseView:
    asks = row.exit_human_activity_id is not None or not row.auto_advance
    return PhaseView(
        row.phase_id,
        name=row.display_name or row.phase_id,
        order=row.order,
        state=PhaseState.SKIPPED if row.status == "skipped" else PhaseState.PENDING,
        outputs=tuple(Output(name) for name in row.produced_outputs),
        diamond=Diamond.FUTURE if asks else Diamond.NONE,
    )


def _run_started(view: View, event: RunStarted, at: int) -> View:
    limits: dict[str, Any] = {_LIMITS[kind]: number(limit) for kind, limit in event.budget.items() if kind in _LIMITS}
    return replace(
        view,
        title=event.title or event.goal,
        goal=event.goal,
        state=RunState.RUNNING,
        definition_id=event.definition_id,
        definition_version=event.definition_version,
        mode=event.mode,
        by=event.by.id if event.by else "",
        started_at=at,
        parent_run_id=event.parent_run_id,
        complexity=event.complexity,
        pass_score=number(event.thresholds.get("pass")),
        replan_score=number(event.thresholds.get("retry")),
        meters=replace(Meters(), **limits),
        phases=tuple(_phase(row) for row in sorted(event.phases, key=lambda row: row.order)),
    )


def _snapshot_taken(view: View, event: SnapshotTaken, at: int) -> View:
    """The caps in force, where the budget of the run names none."""
    meters, limits = view.meters, event.limits
    if meters.replans_limit is None:
        meters = replace(meters, replans_limit=float(limits.replans))
    return replace(
        view,
        meters=meters,
        pass_score=limits.normal.accept if view.pass_score is None else view.pass_score,
        replan_score=limits.normal.retry if view.replan_score is None else view.replan_score,
    )


def _rest(clock: Clock, until: int, at: int) -> Clock:
    return clock if clock.since is None else replace(stopped(clock, until), since=at)


def _drive_started(view: View, event: DriveStarted, at: int) -> View:
    """Nobody worked between the last fact of one drive and the start of the next: no clock ran then."""
    if event.drive <= 1:
        return view
    last = view.at
    view = replace(view, meters=replace(view.meters, active=_rest(view.meters.active, last, at)))
    view = with_phase(view, view.current, lambda phase: replace(phase, active=_rest(phase.active, last, at)))
    return with_rows(view, lambda row: replace(row, active=_rest(row.active, last, at)))


def _run_paused(view: View, event: RunPaused, at: int) -> View:
    return replace(view, paused_by=event.by.id)


def _run_resumed(view: View, event: RunResumed, at: int) -> View:
    return replace(view, paused_by="")


def _more(meters: Meters, kind: str, by: float) -> Meters:
    """`meters` with one limit raised by `by`; a limit that was never set stays unset."""
    name = _LIMITS.get(kind, "")
    held = number(getattr(meters, name)) if name else None
    raised: dict[str, Any] = {name: (held or 0.0) + by}
    return meters if held is None else replace(meters, **raised)


def _limit_raised(view: View, event: LimitRaised, at: int) -> View:
    near = tuple(kind for kind in view.near if kind != event.kind)
    return replace(view, meters=_more(view.meters, event.kind, event.limit), near=near)


def _run_reopened(view: View, event: RunReopened, at: int) -> View:
    meters = view.meters
    for kind, by in event.limits.items():
        meters = _more(meters, kind, number(by) or 0.0)
    view = replace(view, meters=meters, ending=None, paused_by="", near=())
    return with_phase(view, view.current, _reopened)


def _reopened(phase: PhaseView) -> PhaseView:
    over = phase.state in (PhaseState.FAILED, PhaseState.CANCELLED)
    return replace(phase, state=PhaseState.ACTIVE, ended_at=None, note="") if over else phase


def _budget_neared(view: View, event: BudgetNeared, at: int) -> View:
    return view if event.kind in view.near else replace(view, near=(*view.near, event.kind))


def _note_added(view: View, event: NoteAdded, at: int) -> View:
    return replace(view, notes=(*view.notes, event.text))


def _closed_gate(gate: GateView, at: int) -> GateView:
    if gate.state is not GateState.OPEN:
        return gate
    return replace(gate, state=GateState.EXPIRED, waited=stopped(gate.waited, at))


def _ended(view: View, ending: Ending, phase_state: PhaseState) -> View:
    """Close what is open: rows under way, gates, the current phase."""

    def close(row: ActivityRow) -> ActivityRow:
        if row.state in ACTIVE or row.state in (RowState.PAUSED, RowState.WAITING):
            return replace(row, state=RowState.CANCELLED, active=stopped(row.active, ending.at))
        return row

    def end(phase: PhaseView) -> PhaseView:
        kept = phase.state in (PhaseState.DONE, PhaseState.SKIPPED)
        state = phase.state if kept else phase_state
        ended_at = ending.at if phase.ended_at is None else phase.ended_at
        return replace(phase, state=state, ended_at=ended_at, planning=False)

    view = with_phase(with_rows(view, close), view.current, end)
    gates = tuple(_closed_gate(gate, ending.at) for gate in view.gates)
    return replace(view, gates=gates, ending=ending, paused_by="", calls={})


def _run_completed(view: View, event: RunCompleted, at: int) -> View:
    ending = Ending(RunState.COMPLETED, at, event.result, event.score, warnings=event.warnings, partial=event.partial)
    return _ended(view, ending, PhaseState.DONE)


def _run_failed(view: View, event: RunFailed, at: int) -> View:
    ending = Ending(
        RunState.FAILED,
        at,
        event.best_result,
        event.score,
        warnings=event.warnings,
        partial=event.partial,
        code=event.code,
        reason=event.reason,
        explanation=event.explanation,
        activity_id=event.activity_id,
    )
    return _ended(view, ending, PhaseState.FAILED)


def _run_cancelled(view: View, event: RunCancelled, at: int) -> View:
    ending = Ending(RunState.CANCELLED, at, reason=event.reason, by=event.by.id, in_doubt=event.in_doubt, partial=True)
    return _ended(view, ending, PhaseState.CANCELLED)


def budget_of(meters: Meters) -> Object:
    """The limits that are set, under the names budgets use."""
    kinds = ("tokens", "cost_usd", "seconds", "replans")
    return {kind: getattr(meters, _LIMITS[kind]) for kind in kinds if getattr(meters, _LIMITS[kind]) is not None}


CHANGES: dict[type[Event], Change] = {
    RunStarted: _run_started,
    SnapshotTaken: _snapshot_taken,
    DriveStarted: _drive_started,
    RunPaused: _run_paused,
    RunResumed: _run_resumed,
    RunReopened: _run_reopened,
    RunCompleted: _run_completed,
    RunFailed: _run_failed,
    RunCancelled: _run_cancelled,
    LimitRaised: _limit_raised,
    BudgetNeared: _budget_neared,
    NoteAdded: _note_added,
}
