"""How gates, and the diamonds of their phases, change with facts."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from phaseloop.core.events import Event
from phaseloop.core.gate_events import GateAnswered, GateExpired, GateOpened, GateResolved, GateTimedOut
from phaseloop.core.plan import ActivityType
from phaseloop.core.process import GateKind
from phaseloop.core.view_row_changes import entered, going
from phaseloop.core.view_rows import OVER, ActivityRow, Clock, Diamond, GateState, RowState, started, stopped
from phaseloop.core.view_run import GateView, View, Vote, find_row, with_gate, with_phase, with_row

Change = Callable[[View, Any, int], View]

NEGATIVE = frozenset({"reject", "revise", "return_to", "none_of_these", "cancel"})
"""Outcomes that do not let the run pass (behaviours 2.7)."""


def gate_of(view: View, gate_id: str) -> GateView | None:
    """The gate with this id."""
    return next((gate for gate in view.gates if gate.id == gate_id), None)


def guards_exit(gate: GateView) -> bool:
    """Whether it is the diamond of its phase."""
    return gate.is_exit_gate or gate.kind in (GateKind.EXIT, GateKind.ADVANCE)


def _with_diamond(view: View, gate: GateView, diamond: Diamond) -> View:
    if not guards_exit(gate):
        return view
    return with_phase(view, gate.phase_id, lambda phase: replace(phase, diamond=diamond))


def _held(view: View, gate: GateView, at: int, *, waiting: bool) -> View:
    """The row a gate asks about waits while the gate is open, and goes on afterwards."""
    row = find_row(view, gate.step_id, gate.activity_id)
    if row is None:
        return view

    def change(row: ActivityRow) -> ActivityRow:
        if row.state in OVER or row.state in (RowState.NOT_STARTED, RowState.FAILED):
            return row
        if waiting:
            return entered(row, RowState.WAITING, at)
        if row.type == ActivityType.HUMAN:
            return row
        return entered(row, going(row), at) if row.state is RowState.WAITING else row

    return with_row(view, row.id, change)


def _gate_opened(view: View, event: GateOpened, at: int) -> View:
    earlier = gate_of(view, event.request_id)
    gate = GateView(
        event.request_id,
        event.version,
        event.kind.value,
        event.human_mode.value,
        event.activity_id,
        phase_id=event.phase_id or view.current,
        step_id=event.step_id,
        call_id=event.call_id,
        title=event.title,
        prompt=event.prompt,
        payload=event.payload,
        outcomes=event.outcomes,
        consequence=event.consequence,
        is_exit_gate=event.is_exit_gate,
        timeout_at=event.timeout_at,
        no_match_policy=event.no_match_policy,
        approvers=event.approvers,
        required=event.required,
        opened_at=earlier.opened_at if earlier else at,
        waited=started(earlier.waited if earlier else Clock(), at),
        asks=earlier.asks if earlier else 1,
    )
    gates = (*(known for known in view.gates if known.id != gate.id), gate)
    view = _with_diamond(replace(view, gates=gates), gate, Diamond.OPEN)
    return _held(view, gate, at, waiting=True)


def _gate_answered(view: View, event: GateAnswered, at: int) -> View:
    vote = Vote(event.by.id, event.outcome, event.comment)
    return with_gate(view, event.request_id, lambda gate: replace(gate, votes=(*gate.votes, vote)))


def _gate_resolved(view: View, event: GateResolved, at: int) -> View:
    gate = gate_of(view, event.request_id)
    if gate is None:
        return view
    passed_by_rule = event.by == "auto_pass"
    gate = replace(
        gate,
        state=GateState.AUTO if passed_by_rule else GateState.ANSWERED,
        waited=stopped(gate.waited, at),
        outcome=event.outcome,
        by=event.by,
        user=event.user,
        rule=event.rule,
        comment=event.comment,
        edits=event.edits,
    )
    diamond = Diamond.AUTO if passed_by_rule else Diamond.ANSWERED
    if event.outcome in NEGATIVE:
        diamond = Diamond.FUTURE
    view = with_gate(view, gate.id, lambda _: gate)
    return _held(_with_diamond(view, gate, diamond), gate, at, waiting=False)


def _gate_timed_out(view: View, event: GateTimedOut, at: int) -> View:
    return with_gate(view, event.request_id, lambda gate: replace(gate, asks=event.asks))


def _gate_expired(view: View, event: GateExpired, at: int) -> View:
    gate = gate_of(view, event.request_id)
    if gate is None or gate.state is not GateState.OPEN:
        return view
    gate = replace(gate, state=GateState.EXPIRED, waited=stopped(gate.waited, at), comment=event.reason)
    view = _with_diamond(with_gate(view, gate.id, lambda _: gate), gate, Diamond.FUTURE)
    return _held(view, gate, at, waiting=False)


CHANGES: dict[type[Event], Change] = {
    GateOpened: _gate_opened,
    GateAnswered: _gate_answered,
    GateResolved: _gate_resolved,
    GateTimedOut: _gate_timed_out,
    GateExpired: _gate_expired,
}
