"""Applying events: the table of runs first, then the change of each event."""

import pytest

from phaseloop.core.call_events import ToolCallStarted
from phaseloop.core.errors import IllegalMove
from phaseloop.core.events import EVENT_TYPES
from phaseloop.core.limits import Limits
from phaseloop.core.machine import APPLY, evolve, evolve_all, fold
from phaseloop.core.process import FLAT
from phaseloop.core.run_events import NoteAdded, RunCompleted, RunStarted, SnapshotTaken, Who
from phaseloop.core.state import RunState
from phaseloop.core.statuses import RunStatus
from tests.core.player import Player, World, plan, read, think, write

BEGUN = (RunStarted("Do it"), SnapshotTaken(FLAT, Limits()))
UNCHANGING = {  # facts for people and for the page: no decision depends on them
    "RunPaused",
    "LimitReached",
    "BudgetNeared",
    "NoteAdded",
    "PlanRepaired",
    "SubprocessCompleted",
}


def test_every_event_changes_the_state_or_is_known_to_inform_only():
    assert {t.__name__ for t in EVENT_TYPES} - {t.__name__ for t in APPLY} == UNCHANGING


def test_an_event_in_the_wrong_status_is_refused():
    with pytest.raises(IllegalMove, match="RunCompleted is not allowed while the run is created"):
        evolve(RunState(), RunCompleted(), 1)
    done = evolve_all(RunState(), (*BEGUN, RunCompleted()), 5)
    with pytest.raises(IllegalMove):
        evolve(done, ToolCallStarted("c1", "look", "k"), 6)
    assert done.facts.ended_at == 5


def test_a_note_changes_nothing():
    state = evolve_all(RunState(), BEGUN, 1)
    assert evolve(state, NoteAdded("hello", Who("ann")), 2) == state


def test_a_fold_of_the_history_is_the_live_state_and_may_go_on_from_any_place():
    player = Player(World(plan=lambda r: plan(read("a"), write("b", "a", room="1"), think("c", "b"))))
    state = player.run()
    assert state.status is RunStatus.COMPLETED
    assert fold(player.log) == state
    for cut in range(len(player.log)):
        assert fold(player.log[cut:], fold(player.log[:cut])) == state


def test_the_same_event_gives_the_same_state_and_leaves_the_old_one_alone():
    state = evolve(RunState(), BEGUN[0], 1)
    kept = repr(state)
    assert evolve(state, BEGUN[1], 2) == evolve(state, BEGUN[1], 2)
    assert repr(state) == kept
