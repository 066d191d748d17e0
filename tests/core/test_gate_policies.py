"""Gates: outcomes by mode, versions, keys, votes, time-outs (contract section 9, behaviours 2.7)."""

import pytest

from phaseloop.core.gate_events import GateResolved, GateTimedOut, TimerSet
from phaseloop.core.gate_policies import policy_value
from phaseloop.core.process import (
    Activity,
    ActivityType,
    Definition,
    GateConfig,
    GateMode,
    NoMatchPolicy,
    Option,
    Phase,
)
from phaseloop.core.run_events import RunCancelled, Who
from phaseloop.core.statuses import GateStatus, RunStatus
from phaseloop.core.tools import ToolSpec
from tests.core.player import Player, World, plan, think

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


def timed(policy, mode=GateMode.CONFIRM, **config):
    player = at_exit(mode, timeout_seconds=60, no_match_policy=policy, options=OPTIONS, schema=FORM, **config)
    opened = player.gate()[1]
    assert player.state.timers == {"g1/1": opened.asked.timeout_at}
    assert opened.asked.timeout_at == opened.opened_at + 60_000
    events = player.fire("g1/1")
    assert isinstance(events[1], GateTimedOut)
    assert events[1].policy == policy
    assert player.fire("g1/1") == (), "a timer fires once"
    return player


def outcome(player):
    done = player.of(GateResolved)[-1]
    assert done.by == "timeout"
    return done.outcome, done.value


def test_wait_keeps_the_gate_open():
    assert timed(NoMatchPolicy.WAIT).gate()[1].status is GateStatus.OPEN


def test_ask_again_asks_up_to_max_asks_and_then_rejects():
    player = timed(NoMatchPolicy.ASK_AGAIN, max_asks=3)
    assert (player.gate()[1].asked.version, player.gate()[1].asks) == (2, 2)
    player.fire("g1/2")
    assert player.gate()[1].asks == 3
    player.fire("g1/3")
    assert outcome(player) == ("revise", None)


@pytest.mark.parametrize(
    ("mode", "config", "said"),
    [
        (GateMode.CONFIRM, {}, ("confirm", None)),
        (GateMode.SELECT, {}, ("select", ["y"])),
        (GateMode.FORM, {}, ("submit", {"n": 3, "t": "draft"})),
        (GateMode.CONFIRM, {"default_outcome": "revise"}, ("revise", None)),
    ],
)
def test_default_answers_with_the_default_outcome_or_the_positive_one(mode, config, said):
    assert outcome(timed(NoMatchPolicy.DEFAULT, mode, **config)) == said


@pytest.mark.parametrize(("mode", "said"), [(GateMode.CONFIRM, "confirm"), (GateMode.APPROVE, "reject")])
def test_approve_passes_the_gate_but_never_one_that_a_person_must_approve(mode, said):
    assert outcome(timed(NoMatchPolicy.APPROVE, mode))[0] == said
    assert outcome(timed(NoMatchPolicy.DEFAULT, mode))[0] == said
    assert outcome(timed(NoMatchPolicy.DEFAULT, mode, default_outcome=mode.value))[0] == said


@pytest.mark.parametrize(
    ("mode", "said"), [(GateMode.CONFIRM, "revise"), (GateMode.SELECT, "none_of_these"), (GateMode.APPROVE, "reject")]
)
def test_reject_answers_no_with_the_comment_timeout(mode, said):
    player = timed(NoMatchPolicy.REJECT, mode)
    assert outcome(player)[0] == said
    assert player.of(GateResolved)[-1].comment == "timeout"


def test_escalate_asks_somebody_else_once_and_then_rejects():
    player = timed(NoMatchPolicy.ESCALATE, escalate_to="boss")
    assert player.gate()[1].asked.approvers == ("boss",)
    assert [t.timer_id for t in player.of(TimerSet)] == ["g1/1", "g1/2"]
    player.fire("g1/2")
    assert outcome(player)[0] == "revise"


def test_cancel_by_time_out_cancels_the_run():
    player = timed(NoMatchPolicy.CANCEL)
    assert player.state.status is RunStatus.CANCELLED
    assert player.of(RunCancelled)[0].by.via == "policy"


def test_a_timer_of_an_answered_gate_is_gone():
    player = at_exit(timeout_seconds=60)
    player.answer("confirm")
    assert player.state.timers == {}
    player.fire("g1/1")
    assert "TimerFired" not in player.names()


def test_the_answer_of_a_policy_is_the_recommended_or_the_only_option():
    gate = at_exit(GateMode.SELECT, options=OPTIONS).gate()[1]
    assert policy_value(gate, "select") == ["y"]
    assert policy_value(at_exit(GateMode.SELECT, options=OPTIONS[:1]).gate()[1], "select") == ["x"]
    assert policy_value(gate, "confirm") is None
