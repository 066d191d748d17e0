"""The named parts of the context, and who may see which (article 003 section 6.1, contract section 4)."""

from phaseloop.core.effects import Check, FinishedStep
from phaseloop.core.language import language_of
from phaseloop.core.paths import is_object
from phaseloop.core.plan import ActivityType
from phaseloop.core.process import text_in
from phaseloop.core.references import Values
from phaseloop.core.state import RunState, StepState, final_artifacts
from phaseloop.core.statuses import ActivityStatus
from phaseloop.core.values import Json, Object


def values_of(state: RunState, item: Json = None) -> Values:
    """What references and conditions of the current phase may name."""
    steps = state.steps
    outputs = {sid: steps[sid].output for sid in state.phase.plan.order if steps[sid].ended}
    return Values(outputs, final_artifacts(state), state.facts.inputs, item)


def condition_names(state: RunState) -> dict[str, Json]:
    """Every name an expression may use: artefacts and inputs by name, steps by id; what is missing is null."""
    definition = state.facts.definition
    names: dict[str, Json] = dict.fromkeys(sorted(definition.artifacts))
    for phase in state.phases:
        names.update(dict.fromkeys(phase.phase.produced_outputs))
    names.update({name: None for name in sorted(definition.inputs)})
    names.update(state.facts.inputs)
    final = final_artifacts(state)
    names.update(final)
    names["artifact"] = {**dict.fromkeys(names), **final}
    names["draft"] = {name: a.value for name, a in sorted(state.artifacts.items()) if a.valid}
    names["input"] = dict(state.facts.inputs)
    names["mode"] = state.facts.mode
    if state.phase_index >= 0:
        for sid in state.phase.plan.order:
            step = state.steps[sid]
            names[sid] = step.output if step.status is ActivityStatus.COMPLETED else None
    return names


def step_context(state: RunState, step: StepState) -> Object:
    """The namespaces of one step: request, phase goal, artefacts, and the results it depends on. Not the history."""
    phase = state.phase
    parts: dict[str, Json] = {"USER_INPUT": state.facts.goal}
    if phase.phase.instruction:
        parts["PHASE"] = phase.phase.instruction
    if state.facts.inputs:
        parts["INPUTS"] = dict(state.facts.inputs)
    for name, value in final_artifacts(state).items():
        parts[f"ARTIFACT_{name}"] = value
    for sid in phase.plan.order:
        if sid in step.spec.depends_on:
            parts[f"STEP_{sid[1:]}_RESULT"] = state.steps[sid].output
    if step.hint:
        parts[f"STEP_{step.spec.id[1:]}_REFLECTION"] = step.hint
    return parts


def instruction_of(state: RunState, step: StepState) -> str:
    """What a declared LLM activity is told, in the language of the goal."""
    for activity in state.facts.definition.activities:
        if activity.activity_id == step.spec.activity_id:
            told = activity.config.get("instruction", "")
            return text_in(told, language_of(state.facts.goal)) if told else ""
    return ""


def checks_of(state: RunState, step: StepState) -> tuple[Check, ...]:
    """The checks that the edge runs on the step's output: its schema, its artefact's, its declared expression."""
    checks: list[Check] = []
    if step.spec.output_schema:
        checks.append(Check("output", schema=step.spec.output_schema))
    artifact = state.facts.definition.artifacts.get(step.spec.produces or "")
    if is_object(artifact) and artifact:
        checks.append(Check(step.spec.produces or "", schema=artifact))
    if step.spec.type is not ActivityType.RULE and step.spec.activity_id is not None:
        for activity in state.facts.definition.activities:
            expression = activity.config.get("check")
            if activity.activity_id == step.spec.activity_id and isinstance(expression, str):
                checks.append(Check("check", expression=expression, names=condition_names(state)))
    return tuple(checks)


def finished_steps(state: RunState) -> tuple[FinishedStep, ...]:
    """Steps that are done, in plan order."""
    done = (state.steps[sid] for sid in state.phase.plan.order)
    return tuple(
        FinishedStep(step.spec.id, step.spec.action, step.output, step.spec.activity_id)
        for step in done
        if step.status is ActivityStatus.COMPLETED
    )


def evidence(state: RunState, step_id: str = "") -> tuple[Object, ...]:
    """Finished writes, for a critic: what really happened (architecture section 6)."""
    entries = sorted(state.ledger.values(), key=lambda entry: int(entry.call_id[1:]))
    return tuple(
        {"tool": entry.tool, "step": entry.step_id, "outcome": entry.outcome, "result": entry.value}
        for entry in entries
        if not step_id or entry.step_id == step_id
    )
