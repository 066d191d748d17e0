"""How gates and timers change with each event."""

from collections.abc import Callable
from typing import Any

from phaseloop.core.changes import replace
from phaseloop.core.events import Event
from phaseloop.core.gate_events import (
    GateAnswered,
    GateExpired,
    GateOpened,
    GateResolved,
    GateTimedOut,
    TimerFired,
    TimerSet,
)
from phaseloop.core.machine_calls import end_write, number, with_call
from phaseloop.core.machine_runs import phase_at, with_phase
from phaseloop.core.moves import CALL_MOVES, GATE_MOVES, PHASE_MOVES, move
from phaseloop.core.paths import is_object
from phaseloop.core.process import GateKind
from phaseloop.core.state import CallState, GateState, RunState
from phaseloop.core.statuses import CallStatus, GateStatus, PhaseStatus

POSITIVE = frozenset({"confirm", "select", "other", "submit", "approve", "advance"})
CHANGES = frozenset({"revise", "reject", "none_of_these"})


def _with_gate(state: RunState, gate: GateState) -> RunState:
    return replace(state, gates={**state.gates, gate.asked.request_id: gate})


def _gate_move(gate: GateState, event: str) -> GateStatus:
    return move(GATE_MOVES, gate.status, event, f"gate {gate.asked.request_id}")


def _gate_opened(state: RunState, event: GateOpened, at: int) -> RunState:
    known = state.gates.get(event.request_id)
    if known is None:
        gate = GateState(event, opened_at=at)
    else:
        status = _gate_move(known, "GateOpened")
        again = known.asks + 1 if known.status is GateStatus.OPEN else 1
        gate = replace(
            GateState(event, opened_at=at, status=status, asks=again, revisions=known.revisions),
            votes=known.votes,  # an equal key is answered with the first result (contract section 3)
        )
    state = _with_gate(state, gate)
    if event.call_id:
        state = _call_asked(state, event)
    if event.kind in (GateKind.EXIT, GateKind.ADVANCE):
        return _phase_moved(state, event.phase_id, f"{event.kind.value.capitalize()}GateOpened")
    return state


def _call_asked(state: RunState, event: GateOpened) -> RunState:
    """The call that the question is about waits; an approval names a call that was never sent."""
    known = state.calls.get(event.call_id)
    if known is not None:
        return with_call(state, replace(known, gate_id=event.request_id))
    asked = event.payload
    call = CallState(
        call_id=event.call_id,
        key=asked["key"],
        step_id=event.step_id,
        attempt=asked["attempt"],
        n=asked["n"],
        i=asked["i"],
        tool=asked["tool"],
        args=asked["args"],
        status=CallStatus.WAITING,
        gate_id=event.request_id,
        asked=asked["key"],
        fallback_of=asked.get("fallbackOf", ""),
    )
    state = with_call(state, call)
    return replace(state, next_call=max(state.next_call, number(event.call_id) + 1))


def _phase_moved(state: RunState, phase_id: str, event: str) -> RunState:
    index = phase_at(state, phase_id)
    phase = state.phases[index]
    if phase.status in (PhaseStatus.AWAITING_HUMAN, PhaseStatus.AWAITING_ADVANCE) and event.endswith("Opened"):
        return state  # asked again: the phase waits as before
    return with_phase(state, replace(phase, status=move(PHASE_MOVES, phase.status, event, phase_id)), index)


def _gate_answered(state: RunState, event: GateAnswered, at: int) -> RunState:
    gate = state.gates[event.request_id]
    status = _gate_move(gate, "GateAnswered")
    voted = replace(gate, status=status, votes=(*gate.votes, event))
    return replace(_with_gate(state, voted), idle_drives=0)


def _gate_resolved(state: RunState, event: GateResolved, at: int) -> RunState:
    gate = state.gates[event.request_id]
    gate = replace(
        gate,
        status=_gate_move(gate, "GateResolved"),
        outcome=event.outcome,
        value=event.value,
        comment=event.comment,
        by=event.by,
        user=event.user,
        revisions=gate.revisions + (event.outcome in CHANGES),
    )
    state = replace(_with_gate(state, gate), idle_drives=0, timers=_without_gate(state, event.request_id))
    if gate.asked.call_id:
        return _call_answered(state, gate, event)
    if gate.asked.kind in (GateKind.EXIT, GateKind.ADVANCE):
        state = _exit_answered(state, gate, event)
    if gate.asked.kind is GateKind.ACTIVITY and event.outcome in CHANGES:
        trigger = "human" if state.phase.plan.version else state.phase.trigger
        phase = replace(state.phase, trigger=trigger, feedback=event.comment, exit_reached=False, judged="")
        return with_phase(state, phase)
    if gate.asked.kind in (GateKind.EXIT, GateKind.ACTIVITY) and event.outcome in POSITIVE:
        return with_phase(state, replace(state.phase, passed=(*state.phase.passed, event.activity_id)))
    return state


def _without_gate(state: RunState, gate_id: str) -> dict[str, int]:
    return {timer: due for timer, due in state.timers.items() if not timer.startswith(f"{gate_id}/")}


def _exit_answered(state: RunState, gate: GateState, event: GateResolved) -> RunState:
    phase_id = gate.asked.phase_id
    if event.outcome in POSITIVE:
        state = _phase_moved(state, phase_id, "GatePassed")
        by = {"user": "user", "auto_pass": "auto"}.get(event.by, "timeout")
        return with_phase(state, replace(state.phase, passed_by=by))
    if event.outcome in CHANGES:
        state = _phase_moved(state, phase_id, "ChangesWanted")
        phase = replace(state.phase, trigger="human", feedback=event.comment, exit_reached=False, judged="")
        return with_phase(state, replace(phase, contract_replanned=False))
    return state


_CALL_OUTCOMES = {
    (GateKind.TOOL_APPROVAL, "approve"): "Approved",
    (GateKind.TOOL_APPROVAL, "reject"): "Refused",
    (GateKind.IN_DOUBT, "happened"): "Happened",
    (GateKind.IN_DOUBT, "run_it"): "RunIt",
    (GateKind.IN_DOUBT, "abandon"): "Abandoned",
}


def _call_answered(state: RunState, gate: GateState, event: GateResolved) -> RunState:
    call = state.calls.get(gate.asked.call_id)
    name = _CALL_OUTCOMES.get((gate.asked.kind, event.outcome))
    if call is None or name is None or call.status is CallStatus.FINISHED:  # cancelled, or ended by testimony
        return state
    call = replace(call, status=move(CALL_MOVES, call.status, name, f"call {call.call_id}"), gate_id="")
    if name == "Approved" and is_object(event.value):
        call = replace(call, args=event.value)
    if name in ("Refused", "Abandoned"):
        why = f"refused by {event.user or event.by}" + (f": {event.comment}" if event.comment else "")
        call = replace(call, outcome="failed", error=why, refused=True)
    if name == "Happened":
        call = replace(call, outcome="ok", value=event.value)
    state = with_call(state, call)
    return end_write(state, call) if call.status is CallStatus.FINISHED else state


def _gate_timed_out(state: RunState, event: GateTimedOut, at: int) -> RunState:
    gate = state.gates[event.request_id]
    return _with_gate(state, replace(gate, status=_gate_move(gate, "GateTimedOut")))


def _gate_expired(state: RunState, event: GateExpired, at: int) -> RunState:
    gate = state.gates[event.request_id]
    state = _with_gate(state, replace(gate, status=_gate_move(gate, "GateExpired"), comment=event.reason))
    if (call := state.calls.get(gate.asked.call_id)) is not None:
        state = with_call(state, replace(call, gate_id=""))
    return replace(state, timers=_without_gate(state, event.request_id))


def _timer_set(state: RunState, event: TimerSet, at: int) -> RunState:
    return replace(state, timers={**state.timers, event.timer_id: event.due_at})


def _timer_fired(state: RunState, event: TimerFired, at: int) -> RunState:
    return replace(state, timers={k: v for k, v in state.timers.items() if k != event.timer_id})


APPLY: dict[type[Event], Callable[[RunState, Any, int], RunState]] = {
    GateOpened: _gate_opened,
    GateAnswered: _gate_answered,
    GateResolved: _gate_resolved,
    GateTimedOut: _gate_timed_out,
    GateExpired: _gate_expired,
    TimerSet: _timer_set,
    TimerFired: _timer_fired,
}
