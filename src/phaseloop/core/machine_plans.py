"""How plans and their steps change with each event."""

from collections.abc import Callable, Mapping
from typing import Any

from phaseloop.core.changes import replace
from phaseloop.core.events import Event
from phaseloop.core.machine_calls import count_used
from phaseloop.core.machine_runs import phase_at, with_phase
from phaseloop.core.moves import ACTIVITY_MOVES, move
from phaseloop.core.plan import Step
from phaseloop.core.plan_events import (
    ActivityCompleted,
    ActivityFailed,
    ActivityPaused,
    ActivityResumed,
    ActivityStarted,
    PlanRefused,
    PlanUpdated,
    ResultJudged,
    SubprocessStarted,
)
from phaseloop.core.run_events import Stats
from phaseloop.core.state import PhaseState, PlanFacts, RunState, StepState
from phaseloop.core.statuses import ActivityStatus, CallStatus
from phaseloop.core.values import Json


def with_step(state: RunState, step: StepState) -> RunState:
    """The state with one step replaced."""
    return replace(state, steps={**state.steps, step.spec.id: step})


def step_move(step: StepState, event: str) -> ActivityStatus:
    """The step's status after `event`. Raises `IllegalMove`."""
    return move(ACTIVITY_MOVES, step.status, event, f"step {step.spec.id}")


def _plan_updated(state: RunState, event: PlanUpdated, at: int) -> RunState:
    index = phase_at(state, event.phase_id)
    phase = state.phases[index]
    steps = dict(state.steps)
    order = tuple(step.id for step in event.steps)
    for sid in phase.plan.order:
        step = steps[sid]
        if sid not in order and not step.ended:  # dropped, or failed and replaced
            steps[sid] = replace(step, status=step_move(step, "PlanUpdated"))
    for spec in event.steps:
        known = steps.get(spec.id)
        if known is None:
            steps[spec.id] = StepState(spec, event.phase_id)
        elif known.status is ActivityStatus.PENDING and known.spec != spec:
            steps[spec.id] = replace(known, spec=spec)
    plan = PlanFacts(
        version=event.plan_version,
        goal=event.goal,
        order=order,
        constraints=event.constraints,
        result=event.result,
        tails=_tails(order, steps),
        approved_by=event.approved_by or phase.plan.approved_by,
        approved_tools=_called(event.steps) if event.approved_by else phase.plan.approved_tools,
    )
    phase = replace(phase, plan=plan, trigger="", refusals=0, findings=(), failure="", feedback="", judged="")
    state = replace(with_phase(state, phase, index), steps=steps, idle_drives=0)
    numbers = [int(sid[1:]) for sid in order]
    if event.reason == "replan":
        state = count_used(state, Stats(replans=1))
    return replace(
        state,
        next_step=max([state.next_step, *(n + 1 for n in numbers)]),
        replans=state.replans + (event.reason == "replan"),
        records=_without(state.records, "plan/"),
    )


def _called(steps: tuple[Step, ...]) -> frozenset[str]:
    """The tools that a plan names."""
    names = (step.call.tool if step.call else step.tool_hint for step in steps)
    return frozenset(name for name in names if name)


def _tails(order: tuple[str, ...], steps: Mapping[str, StepState]) -> dict[str, int]:
    """Longest way to the end in steps, computed once a plan (architecture section 4.4)."""
    tails = dict.fromkeys(order, 1)
    for sid in reversed(order):
        for dependency in steps[sid].spec.depends_on:
            if dependency in tails:
                tails[dependency] = max(tails[dependency], tails[sid] + 1)
    return tails


def _without(records: Mapping[str, Any], scope: str) -> Mapping[str, Any]:
    """Records but those of a scope that is over."""
    if not any(key.startswith(scope) for key in records):
        return records
    return {key: record for key, record in records.items() if not key.startswith(scope)}


def _plan_refused(state: RunState, event: PlanRefused, at: int) -> RunState:
    index = phase_at(state, event.phase_id)
    phase = state.phases[index]
    phase = replace(phase, refusals=event.attempt, findings=event.findings)
    return replace(with_phase(state, phase, index), records=_without(state.records, "plan/"))


def _activity_started(state: RunState, event: ActivityStarted, at: int) -> RunState:
    if not event.step_id:
        return state
    step = state.steps[event.step_id]
    step = replace(
        step,
        status=step_move(step, "ActivityStarted"),
        attempt=event.attempt,
        started_at=step.started_at or at,
        hint=event.hint,
        output=None,
        failure="",
        judging="",
    )
    state = with_step(state, step)
    return count_used(state, Stats(retries=1)) if event.attempt > 1 else state


def _activity_paused(state: RunState, event: ActivityPaused, at: int) -> RunState:
    if not event.step_id:
        return state
    step = state.steps[event.step_id]
    return with_step(state, replace(step, status=step_move(step, "ActivityPaused")))


def _activity_resumed(state: RunState, event: ActivityResumed, at: int) -> RunState:
    if not event.step_id:
        return state
    step = state.steps[event.step_id]
    return with_step(state, replace(step, status=step_move(step, "ActivityResumed")))


def _output(state: RunState, event: ActivityCompleted) -> Json:
    """A bound step's output is what its calls returned; one call is not wrapped in a list."""
    if not event.output_of:
        return event.output
    values = [state.calls[call_id].value for call_id in event.output_of]
    return values if state.steps[event.step_id].spec.each is not None else values[0]


def _activity_completed(state: RunState, event: ActivityCompleted, at: int) -> RunState:
    if not event.step_id:
        return state
    step = state.steps[event.step_id]
    step = replace(
        step,
        status=step_move(step, "ActivityCompleted"),
        output=_output(state, event),
        score=event.score,
        issues=event.issues,
        tainted=_tainted(state, step),
        best_output=None,
        judging="",
    )
    return _end_step(state, step, idle_drives=0)


def _tainted(state: RunState, step: StepState) -> bool:
    """Whether untrusted text flowed in: an untrusted tool was read, or an input was tainted."""
    if any(dep in state.steps and state.steps[dep].tainted for dep in step.spec.depends_on):
        return True
    tools = state.facts.tools
    return any(
        call.step_id == step.spec.id and call.tool in tools and tools[call.tool].untrusted
        for call in state.calls.values()
    )


def _end_step(state: RunState, step: StepState, **changes: Any) -> RunState:
    """Only the step's output stays; calls that nobody ended yet stay too (contract section 4)."""
    sid = step.spec.id
    calls: Mapping[str, Any] = state.calls
    if any(call.step_id == sid for call in calls.values()):
        calls = {
            call_id: call
            for call_id, call in calls.items()
            if call.step_id != sid or call.status in (CallStatus.STARTED, CallStatus.IN_DOUBT)
        }
    records = _without(_without(state.records, f"step/{sid}/"), f"judge/{sid}/")
    return replace(state, steps={**state.steps, sid: step}, calls=calls, records=records, **changes)


def _activity_failed(state: RunState, event: ActivityFailed, at: int) -> RunState:
    if not event.step_id:
        return state
    step = state.steps[event.step_id]
    status = step_move(step, "ActivityFailed")
    return _end_step(state, replace(step, status=status, failure=event.message, judging=""))


def _result_judged(state: RunState, event: ResultJudged, at: int) -> RunState:
    if event.scope == "plan":
        return _plan_judged(state, event)
    step = state.steps[event.step_id]
    output = event.output if event.output is not None else step.output
    asks = event.action == "ask"  # the verdict is still to come: what was said of the last attempt stands
    better = event.score > step.best_score and event.scope == "step" and not asks
    changes: dict[str, Any] = {
        "score": step.score if asks else event.score,
        "issues": step.issues if asks and event.scope == "step" else event.issues,
        "output": output,
        "judging": {"ask": event.scope, "retry": "retry"}.get(event.action, ""),
        "best_score": event.score if better else step.best_score,
        "best_output": output if better else step.best_output,
    }
    if event.action == "ask":
        changes["status"] = step_move(step, "JudgingAsked")
    state = with_step(state, replace(step, **changes))
    if event.action == "replan":
        return with_phase(state, _replan(state.phase, event))
    if event.action == "abort":
        phase = replace(state.phase, judged="abort", failure="; ".join(event.issues) or event.suggestion)
        return with_phase(state, phase)
    if event.action in ("accept", "note") and event.issues:
        return replace(state, warnings=(*state.warnings, *(f"{event.step_id}: {i}" for i in event.issues)))
    return state


def _replan(phase: PhaseState, event: ResultJudged) -> PhaseState:
    reason = "; ".join(event.issues) or event.suggestion or f"score {event.score:g}"
    if event.suggestion and event.suggestion not in reason:
        reason = f"{reason} ({event.suggestion})"
    failure = f"{phase.failure}; {reason}" if phase.failure and reason not in phase.failure else reason
    return replace(phase, trigger="replan", failure=failure, exit_reached=False)


def _plan_judged(state: RunState, event: ResultJudged) -> RunState:
    by_contract = event.by == "contract"
    phase = replace(
        state.phase,
        judged=event.action,
        score=state.phase.score if by_contract else event.score,
        issues=event.issues,
        contract_replanned=state.phase.contract_replanned or by_contract,
    )
    if event.action == "replan":
        phase = _replan(phase, event)
    state = with_phase(state, phase)
    if event.action in ("note", "veto"):
        return replace(state, warnings=(*state.warnings, *event.issues))
    return state


def _subprocess_started(state: RunState, event: SubprocessStarted, at: int) -> RunState:
    return with_step(state, replace(state.steps[event.step_id], child_run_id=event.child_run_id))


APPLY: dict[type[Event], Callable[[RunState, Any, int], RunState]] = {
    PlanUpdated: _plan_updated,
    PlanRefused: _plan_refused,
    ActivityStarted: _activity_started,
    ActivityPaused: _activity_paused,
    ActivityResumed: _activity_resumed,
    ActivityCompleted: _activity_completed,
    ActivityFailed: _activity_failed,
    ResultJudged: _result_judged,
    SubprocessStarted: _subprocess_started,
}
