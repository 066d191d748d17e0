"""How calls and the ledger change with each event."""

import pytest

from phaseloop.core.answers import ToolReturned
from phaseloop.core.asks import ToolCallWanted
from phaseloop.core.call_events import ToolCallDoubted, ToolCallFinished, ToolCallReused, ToolCallStarted
from phaseloop.core.errors import IllegalMove
from phaseloop.core.machine import evolve
from phaseloop.core.machine_calls import add_stats, number
from phaseloop.core.plan_events import ActivityCompleted, ActivityFailed
from phaseloop.core.run_events import Stats
from phaseloop.core.state import CallStatus
from tests.core.player import Player, World, plan, think

ROOM = {"room": "1"}


def started(tool="book"):
    player = Player(World(plan=lambda r: plan(think("a", tool_hint=tool))))
    player.drive()
    player.reconcile()
    player.turn(player.ready())
    player.post(ToolCallWanted("s1", 1, 0, 0, tool, ROOM, locked="room:1" if tool == "book" else tool))
    assert player.state.calls["c1"].status is CallStatus.STARTED
    return player


def test_a_finished_write_is_in_the_ledger_and_a_read_or_a_failed_write_is_not():
    for tool, outcome, kept in (("book", "ok", 1), ("put", "ok", 1), ("look", "ok", 0), ("book", "failed", 0)):
        state = evolve(started(tool).state, ToolCallFinished("c1", outcome, "x"), 2)
        assert (len(state.ledger), state.steps["s1"].wrote) == (kept, bool(kept))


def test_when_a_step_ends_only_calls_without_an_end_stay():
    player = started()
    doubted = evolve(player.state, ToolCallDoubted("c1", "cut"), 2)
    assert "c1" in evolve(doubted, ActivityFailed("s1", "error", "x", "s1"), 3).calls
    player.post(ToolReturned("c1", "ok", 1))
    assert evolve(player.state, ActivityCompleted("s1", "s1"), 3).calls == {}


def test_a_call_ends_once():
    state = evolve(started().state, ToolCallFinished("c1"), 2)
    for event in (ToolCallFinished("c1"), ToolCallDoubted("c1", "x"), ToolCallStarted("c1", "book", "k")):
        with pytest.raises(IllegalMove, match="call c1 is finished"):
            evolve(state, event, 3)


def test_a_call_that_is_tried_again_counts_its_tries_and_keeps_its_place():
    state = evolve(started().state, ToolCallFinished("c1", "failed", next="again"), 2)
    assert (state.calls["c1"].status, state.calls["c1"].next) == (CallStatus.READY, "again")
    state = evolve(state, ToolCallStarted("c1", "book", state.calls["c1"].key, ROOM), 3)
    assert (state.calls["c1"].tries, state.calls["c1"].next, state.next_call) == (2, "", 2)


def test_a_reused_call_has_the_answer_of_the_first_and_makes_its_step_one_that_wrote():
    state = evolve(started().state, ToolCallFinished("c1", result="booked"), 2)
    state = evolve(state, ToolCallReused("c2", "c1", "book", state.calls["c1"].key, "s1", "s1", 1, 0, 1), 3)
    assert (state.calls["c2"].value, state.calls["c2"].status, state.next_call) == ("booked", CallStatus.FINISHED, 3)


def test_counts_add_up():
    assert add_stats(Stats(1, 2, 3, 0.5, 4, 5, 6), Stats(1, 1, 1, 1.0, 1, 1, 1)) == Stats(2, 3, 4, 1.5, 5, 6, 7)
    assert number("c12") == 12
