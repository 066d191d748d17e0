"""The tables of legal moves, cell by cell."""

import pytest

from phaseloop.core.errors import IllegalMove
from phaseloop.core.events import EVENT_TYPES
from phaseloop.core.moves import ACTIVITY_MOVES, CALL_MOVES, GATE_MOVES, PHASE_MOVES, RUN_MOVES, move
from phaseloop.core.statuses import ActivityStatus, CallStatus, GateStatus, PhaseStatus, RunStatus

NAMES = [event_type.__name__ for event_type in EVENT_TYPES]
TABLES = {
    "run": (RUN_MOVES, RunStatus, RunStatus.CREATED),
    "phase": (PHASE_MOVES, PhaseStatus, PhaseStatus.PENDING),
    "activity": (ACTIVITY_MOVES, ActivityStatus, ActivityStatus.PENDING),
    "call": (CALL_MOVES, CallStatus, CallStatus.WAITING),
    "gate": (GATE_MOVES, GateStatus, GateStatus.OPEN),
}
STARTS = (
    "ActivityStarted",
    "ToolCallStarted",
    "ModelCallStarted",
    "PhaseStarted",
    "PhaseAdvanced",
    "SubprocessStarted",
)
CELLS = {  # the moves of contract 9 and behaviours 2.9, written again by hand: from, event, to
    ("created", "RunStarted", "running"),
    ("running", "RunPaused", "paused"),
    ("paused", "RunResumed", "running"),
    ("running", "RunCompleted", "completed"),
    ("running", "RunFailed", "failed"),
    ("running", "RunCancelled", "cancelled"),
    ("paused", "RunCancelled", "cancelled"),
    ("paused", "RunFailed", "failed"),
    ("failed", "RunReopened", "running"),
}


@pytest.mark.parametrize("name", TABLES)
def test_every_cell_is_a_move_of_the_table_or_refused(name):
    table, statuses, _ = TABLES[name]
    events = {event for row in table.values() for event in row} | set(NAMES)
    for status in statuses:
        for event in events:
            if event in table[status]:
                assert move(table, status, event, name) is table[status][event]
            else:
                with pytest.raises(IllegalMove, match=f"{event} is not allowed while {name} is {status}"):
                    move(table, status, event, name)


@pytest.mark.parametrize("name", TABLES)
def test_every_status_has_a_row_and_can_be_reached(name):
    table, statuses, first = TABLES[name]
    assert set(table) == set(statuses)
    reached, todo = {first}, [first]
    while todo:
        for to in table[todo.pop()].values():
            if to not in reached:
                reached.add(to)
                todo.append(to)
    assert reached == set(statuses)


def test_every_event_is_used_by_the_table_of_runs_and_only_events_are():
    used = {event for row in RUN_MOVES.values() for event in row}
    assert used == set(NAMES)


def test_a_run_changes_its_status_by_the_moves_of_the_contract_and_no_others():
    moves = {(a.value, event, b.value) for a, row in RUN_MOVES.items() for event, b in row.items() if a is not b}
    assert moves == CELLS


def test_nothing_starts_while_a_run_is_paused_and_what_is_in_flight_ends():
    paused = RUN_MOVES[RunStatus.PAUSED]
    assert not set(STARTS) & set(paused)
    assert {"ToolCallFinished", "ModelCallFinished", "ActivityCompleted", "ActivityFailed", "PlanUpdated"} <= set(
        paused
    )


@pytest.mark.parametrize("status", [RunStatus.COMPLETED, RunStatus.CANCELLED])
def test_a_run_that_is_over_takes_notes_only(status):
    assert set(RUN_MOVES[status]) == {"NoteAdded"}


def test_what_is_done_is_never_left():
    assert ACTIVITY_MOVES[ActivityStatus.COMPLETED] == ACTIVITY_MOVES[ActivityStatus.SKIPPED] == {}
    assert CALL_MOVES[CallStatus.FINISHED] == {}
    assert set(PHASE_MOVES[PhaseStatus.COMPLETED]) == {"PhaseReopened"}
