"""Deciding: the facts of an answer, then their closure; rulings are pure."""

from phaseloop.core.answers import StepReturned
from phaseloop.core.asks import ChildWanted, ModelCallWanted, Serve, ToolCallWanted, Wait
from phaseloop.core.decide import decide, receive, rule
from phaseloop.core.machine import evolve_all
from phaseloop.core.words import AddNote
from tests.core.player import ANN, Player, World, plan, think


def begun():
    player = Player(World(plan=lambda r: plan(think("a"), think("b", "a"))))
    player.drive()
    player.reconcile()
    player.turn(player.ready())
    return player


def test_the_facts_of_an_answer_come_with_all_that_follows_from_the_state():
    state = begun().state
    events, after = decide(state, StepReturned("s1", 1, "x"), 9)
    assert [type(e).__name__ for e in events] == ["ActivityCompleted", "ActivityStarted"]
    assert evolve_all(state, events, 9) == after
    assert decide(after, None, 9) == ((), after), "the closure is closed"


def test_a_person_who_speaks_adds_their_own_fact_only():
    state = begun().state
    assert [type(e).__name__ for e in receive(state, AddNote(ANN, "x"), 1)] == ["NoteAdded"]


def test_a_ruling_is_pure_and_changes_nothing():
    player = begun()
    asks = (
        ToolCallWanted("s1", 1, 0, 0, "look", {}),
        ModelCallWanted("step/s1/1", 1, "executor", "m"),
        ChildWanted("s1", 1, "kid", "d"),
    )
    before = repr(player.state)
    for ask in asks:
        assert rule(player.state, ask) == rule(player.state, ask) == Wait()
    assert repr(player.state) == before
    assert rule(player.state, ChildWanted("s9", 1, "kid", "d")) == Serve("failed", "the step is over")
