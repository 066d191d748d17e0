"""The state machine: `evolve` applies one event, `fold` a history. Pure; the tables are in `moves`."""

from collections.abc import Callable, Iterable
from typing import Any, Protocol

from phaseloop.core import machine_calls, machine_gates, machine_plans, machine_runs
from phaseloop.core.changes import replace
from phaseloop.core.events import Event
from phaseloop.core.moves import RUN_MOVES, move
from phaseloop.core.state import RunState

Apply = Callable[[RunState, Any, int], RunState]

APPLY: dict[type[Event], Apply] = {
    **machine_runs.APPLY,
    **machine_plans.APPLY,
    **machine_calls.APPLY,
    **machine_gates.APPLY,
}


class Dated(Protocol):
    """An event with its moment, as a log returns it."""

    @property
    def at(self) -> int: ...

    @property
    def event(self) -> Event: ...


def evolve(state: RunState, event: Event, at: int) -> RunState:
    """The state after `event` at `at` (milliseconds). Same arguments, same answer. Raises `IllegalMove`."""
    status = move(RUN_MOVES, state.status, type(event).__name__, "the run")
    if status is not state.status:
        state = replace(state, status=status)
    apply = APPLY.get(type(event))
    return state if apply is None else apply(state, event, at)


def evolve_all(state: RunState, events: Iterable[Event], at: int) -> RunState:
    """The state after events of one moment."""
    for event in events:
        state = evolve(state, event, at)
    return state


def fold(history: Iterable[Dated], state: RunState | None = None) -> RunState:
    """Rebuild a state from its history."""
    state = RunState() if state is None else state
    for dated in history:
        state = evolve(state, dated.event, dated.at)
    return state
