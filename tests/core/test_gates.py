"""Gates: outcomes by mode, versions, keys, votes, time-outs (contract section 9, behaviours 2.7)."""

import pytest

from phaseloop.core.asks import ToolCallWanted
from phaseloop.core.errors import AnswerRefused
from phaseloop.core.gate_events import GateAnswered, GateExpired, GateOpened, GateResolved
from phaseloop.core.gates import KIND_OUTCOMES, OUTCOMES, shown_value
from phaseloop.core.limits import Limits
from phaseloop.core.machine import fold
from phaseloop.core.plan_events import ActivityCompleted, ActivityResumed, PlanUpdated
from phaseloop.core.process import (
    Activity,
    ActivityType,
    Definition,
    GateConfig,
    GateMode,
    Option,
    Phase,
)
from phaseloop.core.run_events import LimitReached, RunCancelled, RunFailed, Who
from phaseloop.core.state import open_gates
from phaseloop.core.statuses import RunStatus
from phaseloop.core.tools import ToolSpec
from phaseloop.core.words import Answered, Cancel, Pause, Reopen
from tests.core.player import ANN, Player, World, plan, think, write

BOB, EVE = Who("bob", "page", ("boss",)), Who("eve", "api")
TWO = (ToolSpec("book", conflict_key="room:{room}"), ToolSpec("act", approval=True))
OPTIONS = (Option("x", "X"), Option("y", "Y", recommended=True))
FORM = {"type": "object", "properties": {"n": {"type": "integer", "default": 3}, "t": {}}, "required": ["n"]}


def at_exit(mode=GateMode.CONFIRM, limits=None, by=None, **config):
    """A run that stands at its exit gate."""
    gate = Activity("ok", ActivityType.HUMAN, gate=GateConfig(human_mode=mode, **config))
    outputs = () if mode is GateMode.FORM else ("page",)  # a form alone would make the only output
    phase = Phase("p1", exit_human_activity_id="ok", produced_outputs=outputs)
    world = World(plan=lambda r: plan(think("a")), step=lambda e: {"t": "draft"})
    player = Player(world, Definition("d", phases=(phase,), activities=(gate,)), limits=limits, by=by)
    player.run()
    assert player.gate("exit")
    return player


def refused(player, *args, status, match, **more):
    before = len(player.log)
    with pytest.raises(AnswerRefused, match=match) as caught:
        player.answer(*args, gate="g1", **more)
    assert caught.value.status == status
    assert len(player.log) == before
    return caught.value


@pytest.mark.parametrize("mode", GateMode)
def test_each_mode_takes_its_outcomes_and_no_others(mode):
    player = at_exit(mode, options=OPTIONS, schema=FORM)
    asked = player.gate()[1].asked
    assert asked.outcomes == OUTCOMES[mode]
    others = {o for outs in (*OUTCOMES.values(), *KIND_OUTCOMES.values()) for o in outs} - set(asked.outcomes)
    for outcome in sorted(others):
        refused(player, outcome, status=422, match="is no outcome here; it takes")


POSITIVES = [
    (GateMode.CONFIRM, "confirm", None),
    (GateMode.SELECT, "select", ["x"]),
    (GateMode.SELECT, "select", "y"),
    (GateMode.SELECT, "other", {"text": "z"}),
    (GateMode.FORM, "submit", {"n": 1}),
    (GateMode.APPROVE, "approve", None),
]


@pytest.mark.parametrize(("mode", "outcome", "value"), POSITIVES)
def test_a_positive_answer_completes_the_activity_and_the_run_goes_on(mode, outcome, value):
    player = at_exit(mode, options=OPTIONS, schema=FORM)
    events = player.answer(outcome, value)
    assert [type(e) for e in events] == [GateAnswered, GateResolved, ActivityCompleted]
    assert player.run().status is RunStatus.COMPLETED


NEGATIVES = [
    (GateMode.CONFIRM, "revise"),
    (GateMode.SELECT, "none_of_these"),
    (GateMode.FORM, "revise"),
    (GateMode.APPROVE, "reject"),
]


@pytest.mark.parametrize(("mode", "outcome"), NEGATIVES)
def test_a_wish_for_changes_needs_a_comment_and_plans_the_phase_again_with_it(mode, outcome):
    player = at_exit(mode, options=OPTIONS, schema=FORM)
    refused(player, outcome, status=422, match="needs a comment")
    refused(player, outcome, comment="  ", status=422, match="needs a comment")
    events = player.answer(outcome, comment="bigger")
    assert isinstance(events[-1], ActivityResumed)
    player.run()
    updated = player.of(PlanUpdated)[-1]
    assert (updated.reason, updated.trigger) == ("human", "bigger")
    assert player.state.replans == 0, "people's revisions are no re-plans"
    assert player.gate()[1].asked.version == 2
    assert player.gate()[1].asked.request_id == "g1"


@pytest.mark.parametrize("mode", GateMode)
def test_cancel_ends_the_run_in_every_mode(mode):
    player = at_exit(mode, options=OPTIONS, schema=FORM)
    player.answer("cancel", comment="stop")
    assert player.state.status is RunStatus.CANCELLED
    assert player.of(RunCancelled)[0].reason == "stop"
    assert not open_gates(player.state)
    refused(player, "cancel", status=410, match="over")


def test_the_first_valid_answer_wins_and_a_later_one_hears_who_won():
    player = at_exit()
    player.answer("confirm")
    error = refused(player, "confirm", by=BOB, status=409, match="already answered by ann: confirm")
    assert error.gate_id == "g1"


def test_an_equal_key_is_answered_with_the_first_result_also_after_the_gate_was_asked_again():
    player = at_exit()
    player.answer("revise", comment="more", key="k1")
    assert player.answer("revise", comment="more", key="k1", gate="g1") == ()
    player.run()
    assert player.word(Answered("g1", 1, "revise", ANN, comment="more", key="k1")) == ()
    assert player.gate()[1].asked.version == 2


def test_an_answer_to_an_old_version_is_refused():
    player = at_exit()
    player.answer("revise", comment="more")
    player.run()
    with pytest.raises(AnswerRefused, match="version 1, the question is at version 2") as caught:
        player.word(Answered("g1", 1, "confirm", ANN))
    assert caught.value.status == 409


def test_an_unknown_gate_is_not_found():
    with pytest.raises(AnswerRefused) as caught:
        at_exit().word(Answered("g9", 1, "confirm", ANN))
    assert caught.value.status == 404


def test_n_of_m_people_must_agree_each_once_and_one_no_is_enough():
    player = at_exit(required=2)
    assert [type(e) for e in player.answer("confirm")] == [GateAnswered]
    refused(player, "confirm", status=409, match="ann has voted already")
    assert isinstance(player.answer("confirm", by=BOB)[1], GateResolved)
    player = at_exit(required=3)
    player.answer("confirm")
    assert isinstance(player.answer("revise", comment="no", by=BOB)[1], GateResolved)
    player.run()
    assert [type(e) for e in player.answer("confirm", by=BOB)] == [GateAnswered], "votes count per version"


def test_who_may_answer_is_said_by_name_or_role():
    player = at_exit(approvers=("boss", "eve"))
    refused(player, "confirm", status=403, match="ann may not answer; it takes boss, eve")
    assert player.answer("confirm", by=BOB)
    assert at_exit(approvers=("boss", "eve")).answer("confirm", by=EVE)


def test_who_started_the_run_may_not_approve_it_where_duties_are_separate():
    player = at_exit(separation_of_duties=True, by=ANN)
    refused(player, "confirm", status=403, match="ann started the run")
    assert player.answer("confirm", by=BOB)


@pytest.mark.parametrize("value", ["z", ["x", "z"], [], None])
def test_a_choice_must_be_one_of_the_options(value):
    refused(at_exit(GateMode.SELECT, options=OPTIONS), "select", value, status=422, match="is none of x, y")


def test_return_to_needs_a_phase_that_has_begun():
    player = at_exit(GateMode.APPROVE)
    refused(player, "return_to", "p9", status=422, match="return_to needs the id of a phase that has begun: p1")
    player.answer("return_to", "p1", comment="again")
    player.run()
    assert player.of(PlanUpdated)[-1].reason == "human"


def test_edited_arguments_must_be_an_object():
    player = Player(World(plan=lambda r: plan(write("a", tool="act"))), tools=(ToolSpec("act", approval=True),))
    player.run()
    refused(player, "approve", "n", status=422, match="must be an object")


def test_five_changes_are_taken_and_the_sixth_ends_the_run_until_a_person_raises_the_limit():
    player = at_exit()
    for _ in range(5):
        player.answer("revise", comment="more")
        player.run()
    player.answer("revise", comment="once more")
    assert player.of(LimitReached)[-1] == LimitReached("revisions", 5, 6, "ok")
    assert player.of(RunFailed)[-1].code == "revisions_exhausted"
    player.word(Reopen(ANN, "", {"revisions": 1}))
    player.run()
    assert player.of(PlanUpdated)[-1].trigger == "once more"
    assert player.gate()[1].asked.version == 7


def test_an_edited_value_is_counted_as_an_edit():
    player = at_exit()
    assert shown_value(player.gate()[1]) == {"t": "draft"}
    assert player.answer("confirm", {"t": "edited"})[1].edits == 1
    assert at_exit().answer("confirm", {"t": "draft"})[1].edits == 0


def test_a_paused_run_takes_answers_and_goes_on_when_it_is_resumed():
    player = at_exit()
    player.word(Pause(ANN))
    player.answer("confirm")
    assert player.run().status is RunStatus.PAUSED


def test_cancelling_a_run_expires_its_questions_and_lists_writes_without_an_end():
    player = Player(World(plan=lambda r: plan(write("a", room="1"), write("b", tool="act"))), tools=TWO)
    player.drive()
    player.reconcile()
    player.turn(player.ready())
    player.post(ToolCallWanted("s2", 1, 0, 0, "act", {}))
    player.post(ToolCallWanted("s1", 1, 0, 0, "book", {"room": "1"}, locked="room:1"))
    player.word(Cancel(ANN, "enough"))
    assert [e.reason for e in player.of(GateExpired)] == ["the run was cancelled"]
    assert player.of(RunCancelled)[0].in_doubt == ("c2",)
    assert fold(player.log) == player.state


def test_gates_are_numbered_through_the_run_and_limits_may_be_lower():
    player = at_exit(limits=Limits(revisions_per_gate=0))
    player.answer("revise", comment="x")
    assert player.state.status is RunStatus.FAILED
    assert [e.request_id for e in player.of(GateOpened)] == ["g1"]
