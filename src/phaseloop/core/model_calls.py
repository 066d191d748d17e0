"""Model calls: served from the record, or live and recorded (contract section 4)."""

from phaseloop.core.answers import ModelReplied
from phaseloop.core.asks import Go, ModelCallWanted, Ruling, Serve, Wait
from phaseloop.core.call_events import HistoryDiverged, ModelCallFinished, ModelCallStarted
from phaseloop.core.events import Event
from phaseloop.core.state import ModelRecord, RunState
from phaseloop.core.statuses import ActivityStatus, RunStatus
from phaseloop.core.wanted import judge_plan_id, plan_id

_NO_RECORD = ModelRecord()


def is_current(state: RunState, scope: str) -> bool:
    """Whether the effect that asks is still wanted."""
    if state.over or state.phase_index < 0:
        return False
    kind, _, rest = scope.partition("/")
    if kind == "plan":
        return scope == plan_id(state)
    if rest.startswith("plan/"):
        return scope == judge_plan_id(state)
    step_id, _, attempt = rest.partition("/")
    step = state.steps.get(step_id)
    if step is None:
        return False
    number = attempt.split("/")[0]
    status_fits = step.active if kind == "step" else step.status is ActivityStatus.JUDGING
    return status_fits and number == str(step.attempt)


def model_wanted(state: RunState, ask: ModelCallWanted) -> tuple[Event, ...]:
    """The facts that follow from an ask for a model call."""
    if not is_current(state, ask.scope) or state.status is RunStatus.PAUSED:
        return ()
    record = state.records.get(ask.scope, _NO_RECORD)
    if ask.n <= len(record.replies):
        was = record.fingerprints[ask.n - 1]
        if was == ask.fingerprint or record.diverged:
            return ()
        return (HistoryDiverged(_owner(ask), ask.n, "other question", was, ask.fingerprint),)
    step = state.steps.get(ask.step_id)
    return (
        ModelCallStarted(
            call_id=f"c{state.next_call}",
            role=ask.role,
            model=ask.model,
            scope=ask.scope,
            n=ask.n,
            key=f"{ask.scope}/m{ask.n}",
            fingerprint=ask.fingerprint,
            activity_id=step.activity_id if step else "",
            step_id=ask.step_id,
            prompt=ask.prompt if ask.n == 1 else None,
        ),
    )


def _owner(ask: ModelCallWanted) -> str:
    """The step of an executor's question; a planner's or critic's is named by its scope."""
    return ask.step_id if ask.scope.startswith("step/") else ask.scope


def model_replied(state: RunState, reply: ModelReplied) -> tuple[Event, ...]:
    """The fact of a reply, unless the one who asked is over or has it already."""
    record = state.records.get(reply.scope, _NO_RECORD)
    if not is_current(state, reply.scope) or reply.n != len(record.replies) + 1:
        return ()
    if len(record.call_ids) < reply.n:
        return ()
    return (
        ModelCallFinished(
            call_id=record.call_ids[reply.n - 1],
            scope=reply.scope,
            n=reply.n,
            reply=reply.reply,
            calls=reply.calls,
            ok=reply.ok,
            error=reply.error,
            usage=reply.usage,
            cost_usd=reply.cost_usd,
            finish=reply.finish,
            drift=reply.drift,
            duration_ms=reply.duration_ms,
        ),
    )


def rule_model(state: RunState, ask: ModelCallWanted) -> Ruling:
    """Serve a recorded reply, let a live one go, or wait while the run is paused."""
    record = state.records.get(ask.scope, _NO_RECORD)
    if ask.n <= len(record.replies):
        ok, value = record.replies[ask.n - 1]
        return Serve("ok" if ok else "failed", value)
    if not is_current(state, ask.scope):
        return Serve("failed", "the step is over")
    if state.status is RunStatus.PAUSED or len(record.call_ids) < ask.n:
        return Wait()
    return Go(f"{ask.scope}/m{ask.n}", record.call_ids[ask.n - 1])
