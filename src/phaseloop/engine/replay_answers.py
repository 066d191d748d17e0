"""For each kind of recorded fact, the answers that it may have come from."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from phaseloop.core.answers import Answer, Begin, BreakerMoved, ConditionKnown, Drive, ModelReplied, TimerDue
from phaseloop.core.asks import ChildWanted, ModelCallWanted
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
from phaseloop.core.events import Event
from phaseloop.core.gate_events import GateAnswered, GateExpired, GateOpened, TimerFired
from phaseloop.core.plan_events import (
    ActivityCompleted,
    PlanRefused,
    PlanRepaired,
    PlanUpdated,
    ResultJudged,
    SubprocessCompleted,
    SubprocessStarted,
)
from phaseloop.core.run_events import (
    CatalogueChanged,
    ConditionEvaluated,
    DriveStarted,
    LimitRaised,
    LimitReached,
    NoteAdded,
    RunCancelled,
    RunPaused,
    RunReopened,
    RunResumed,
    RunStarted,
    SnapshotTaken,
)
from phaseloop.core.state import RunState
from phaseloop.core.words import AddNote, Answered, CatalogueMoved, Pause, RaiseLimit, Reopen, Resume
from phaseloop.engine.replay_calls import (
    Rebuilt,
    call_doubted,
    call_finished,
    call_reused,
    call_started,
    cancelled,
    diverged,
    gate_opened,
)
from phaseloop.engine.replay_results import child_ended, plan_refused, planned, result

Rebuild = Callable[[RunState, Sequence[Event], int], Iterator[Rebuilt]]


def answers_behind(state: RunState, events: Sequence[Event], k: int) -> Iterator[Rebuilt]:
    """The answers that `events[k]`, met in `state`, may have come from; none for facts that need no answer."""
    rebuild = _REBUILD.get(type(events[k]))
    if rebuild is not None:
        yield from rebuild(state, events, k)


def _alone(build: Callable[[Any], Answer]) -> Rebuild:
    """A fact that holds the whole of its answer."""

    def rebuild(state: RunState, events: Sequence[Event], k: int) -> Iterator[Rebuilt]:
        yield Rebuilt(build(events[k]))

    return rebuild


def _begun(state: RunState, events: Sequence[Event], k: int) -> Iterator[Rebuilt]:
    started, taken = events[k], events[k + 1] if k + 1 < len(events) else None
    assert isinstance(started, RunStarted)
    if not isinstance(taken, SnapshotTaken):
        return
    begin = Begin(
        goal=started.goal,
        definition=taken.definition,
        limits=taken.limits,
        tools=taken.tools,
        prompts=taken.prompts,
        title=started.title,
        mode=started.mode,
        inputs=started.inputs,
        by=started.by,
        complexity=started.complexity,
        budget=started.budget,
        roles=started.roles,
        parent_run_id=started.parent_run_id,
        parent_step_id=started.parent_step_id,
    )
    yield Rebuilt(begin)


def _diverged(state: RunState, events: Sequence[Event], k: int) -> Iterator[Rebuilt]:
    event = events[k]
    early = isinstance(event, HistoryDiverged) and event.what == "ended before the record"
    yield from (result if early else diverged)(state, events, k)


def _answered(event: GateAnswered) -> Answer:
    return Answered(
        gate_id=event.request_id,
        version=event.version,
        outcome=event.outcome,
        by=event.by,
        value=event.value,
        comment=event.comment,
        key=event.key,
    )


def _model_wanted(event: ModelCallStarted) -> Answer:
    return ModelCallWanted(
        scope=event.scope,
        n=event.n,
        role=event.role,
        model=event.model,
        fingerprint=event.fingerprint,
        step_id=event.step_id,
        prompt=event.prompt,
    )


def _replied(event: ModelCallFinished) -> Answer:
    return ModelReplied(
        scope=event.scope,
        n=event.n,
        reply=event.reply,
        calls=event.calls,
        ok=event.ok,
        error=event.error,
        usage=event.usage,
        cost_usd=event.cost_usd,
        finish=event.finish,
        drift=event.drift,
        duration_ms=event.duration_ms,
    )


def _child_wanted(event: SubprocessStarted) -> Answer:
    return ChildWanted(event.step_id, event.attempt, event.child_run_id, event.definition_id, event.inputs)


_REBUILD: dict[type[Event], Rebuild] = {
    RunStarted: _begun,
    DriveStarted: _alone(lambda event: Drive(event.worker)),
    RunPaused: _alone(lambda event: Pause(event.by, event.reason)),
    RunResumed: _alone(lambda event: Resume(event.by, event.reason)),
    RunReopened: _alone(lambda event: Reopen(event.by, event.reason, event.limits)),
    RunCancelled: cancelled,
    GateExpired: cancelled,
    LimitRaised: _alone(lambda event: RaiseLimit(event.by, event.kind, event.limit)),
    NoteAdded: _alone(lambda event: AddNote(event.by, event.text)),
    CatalogueChanged: _alone(lambda event: CatalogueMoved(event.tools)),
    ConditionEvaluated: _alone(lambda e: ConditionKnown(e.subject, e.expression, e.value, e.error)),
    PlanRepaired: planned,
    PlanUpdated: planned,
    PlanRefused: plan_refused,
    LimitReached: result,
    ResultJudged: result,
    ActivityCompleted: result,
    SubprocessStarted: _alone(_child_wanted),
    SubprocessCompleted: child_ended,
    ModelCallStarted: _alone(_model_wanted),
    ModelCallFinished: _alone(_replied),
    ToolCallStarted: call_started,
    ToolCallFinished: call_finished,
    ToolCallDoubted: call_doubted,
    ToolCallReused: call_reused,
    HistoryDiverged: _diverged,
    BreakerOpened: _alone(lambda e: BreakerMoved(e.tool, True, e.consecutive_failures, e.until)),
    BreakerClosed: _alone(lambda e: BreakerMoved(e.tool, False)),
    GateOpened: gate_opened,
    GateAnswered: _alone(_answered),
    TimerFired: _alone(lambda event: TimerDue(event.timer_id)),
}
