"""Which writes run without a question, and the question for the others (contract section 8)."""

import re
from collections.abc import Iterator

from phaseloop.core.answers import ToolCallWanted
from phaseloop.core.events import Event
from phaseloop.core.gate_events import GateOpened
from phaseloop.core.plan_events import ActivityPaused
from phaseloop.core.process import GateKind, GateMode
from phaseloop.core.state import ActivityStatus, CallStatus, RunState, StepState, final_artifacts
from phaseloop.core.tools import Risk, ToolSpec
from phaseloop.core.values import Json, canonical


def why_ask(state: RunState, step: StepState, tool: ToolSpec, args: Json) -> str:
    """Why a person must approve this call, or nothing: then it runs."""
    if tool.approval:
        return f"{tool.name} always asks"
    if tool.reads:
        return ""
    if tool.risk is Risk.HIGH:
        return f"{tool.name} is a high risk"
    if not tool.writes:
        return ""
    plan = state.phase.plan
    if plan.approved_by and tool.name not in plan.approved_tools:
        return f"{tool.name} is not in the plan that {plan.approved_by} approved"
    in_plan = step.spec.bound or step.spec.tool_hint == tool.name
    if not in_plan:
        return f"{tool.name} is a write that the plan does not name"
    for name, value in _identity(tool, args):
        if not _is_known(state, step, value):
            return f"{name} = {value!r} comes neither from the request nor from a trusted source"
    return ""


def _identity(tool: ToolSpec, args: Json) -> Iterator[tuple[str, Json]]:
    """The identity arguments that are there, by name."""
    if isinstance(args, dict):
        for name in tool.identity:
            if args.get(name) not in (None, "", [], {}):
                yield name, args[name]


def _is_known(state: RunState, step: StepState, value: Json) -> bool:
    """Whether a value stands in the request, an artefact, an input, or a trusted read's result."""
    if isinstance(value, list):
        return all(_is_known(state, step, item) for item in value)
    text = value if isinstance(value, str) else canonical(value)
    whole = re.compile(rf"(?<![\w.]){re.escape(text)}(?![\w])", re.IGNORECASE)
    return any(whole.search(source) for source in _trusted_texts(state, step))


def _trusted_texts(state: RunState, step: StepState) -> Iterator[str]:
    facts = state.facts
    yield facts.goal
    yield canonical(facts.inputs)
    yield canonical(final_artifacts(state))
    for gate in state.gates.values():
        if gate.user:
            yield canonical([gate.value, gate.comment])
    for sid in state.phase.plan.order:
        other = state.steps[sid]
        if other.status is ActivityStatus.COMPLETED and not other.tainted:
            yield canonical(other.output)
    for call in state.calls.values():
        trusted = call.tool in facts.tools and not facts.tools[call.tool].untrusted
        if call.step_id == step.spec.id and call.status is CallStatus.FINISHED and trusted:
            yield canonical(call.value)


def approval_gate(
    state: RunState, ask: ToolCallWanted, tool: ToolSpec, key: str, why: str, at: int
) -> tuple[Event, ...]:
    """The question, with the call that was never sent; its step pauses."""
    step = state.steps[ask.step_id]
    gate = GateOpened(
        request_id=f"g{len(state.gates) + 1}",
        version=1,
        kind=GateKind.TOOL_APPROVAL,
        activity_id=step.activity_id,
        human_mode=GateMode.APPROVE,
        title=f"Run {tool.name}?",
        prompt=why,
        payload={
            "tool": tool.name,
            "args": ask.args,
            "key": key,
            "attempt": ask.attempt,
            "n": ask.n,
            "i": ask.i,
            "schema": dict(tool.input_schema),
        },
        outcomes=("approve", "reject", "cancel"),
        phase_id=step.phase_id,
        step_id=ask.step_id,
        call_id=f"c{state.next_call}",
        consequence=f"{tool.name} is called once with these arguments.",
    )
    return (gate, ActivityPaused(step.activity_id, "tool_approval", ask.step_id))
