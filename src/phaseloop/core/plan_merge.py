"""Merging neighbouring open steps of a plan that is too long (contract section 5)."""

from phaseloop.core.changes import replace
from phaseloop.core.plan import Finding, Plan, Severity, Step
from phaseloop.core.plan_references import step_needs
from phaseloop.core.plan_scope import PlanScope
from phaseloop.core.references import step_references

JOINT = " / "  # no delimiter of article 000's planner: behaviours 6


def merge_steps(plan: Plan, scope: PlanScope, notes: list[Finding]) -> Plan:
    """Merge pairs of neighbours from the front until the plan is short enough or nothing more can be merged.

    Only open steps without an activity, a product, a condition or a schema, whose output nobody refers to.
    The steps must stand in the order of their dependencies, so that no circle can arise.
    """
    extra = len([step for step in plan.steps if step.id not in scope.finished]) - scope.max_steps
    if extra <= 0:
        return plan
    groups = [[step] for step in plan.steps]
    mergeable = _mergeable(plan, scope)
    for _ in range(extra):
        pairs = [
            place
            for place in range(len(groups) - 1)
            if all(step.id in mergeable for step in (*groups[place], *groups[place + 1]))
        ]
        if not pairs:
            break
        place = min(pairs, key=lambda at: len(groups[at]) + len(groups[at + 1]))
        groups[place : place + 2] = [[*groups[place], *groups[place + 1]]]
    if len(groups) == len(plan.steps):
        return plan
    return _joined(plan, groups, notes)


def _mergeable(plan: Plan, scope: PlanScope) -> frozenset[str]:
    labels = {step.id for step in plan.steps}
    used = set(step_references(plan.result))
    for step in plan.steps:
        used.update(step_needs(step, labels))
    place = {step.id: at for at, step in enumerate(plan.steps)}
    sorted_ones = {step.id for at, step in enumerate(plan.steps) if all(place.get(d, -1) < at for d in step.depends_on)}
    return frozenset(
        step.id
        for step in plan.steps
        if step.id not in scope.finished
        and step.id not in used
        and sorted_ones == labels
        and not (step.bound or step.activity_id or step.produces or step.only_if or step.each)
        and step.output_schema is None
    )


def _joined(plan: Plan, groups: list[list[Step]], notes: list[Finding]) -> Plan:
    heads = {step.id: group[0].id for group in groups for step in group}
    steps: list[Step] = []
    for group in groups:
        head = group[0]
        waits = [heads.get(label, label) for step in group for label in step.depends_on]
        hints = {step.tool_hint for step in group if step.tool_hint}
        steps.append(
            replace(
                head,
                action=JOINT.join(step.action for step in group),
                tool_hint=hints.pop() if len(hints) == 1 else None,
                depends_on=tuple(label for label in dict.fromkeys(waits) if label != head.id),
            )
        )
        if len(group) > 1:
            names = ", ".join(repr(step.id) for step in group)
            text = f"steps {names} were merged into {head.id!r}: the plan was too long"
            notes.append(Finding("merged", text, head.id, severity=Severity.NOTE))
    return replace(plan, steps=tuple(steps))
