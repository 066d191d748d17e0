"""The facts of each kind of answer. Late answers are nobody's and give none (contract section 4)."""

from collections.abc import Callable
from typing import Any

from phaseloop.core.answers import (
    Answer,
    Begin,
    BreakerMoved,
    Checked,
    ChildEnded,
    ConditionKnown,
    Drive,
    ModelReplied,
    PlanJudged,
    Planned,
    PlanningFailed,
    StepJudged,
    StepRaised,
    StepReturned,
    TimerDue,
    ToolReturned,
    ToolUnsure,
    Verified,
)
from phaseloop.core.asks import ChildWanted, ModelCallWanted, ToolCallWanted
from phaseloop.core.call_events import BreakerClosed, BreakerOpened, HistoryDiverged
from phaseloop.core.errors import WrongUse
from phaseloop.core.events import Event
from phaseloop.core.gate_policies import timed_out
from phaseloop.core.gates import answered, cancelled
from phaseloop.core.ledger import tool_wanted
from phaseloop.core.machine_runs import RAISABLE
from phaseloop.core.model_calls import model_replied, model_wanted
from phaseloop.core.plan_events import SubprocessCompleted, SubprocessStarted
from phaseloop.core.planning import adopt, planning_failed
from phaseloop.core.process import FLAT_PHASE, Phase
from phaseloop.core.run_events import (
    CatalogueChanged,
    ConditionEvaluated,
    DriveStarted,
    LimitRaised,
    NoteAdded,
    PhaseRow,
    RunPaused,
    RunReopened,
    RunResumed,
    RunStarted,
    SnapshotTaken,
)
from phaseloop.core.state import RunState
from phaseloop.core.statuses import RunStatus
from phaseloop.core.step_results import (
    checked,
    current_step,
    plan_judged,
    step_judged,
    tool_returned,
    tool_unsure,
    verified,
)
from phaseloop.core.values import Json
from phaseloop.core.verdicts import Result, judge_step, step_failed
from phaseloop.core.wanted import open_questions
from phaseloop.core.words import AddNote, Answered, Cancel, CatalogueMoved, Pause, RaiseLimit, Reopen, Resume

Facts = tuple[Event, ...]


def _row(phase: Phase) -> PhaseRow:
    return PhaseRow(
        phase_id=phase.phase_id,
        display_name=phase.display_name,
        order=phase.order,
        classification=phase.classification,
        produced_outputs=phase.produced_outputs,
        entry_condition=phase.entry_condition,
        exit_human_activity_id=phase.exit_human_activity_id,
        auto_advance=phase.auto_advance,
    )


def _begin(state: RunState, begin: Begin, at: int) -> Facts:
    if state.status is not RunStatus.CREATED:
        return ()
    limits = begin.limits
    definition = begin.definition
    started = RunStarted(
        goal=begin.goal,
        title=begin.title or begin.goal[:60],
        definition_id=definition.definition_id,
        definition_version=definition.version,
        mode=begin.mode,
        inputs=begin.inputs,
        by=begin.by,
        complexity=begin.complexity,
        phases=tuple(_row(phase) for phase in definition.phases or (FLAT_PHASE,)),
        budget=begin.budget,
        thresholds={"pass": limits.normal.accept, "retry": limits.normal.retry},
        roles=begin.roles,
        parent_run_id=begin.parent_run_id,
        parent_step_id=begin.parent_step_id,
    )
    return (started, SnapshotTaken(definition, limits, begin.tools, begin.prompts))


def _drive(state: RunState, drive: Drive, at: int) -> Facts:
    if state.over or state.status is RunStatus.CREATED:
        return ()
    return (DriveStarted(state.drive + 1, drive.worker),)


def _step_returned(state: RunState, answer: StepReturned, at: int) -> Facts:
    step = current_step(state, answer.step_id, answer.attempt)
    if step is None or step.judging:
        return ()
    record = state.records.get(f"step/{answer.step_id}/{answer.attempt}")
    known = len(record.replies) if record else 0
    early: Facts = ()
    if answer.replies < known and record is not None and not record.diverged:
        what = "ended before the record"
        early = (HistoryDiverged(answer.step_id, max(answer.replies, 1), what, str(known), str(answer.replies)),)
    return (*early, *judge_step(state, Result(step, answer.output, (), at), answer.findings))


def _step_raised(state: RunState, answer: StepRaised, at: int) -> Facts:
    step = current_step(state, answer.step_id, answer.attempt)
    if step is None or step.judging:
        return ()
    return step_failed(state, Result(step, None, (), at), answer.reason)


def _condition_known(state: RunState, answer: ConditionKnown, at: int) -> Facts:
    asked = (subject for subject, _ in open_questions(state))
    if state.over or answer.subject in state.conditions or answer.subject not in asked:
        return ()
    return (ConditionEvaluated(answer.subject, answer.expression, answer.value, answer.error),)


def _child_wanted(state: RunState, ask: ChildWanted, at: int) -> Facts:
    step = current_step(state, ask.step_id, ask.attempt)
    if step is None or step.child_run_id or state.status is RunStatus.PAUSED:
        return ()
    started = SubprocessStarted(
        activity_id=step.activity_id,
        step_id=ask.step_id,
        child_run_id=ask.child_run_id,
        definition_id=ask.definition_id,
        attempt=ask.attempt,
        inputs=ask.inputs,
    )
    return (started,)


def _child_ended(state: RunState, answer: ChildEnded, at: int) -> Facts:
    step = current_step(state, answer.step_id, answer.attempt)
    if step is None or step.child_run_id != answer.child_run_id:
        return ()
    ended = SubprocessCompleted(
        activity_id=step.activity_id,
        step_id=answer.step_id,
        child_run_id=answer.child_run_id,
        status=answer.status,
        artifacts=answer.artifacts,
        message=answer.message,
    )
    if answer.status != "completed":
        why = f"sub-process {answer.child_run_id} {answer.status}: {answer.message}"
        return (ended, *step_failed(state, Result(step, None, (), at), why))
    return (
        ended,
        *judge_step(state, Result(step, _child_output(state, step.activity_id, answer), (), at), ()),
    )


def _child_output(state: RunState, activity_id: str, answer: ChildEnded) -> Json:
    """The child's artefacts under the names that the activity maps them to; its result without a mapping."""
    activity = next((a for a in state.facts.definition.activities if a.activity_id == activity_id), None)
    mapping: dict[str, str] = (activity.config.get("outputs") if activity else None) or {}
    mapped = {mine: answer.artifacts.get(theirs) for mine, theirs in mapping.items()}
    if not mapped:
        return answer.result
    return next(iter(mapped.values())) if len(mapped) == 1 else mapped


def _breaker_moved(state: RunState, answer: BreakerMoved, at: int) -> Facts:
    if state.over or answer.is_open == (answer.tool in state.broken_tools):
        return ()
    if answer.is_open:
        return (BreakerOpened(answer.tool, answer.failures, answer.until),)
    return (BreakerClosed(answer.tool),)


def _pause(state: RunState, word: Pause, at: int) -> Facts:
    if state.status is not RunStatus.RUNNING:
        raise WrongUse(f"only a running run can be paused; this one is {state.status}")
    return (RunPaused(word.by, word.reason),)


def _resume(state: RunState, word: Resume, at: int) -> Facts:
    if state.status is not RunStatus.PAUSED:
        raise WrongUse(f"only a paused run can be resumed; this one is {state.status}")
    return (RunResumed(word.by, word.reason),)


def _cancel(state: RunState, word: Cancel, at: int) -> Facts:
    if state.over:
        raise WrongUse(f"the run is {state.status} already")
    return cancelled(state, word.by, word.reason)


def _reopen(state: RunState, word: Reopen, at: int) -> Facts:
    if state.status is not RunStatus.FAILED:
        raise WrongUse(f"only a failed run can be reopened; this one is {state.status}")
    for kind in word.limits:
        _check_limit(kind)
    return (RunReopened(word.by, word.reason, word.limits),)


def _raise_limit(state: RunState, word: RaiseLimit, at: int) -> Facts:
    _check_limit(word.kind)
    if state.status in (RunStatus.COMPLETED, RunStatus.CANCELLED):
        raise WrongUse(f"the run is {state.status}; its limits decide nothing any more")
    return (LimitRaised(word.kind, word.limit, word.by),)


def _check_limit(kind: str) -> None:
    if kind not in RAISABLE:
        raise WrongUse(f"{kind!r} is no limit that can be raised; these are: {', '.join(RAISABLE)}")


def _add_note(state: RunState, word: AddNote, at: int) -> Facts:
    return (NoteAdded(word.text, word.by),)


def _catalogue_moved(state: RunState, word: CatalogueMoved, at: int) -> Facts:
    if state.over or {t.name: t for t in word.tools} == dict(state.facts.tools):
        return ()
    return (CatalogueChanged(word.tools),)


REACT: dict[type[Answer], Callable[[RunState, Any, int], Facts]] = {
    Begin: _begin,
    Drive: _drive,
    Planned: lambda state, answer, at: adopt(state, answer),
    PlanningFailed: lambda state, answer, at: planning_failed(state, answer),
    StepReturned: _step_returned,
    StepRaised: _step_raised,
    Checked: checked,
    ModelReplied: lambda state, answer, at: model_replied(state, answer),
    ToolReturned: tool_returned,
    ToolUnsure: tool_unsure,
    Verified: verified,
    StepJudged: step_judged,
    PlanJudged: plan_judged,
    ConditionKnown: _condition_known,
    ChildEnded: _child_ended,
    TimerDue: lambda state, answer, at: timed_out(state, answer.timer_id, at),
    BreakerMoved: _breaker_moved,
    Answered: answered,
    Pause: _pause,
    Resume: _resume,
    Cancel: _cancel,
    Reopen: _reopen,
    RaiseLimit: _raise_limit,
    AddNote: _add_note,
    CatalogueMoved: _catalogue_moved,
    ModelCallWanted: lambda state, ask, at: model_wanted(state, ask),
    ToolCallWanted: tool_wanted,
    ChildWanted: _child_wanted,
}
