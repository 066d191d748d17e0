"""Which writes run without a question, and the question for the others (contract section 8)."""

from collections.abc import Iterator

from phaseloop.core.asks import ToolCallWanted
from phaseloop.core.events import Event
from phaseloop.core.gate_events import GateOpened
from phaseloop.core.grounding import ground, leaves
from phaseloop.core.paths import is_object
from phaseloop.core.plan_events import ActivityPaused
from phaseloop.core.process import GateKind, GateMode
from phaseloop.core.state import RunState, StepState, final_artifacts
from phaseloop.core.statuses import ActivityStatus, CallStatus
from phaseloop.core.tools import Risk, ToolSpec
from phaseloop.core.values import Json


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
    if is_object(args):
        for name in tool.identity:
            if args.get(name) not in (None, "", [], {}):
                yield name, args[name]


def _is_known(state: RunState, step: StepState, value: Json) -> bool:
    """Whether every text and number of it stands in the request, an artefact, an input or a trusted result."""
    unknown = list(leaves(value))
    for source in _trusted(state, step):
        if not unknown:
            break
        known = ground(source)
        unknown = [leaf for leaf in unknown if not known.holds(leaf)]
    return not unknown


def _trusted(state: RunState, step: StepState) -> Iterator[Json]:
    facts = state.facts
    yield facts.goal
    yield dict(facts.inputs)
    yield final_artifacts(state)
    for gate in state.gates.values():
        if gate.user:
            yield [gate.value, gate.comment]
    for sid in state.phase.plan.order:
        other = state.steps[sid]
        if other.status is ActivityStatus.COMPLETED and not other.tainted:
            yield other.output
    for call in state.calls.values():
        trusted = call.tool in facts.tools and not facts.tools[call.tool].untrusted
        if call.step_id == step.spec.id and call.status is CallStatus.FINISHED and trusted:
            yield call.value


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
