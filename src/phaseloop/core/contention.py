"""Who holds a conflict key within a run, and who takes it next (architecture section 4.4)."""

from phaseloop.core.context import values_of
from phaseloop.core.errors import UnresolvedReference
from phaseloop.core.references import resolve
from phaseloop.core.state import RunState, StepState
from phaseloop.core.statuses import ActivityStatus, CallStatus
from phaseloop.core.tools import ToolSpec, conflict_key
from phaseloop.core.values import Json, digest


def needs_lock(tool: ToolSpec) -> bool:
    """Writes exclude writes of the same conflict key; reads only where their tool says so."""
    return not tool.reads or tool.exclusive_reads


def is_busy(state: RunState, key: str, but: str = "") -> bool:
    """Whether a call of this run, other than the call `but`, holds the conflict key."""
    tools = state.facts.tools
    return any(
        call.call_id != but
        and call.status in (CallStatus.STARTED, CallStatus.IN_DOUBT)
        and needs_lock(tools[call.tool])
        and conflict_key(tools[call.tool], call.args) == key
        for call in state.calls.values()
    )


def goes_first(state: RunState, step_id: str, key: str) -> bool:
    """Whether no other step that is about to send under `key` has a longer way to the end of the plan.

    With a free key and several that want it, the order decides when the plan ends: the longest tail first is
    within 4 % of the best that can be done. A step that something else holds up stands in nobody's way.
    """
    plan = state.phase.plan
    if step_id not in plan.tails:
        return True
    tail, place = plan.tails[step_id], plan.order.index(step_id)
    for at, sid in enumerate(plan.order):
        longer = plan.tails[sid] > tail or (plan.tails[sid] == tail and at < place)
        if longer and sid != step_id and _is_about_to_send(state, state.steps[sid], key):
            return False
    return True


def _is_about_to_send(state: RunState, step: StepState, key: str) -> bool:
    """Whether a bound step was started and asks for its first call under `key`, and for nothing else before."""
    spec = step.spec
    if spec.call is None or spec.each is not None or step.status is not ActivityStatus.RUNNING:
        return False
    tool = state.facts.tools.get(spec.call.tool)
    if tool is None or not needs_lock(tool):
        return False
    if any(call.step_id == spec.id and call.attempt == step.attempt for call in state.calls.values()):
        return False
    try:
        args = resolve(dict(spec.call.args), values_of(state))
    except UnresolvedReference:
        return False
    return conflict_key(tool, args) == key and not _has_twin(state, spec.id, tool, args)


def _has_twin(state: RunState, step_id: str, tool: ToolSpec, args: Json) -> bool:
    """Whether an equal call of another step is on its way: the ledger makes this one wait for its end."""
    equal = f"{tool.name}:{digest(tool.name, args)}:"
    return any(
        call.step_id != step_id and call.key.startswith(equal) and call.status is not CallStatus.FINISHED
        for call in state.calls.values()
    )
