"""Moves that a run makes by itself: each a function of the state alone, asked in this order."""

from collections.abc import Callable

from phaseloop.core.events import Event
from phaseloop.core.gate_events import GateExpired, GateOpened
from phaseloop.core.gates import POLICY, doubt_gate
from phaseloop.core.limits import SCORE_SCHEMA
from phaseloop.core.phases import enter_next, fail, gate_made, leave, start_activity, start_is_open
from phaseloop.core.plan import ActivityType
from phaseloop.core.plan_events import PlanUpdated
from phaseloop.core.planning import given_plan, wants_plan
from phaseloop.core.process import GateKind, phase_activities
from phaseloop.core.run_events import ArtifactDrafted, LimitReached, RunPaused
from phaseloop.core.run_tables import is_waiting
from phaseloop.core.scheduling import bound_result, retried, start_next
from phaseloop.core.state import RunState, open_gates
from phaseloop.core.statuses import ActivityStatus, CallStatus, PhaseStatus, RunStatus

Move = Callable[[RunState, int], tuple[Event, ...]]


def automatic(state: RunState, at: int) -> tuple[Event, ...]:
    """The next facts that need no answer, or none. Nothing moves without a drive or while paused."""
    if state.status is not RunStatus.RUNNING or not state.drive:
        return ()
    for next_move in ANYTIME:
        if facts := next_move(state, at):
            return facts
    if state.phase_index < 0 or state.phase.status is not PhaseStatus.ACTIVE:
        return ()
    for next_move in IN_PHASE:
        if facts := next_move(state, at):
            return facts
    return ()


def _poisoned(state: RunState, at: int) -> tuple[Event, ...]:
    """Drives that end without a fact of their own, one after another: a person must look (contract section 3)."""
    cap = state.limits.idle_drives
    if state.idle_drives <= cap or is_waiting(state):  # a run that waits for a person has one already
        return ()
    reached = LimitReached("idle_drives", cap, state.idle_drives)
    return (reached, RunPaused(POLICY, f"{cap} drives ended without progress"))


def _doubts(state: RunState, at: int) -> tuple[Event, ...]:
    """A write in doubt without a hook of its own asks a person (contract section 8)."""
    for call in state.calls.values():
        if call.status is CallStatus.IN_DOUBT and not call.gate_id and not state.facts.tools[call.tool].verify:
            return doubt_gate(state, call)
    return ()


def _orphans(state: RunState, at: int) -> tuple[Event, ...]:
    """An approval whose attempt is over has nothing to approve any more."""
    if not state.gates:
        return ()
    return tuple(
        GateExpired(gate_id, "its step went on without this call")
        for gate_id, gate in open_gates(state)
        if gate.asked.kind is GateKind.TOOL_APPROVAL and not _is_wanted(state, gate.asked)
    )


def _is_wanted(state: RunState, asked: GateOpened) -> bool:
    step = state.steps[asked.step_id]
    return step.active and step.attempt == asked.payload["attempt"] and asked.call_id in state.calls


def _entry(state: RunState, at: int) -> tuple[Event, ...]:
    return enter_next(state, at)


def _drafts(state: RunState, at: int) -> tuple[Event, ...]:
    """The newest completed step that makes an artefact gives its draft (contract section 6)."""
    for sid in reversed(state.phase.plan.order):
        step = state.steps[sid]
        name = step.spec.produces
        if not name or step.status is not ActivityStatus.COMPLETED:
            continue
        known = state.artifacts.get(name)
        if known is not None and (known.step_id == sid or _is_newer(state, known.step_id, sid)):
            continue
        return (
            ArtifactDrafted(
                name=name,
                version=known.version + 1 if known else 1,
                value_of=sid,
                produced_by_activity_id=step.activity_id,
                phase_id=state.phase.phase.phase_id,
                valid=step.score > SCORE_SCHEMA,
                issues=step.issues,
            ),
        )
    return ()


def _is_newer(state: RunState, known: str, sid: str) -> bool:
    """Whether the known draft comes from a later step of this plan."""
    order = state.phase.plan.order
    return known in order and order.index(known) > order.index(sid)


def _plan_at_hand(state: RunState, at: int) -> tuple[Event, ...]:
    """A plan that needs no planner: the approved one of `planFrom`, or none where people make all outputs."""
    phase = state.phase
    if not wants_plan(state) or start_is_open(state):
        return ()
    if phase.trigger == "given" and not phase.refusals:
        return given_plan(state)
    declared = phase_activities(state.facts.definition, phase.phase)
    outputs = phase.phase.produced_outputs
    only_people = bool(declared) and all(activity.type is ActivityType.HUMAN for activity in declared)
    if only_people and outputs and gate_made(state).issuperset(outputs):
        version = phase.plan.version + 1
        why = phase.failure or phase.feedback
        return (PlanUpdated(phase.phase.phase_id, version, state.facts.goal, (), reason=phase.trigger, trigger=why),)
    return ()


def _start_gate(state: RunState, at: int) -> tuple[Event, ...]:
    return start_activity(state, at) if start_is_open(state) else ()


def _retries(state: RunState, at: int) -> tuple[Event, ...]:
    """A verdict granted another attempt."""
    for sid in state.phase.plan.order:
        step = state.steps[sid]
        if step.judging == "retry":
            return retried(state, step, "; ".join(step.issues), at)
    return ()


def _bound_ends(state: RunState, at: int) -> tuple[Event, ...]:
    for sid in state.phase.plan.order:
        step = state.steps[sid]
        if step.active and step.spec.bound and not step.judging and (facts := bound_result(state, step, at)):
            return facts
    return ()


def _gives_up(state: RunState, at: int) -> tuple[Event, ...]:
    """A cap is reached: what runs ends, then the run fails with its best result."""
    phase = state.phase
    at_a_cap = phase.judged == "abort" or phase.refusals > state.limits.lint_reasks
    if not at_a_cap or any(state.steps[sid].active for sid in phase.plan.order):
        return ()
    if phase.judged == "abort":
        return fail(state, "replans_exhausted", phase.failure or "; ".join(phase.issues))
    return fail(state, "plan_refused", "; ".join(finding.message for finding in phase.findings))


ANYTIME: tuple[Move, ...] = (_poisoned, _doubts, _orphans, _entry)
IN_PHASE: tuple[Move, ...] = (
    _retries,
    _bound_ends,
    _drafts,
    _gives_up,
    _start_gate,
    _plan_at_hand,
    start_next,
    leave,
)
"""Moves that only an active phase makes; asked after those of `ANYTIME`."""
