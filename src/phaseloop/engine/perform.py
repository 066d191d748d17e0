"""Carries effects out: calls the role, the tool or the library that each one needs, and reports."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from phaseloop.core.answers import (
    Checked,
    ChildEnded,
    ConditionKnown,
    PlanJudged,
    Planned,
    PlanningFailed,
    StepJudged,
    StepRaised,
    StepReturned,
    TimerDue,
    Verdict,
    Verified,
)
from phaseloop.core.asks import ChildWanted, Serve, ToolCallWanted
from phaseloop.core.effects import (
    CallTool,
    Effect,
    EvaluateCondition,
    EvaluateRule,
    JudgePlan,
    JudgeStep,
    MakePlan,
    RunStep,
    SetTimer,
    StartChild,
    VerifyCall,
)
from phaseloop.core.errors import (
    Fenced,
    LogBroken,
    LogConflict,
    ModelFailed,
    RecordUnreadable,
    Stuck,
)
from phaseloop.core.tools import ToolSpec, conflict_key
from phaseloop.core.values import Json, canonical
from phaseloop.engine.desk import Desk, Record, ToolLayer
from phaseloop.engine.ports import Checks, Clock, Conditions, Rules
from phaseloop.roles.protocols import Roles

MACHINERY = (RecordUnreadable, LogConflict, LogBroken, Fenced, Stuck)
"""Our own errors: they abort the drive, never the step (contract section 4)."""


@dataclass(frozen=True, slots=True)
class ChildOutcome:
    """How a child run stands. `status`: completed, failed, cancelled or waiting."""

    status: str
    artifacts: dict[str, Json]
    result: Json = None
    message: str = ""


class Children(Protocol):
    """Starts and drives the runs of SUBPROCESS activities."""

    def new_id(self) -> str: ...

    async def drive(self, run_id: str, effect: StartChild, parent_run_id: str) -> ChildOutcome: ...


@dataclass(frozen=True, slots=True)
class Edge:
    """Everything outside the core that a run needs."""

    roles: Roles
    layer: ToolLayer
    conditions: Conditions
    checks: Checks
    rules: Rules
    children: Children
    clock: Clock
    run_id: str

    async def perform(self, effect: Effect, record: Record) -> None:
        """Carry one effect out. Raises only machinery errors: everything else is a report."""
        await _PERFORM[type(effect)](self, effect, record)

    def desk(self, effect: RunStep | MakePlan | JudgeStep | JudgePlan | CallTool, record: Record) -> Desk:
        """A desk of its own for each effect."""
        if isinstance(effect, RunStep | CallTool):
            tools = effect.tools if isinstance(effect, RunStep) else ()
            return Desk(record, self.layer, effect.id, effect.step.id, effect.attempt, tools)
        step = effect.step.id if isinstance(effect, JudgeStep) else ""
        return Desk(record, self.layer, effect.id, step)


def _why(error: BaseException) -> str:
    text = str(error).strip() or type(error).__name__
    return text if isinstance(error, ModelFailed) else f"{type(error).__name__}: {text}"[:2000]


async def _make_plan(edge: Edge, effect: MakePlan, record: Record) -> None:
    try:
        plan = await edge.roles.planner.plan(effect, edge.desk(effect, record))
    except MACHINERY:
        raise
    except Exception as error:  # the border: whatever a role raises is an answer
        await record.tell(PlanningFailed(effect.phase_id, effect.version, effect.attempt, _why(error)))
        return
    await record.tell(Planned(effect.phase_id, effect.version, effect.attempt, plan))


async def _run_step(edge: Edge, effect: RunStep, record: Record) -> None:
    desk = edge.desk(effect, record)
    sid, attempt = effect.step.id, effect.attempt
    try:
        async with asyncio.timeout(effect.timeout_seconds) as desk.clock:
            output = await edge.roles.executor.run(effect, desk)
        canonical(output)
    except MACHINERY:
        raise
    except TimeoutError as error:
        if desk.clock is None or not desk.clock.expired():  # the executor's own time-out, not the step's
            await record.tell(StepRaised(sid, attempt, _why(error), getattr(error, "kind", "error")))
            return
        why = f"the step took more than {effect.timeout_seconds:g} s of active time"
        await record.tell(StepRaised(sid, attempt, why, "timeout"))
        return
    except Exception as error:
        await record.tell(StepRaised(sid, attempt, _why(error), getattr(error, "kind", "error")))
        return
    findings = edge.checks.run(effect.checks, output)
    await record.tell(StepReturned(sid, attempt, output, findings, desk.replies))


async def _evaluate_rule(edge: Edge, effect: EvaluateRule, record: Record) -> None:
    try:
        output, findings = await edge.rules.evaluate(effect.check, effect.names)
    except MACHINERY:
        raise
    except Exception as error:
        await record.tell(StepRaised(effect.step.id, effect.attempt, _why(error)))
        return
    await record.tell(StepReturned(effect.step.id, effect.attempt, output, findings))


async def _call_tool(edge: Edge, effect: CallTool, record: Record) -> None:
    desk = edge.desk(effect, record)
    sid, attempt = effect.step.id, effect.attempt
    asks = [ToolCallWanted(sid, attempt, 0, i, c["tool"], c["args"]) for i, c in enumerate(effect.calls)]
    if len(asks) == 1:
        results = [await desk.guarded(asks[0])]
    else:
        results = list(await asyncio.gather(*(desk.guarded(ask) for ask in asks)))
    if (failed := next((result for result in results if result.outcome != "ok"), None)) is not None:
        # late when the call's own end has failed the step; not when the call could not even be recorded
        await record.tell(StepRaised(sid, attempt, str(failed.value)))
        return
    if effect.checks:
        values = [result.value for result in results]
        output = values if effect.step.each is not None else values[0]
        await record.tell(Checked(sid, attempt, edge.checks.run(effect.checks, output)))


async def _judged(edge: Edge, effect: JudgeStep | JudgePlan, record: Record) -> Verdict:
    """A critic that fails cannot be a reason to throw work away: rules stand, and its failure is an issue."""
    try:
        return await edge.roles.critic.judge(effect, edge.desk(effect, record))
    except MACHINERY:
        raise
    except Exception as error:
        return Verdict(6.0, True, (f"the critic failed: {_why(error)}",), by="rule", format_issue=_why(error))


async def _judge_step(edge: Edge, effect: JudgeStep, record: Record) -> None:
    verdict = await _judged(edge, effect, record)
    await record.tell(StepJudged(effect.step.id, effect.attempt, effect.scope, verdict))


async def _judge_plan(edge: Edge, effect: JudgePlan, record: Record) -> None:
    verdict = await _judged(edge, effect, record)
    await record.tell(PlanJudged(effect.phase_id, effect.version, verdict))


async def _evaluate_condition(edge: Edge, effect: EvaluateCondition, record: Record) -> None:
    value, error = edge.conditions.evaluate(effect.expression, effect.names)
    await record.tell(ConditionKnown(effect.subject, effect.expression, value, error))


async def _verify_call(edge: Edge, effect: VerifyCall, record: Record) -> None:
    """Ask the hook under the call's lock: a driver that was overtaken may still be sending (contract section 8)."""
    layer = edge.layer
    spec = next((spec for spec in layer.tools.catalogue() if spec.name == effect.tool), ToolSpec(effect.tool))
    async with layer.locks.hold(conflict_key(spec, effect.args), layer.owner):
        happened, value = await layer.tools.verify(effect.tool, effect.args, f"{layer.key_prefix}:{effect.key}")
    await record.tell(Verified(effect.call_id, happened, value))


async def _start_child(edge: Edge, effect: StartChild, record: Record) -> None:
    """Start or re-enter the child; while it waits for a person, this step waits too."""
    sid, attempt = effect.step.id, effect.attempt
    child_id = effect.child_run_id or edge.children.new_id()
    ask = ChildWanted(sid, attempt, child_id, effect.definition_id, effect.inputs)
    ruling = await record.ask(ask)
    if not isinstance(ruling, Serve) or ruling.outcome != "ok":
        return
    child_id = str(ruling.value)
    try:
        outcome = await edge.children.drive(child_id, effect, edge.run_id)
    except MACHINERY:
        raise
    except Exception as error:
        outcome = ChildOutcome("failed", {}, None, _why(error))
    if outcome.status == "waiting":
        await record.ask(ChildWanted(sid, attempt, child_id, effect.definition_id, effect.inputs, parked=True))
        return
    await record.tell(
        ChildEnded(sid, attempt, child_id, outcome.status, outcome.artifacts, outcome.result, outcome.message)
    )


async def _set_timer(edge: Edge, effect: SetTimer, record: Record) -> None:
    while (left := effect.due_at - edge.clock()) > 0:  # noqa: ASYNC110 - the clock may be set while we wait
        await asyncio.sleep(min(left / 1000, 60.0))
    await record.tell(TimerDue(effect.timer_id))


_PERFORM: dict[type[Effect], Callable[..., Awaitable[None]]] = {
    MakePlan: _make_plan,
    RunStep: _run_step,
    EvaluateRule: _evaluate_rule,
    CallTool: _call_tool,
    JudgeStep: _judge_step,
    JudgePlan: _judge_plan,
    EvaluateCondition: _evaluate_condition,
    VerifyCall: _verify_call,
    StartChild: _start_child,
    SetTimer: _set_timer,
}
