"""How the rows change with facts about plans, activities and calls."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from phaseloop.core.call_events import (
    BreakerClosed,
    BreakerOpened,
    ModelCallFinished,
    ModelCallStarted,
    ToolCallFinished,
    ToolCallStarted,
)
from phaseloop.core.events import Event
from phaseloop.core.plan import ActivityType
from phaseloop.core.plan_events import (
    ActivityCompleted,
    ActivityFailed,
    ActivityPaused,
    ActivityResumed,
    ActivityStarted,
    PlanRefused,
    ResultJudged,
    SubprocessCompleted,
    SubprocessStarted,
)
from phaseloop.core.view_rows import ACTIVE, OVER, ActivityRow, Attempt, RowState, started, stopped
from phaseloop.core.view_run import PhaseView, View, activities, current_phase, find_row, with_phase, with_row

Change = Callable[[View, Any, int], View]


def entered(row: ActivityRow, state: RowState, at: int) -> ActivityRow:
    """`row` in `state` from `at`; its clock runs only while work goes on."""
    clock = started(row.active, at) if state in ACTIVE else stopped(row.active, at)
    return replace(row, state=state, active=clock)


def going(row: ActivityRow) -> RowState:
    """The word for a row under way: later attempts are retries, a question waits for its person."""
    if row.type == ActivityType.HUMAN:
        return RowState.WAITING
    return RowState.RETRYING if row.attempt > 1 else RowState.RUNNING


def _closed(row: ActivityRow, at: int, *, action: str = "", score: float | None = None) -> ActivityRow:
    """`row` with its last attempt ended; what the attempt already knows stays."""
    if not row.attempts:
        return row
    last = row.attempts[-1]
    ended = replace(
        last,
        ended_at=last.ended_at if last.ended_at is not None else at,
        score=last.score if score is None else score,
        action=action or last.action,
        issues=row.issues,
    )
    return replace(row, attempts=(*row.attempts[:-1], ended))


def _on_row(view: View, event: Any, change: Callable[[ActivityRow], ActivityRow]) -> View:
    row = find_row(view, event.step_id, event.activity_id)
    return view if row is None else with_row(view, row.id, change)


def _new_row(phase: PhaseView, event: ActivityStarted) -> tuple[PhaseView, str, str]:
    """`phase` with a row for an activity no plan lists, its id, and the id of the placeholder it replaces."""
    row = ActivityRow(
        event.step_id or event.activity_id,
        event.activity_id,
        event.step_id,
        type=event.type.value,
        title=event.title or event.activity_id,
    )
    waiting = [r for r in activities(phase) if r.placeholder and r.activity_id in ("", event.activity_id)]
    replaced = waiting[0].id if waiting else ""
    if not replaced:
        return replace(phase, rows=(*phase.rows, row)), row.id, ""
    return replace(phase, rows=tuple(row if r.id == replaced else r for r in phase.rows)), row.id, replaced


def _activity_started(view: View, event: ActivityStarted, at: int) -> View:
    found = find_row(view, event.step_id, event.activity_id)
    row_id = found.id if found and not found.placeholder else ""
    phase = current_phase(view)
    if not row_id and phase is not None:
        grown, row_id, replaced = _new_row(phase, event)
        view = with_phase(view, phase.phase_id, lambda _: grown)
        view = replace(view, focus_id=row_id) if replaced and view.focus_id == replaced else view

    def start(row: ActivityRow) -> ActivityRow:
        earlier = tuple(attempt for attempt in _closed(row, at).attempts if attempt.n != event.attempt)
        row = replace(row, attempt=event.attempt, attempts=(*earlier, Attempt(event.attempt, at)))
        row = replace(row, title=event.title) if event.title and not row.title else row
        return entered(row, going(row), at)

    return with_row(view, row_id, start)


def _activity_paused(view: View, event: ActivityPaused, at: int) -> View:
    state = RowState.PAUSED if event.reason == "suspended" else RowState.WAITING
    return _on_row(view, event, lambda row: row if row.state in OVER else entered(row, state, at))


def _activity_resumed(view: View, event: ActivityResumed, at: int) -> View:
    """A step goes on. A question that was answered with changes is asked again later (behaviours 2.9)."""

    def resume(row: ActivityRow) -> ActivityRow:
        if row.state in OVER:
            return row
        return entered(row, RowState.NOT_STARTED if row.type == ActivityType.HUMAN else going(row), at)

    return _on_row(view, event, resume)


def _activity_completed(view: View, event: ActivityCompleted, at: int) -> View:
    words = {"skipped": RowState.SKIPPED, "cancelled": RowState.CANCELLED, "replaced": RowState.REPLACED}
    state = words.get(event.status, RowState.DONE)

    def complete(row: ActivityRow) -> ActivityRow:
        if state is RowState.SKIPPED:
            return replace(entered(row, state, at), line=event.summary)
        row = replace(row, score=event.score, issues=event.issues, line=event.summary)
        return entered(_closed(row, at, score=event.score), state, at)

    return _on_row(view, event, complete)


def _activity_failed(view: View, event: ActivityFailed, at: int) -> View:
    state = RowState.RETRYING if event.next in ("retry", "fallback") else RowState.FAILED

    def fail(row: ActivityRow) -> ActivityRow:
        row = replace(row, line=event.message)
        return entered(_closed(row, at, action=event.next), state, at)

    return _on_row(view, event, fail)


def _result_judged(view: View, event: ResultJudged, at: int) -> View:
    if event.action == "replan":
        view = replace(view, replan_cause=event.score)
    if event.scope == "plan":
        return view

    def judge(row: ActivityRow) -> ActivityRow:
        line = event.issues[0] if event.issues else row.line
        row = replace(row, score=event.score, issues=event.issues, line=line)
        row = _closed(row, at, action=event.action, score=event.score)
        return row if row.state in OVER else entered(row, _judged_state(row, event.action), at)

    return _on_row(view, event, judge)


def _judged_state(row: ActivityRow, action: str) -> RowState:
    if action in ("replan", "abort"):
        return RowState.FAILED
    if action == "retry":
        return RowState.RETRYING
    return RowState.CHECKING if row.state in ACTIVE else row.state


def _subprocess_started(view: View, event: SubprocessStarted, at: int) -> View:
    return _on_row(
        view,
        event,
        lambda row: replace(
            row, child_run_id=event.child_run_id, child_state="running", tool=row.tool or event.definition_id
        ),
    )


def _subprocess_completed(view: View, event: SubprocessCompleted, at: int) -> View:
    return _on_row(
        view,
        event,
        lambda row: replace(
            row, child_run_id=event.child_run_id, child_state=event.status, line=event.message or row.line
        ),
    )


def _plan_refused(view: View, event: PlanRefused, at: int) -> View:
    reason = event.findings[0].message if event.findings else ""
    return with_phase(view, event.phase_id, lambda phase: replace(phase, planning=True, note=reason))


def _model_call_started(view: View, event: ModelCallStarted, at: int) -> View:
    meters = replace(view.meters, model_calls=view.meters.model_calls + 1)
    view = replace(view, meters=meters)
    if event.role == "planner":
        view = with_phase(view, view.current, lambda phase: replace(phase, planning=True))
    row = find_row(view, event.step_id, event.activity_id)
    if row is None:
        return view
    view = replace(view, calls={**view.calls, event.call_id: row.id})
    if event.role != "critic" or row.state not in ACTIVE:
        return view
    return with_row(view, row.id, lambda row: entered(row, RowState.CHECKING, at))


def _without(view: View, call_id: str) -> View:
    return replace(view, calls={key: row for key, row in view.calls.items() if key != call_id})


def _model_call_finished(view: View, event: ModelCallFinished, at: int) -> View:
    tokens = event.usage.tokens_in + event.usage.tokens_out
    meters = view.meters
    meters = replace(meters, tokens=meters.tokens + tokens, cost_usd=meters.cost_usd + event.cost_usd)
    view = replace(view, meters=meters)
    row_id = view.calls.get(event.call_id, "")
    if not row_id:
        return view

    def charge(row: ActivityRow) -> ActivityRow:
        return replace(row, tokens=row.tokens + tokens, cost_usd=row.cost_usd + event.cost_usd)

    return _without(with_row(view, row_id, charge), event.call_id)


def _tool_call_started(view: View, event: ToolCallStarted, at: int) -> View:
    view = replace(view, meters=replace(view.meters, tool_calls=view.meters.tool_calls + 1))
    view = _on_row(view, event, lambda row: replace(row, tool_calls=row.tool_calls + 1))
    row = find_row(view, event.step_id, event.activity_id)
    return view if row is None else replace(view, calls={**view.calls, event.call_id: row.id})


def _tool_call_finished(view: View, event: ToolCallFinished, at: int) -> View:
    return _without(view, event.call_id)


def _breaker_opened(view: View, event: BreakerOpened, at: int) -> View:
    tools = view.broken_tools
    return view if event.tool in tools else replace(view, broken_tools=(*tools, event.tool))


def _breaker_closed(view: View, event: BreakerClosed, at: int) -> View:
    return replace(view, broken_tools=tuple(tool for tool in view.broken_tools if tool != event.tool))


CHANGES: dict[type[Event], Change] = {
    PlanRefused: _plan_refused,
    ActivityStarted: _activity_started,
    ActivityPaused: _activity_paused,
    ActivityResumed: _activity_resumed,
    ActivityCompleted: _activity_completed,
    ActivityFailed: _activity_failed,
    ResultJudged: _result_judged,
    SubprocessStarted: _subprocess_started,
    SubprocessCompleted: _subprocess_completed,
    ModelCallStarted: _model_call_started,
    ModelCallFinished: _model_call_finished,
    ToolCallStarted: _tool_call_started,
    ToolCallFinished: _tool_call_finished,
    BreakerOpened: _breaker_opened,
    BreakerClosed: _breaker_closed,
}
