"""Gates and diamonds in the view."""

from dataclasses import replace

import pytest

from phaseloop.core.gate_events import GateAnswered, GateExpired, GateOpened, GateResolved, GateTimedOut
from phaseloop.core.plan import Step
from phaseloop.core.plan_events import PlanUpdated
from phaseloop.core.process import GateKind, GateMode
from phaseloop.core.run_events import PhaseStarted, RunStarted, Who
from phaseloop.core.view_gate_changes import gate_of, guards_exit
from phaseloop.core.view_rows import Diamond, GateState, PhaseState, RowState, RunState, elapsed
from phaseloop.core.view_run import find_row, open_gates
from phaseloop.core.views import view
from tests.sales_story import START, Story, begun, opening, waiting

TOOL = GateOpened(
    "g1", 1, GateKind.TOOL_APPROVAL, "s1", GateMode.APPROVE, "Run it?", step_id="s1", call_id="c1", phase_id="p"
)


def step_at_work() -> Story:
    story = Story().tell(0, RunStarted("g"), PhaseStarted("p"))
    plan = PlanUpdated("p", 1, "g", (Step("s1", "a"), Step("s2", "b")))
    return story.tell(1, plan, begun("s1"))


def test_diamonds_tell_automatic_answered_open_and_future_gates_apart():
    shown = view(waiting().history)
    assert [phase.diamond for phase in shown.phases] == [
        Diamond.AUTO,
        Diamond.ANSWERED,
        Diamond.OPEN,
        Diamond.FUTURE,
        Diamond.FUTURE,
    ]
    assert shown.phases[2].state is PhaseState.WAITING


def test_the_wait_at_a_gate_is_measured():
    gate = gate_of(view(opening().history), "g2")
    assert (gate.state, gate.user, gate.edits, elapsed(gate.waited, 0)) == (GateState.ANSWERED, "Kai", 1, 74_000)


def test_an_automatic_pass_names_its_rule():
    gate = gate_of(view(opening().history), "g1")
    assert (gate.state, gate.by, gate.rule) == (GateState.AUTO, "auto_pass", "confidence >= 0.9")


@pytest.mark.parametrize("outcome", ["reject", "revise", "return_to", "none_of_these", "cancel"])
def test_a_no_leaves_the_way_shut(outcome):
    story = waiting().tell(300, GateResolved("g3", "human_design_approval", outcome, user="Kai"))
    assert view(story.history).phases[2].diamond is Diamond.FUTURE


def test_a_gate_asked_again_is_the_same_gate_and_its_wait_goes_on_adding_up():
    story = waiting().tell(221, GateResolved("g3", "human_design_approval", "reject", user="Kai"))
    again = replace(waiting().history[-1].event, version=2)
    shown = view(story.tell(300, again).history)
    gate = gate_of(shown, "g3")
    assert (len(shown.gates), gate.version, gate.state, gate.opened_at) == (3, 2, GateState.OPEN, START + 211_000)
    assert elapsed(gate.waited, START + 305_000) == 15_000
    assert shown.phases[2].diamond is Diamond.OPEN


def test_a_question_in_one_step_leaves_its_sibling_running():
    story = step_at_work().tell(2, begun("s2"), TOOL)
    shown = view(story.history)
    assert (shown.state, find_row(shown, "s1").state) == (RunState.RUNNING, RowState.WAITING)
    assert shown.focus_id == "g1"


def test_a_run_waits_when_nothing_else_can_run_and_goes_on_after_the_answer():
    story = step_at_work().tell(2, TOOL)
    assert view(story.history).state is RunState.WAITING
    shown = view(story.tell(9, GateResolved("g1", "s1", "approve", user="kai")).history)
    assert (shown.state, find_row(shown, "s1").state, shown.focus_id) == (RunState.RUNNING, RowState.RUNNING, "s1")


def test_a_tool_question_is_no_diamond():
    gate = gate_of(view(step_at_work().tell(2, TOOL).history), "g1")
    assert not guards_exit(gate)


def test_votes_are_kept_until_enough_are_there():
    story = step_at_work().tell(2, replace(TOOL, required=2), GateAnswered("g1", 1, "approve", Who("kai")))
    gate = gate_of(view(story.history), "g1")
    assert ([vote.user for vote in gate.votes], gate.state) == (["kai"], GateState.OPEN)


def test_a_deadline_counts_the_asks_and_an_expired_gate_is_over():
    story = waiting().tell(300, GateTimedOut("g3", "ask_again", 2))
    assert gate_of(view(story.history), "g3").asks == 2
    shown = view(story.tell(301, GateExpired("g3", "the phase began again")).history)
    assert (gate_of(shown, "g3").state, shown.phases[2].diamond, open_gates(shown)) == (
        GateState.EXPIRED,
        Diamond.FUTURE,
        (),
    )


def test_words_about_unknown_gates_change_nothing():
    story = step_at_work().tell(
        2, GateResolved("g9", "x", "approve"), GateExpired("g9", "x"), GateAnswered("g9", 1, "a", Who("k"))
    )
    assert view(story.history).gates == ()
