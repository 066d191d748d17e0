"""Adopting a plan: linted, repaired, given its step ids, laid over the old one as a diff: contract 5."""

from collections.abc import Mapping

from phaseloop.core.answers import Planned, PlanningFailed
from phaseloop.core.changes import replace
from phaseloop.core.events import Event
from phaseloop.core.lint import lint
from phaseloop.core.paths import is_object
from phaseloop.core.plan import ActivityType, Call, Finding, Plan, Severity, Step
from phaseloop.core.plan_events import PlanRefused, PlanRepaired, PlanUpdated
from phaseloop.core.plan_references import rename_step
from phaseloop.core.plan_scope import PlanScope
from phaseloop.core.plan_text import normalise
from phaseloop.core.process import Activity, phase_activities
from phaseloop.core.references import rename
from phaseloop.core.repair import repair
from phaseloop.core.state import RunState, final_artifacts
from phaseloop.core.statuses import ActivityStatus, PhaseStatus
from phaseloop.core.values import canonical
from phaseloop.core.verdicts import allowed_tools


def plan_scope(state: RunState, approved: bool = False) -> PlanScope:
    """What the linter may know: the request, the phase's tools, activities and outputs, and what is done."""
    facts, phase = state.facts, state.phase.phase
    declared = phase_activities(facts.definition, phase)
    order = state.phase.plan.order
    finished = {sid: state.steps[sid].spec for sid in order if state.steps[sid].ended}
    failed = {sid: s.spec for sid, s in state.steps.items() if s.status is ActivityStatus.FAILED}
    made = {name for name, a in state.artifacts.items() if a.valid and a.phase_id == phase.phase_id}
    by_gate = tuple(a.produces for a in declared if a.type is ActivityType.HUMAN and a.produces)
    done = {spec.activity_id for spec in finished.values()}
    return PlanScope(
        request=f"{facts.goal}\n{canonical(facts.inputs)}\n{state.phase.feedback}",
        phase_id=phase.phase_id,
        tools=tuple(facts.tools[name] for name in allowed_tools(state)),
        all_tools=frozenset(facts.tools),
        activities=tuple(a for a in declared if a.activity_id not in done),
        start_activity_id="" if finished else phase.start_activity_id,
        other_activities=frozenset(a.activity_id for a in facts.definition.activities if a not in declared),
        outputs=tuple(name for name in phase.produced_outputs if name not in made and name not in by_gate),
        gate_outputs=by_gate,
        artifacts=final_artifacts(state),
        inputs=facts.inputs,
        schemas=facts.definition.artifacts,
        finished=finished,
        failed=failed,
        max_steps=state.limits.plan_steps,
        approved=approved,
        whole_request=len(state.phases) == 1,
    )


def wants_plan(state: RunState) -> bool:
    """Whether a plan of the current phase is wanted and nothing runs that it might change."""
    if state.phase_index < 0 or state.phase.status is not PhaseStatus.ACTIVE or not state.phase.trigger:
        return False
    if state.phase.refusals > state.limits.lint_reasks:
        return False
    return not any(state.steps[sid].active for sid in state.phase.plan.order) and not any(
        state.steps[sid].status is ActivityStatus.JUDGING for sid in state.phase.plan.order
    )


def _is_late(state: RunState, answer: Planned | PlanningFailed) -> bool:
    """A plan that nobody waits for any more is nobody's (contract section 4)."""
    phase = state.phase
    current = (phase.phase.phase_id, phase.plan.version + 1, phase.refusals + 1)
    return not wants_plan(state) or (answer.phase_id, answer.version, answer.attempt) != current


def _is_given(state: RunState) -> bool:
    """Whether the plan at hand is the phase's given one; after it was refused the planner makes another."""
    return state.phase.trigger == "given" and not state.phase.refusals


def planning_failed(state: RunState, answer: PlanningFailed) -> tuple[Event, ...]:
    """The planner raised, or gave something that is no plan."""
    if state.phase_index < 0 or _is_late(state, answer):
        return ()
    finding = Finding("no-plan", answer.reason, mend="answer with one JSON plan object")
    return (PlanRefused(answer.phase_id, answer.version, answer.attempt, (finding,)),)


def adopt(state: RunState, answer: Planned) -> tuple[Event, ...]:
    """Lint, repair, number and adopt a plan, or refuse it with findings."""
    if state.phase_index < 0 or _is_late(state, answer):
        return ()
    scope = plan_scope(state, approved=_is_given(state))
    draft = _filled(state, answer.plan)
    plan, rules = repair(draft, scope, merge=answer.attempt > 1)
    findings = lint(plan, scope)
    if too_many := _too_many(draft, scope, answer.attempt):
        findings = (too_many, *findings)
    refused = [f for f in findings if f.severity is Severity.ERROR]
    may_ask = not scope.approved and answer.attempt == 1 and state.limits.lint_reasks > 0
    if may_ask and any(step.bound for step in plan.steps):
        refused += [f for f in findings if f.severity is Severity.QUESTION]
    if refused:
        return (PlanRefused(answer.phase_id, answer.version, answer.attempt, tuple(refused)),)
    repaired = (PlanRepaired(answer.phase_id, answer.version, rules),) if rules else ()
    return (*repaired, _updated(state, plan))


def given_plan(state: RunState) -> tuple[Event, ...]:
    """The plan of a phase that names an artefact as its plan; linted like any other (contract section 5)."""
    phase = state.phase
    artifact = state.artifacts.get(phase.phase.plan_from or "")
    answer = Planned(phase.phase.phase_id, phase.plan.version + 1, phase.refusals + 1, Plan("", ()))
    try:
        plan, _ = normalise(artifact.value if artifact is not None else None, known=tuple(state.steps))
    except ValueError as error:
        finding = Finding("no-plan", f"{phase.phase.plan_from} is no plan: {error}")
        return (PlanRefused(answer.phase_id, answer.version, answer.attempt, (finding,)),)
    return adopt(state, replace(answer, plan=plan))


def _too_many(draft: Plan, scope: PlanScope, attempt: int) -> Finding | None:
    """Beyond the cap the planner is asked once more; after that neighbours are merged (contract section 5)."""
    count = sum(step.id not in scope.finished for step in draft.steps)
    if attempt > 1 or count <= scope.max_steps:
        return None
    return Finding("too-many-steps", f"the plan has {count} steps, more than {scope.max_steps}", mend="merge steps")


def _filled(state: RunState, plan: Plan) -> Plan:
    """Declared activities bring their own type, call, schema and product; one output needs no `produces`."""
    phase = state.phase.phase
    declared = {a.activity_id: a for a in phase_activities(state.facts.definition, phase)}
    steps = [
        declared_step(step, declared[step.activity_id]) if step.activity_id in declared else step for step in plan.steps
    ]
    outputs = phase.produced_outputs
    made_by_person = any(a.type is ActivityType.HUMAN and a.produces for a in declared.values())
    pending = [n for n, s in enumerate(steps) if not _is_done(state, s.id)]
    if len(outputs) == 1 and pending and not made_by_person and not any(s.produces for s in steps):
        steps[pending[-1]] = replace(steps[pending[-1]], produces=outputs[0])
    return replace(plan, steps=tuple(steps))


def _is_done(state: RunState, label: str) -> bool:
    return label in state.phase.plan.order and state.steps[label].ended


def declared_step(step: Step, activity: Activity) -> Step:
    """A step with what its activity declares; the planner may add, not take away."""
    config = activity.config
    call = step.call
    if activity.type is ActivityType.TOOL and call is None and config.get("tool"):
        call = Call(config["tool"], config.get("args") or {})
    return replace(
        step,
        type=activity.type,
        call=call,
        produces=step.produces or activity.produces,
        output_schema=step.output_schema or config.get("output_schema"),
        only_if=step.only_if or config.get("only_if"),
    )


def _updated(state: RunState, plan: Plan) -> PlanUpdated:
    """The diff: what is finished is kept whatever the planner said, what is pending may change or go."""
    phase = state.phase
    old = phase.plan.order
    kept = tuple(sid for sid in old if state.steps[sid].ended)
    pending = {sid for sid in old if state.steps[sid].status is ActivityStatus.PENDING}
    names = _names(state, plan, frozenset(kept), frozenset(pending))
    new = tuple(rename_step(step, names) for step in plan.steps if step.id not in kept)
    same = tuple(step.id for step in new if step.id in pending and step == state.steps[step.id].spec)
    failed = tuple(sid for sid in old if state.steps[sid].status is ActivityStatus.FAILED)
    return PlanUpdated(
        phase_id=phase.phase.phase_id,
        plan_version=phase.plan.version + 1,
        goal=plan.goal,
        steps=(*(state.steps[sid].spec for sid in kept), *new),
        constraints=plan.constraints,
        result=rename(plan.result, names) if plan.result is not None else None,
        reason="initial" if phase.trigger == "given" and not _is_given(state) else phase.trigger,
        trigger=phase.failure or phase.feedback,
        kept=(*kept, *same),
        added=tuple(step.id for step in new if step.id not in pending),
        changed=tuple(step.id for step in new if step.id in pending and step.id not in same),
        dropped=(*failed, *(sid for sid in old if sid in pending and sid not in {s.id for s in new})),
        approved_by=_approver(state) if _is_given(state) else "",
    )


def _approver(state: RunState) -> str:
    """Who approved the plan that the phase was given."""
    artifact = state.artifacts.get(state.phase.phase.plan_from or "")
    value = artifact.value if artifact is not None else None
    return str(value.get("approvedBy") or value.get("confirmedBy") or "") if is_object(value) else ""


def _names(state: RunState, plan: Plan, kept: frozenset[str], pending: frozenset[str]) -> Mapping[str, str]:
    """Step ids by planner's label: known pending and finished ids stay, everything else is new (contract 1)."""
    names: dict[str, str] = {sid: sid for sid in kept}
    number = state.next_step
    for step in plan.steps:
        if step.id in kept:
            continue
        if step.id in pending:
            names[step.id] = step.id
        else:
            names[step.id] = f"s{number}"
            number += 1
    return names
