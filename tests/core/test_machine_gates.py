"""How gates and timers change with each event."""

import pytest

from phaseloop.core.errors import IllegalMove
from phaseloop.core.gate_events import GateExpired, GateOpened, GateResolved, TimerFired, TimerSet
from phaseloop.core.machine import evolve
from phaseloop.core.machine_gates import CHANGES, POSITIVE
from phaseloop.core.process import GateKind, GateMode
from phaseloop.core.state import CallStatus, GateStatus, PhaseStatus
from phaseloop.core.tools import ToolSpec
from tests.core.player import Player, World, plan, write


def asked(outcome, value=None, comment=""):
    player = Player(World(plan=lambda r: plan(write("a", tool="act", n=1))), tools=(ToolSpec("act", approval=True),))
    player.run()
    assert player.state.calls["c1"].status is CallStatus.WAITING
    done = GateResolved("g1", "s1", outcome, value=value, comment=comment, user="ann")
    return evolve(player.state, done, 9)


def test_an_approval_makes_its_call_ready_with_the_edited_arguments():
    state = asked("approve", {"n": 2})
    assert (state.calls["c1"].status, state.calls["c1"].args) == (CallStatus.READY, {"n": 2})
    assert asked("approve").calls["c1"].args == {"n": 1}


def test_a_refusal_ends_its_call_and_stays_in_the_ledger():
    state = asked("reject", comment="too much")
    call = state.calls["c1"]
    assert (call.status, call.error, call.refused) == (CallStatus.FINISHED, "refused by ann: too much", True)
    assert state.ledger[call.key].outcome == "failed"
    assert not state.steps["s1"].wrote


def test_a_gate_is_answered_once_and_asking_again_keeps_its_id_and_its_revisions():
    state = asked("reject")
    with pytest.raises(IllegalMove, match="gate g1 is resolved"):
        evolve(state, GateResolved("g1", "s1", "approve"), 10)
    again = GateOpened("g1", 2, GateKind.ACTIVITY, "s1", GateMode.CONFIRM)
    gate = evolve(state, again, 11).gates["g1"]
    assert (gate.status, gate.asks, gate.revisions) == (GateStatus.OPEN, 1, 1)


def test_an_expired_gate_lets_go_of_its_call_and_its_timers():
    state = evolve(asked("approve"), GateOpened("g2", 1, GateKind.IN_DOUBT, "s1", GateMode.SELECT, call_id="c1"), 10)
    state = evolve(state, TimerSet("g2/1", 99), 11)
    assert state.calls["c1"].gate_id == "g2"
    state = evolve(state, GateExpired("g2", "over"), 12)
    assert (state.calls["c1"].gate_id, state.timers, state.gates["g2"].comment) == ("", {}, "over")


def test_timers_come_and_go():
    state = evolve(asked("approve"), TimerSet("g1/1", 99), 10)
    assert state.timers == {"g1/1": 99}
    assert evolve(state, TimerFired("g1/1"), 11).timers == {}


def test_a_phase_waits_at_its_gate_and_goes_on_when_it_is_passed():
    player = Player()
    player.drive()
    state = evolve(
        player.state, GateOpened("g1", 1, GateKind.EXIT, "ok", GateMode.CONFIRM, phase_id="phase_default"), 9
    )
    assert state.phase.status is PhaseStatus.AWAITING_HUMAN
    passed = evolve(state, GateResolved("g1", "ok", "confirm", by="timeout"), 10)
    assert (passed.phase.status, passed.phase.passed_by, passed.phase.passed) == (
        PhaseStatus.ACTIVE,
        "timeout",
        ("ok",),
    )
    changed = evolve(state, GateResolved("g1", "ok", "revise", comment="more"), 10)
    assert (changed.phase.trigger, changed.phase.feedback, changed.phase.passed) == ("human", "more", ())
    assert not POSITIVE & CHANGES
