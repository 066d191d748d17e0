"""The words of each turning point: event in, line out; an event that turns nothing makes no line."""

from collections.abc import Callable
from typing import Any

from phaseloop.cli import plain_gate_lines
from phaseloop.cli.figures import compact, count, cut, duration, moment, money, printable, score
from phaseloop.cli.plain_words import QUOTE_CELLS, Line, amount, first, quote, said
from phaseloop.cli.screen import Screen
from phaseloop.cli.texts import counted, say
from phaseloop.core.call_events import BreakerClosed, BreakerOpened, HistoryDiverged, ToolCallDoubted
from phaseloop.core.events import Event
from phaseloop.core.plan_events import (
    ActivityFailed,
    PlanRefused,
    PlanUpdated,
    ResultJudged,
    SubprocessStarted,
)
from phaseloop.core.run_events import (
    BudgetNeared,
    LimitRaised,
    LimitReached,
    NoteAdded,
    PhaseBlocked,
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
)
from phaseloop.core.view_rows import elapsed
from phaseloop.core.view_run import View, find_row

Teller = Callable[[Any, View, str, Screen], Line]


def line_of(event: Event, view: View, run_id: str, screen: Screen, completed: bool = False) -> Line:
    """The line of `event`, with `view` as it is after it; empty for none.

    `completed`: the event completes the one before it, so both make one line.
    """
    if completed and isinstance(event, PlanUpdated):
        return f"{_phase(event.phase_id, screen)}  {_plan(event, screen)}"
    teller = TELLERS.get(type(event))
    return teller(event, view, run_id, screen) if teller else ""


def _run_started(event: RunStarted, view: View, run_id: str, screen: Screen) -> Line:
    language, meters = screen.language, view.meters
    limits: list[str] = []
    if meters.tokens_limit is not None:
        limits.append(say(language, "p_tokens", n=count(meters.tokens_limit)))
    if meters.cost_limit is not None:
        limits.append(money(meters.cost_limit))
    if meters.seconds_limit is not None:
        limits.append(duration(meters.seconds_limit * 1000, language))
    if meters.replans_limit is not None:
        limits.append(counted(language, "p_replan_one", "p_replans", int(meters.replans_limit)))
    title = cut(printable(view.title), QUOTE_CELLS)
    comma = "，" if language == "zh" else ", "
    budget = say(language, "p_budget", limits=comma.join(limits)) if limits else ""
    return said(say(language, "p_run_started", run=run_id, title=title), budget)


def _phase(phase_id: str, screen: Screen) -> Line:
    return say(screen.language, "p_phase", phase=printable(phase_id))


def _phase_started(event: PhaseStarted, view: View, run_id: str, screen: Screen) -> Line:
    return _phase(event.phase_id, screen)


def _plan(event: PlanUpdated, screen: Screen) -> Line:
    language = screen.language
    steps = counted(language, "step_one", "steps", len(event.steps))
    return say(language, "plan_steps", v=event.plan_version, steps=steps)


def _plan_updated(event: PlanUpdated, view: View, run_id: str, screen: Screen) -> Line:
    language = screen.language
    if event.plan_version <= 1:
        steps = counted(language, "step_one", "steps", len(event.steps))
        return say(language, "p_plan", v=event.plan_version, steps=steps)
    sizes = {"p_kept": event.kept, "p_removed": event.dropped, "p_added": event.added}
    parts = [say(language, key, n=len(ids)) for key, ids in sizes.items()]
    parts += [say(language, "p_changed", n=len(event.changed))] if event.changed else []
    diff = ("，" if language == "zh" else ", ").join(parts)
    if event.reason != "replan":
        phase = printable(event.phase_id)
        return said(say(language, "p_plan_new", v=event.plan_version, phase=phase), diff)
    limit = view.meters.replans_limit
    n = f"{view.meters.replans}/{limit:g}" if limit is not None else f"{view.meters.replans}"
    return said(say(language, "p_replan", n=n), diff)


def _plan_refused(event: PlanRefused, view: View, run_id: str, screen: Screen) -> Line:
    issues = tuple(finding.message for finding in event.findings)
    return said(say(screen.language, "p_plan_refused", v=event.plan_version), first(issues, screen))


def _result_judged(event: ResultJudged, view: View, run_id: str, screen: Screen) -> Line:
    keys = {"retry": "p_step_retry", "replan": "p_step_failed_check", "abort": "p_step_failed_check"}
    key = keys.get(event.action, "p_step_asks" if event.action == "veto" else "")
    if event.scope == "plan" and key:
        key = "p_phase_failed_check"
    if not key:
        return ""
    step = printable(event.step_id or event.activity_id)
    told = say(screen.language, key, step=step, phase=printable(view.current), score=score(event.score))
    return said(told, first(event.issues, screen))


def _activity_failed(event: ActivityFailed, view: View, run_id: str, screen: Screen) -> Line:
    """A verdict on the same attempt has been told already."""
    row = find_row(view, event.step_id, event.activity_id)
    if row is not None and row.attempts and row.attempts[-1].score is not None:
        return ""
    key = "p_step_again" if event.next in ("retry", "fallback") else "p_step_error"
    step = printable(event.step_id or event.activity_id)
    told = say(screen.language, key, step=step, kind=printable(event.error_kind))
    return said(told, quote(event.message, screen) if event.message else "")


def _phase_blocked(event: PhaseBlocked, view: View, run_id: str, screen: Screen) -> Line:
    missing = ", ".join(printable(name) for name in event.missing)
    why = say(screen.language, "missing", names=missing) if missing else printable(event.condition)
    return said(say(screen.language, "p_phase_blocked", phase=printable(event.phase_id)), why)


def _phase_reopened(event: PhaseReopened, view: View, run_id: str, screen: Screen) -> Line:
    told = say(screen.language, "p_phase_reopened", phase=printable(event.phase_id))
    return said(told, quote(event.reason, screen) if event.reason else "")


def _phase_failed(event: PhaseFailed, view: View, run_id: str, screen: Screen) -> Line:
    told = say(screen.language, "p_phase_failed", phase=printable(event.phase_id))
    return said(told, printable(event.error_kind), quote(event.message, screen) if event.message else "")


def _word(key: str) -> Teller:
    """A line that says who did it, and why."""

    def tell(event: Any, view: View, run_id: str, screen: Screen) -> Line:
        told = say(screen.language, key, who=printable(event.by.id))
        return said(told, quote(event.reason, screen) if event.reason else "")

    return tell


def _run_completed(event: RunCompleted, view: View, run_id: str, screen: Screen) -> Line:
    warnings = first(event.warnings, screen)
    return said(say(screen.language, "p_completed"), used(view, screen), warnings)


def used(view: View, screen: Screen) -> str:
    """What a run used: active time, tokens, cost."""
    language, meters = screen.language, view.meters
    parts = [duration(elapsed(meters.active, view.at), language)]
    parts += [say(language, "p_tokens", n=count(meters.tokens))] if meters.tokens else []
    parts += [money(meters.cost_usd)] if meters.cost_usd else []
    return ("，" if language == "zh" else ", ").join(parts)


def _run_failed(event: RunFailed, view: View, run_id: str, screen: Screen) -> Line:
    told = say(screen.language, "p_failed", code=printable(event.code))
    return said(told, quote(event.explanation or event.reason, screen), used(view, screen))


def _limit_reached(event: LimitReached, view: View, run_id: str, screen: Screen) -> Line:
    value, limit = amount(event.kind, event.value, screen), amount(event.kind, event.limit, screen)
    return say(screen.language, "p_limit", kind=printable(event.kind), value=value, limit=limit)


def _limit_raised(event: LimitRaised, view: View, run_id: str, screen: Screen) -> Line:
    n = amount(event.kind, event.limit, screen)
    return say(screen.language, "p_raised", kind=printable(event.kind), n=n, who=printable(event.by.id))


def _budget_neared(event: BudgetNeared, view: View, run_id: str, screen: Screen) -> Line:
    value, limit = amount(event.kind, event.used, screen), amount(event.kind, event.limit, screen)
    return say(screen.language, "p_near", kind=printable(event.kind), value=value, limit=limit)


def _breaker_opened(event: BreakerOpened, view: View, run_id: str, screen: Screen) -> Line:
    until = moment(event.until, screen.zone)
    return say(screen.language, "p_breaker", tool=printable(event.tool), t=until)


def _breaker_closed(event: BreakerClosed, view: View, run_id: str, screen: Screen) -> Line:
    return say(screen.language, "p_breaker_closed", tool=printable(event.tool))


def _doubted(event: ToolCallDoubted, view: View, run_id: str, screen: Screen) -> Line:
    return said(say(screen.language, "p_doubt", call=printable(event.call_id)), printable(event.reason))


def _child(event: SubprocessStarted, view: View, run_id: str, screen: Screen) -> Line:
    step = printable(event.step_id or event.activity_id)
    return say(screen.language, "p_child", step=step, run=printable(event.child_run_id))


def _diverged(event: HistoryDiverged, view: View, run_id: str, screen: Screen) -> Line:
    told = say(screen.language, "p_diverged", step=printable(event.step_id))
    return said(told, compact(event.what), f"n={event.n}")


def _note_added(event: NoteAdded, view: View, run_id: str, screen: Screen) -> Line:
    return said(say(screen.language, "p_note", who=printable(event.by.id)), quote(event.text, screen))


TELLERS: dict[type[Event], Teller] = {
    **plain_gate_lines.TELLERS,
    RunStarted: _run_started,
    PhaseStarted: _phase_started,
    PlanUpdated: _plan_updated,
    PlanRefused: _plan_refused,
    ResultJudged: _result_judged,
    ActivityFailed: _activity_failed,
    PhaseBlocked: _phase_blocked,
    PhaseReopened: _phase_reopened,
    PhaseFailed: _phase_failed,
    RunPaused: _word("p_paused"),
    RunResumed: _word("p_resumed"),
    RunReopened: _word("p_reopened"),
    RunCancelled: _word("p_cancelled"),
    RunCompleted: _run_completed,
    RunFailed: _run_failed,
    LimitReached: _limit_reached,
    LimitRaised: _limit_raised,
    BudgetNeared: _budget_neared,
    BreakerOpened: _breaker_opened,
    BreakerClosed: _breaker_closed,
    ToolCallDoubted: _doubted,
    SubprocessStarted: _child,
    HistoryDiverged: _diverged,
    NoteAdded: _note_added,
}
