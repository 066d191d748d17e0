"""Plan repair: rewrites that code can prove right, each one recorded (architecture section 5)."""

from collections.abc import Callable, Mapping
from typing import TypeAlias

from phaseloop.core.changes import replace
from phaseloop.core.plan import Call, Finding, Plan, Severity, Step
from phaseloop.core.plan_merge import merge_steps
from phaseloop.core.plan_references import rename_plan, step_needs
from phaseloop.core.plan_scope import PlanScope

Notes: TypeAlias = list[Finding]


def repair(plan: Plan, scope: PlanScope, *, merge: bool = True) -> tuple[Plan, tuple[Finding, ...]]:
    """The plan with everything mended that needs no planner, and a note for each change.

    Finished steps are never touched. `merge=False` leaves a plan that is too long alone, for the planner
    is asked once before neighbours are merged (behaviours 5, C4). Repairing twice changes nothing more.
    """
    notes: Notes = []
    for rule in (_relabel, _tool_names, _activity_ids, _dependencies, _order):
        plan = rule(plan, scope, notes)
    if merge:
        plan = merge_steps(plan, scope, notes)
    return plan, tuple(notes)


def _each_pending(plan: Plan, scope: PlanScope, change: Callable[[Step], Step]) -> Plan:
    steps = tuple(step if step.id in scope.finished else change(step) for step in plan.steps)
    return plan if steps == plan.steps else replace(plan, steps=steps)


def _note(code: str, text: str, where: str) -> Finding:
    return Finding(code, text, where, severity=Severity.NOTE)


def _relabel(plan: Plan, scope: PlanScope, notes: Notes) -> Plan:
    """Ids are never used twice in a run: a step labelled like a failed one gets a label of its own."""
    labels = {step.id for step in plan.steps} | set(scope.finished) | set(scope.failed)
    mapping: dict[str, str] = {}
    for step in plan.steps:
        if step.id not in scope.failed or step.id in mapping:
            continue
        fresh = f"{step.id}_again"
        while fresh in labels:
            fresh += "_again"
        labels.add(fresh)
        mapping[step.id] = fresh
        notes.append(_note("relabelled", f"step {step.id!r} failed before; the new one is {fresh!r}", fresh))
    return rename_plan(plan, mapping) if mapping else plan


def _tool_names(plan: Plan, scope: PlanScope, notes: Notes) -> Plan:
    names: dict[str, str] = {}
    for tool in scope.tools:
        key = _loose(tool.name)
        names[key] = "" if key in names else tool.name
    exact = {tool.name for tool in scope.tools}

    def right(step: Step, name: str) -> str:
        if name in exact or not (found := names.get(_loose(name))):
            return name
        notes.append(_note("tool-renamed", f"step {step.id!r}: tool {name!r} is written {found!r}", step.id))
        return found

    def change(step: Step) -> Step:
        hint, call = step.tool_hint, step.call
        if hint and (name := right(step, hint)) != hint:
            step = replace(step, tool_hint=name)
        if call and (name := right(step, call.tool)) != call.tool:
            step = replace(step, call=Call(name, call.args))
        return step

    return _each_pending(plan, scope, change)


def _loose(name: str) -> str:
    return "_".join(name.casefold().replace("-", " ").replace("_", " ").split())


def _activity_ids(plan: Plan, scope: PlanScope, notes: Notes) -> Plan:
    """An activity that nobody declared is a planner's fancy: the step stays, the name goes."""
    declared = {activity.activity_id for activity in scope.activities} | scope.other_activities

    def change(step: Step) -> Step:
        name = step.activity_id
        if not name or name == step.id or name in declared:
            return step
        notes.append(_note("activity-dropped", f"step {step.id!r}: no activity {name!r} is declared", step.id))
        return replace(step, activity_id=None)

    return _each_pending(plan, scope, change)


def _dependencies(plan: Plan, scope: PlanScope, notes: Notes) -> Plan:
    """A reference implies a dependency; each dependency stands once."""
    labels = {step.id for step in plan.steps} | set(scope.finished)

    def change(step: Step) -> Step:
        single = tuple(dict.fromkeys(step.depends_on))
        if len(single) < len(step.depends_on):
            text = f"step {step.id!r} named a dependency twice"
            notes.append(_note("dependency-dropped", text, step.id))
        added = tuple(
            need for need in step_needs(step, labels) if need in labels and need != step.id and need not in single
        )
        for need in added:
            text = f"step {step.id!r} uses the output of {need!r} and now waits for it"
            notes.append(_note("dependency-added", text, step.id))
        changed = (*single, *added)
        return step if changed == step.depends_on else replace(step, depends_on=changed)

    return _each_pending(plan, scope, change)


def _order(plan: Plan, scope: PlanScope, notes: Notes) -> Plan:
    """Steps after what they wait for, otherwise as they stood; a plan with a circle stays as it is."""
    waits = _open_waits(plan, scope)
    if len(waits) < len(plan.steps):
        return plan
    ordered: list[Step] = []
    left = list(plan.steps)
    done: set[str] = set()
    while left:
        step = next((step for step in left if waits[step.id] <= done), None)
        if step is None:
            return plan
        left.remove(step)
        ordered.append(step)
        done.add(step.id)
    if tuple(ordered) == plan.steps:
        return plan
    text = "the steps were put in the order of their dependencies: " + ", ".join(step.id for step in ordered)
    notes.append(_note("reordered", text, ""))
    return replace(plan, steps=tuple(ordered))


def _open_waits(plan: Plan, scope: PlanScope) -> Mapping[str, frozenset[str]]:
    labels = {step.id for step in plan.steps}
    return {
        step.id: frozenset() if step.id in scope.finished else frozenset(step.depends_on) & labels
        for step in plan.steps
    }
