"""The facts of each kind of answer."""

from typing import get_args

import pytest

from phaseloop.core.answers import (
    Answer,
    Begin,
    BreakerMoved,
    ChildEnded,
    ConditionKnown,
    Drive,
    ModelReplied,
    StepRaised,
    StepReturned,
)
from phaseloop.core.asks import ChildWanted, ModelCallWanted
from phaseloop.core.call_events import HistoryDiverged
from phaseloop.core.decide import rule
from phaseloop.core.errors import WrongUse
from phaseloop.core.limits import Limits
from phaseloop.core.plan import Step
from phaseloop.core.plan_events import PlanUpdated, SubprocessCompleted, SubprocessStarted
from phaseloop.core.process import FLAT, Activity, ActivityType, Definition, Phase
from phaseloop.core.reactions import REACT
from phaseloop.core.run_events import LimitRaised, NoteAdded, RunStarted
from phaseloop.core.state import RunStatus
from phaseloop.core.words import AddNote, Cancel, CatalogueMoved, Pause, RaiseLimit, Reopen, Resume
from tests.core.player import ANN, TOOLS, Player, World, plan, think


def kinds(union):
    for kind in get_args(union):
        yield from kinds(kind) if get_args(kind) else (kind,)


def test_every_answer_has_its_reaction():
    assert set(REACT) >= set(kinds(Answer))


def done(**world):
    player = Player(World(**world))
    player.run()
    return player


def failed(limits=None):
    player = Player(World(plan=lambda r: Exception("no")), limits=limits)
    player.run()
    assert player.state.status is RunStatus.FAILED
    return player


def test_a_run_begins_once_with_what_it_started_from():
    player = Player(goal="A long goal " * 10, inputs={"x": 1}, by=ANN, mode="design")
    started = player.of(RunStarted)[0]
    assert (started.title, started.inputs, started.by, started.mode) == (
        ("A long goal " * 10)[:60],
        {"x": 1},
        ANN,
        "design",
    )
    assert started.phases[0].phase_id == "phase_default"
    assert player.post(Begin("other", FLAT, Limits())) == ()


def test_no_drive_of_a_run_that_is_over_or_has_not_begun():
    player = done()
    assert player.post(Drive("w")) == ()
    assert REACT[Drive](type(player.state)(), Drive("w"), 1) == ()


@pytest.mark.parametrize(
    ("word", "why"),
    [
        (Pause(ANN), "only a running run can be paused; this one is completed"),
        (Resume(ANN), "only a paused run can be resumed; this one is completed"),
        (Cancel(ANN), "the run is completed already"),
        (Reopen(ANN), "only a failed run can be reopened; this one is completed"),
        (RaiseLimit(ANN, "task_replans", 1), "the run is completed; its limits decide nothing any more"),
        (
            RaiseLimit(ANN, "fun", 1),
            "'fun' is no limit that can be raised; these are: task_replans, step_retries, revisions",
        ),
    ],
)
def test_a_word_that_cannot_be_taken_says_why(word, why):
    player = done()
    with pytest.raises(WrongUse, match=why.replace("(", r"\(")):
        player.word(word)


def test_a_note_is_taken_at_any_time():
    player = done()
    player.word(AddNote(ANN, "well done"))
    assert player.of(NoteAdded)[0].text == "well done"


def test_a_failed_run_goes_on_with_more_room():
    plans = [Exception("no"), Exception("no"), plan(think("a"))]
    player = Player(World(plan=lambda r: plans.pop(0)))
    player.run()
    with pytest.raises(WrongUse, match="'fun' is no limit"):
        player.word(Reopen(ANN, "", {"fun": 1}))
    player.word(Reopen(ANN, "try again", {"task_replans": 1, "step_retries": 2}))
    assert (player.state.limits.replans, player.state.limits.step_retries) == (3, 5)
    assert player.run().status is RunStatus.COMPLETED
    assert player.of(PlanUpdated)[0].trigger == "try again"


def test_a_limit_is_raised_by_so_much():
    player = failed()
    player.word(RaiseLimit(ANN, "revisions", 2))
    assert player.state.limits.revisions_per_gate == 7
    assert player.of(LimitRaised)[0].by is ANN


def test_a_catalogue_that_is_the_same_moves_nothing():
    player = Player()
    assert player.post(CatalogueMoved(TOOLS)) == ()
    assert player.post(CatalogueMoved(TOOLS[:1]))
    assert list(player.state.facts.tools) == ["look"]


def test_a_breaker_that_stands_where_it_stood_is_no_fact():
    player = Player()
    assert player.post(BreakerMoved("look", is_open=False)) == ()
    assert player.post(BreakerMoved("look", is_open=True))
    assert player.state.broken_tools == ("look",)
    assert player.post(BreakerMoved("look", is_open=True)) == ()
    player.post(BreakerMoved("look", is_open=False))
    assert player.state.broken_tools == ()
    assert done().post(BreakerMoved("look", is_open=True)) == ()


def test_a_condition_is_known_once_and_only_while_somebody_asks():
    condition = ConditionKnown("phase:p2", "x", True)
    assert done().post(condition) == ()
    assert failed().post(condition) == ()
    player = Player(definition=Definition("d", phases=(Phase("p1", entry_condition="x"),)))
    player.drive()
    assert player.post(condition) == ()
    assert player.post(ConditionKnown("phase:p1", "x", True))
    assert player.post(ConditionKnown("phase:p1", "x", False)) == ()


def test_a_step_that_ends_before_its_record_diverges():
    player = Player(World(plan=lambda r: plan(think("a"))))
    player.drive()
    player.reconcile()
    player.turn(player.ready())
    player.post(ModelCallWanted("step/s1/1", 1, "executor", "m", step_id="s1"))
    player.post(ModelReplied("step/s1/1", 1, {}))
    player.post(StepReturned("s1", 1, "x", replies=0))
    assert [(e.what, e.recorded, e.asked) for e in player.of(HistoryDiverged)] == [
        ("ended before the record", "1", "0")
    ]
    assert player.post(StepRaised("s1", 1, "late")) == ()


CHILD = Activity("sub", ActivityType.SUBPROCESS, config={"definitionId": "other", "inputs": {"mine": "x"}})


def with_child(ended, config=None, limits=None):
    activity = CHILD if config is None else Activity("sub", ActivityType.SUBPROCESS, config={**CHILD.config, **config})
    definition = Definition("d", phases=(Phase("p1", auto_advance=True),), activities=(activity,))
    seen = []
    world = World(plan=lambda r: plan(Step("a", "Sub", activity_id="sub")), child=lambda e: seen.append(e) or ended)
    player = Player(world, definition, (), inputs={"x": 7}, limits=limits or Limits(replans=0))
    player.run()
    return player, seen


def over(status="completed", **more):
    return ChildEnded("", 0, "", status, **more)


@pytest.mark.parametrize(
    ("outputs", "artifacts", "output"),
    [
        ({}, {"page": "P"}, "result"),
        ({"mine": "page"}, {"page": "P"}, "P"),
        ({"a": "page", "b": "none"}, {"page": "P"}, {"a": "P", "b": None}),
    ],
)
def test_a_child_gives_its_artefacts_under_the_names_of_the_activity_else_its_result(outputs, artifacts, output):
    player, seen = with_child(over(artifacts=artifacts, result="result"), {"outputs": outputs})
    assert player.state.steps["s1"].output == output
    assert seen[0].inputs == {"mine": 7}
    assert (
        player.of(SubprocessStarted)[0].child_run_id == player.of(SubprocessCompleted)[0].child_run_id == "child-s1-1"
    )


@pytest.mark.parametrize("status", ["failed", "cancelled"])
def test_a_child_that_did_not_end_well_fails_its_step(status):
    player, _ = with_child(over(status, message="why"))
    assert player.state.status is RunStatus.FAILED
    assert f"sub-process child-s1-1 {status}: why" in player.state.failure


def test_a_child_that_waits_parks_its_parent_and_is_entered_again_under_its_id():
    player, seen = with_child(None)
    assert player.state.status is RunStatus.RUNNING
    player.world.child = lambda e: seen.append(e) or over(result="late")
    assert player.run().status is RunStatus.COMPLETED
    assert [e.child_run_id for e in seen] == ["child-s1-1"] * 2 or seen[1].child_run_id == "child-s1-1"
    assert len(player.of(SubprocessStarted)) == 1
    assert rule(player.state, ChildWanted("s1", 1, "x", "other")).value == "the step is over"
    assert player.post(ChildEnded("s1", 1, "another", "completed")) == ()
