"""Which steps may start now, and the facts of starting them (architecture section 4.4)."""

from collections.abc import Iterator

from phaseloop.core.asks import ToolCallWanted
from phaseloop.core.contention import needs_lock
from phaseloop.core.context import checks_of, values_of
from phaseloop.core.errors import UnresolvedReference
from phaseloop.core.events import Event
from phaseloop.core.ledger import tool_wanted
from phaseloop.core.machine import evolve, evolve_all
from phaseloop.core.paths import is_list
from phaseloop.core.plan import ActivityType
from phaseloop.core.plan_events import ActivityCompleted, ActivityStarted
from phaseloop.core.references import Values, resolve, step_references
from phaseloop.core.state import CallState, RunState, StepState
from phaseloop.core.statuses import ActivityStatus, CallStatus
from phaseloop.core.tools import EffectClass
from phaseloop.core.values import Json, Object
from phaseloop.core.verdicts import Result, effect_of, judge_step, step_failed


def condition_subject(state: RunState, step: StepState) -> str:
    """The name under which a step's `only_if` is evaluated, once a plan version."""
    return f"step:{step.spec.id}:{state.phase.plan.version}"


def waiting_steps(state: RunState) -> Iterator[StepState]:
    """Pending steps whose dependencies are over, longest way to the end first; a failed one frees nobody."""
    steps, plan = state.steps, state.phase.plan
    ready = [
        sid
        for sid in plan.order
        if steps[sid].status is ActivityStatus.PENDING and all(steps[d].ended for d in steps[sid].spec.depends_on)
    ]
    if len(ready) > 1:
        ready.sort(key=lambda sid: -plan.tails[sid])
    return (steps[sid] for sid in ready)


def start_next(state: RunState, at: int) -> tuple[Event, ...]:
    """The facts of starting one more step, or none. Asked again after every start."""
    if not state.phase.plan.order or state.phase.trigger not in ("", "replan"):
        return ()
    for step in waiting_steps(state):
        if _is_skipped(state, step):
            return (ActivityCompleted(step.activity_id, step.spec.id, status="skipped"),)
        if not _may_start(state, step):
            continue
        return _started(state, step, at)
    return ()


def _is_skipped(state: RunState, step: StepState) -> bool:
    """Its own condition is false, or an output that it needs was skipped (contract section 5)."""
    spec = step.spec
    skipped = {sid for sid, known in state.steps.items() if known.status is ActivityStatus.SKIPPED}
    if skipped and skipped.intersection(step_references([spec.call.args if spec.call else None, spec.each])):
        return True
    return spec.only_if is not None and state.conditions.get(condition_subject(state, step), True) is False


def _may_start(state: RunState, step: StepState) -> bool:
    """Room, condition known, and, while a re-plan is wanted, reads only (contract section 4)."""
    if step.spec.only_if is not None and condition_subject(state, step) not in state.conditions:
        return False
    if state.phase.trigger == "replan" and effect_of(state, step) is not EffectClass.READ:
        return False
    if state.phase.judged == "abort":
        return False
    running = sum(state.steps[sid].status is ActivityStatus.RUNNING for sid in state.phase.plan.order)
    return running < state.limits.max_parallel


def _started(state: RunState, step: StepState, at: int) -> tuple[Event, ...]:
    spec = step.spec
    started = ActivityStarted(
        activity_id=step.activity_id,
        type=ActivityType.TOOL if spec.bound and spec.type is ActivityType.LLM else spec.type,
        step_id=spec.id,
        title=spec.action,
        attempt=step.attempt + 1,
    )
    if state.conditions.get(condition_subject(state, step), True) is None:
        return (started, *_broken(evolve(state, started, at), spec.id, "only_if could not be evaluated", at))
    if not spec.bound:
        return (started,)
    return _started_bound(state, step, started, at)


def retried(state: RunState, step: StepState, hint: str, at: int) -> tuple[Event, ...]:
    """The next attempt of a step, with what the verdict asked for (article 003 section 5.3)."""
    started = ActivityStarted(
        activity_id=step.activity_id,
        type=ActivityType.TOOL if step.spec.bound and step.spec.type is ActivityType.LLM else step.spec.type,
        step_id=step.spec.id,
        title=step.spec.action,
        attempt=step.attempt + 1,
        hint=hint,
    )
    return _started_bound(state, step, started, at) if step.spec.bound else (started,)


def _started_bound(state: RunState, step: StepState, started: ActivityStarted, at: int) -> tuple[Event, ...]:
    """A bound step's reads leave with its start, in one append; its writes ask first, for their lock."""
    state = evolve(state, started, at)
    try:
        calls = bound_calls(state, state.steps[step.spec.id])
    except UnresolvedReference as missing:
        return (started, *_broken(state, step.spec.id, str(missing), at))
    if not calls:  # `each` over nothing
        return (started, *judge_step(state, Result(state.steps[step.spec.id], [], (), at), ()))
    facts: list[Event] = [started]
    tool = state.facts.tools.get(calls[0]["tool"])
    if tool is None or needs_lock(tool) or tool.name in state.broken_tools:
        return tuple(facts)
    for i, call in enumerate(calls):
        ask = ToolCallWanted(step.spec.id, started.attempt, 0, i, call["tool"], call["args"])
        new = tool_wanted(state, ask, at)
        facts += new
        if i + 1 < len(calls):
            state = evolve_all(state, new, at)
    return tuple(facts)


def _broken(state: RunState, step_id: str, why: str, at: int) -> tuple[Event, ...]:
    """A step that cannot even ask: its plan is wrong, so it is judged as an error."""
    result = Result(state.steps[step_id], None, (), at)
    return step_failed(state, result, why)


def bound_calls(state: RunState, step: StepState) -> tuple[Object, ...]:
    """The calls of a bound step with their arguments resolved; one, or one an element of `each`.

    Raises `UnresolvedReference`.
    """
    call = step.spec.call
    if call is None:
        return ()
    values = values_of(state)
    if step.spec.each is None:
        return ({"tool": call.tool, "args": resolve(dict(call.args), values)},)
    items = resolve(dict(step.spec.each), values)
    if not is_list(items):
        raise UnresolvedReference("each", f"needs a list, got {type(items).__name__}")
    return tuple(
        {
            "tool": call.tool,
            "args": resolve(dict(call.args), Values(values.steps, values.artifacts, values.inputs, item)),
        }
        for item in items
    )


def bound_result(state: RunState, step: StepState, at: int) -> tuple[Event, ...]:
    """What follows when all calls of a running bound step have ended and its checks are known."""
    ends = _ends(state, step)
    if ends is None:
        return ()
    failed = next((call for call in ends if call.outcome != "ok"), None)
    if failed is not None:
        return step_failed(state, Result(step, None, (), at), failed.error or f"{failed.tool} failed")
    if checks_of(state, step):  # the edge looks first, and says so in `Checked`
        return ()
    known = bound_output(state, step)
    if known is None:
        return ()
    calls, output = known
    return judge_step(state, Result(step, output, calls, at), ())


def bound_output(state: RunState, step: StepState) -> tuple[tuple[str, ...], Json] | None:
    """The calls that hold a bound step's output, and the output, once all of them ended well."""
    ends = _ends(state, step) if step.spec.bound else None
    if ends is None or any(call.outcome != "ok" for call in ends):
        return None
    values = [call.value for call in ends]
    return tuple(call.call_id for call in ends), values if step.spec.each is not None else values[0]


def _ends(state: RunState, step: StepState) -> list[CallState] | None:
    """The last call of each place, when all of them are there and over."""
    last: dict[int, CallState] = {}
    for call in state.calls.values():
        if call.step_id == step.spec.id and call.attempt == step.attempt:
            last[call.i] = call
    if not last or any(c.status is not CallStatus.FINISHED or c.next == "fallback" for c in last.values()):
        return None
    if step.spec.each is not None and len(last) < len(bound_calls(state, step)):
        return None
    return [last[i] for i in sorted(last)]
