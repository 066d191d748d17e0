"""Everything that should be under way now, in plan order: the desired set (contract section 4)."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from phaseloop.core.context import (
    checks_of,
    condition_names,
    evidence,
    finished_steps,
    instruction_of,
    step_context,
)
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
from phaseloop.core.exit_gates import auto_pass_subject, passed
from phaseloop.core.language import language_of
from phaseloop.core.paths import is_object
from phaseloop.core.phases import entry_subject, start_is_open, wants_verdict, work_is_done
from phaseloop.core.plan import ActivityType, Step
from phaseloop.core.planning import plan_scope, wants_plan
from phaseloop.core.process import Activity, phase_activities, text_in
from phaseloop.core.scheduling import bound_calls, condition_subject, waiting_steps
from phaseloop.core.state import ModelRecord, RunState, StepState, final_artifacts
from phaseloop.core.statuses import ActivityStatus, CallStatus, PhaseStatus
from phaseloop.core.verdicts import allowed_tools, is_one_call

Wanted = tuple[str, Callable[[], Effect]]


def next_effects(state: RunState) -> tuple[Effect, ...]:
    """The desired set, in full. The driver starts what is missing and stops what is not here."""
    return tuple(build() for _, build in desired(state))


def desired(state: RunState) -> Iterator[Wanted]:
    """The desired set as ids with builders: what is under way already need not be built again."""
    if state.over or not state.drive:
        return
    yield from _timers(state)
    yield from _verifications(state)
    yield from _conditions(state)
    if state.phase_index < 0 or state.phase.status is not PhaseStatus.ACTIVE:
        return
    at_hand = state.phase.trigger == "given" and not state.phase.refusals
    if wants_plan(state) and not at_hand and not start_is_open(state):
        yield plan_id(state), partial(_make_plan, state)
    for sid in state.phase.plan.order:
        step = state.steps[sid]
        if step.active:
            yield f"step/{sid}/{step.attempt}", partial(_carry_out, state, step)
        elif step.status is ActivityStatus.JUDGING and step.judging != "retry":
            yield f"judge/{sid}/{step.attempt}/{step.judging}", partial(_judge_step, state, step)
    if wants_verdict(state):
        yield judge_plan_id(state), partial(_judge_plan, state)


def _timers(state: RunState) -> Iterator[Wanted]:
    for timer_id in sorted(state.timers):
        effect_id = f"timer/{timer_id}"
        yield effect_id, partial(SetTimer, effect_id, timer_id, state.timers[timer_id])


def _verifications(state: RunState) -> Iterator[Wanted]:
    for call_id, call in state.calls.items():
        if call.status is CallStatus.IN_DOUBT and not call.gate_id and state.facts.tools[call.tool].verify:
            effect_id = f"verify/{call_id}/{state.drive}"
            yield effect_id, partial(VerifyCall, effect_id, call_id, call.tool, call.args, call.key)


def _conditions(state: RunState) -> Iterator[Wanted]:
    """Expressions that a move waits for: the next phase's entry, a step's `only_if`, a gate's `autoPassWhen`."""
    for subject, expression in open_questions(state):
        if subject not in state.conditions:
            yield f"condition/{subject}", partial(_evaluate, state, subject, expression)


def _evaluate(state: RunState, subject: str, expression: str) -> EvaluateCondition:
    return EvaluateCondition(f"condition/{subject}", subject, expression, condition_names(state))


def open_questions(state: RunState) -> Iterator[tuple[str, str]]:
    """Subject and expression of every condition that a move waits for, answered ones included."""
    at = state.phase_index
    between = at < 0 or state.phase.status is PhaseStatus.COMPLETED
    if between and at + 1 < len(state.phases):
        coming = state.phases[at + 1]
        if coming.phase.entry_condition and coming.status is PhaseStatus.PENDING:
            yield entry_subject(coming.phase), coming.phase.entry_condition
    if at < 0 or state.phase.status is not PhaseStatus.ACTIVE:
        return
    if any(state.steps[sid].spec.only_if is not None for sid in state.phase.plan.order):
        for step in waiting_steps(state):
            if step.spec.only_if is not None:
                yield condition_subject(state, step), step.spec.only_if
    for activity in _gates_due(state):
        if activity.gate is not None and activity.gate.auto_pass_when and not passed(state, activity.activity_id):
            subject = auto_pass_subject(activity.activity_id, state.phase.plan.version)
            yield subject, activity.gate.auto_pass_when


def _gates_due(state: RunState) -> Iterator[Activity]:
    """HUMAN activities whose turn it is: the start one before the plan, the others after the steps."""
    phase = state.phase.phase
    declared = phase_activities(state.facts.definition, phase)
    if not declared:
        return
    start_open, done = start_is_open(state), work_is_done(state)
    for activity in declared:
        is_start = activity.activity_id == phase.start_activity_id
        if activity.type is ActivityType.HUMAN and (start_open if is_start else done):
            yield activity


def plan_id(state: RunState) -> str:
    """The id of the planning that is wanted now."""
    phase = state.phase
    return f"plan/{phase.phase.phase_id}/{phase.plan.version + 1}/{phase.refusals + 1}"


def _make_plan(state: RunState) -> MakePlan:
    phase, facts = state.phase, state.facts
    scope = plan_scope(state)
    language = language_of(facts.goal)
    later = state.phases[state.phase_index + 1 :]
    pending = (state.steps[sid] for sid in phase.plan.order)
    return MakePlan(
        id=plan_id(state),
        phase_id=phase.phase.phase_id,
        version=phase.plan.version + 1,
        attempt=phase.refusals + 1,
        reason=phase.trigger,
        goal=facts.goal,
        phase_name=text_in(phase.phase.display_name, language),
        instruction=phase.phase.instruction,
        later_phases=tuple(text_in(p.phase.display_name, language) or p.phase.phase_id for p in later),
        inputs=facts.inputs,
        artifacts=final_artifacts(state),
        outputs=scope.outputs,
        schemas={name: facts.definition.artifacts.get(name) for name in scope.outputs},
        tools=scope.tools,
        broken_tools=state.broken_tools,
        activities=tuple(a for a in scope.activities if a.type is not ActivityType.HUMAN),
        finished=finished_steps(state),
        pending=tuple(step.spec for step in pending if step.status is ActivityStatus.PENDING),
        failure=phase.failure,
        feedback=phase.feedback,
        findings=phase.findings,
        max_steps=state.limits.plan_steps,
    )


def _carry_out(state: RunState, step: StepState) -> Effect:
    sid = step.spec.id
    effect_id = f"step/{sid}/{step.attempt}"
    if step.spec.bound:
        calls = bound_calls(state, step)
        seconds = state.limits.step_seconds
        return CallTool(effect_id, step.spec, step.attempt, calls, checks_of(state, step), seconds)
    if step.spec.type is ActivityType.RULE:
        check = next(
            (
                str(activity.config.get("check", ""))
                for activity in state.facts.definition.activities
                if activity.activity_id == step.spec.activity_id
            ),
            "",
        )
        return EvaluateRule(effect_id, step.spec, step.attempt, check, condition_names(state))
    if step.spec.type is ActivityType.SUBPROCESS:
        return _start_child(state, step, effect_id)
    return _run_step(state, step, effect_id)


def _run_step(state: RunState, step: StepState, effect_id: str) -> RunStep:
    names = () if is_one_call(step.spec) else allowed_tools(state)
    open_tools = tuple(state.facts.tools[name] for name in names if name not in state.broken_tools)
    return RunStep(
        id=effect_id,
        step=_with_schema(state, step),
        attempt=step.attempt,
        goal=state.facts.goal,
        context=step_context(state, step),
        tools=open_tools,
        checks=checks_of(state, step),
        hint=step.hint,
        prompt=state.records.get(effect_id, ModelRecord()).prompt,
        instruction=instruction_of(state, step),
        rounds=state.limits.rounds,
        timeout_seconds=state.limits.step_seconds,
        finished_writes=tuple(e.tool for e in state.ledger.values() if e.step_id == step.spec.id),
    )


def _with_schema(state: RunState, step: StepState) -> Step:
    """A step that makes an artefact answers in the artefact's shape, when it declares none of its own."""
    schema = state.facts.definition.artifacts.get(step.spec.produces or "")
    if step.spec.output_schema is not None or not is_object(schema) or not schema:
        return step.spec
    return replace(step.spec, output_schema=schema)


def _start_child(state: RunState, step: StepState, effect_id: str) -> StartChild:
    activity = next(a for a in state.facts.definition.activities if a.activity_id == step.spec.activity_id)
    names = condition_names(state)
    mapping: dict[str, str] = activity.config.get("inputs") or {}
    return StartChild(
        id=effect_id,
        step=step.spec,
        attempt=step.attempt,
        child_run_id=step.child_run_id,
        definition_id=str(activity.config.get("definitionId", "")),
        goal=state.facts.goal,
        inputs={name: names.get(source) for name, source in mapping.items()},
        outputs=activity.config.get("outputs") or {},
    )


def _judge_step(state: RunState, step: StepState) -> JudgeStep:
    return JudgeStep(
        id=f"judge/{step.spec.id}/{step.attempt}/{step.judging}",
        scope=step.judging,
        step=step.spec,
        attempt=step.attempt,
        goal=state.facts.goal,
        output=step.output,
        evidence=evidence(state, step.spec.id),
        failure="; ".join(step.issues) if step.judging == "deep" else "",
    )


def judge_plan_id(state: RunState) -> str:
    """The id of the verdict on the phase that is wanted now."""
    return f"judge/plan/{state.phase.phase.phase_id}/{state.phase.plan.version}"


def _judge_plan(state: RunState) -> JudgePlan:
    phase = state.phase
    return JudgePlan(
        id=judge_plan_id(state),
        phase_id=phase.phase.phase_id,
        version=phase.plan.version,
        goal=state.facts.goal,
        results=finished_steps(state),
        evidence=evidence(state),
    )
