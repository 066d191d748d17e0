"""Plan rules about the phase: its declared activities, its tools and what it must make."""

from collections.abc import Iterable, Iterator
from difflib import get_close_matches

from phaseloop.core.plan import ActivityType, Finding, Severity, Step
from phaseloop.core.plan_scope import PlanView


def activities(view: PlanView) -> Iterator[Finding]:
    """Every declared activity once, start first, no gate, none of another phase (contract section 5)."""
    for step in view.pending:
        yield from _activity_of(view, step)
    listed = [*view.scope.finished.values(), *view.pending]
    for activity in view.activities.values():
        name = activity.activity_id
        if activity.type is ActivityType.HUMAN:
            continue
        carried = [step.id for step in listed if step.activity_id == name]
        if not carried and not activity.optional:
            text = f"no step carries out activity {name!r}, which this phase declares"
            yield Finding("missing-activity", text, "", f"add a step with activityId {name!r}")
        if len(carried) > 1:
            text = f"activity {name!r} is carried out more than once, by steps {', '.join(map(repr, carried))}"
            yield Finding("activity-twice", text, carried[-1], "keep one of them")
    yield from _start(view)


def _activity_of(view: PlanView, step: Step) -> Iterator[Finding]:
    name = step.activity_id
    activity = view.activities.get(name or "")
    if ActivityType.HUMAN in (step.type, activity.type if activity else None):
        text = f"step {step.id!r} is a question to a person ({name or 'type HUMAN'}); gates are not planned"
        yield Finding("human-in-plan", text, step.id, "leave the step out, the phase asks by itself")
    elif name and name in view.scope.other_activities:
        text = f"step {step.id!r} carries out activity {name!r}, which belongs to another phase"
        yield Finding("foreign-activity", text, step.id, "plan the current phase only")
    elif name and activity is None and name != step.id:
        text = f"step {step.id!r} names activity {name!r}, which this phase does not declare"
        yield Finding("unknown-activity", text, step.id, "leave activityId out" + _near(name, view.activities))


def _start(view: PlanView) -> Iterator[Finding]:
    name = view.scope.start_activity_id
    done = any(step.activity_id == name for step in view.scope.finished.values())
    step = next((step for step in view.pending if step.activity_id == name), None)
    if not name or done or step is None:
        return
    if step is not view.pending[0] or any(label in view.needs for label in step.depends_on):
        text = f"activity {name!r} starts the phase, but step {step.id!r} is not first"
        yield Finding("start-not-first", text, step.id, "put it first and let it wait for nothing")


def tools(view: PlanView) -> Iterator[Finding]:
    """Tools must exist and be allowed; a hint is advice only (article 003 section 3.1)."""
    for step in view.pending:
        name = step.call.tool if step.call else step.tool_hint
        if not name or name in view.tools:
            continue
        known = name in view.scope.all_tools
        if step.call:
            code = "tool-not-allowed" if known else "unknown-tool"
            severity, verb = Severity.ERROR, "calls"
        else:
            code, severity, verb = "unknown-hint", Severity.NOTE, "hints at"
        why = "this phase does not allow" if known else "does not exist"
        text = f"step {step.id!r} {verb} tool {name!r}, which {why}"
        yield Finding(code, text, step.id, _offer(view.tools, name), severity)


def _offer(names: Iterable[str], wrong: str) -> str:
    there = list(names)
    if close := get_close_matches(wrong, there, 1):
        return f"use {close[0]!r}"
    return "use one of " + ", ".join(there[:20]) if there else "leave the tool out, this phase has none"


def _near(name: str, names: Iterable[str]) -> str:
    close = get_close_matches(name, list(names), 1)
    return f", or use {close[0]!r}" if close else ""


def outputs(view: PlanView) -> Iterator[Finding]:
    """What the phase must make is made by one step or by its gate (contract section 5)."""
    scope = view.scope
    makers: dict[str, Step] = {}
    for step in view.pending:
        name = view.produced_by(step)
        if not name:
            continue
        if name in makers:
            text = f"steps {makers[name].id!r} and {step.id!r} both make {name!r}"
            yield Finding("output-twice", text, step.id, "let one of them make it")
        makers.setdefault(name, step)
        if (scope.outputs or scope.gate_outputs) and name not in (*scope.outputs, *scope.gate_outputs):
            text = f"step {step.id!r} makes {name!r}, which is no output of this phase"
            there = ", ".join((*scope.outputs, *scope.gate_outputs))
            yield Finding("foreign-output", text, step.id, f"leave produces out, or make one of {there}")
    missing = unmade(view)
    if view.pending:
        for name in missing:
            text = f"no step makes {name!r}, which this phase must make"
            yield Finding("output-missing", text, "", f'give the step that makes it "produces": "{name}"')
    elif missing or not scope.finished:
        what = f": {', '.join(map(repr, missing))} is not made" if missing else ""
        yield Finding("no-steps", f"the plan has no step to do{what}", "", "plan at least one step")


def unmade(view: PlanView) -> tuple[str, ...]:
    """The outputs nobody makes; a single one without a maker is the last step's (contract section 6)."""
    scope = view.scope
    made = {name for step in view.steps.values() if (name := view.produced_by(step))} | set(scope.gate_outputs)
    missing = tuple(name for name in scope.outputs if name not in made)
    return () if len(scope.outputs) == 1 and not made and view.steps else missing
