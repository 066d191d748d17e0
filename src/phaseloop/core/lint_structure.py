"""Plan rules about labels, dependencies and size: the shape of the graph."""

from collections.abc import Iterator

from phaseloop.core.plan import Finding, Severity, Step
from phaseloop.core.plan_references import condition_names
from phaseloop.core.plan_scope import PlanView
from phaseloop.core.references import RESERVED, step_references

FEWEST_STEPS = 3  # fewer is legal and noted: article 003 section 3.2, behaviours 5 (C4)


def structure(view: PlanView) -> Iterator[Finding]:
    """Labels, actions and the number of steps."""
    seen: set[str] = set()
    for step in view.plan.steps:
        if step.id in seen:
            text = f"label {step.id!r} is used by two steps"
            yield Finding("duplicate-label", text, step.id, "give each step its own label")
        seen.add(step.id)
    for step in view.pending:
        yield from _label(view, step)
        if not step.action.strip():
            text = f"step {step.id!r} has no action"
            yield Finding("empty-action", text, step.id, "say in one sentence what the step does")
    yield from _locked(view)
    yield from _size(view)


def _label(view: PlanView, step: Step) -> Iterator[Finding]:
    head = step.id.partition(".")[0]
    if not step.id.strip() or step.id in RESERVED or ("." in step.id and head in RESERVED):
        text = f"{step.id!r} cannot be the label of a step: it is empty or names another source of values"
        yield Finding("reserved-label", text, step.id, "use another label, such as 's1'")
    if step.id in view.scope.failed:
        text = f"{step.id!r} is the id of an earlier step that failed or was dropped; ids are never used again"
        yield Finding("reused-label", text, step.id, "give the new step a label of its own")


def _locked(view: PlanView) -> Iterator[Finding]:
    for step in view.plan.steps:
        done = view.scope.finished.get(step.id)
        if done is None:
            continue
        pairs = {
            "action": (step.action.strip(), done.action.strip()),
            "call": (step.call, done.call),
            "each": (step.each, done.each),
            "produces": (step.produces, done.produces),
            "activityId": (step.activity_id, done.activity_id),
        }
        if changed := [name for name, (new, old) in pairs.items() if new != old]:
            text = f"step {step.id!r} is finished and cannot change its {' and '.join(changed)}"
            yield Finding("finished-changed", text, step.id, "leave finished steps out; label new ones anew")


def _size(view: PlanView) -> Iterator[Finding]:
    pending, most = len(view.pending), view.scope.max_steps
    if pending > most:
        text = f"the plan has {pending} steps to do, {most} are allowed"
        yield Finding("too-many-steps", text, "", "join steps that belong together, or plan less at once")
    if pending and pending + len(view.scope.finished) < FEWEST_STEPS:
        text = f"the plan has {pending} step{'' if pending == 1 else 's'}; {FEWEST_STEPS} to 8 are usual"
        yield Finding("few-steps", text, "", "split a step that does two things", Severity.NOTE)


def dependencies(view: PlanView) -> Iterator[Finding]:
    """What steps wait for: it must exist, not have failed, and not close a circle."""
    for step in view.pending:
        for label in dict.fromkeys((*step.depends_on, *view.needs[step.id])):
            yield from _edge(view, step, label)
        for name in condition_names(step.only_if or ""):
            if name[0] == "s" and name[1:].isdecimal() and name not in view.steps:
                text = f"the condition of step {step.id!r} names {name!r}, which is no step"
                yield Finding("unknown-reference", text, step.id, _known(view))
    for label in step_references(view.plan.result):
        if label not in view.steps:
            text = f"the plan's result refers to {label!r}, which is no step"
            yield Finding("unknown-reference", text, "", _known(view))
    yield from _cycle(view)


def _edge(view: PlanView, step: Step, label: str) -> Iterator[Finding]:
    declared = label in step.depends_on
    verb = "depends on" if declared else "uses"
    if label == step.id:
        text = f"step {step.id!r} {verb} itself"
        yield Finding("self-dependency", text, step.id, "name an earlier step, or none")
    elif label in view.steps:
        if label not in view.waits[step.id] and label not in view.scope.finished:
            text = f"step {step.id!r} uses the output of {label!r} but does not wait for it"
            yield Finding("missing-dependency", text, step.id, f"add {label!r} to its depends_on")
    elif label in view.scope.failed:
        text = f"step {step.id!r} {verb} {label!r}, which failed or was dropped and has no output"
        yield Finding("failed-dependency", text, step.id, f"plan a new step in place of {label!r}, or do without")
    else:
        code = "unknown-dependency" if declared else "unknown-reference"
        yield Finding(code, f"step {step.id!r} {verb} {label!r}, which is no step", step.id, _known(view))


def _known(view: PlanView) -> str:
    return "name one of " + ", ".join(view.steps) if view.steps else "there is no step to name"


def _cycle(view: PlanView) -> Iterator[Finding]:
    """Take away steps that wait for nothing until only circles, and what hangs on them, are left."""
    left = {step.id: {*step.depends_on, *view.needs[step.id]} - {step.id} for step in view.pending}
    while free := [label for label, waits in left.items() if not waits & left.keys()]:
        for label in free:
            del left[label]
    if left:
        path = [next(iter(left))]
        while path.count(path[-1]) < 2:
            path.append(min(left[path[-1]] & left.keys(), key=list(left).index))
        circle = path[path.index(path[-1]) :]
        text = f"steps wait for each other in a circle: {' -> '.join(map(repr, circle))}"
        yield Finding("dependency-cycle", text, circle[0], "take one of these dependencies or references away")
