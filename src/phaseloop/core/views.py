"""What the screen shows: a second fold over the same events, the twin of the page's reducer."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, Protocol

from phaseloop.core import view_gate_changes, view_phase_changes, view_row_changes, view_run_changes
from phaseloop.core.events import Event
from phaseloop.core.process import GateKind
from phaseloop.core.view_rows import ACTIVE, PhaseState, RunState, started, stopped
from phaseloop.core.view_run import PhaseView, View, activities, current_phase, find_row, open_gates

CHANGES: dict[type[Event], Callable[[View, Any, int], View]] = {
    **view_run_changes.CHANGES,
    **view_phase_changes.CHANGES,
    **view_row_changes.CHANGES,
    **view_gate_changes.CHANGES,
}


class Placed(Protocol):
    """An event with its place and moment, as a log returns it."""

    @property
    def seq(self) -> int: ...

    @property
    def at(self) -> int: ...

    @property
    def event(self) -> Event: ...


def apply(view: View, recorded: Placed) -> View:
    """The view after `recorded`; a late or doubled event, one that is not the next, changes nothing."""
    if recorded.seq != view.seq + 1:
        return view
    change = CHANGES.get(type(recorded.event))
    changed = view if change is None else change(view, recorded.event, recorded.at)
    return _settled(replace(changed, seq=recorded.seq, at=recorded.at))


def view(history: Iterable[Placed]) -> View:
    """The view of a whole history, or of any prefix of it."""
    shown = View()
    for recorded in history:
        shown = apply(shown, recorded)
    return shown


def state_of(view: View) -> RunState:
    """The run's state; it waits when a gate is open and nothing else can run (contract section 9)."""
    if view.ending is not None:
        return view.ending.state
    if view.state is RunState.CREATED:
        return RunState.CREATED
    if view.paused_by:
        return RunState.PAUSED
    if not open_gates(view):
        return RunState.RUNNING
    phase = current_phase(view)
    busy = phase is not None and any(row.state in ACTIVE for row in activities(phase))
    return RunState.RUNNING if busy else RunState.WAITING


def focus_of(view: View) -> str:
    """The one focus: an open gate of the current phase, else the present focus while it is being worked on,
    else the first such row, else the row the focus is on. `ui/spec.md` section 6, rule 1.
    """
    for gate in open_gates(view):
        if gate.phase_id in ("", view.current) or gate.kind == GateKind.BLOCKED:
            return gate.id
    phase = current_phase(view)
    if phase is None:
        return ""
    rows = {row.id: row for row in activities(phase)}
    present = rows.get(view.focus_id)
    if present is not None and present.state in ACTIVE:
        return present.id
    working = next((row.id for row in rows.values() if row.state in ACTIVE), "")
    return working or (present.id if present is not None else "")


def _settled(view: View) -> View:
    """What follows from the rest: the run's state, its clocks, the state of the current phase, the focus."""
    view = replace(view, state=state_of(view))
    tick = started if view.state is RunState.RUNNING else stopped
    view = replace(view, meters=replace(view.meters, active=tick(view.meters.active, view.at)))
    asked = {gate.phase_id for gate in open_gates(view)}

    def settle(phase: PhaseView) -> PhaseView:
        if phase.state not in (PhaseState.ACTIVE, PhaseState.WAITING):
            return phase
        state = PhaseState.WAITING if phase.phase_id in asked else PhaseState.ACTIVE
        clock = tick(phase.active, view.at) if phase.phase_id == view.current else stopped(phase.active, view.at)
        return replace(phase, state=state, active=clock)

    view = replace(view, phases=tuple(settle(phase) for phase in view.phases))
    return replace(view, focus_id=_failed_row(view) or focus_of(view))


def _failed_row(view: View) -> str:
    """The row that ended a failed run, which the screen selects (`ui/spec.md` section 4.6)."""
    if view.ending is None or not view.ending.activity_id:
        return ""
    row = find_row(view, "", view.ending.activity_id)
    return row.id if row else ""
