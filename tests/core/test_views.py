"""The second fold."""

import dataclasses

from hypothesis import given, settings

from phaseloop.core.call_events import ToolCallReused
from phaseloop.core.gate_events import GateOpened, TimerSet
from phaseloop.core.plan import ActivityType, Step
from phaseloop.core.plan_events import ActivityPaused, ActivityStarted, PlanUpdated
from phaseloop.core.process import GateKind, GateMode
from phaseloop.core.run_events import PhaseBlocked, PhaseStarted, RunCancelled, RunCompleted, RunFailed, RunStarted, Who
from phaseloop.core.view_rows import RowState, RunState, elapsed
from phaseloop.core.view_run import View, activities, current_phase, open_gates
from phaseloop.core.views import apply, focus_of, state_of, view
from phaseloop.engine.ports import Recorded
from tests.any_history import any_history
from tests.sales_story import START, Story, begun, done, live, waiting


def test_a_fold_in_steps_equals_the_fold_of_the_whole():
    history = waiting().history
    half = view(history[:30])
    for recorded in history[30:]:
        half = apply(half, recorded)
    assert half == view(history)


def test_late_doubled_and_skipping_events_change_nothing():
    history = live().history
    shown = view(history)
    assert apply(shown, history[3]) is shown
    assert apply(shown, history[-1]) is shown
    far = Recorded("r", len(history) + 2, START, RunCancelled(Who("x")))
    assert apply(shown, far) is shown


def test_events_the_screen_does_not_show_still_move_the_place():
    shown = view(Story().tell(0, RunStarted("g"), TimerSet("t", 5), ToolCallReused("c2", "c1", "t", "k")).history)
    assert shown.seq == 3


def test_the_focus_stays_on_a_running_step_while_its_siblings_start_and_end():
    shown = view(live().history)
    assert shown.focus_id == "s6"  # it started first; s5 and s7 did not take the focus
    history = live().tell(170, done("s6", 9)).history
    assert view(history).focus_id == "s5"


def test_an_open_gate_takes_the_focus():
    shown = view(waiting().history)
    assert (shown.focus_id, shown.state, focus_of(shown)) == ("g3", RunState.WAITING, "g3")


def test_a_blocked_phase_takes_the_focus_with_its_question():
    story = Story().tell(0, RunStarted("g"), PhaseStarted("a"), PhaseBlocked("b", "x != null", ("x",)))
    gate = GateOpened("g1", 1, GateKind.BLOCKED, "b", GateMode.SELECT, phase_id="b")
    shown = view(story.tell(1, gate).history)
    assert (shown.focus_id, shown.state, shown.current) == ("g1", RunState.WAITING, "a")


def test_a_question_that_has_begun_does_not_count_as_work():
    story = Story().tell(0, RunStarted("g"), PhaseStarted("p"))
    story.tell(1, ActivityStarted("ask", ActivityType.HUMAN, title="Right?"))
    gate = GateOpened("g1", 1, GateKind.EXIT, "ask", GateMode.CONFIRM, is_exit_gate=True, phase_id="p")
    story.tell(1, gate, ActivityPaused("ask", "human"))
    assert view(story.history).state is RunState.WAITING


def test_there_is_no_focus_and_no_state_before_the_start():
    assert (focus_of(View()), state_of(View())) == ("", RunState.CREATED)


def test_active_time_leaves_the_waiting_out():
    shown = view(waiting().history)
    assert elapsed(shown.meters.active, START + 900_000) == 137_000  # 211 s, 74 s of them at the second gate
    assert elapsed(shown.phases[2].active, START + 900_000) == 97_000


def test_a_phase_change_with_a_step_of_the_old_phase_in_focus_moves_the_focus():
    story = Story().tell(0, RunStarted("g"), PhaseStarted("a"))
    story.tell(1, PlanUpdated("a", 1, "g", (Step("s1", "x"),)), begun("s1"), done("s1"))
    story.tell(2, PhaseStarted("b", 2))
    assert view(story.history).focus_id == ""


@settings(max_examples=60, deadline=None)
@given(any_history())
def test_the_view_can_be_built_from_every_history_and_keeps_its_promises(history):
    shown = view(history)
    assert shown.seq == len(history)
    ids = [row.id for phase in shown.phases for row in phase.rows]
    assert len({phase.phase_id for phase in shown.phases}) == len(shown.phases)
    for phase in shown.phases:
        names = [row.id for row in activities(phase)]
        assert len(names) == len(set(names))
    gates = {gate.id for gate in shown.gates}
    assert shown.focus_id in {"", *ids, *gates}
    assert elapsed(shown.meters.active, shown.at) <= shown.at - history[0].at
    if isinstance(history[-1].event, RunCompleted | RunFailed | RunCancelled):
        assert shown.over
        assert not open_gates(shown)
        current = current_phase(shown)
        busy = {RowState.RUNNING, RowState.RETRYING, RowState.CHECKING, RowState.WAITING}
        assert current is None or not busy & {row.state for row in activities(current)}


def test_the_view_holds_only_plain_frozen_values():
    shown = view(waiting().history)
    assert dataclasses.is_dataclass(shown)
    assert shown.__dataclass_params__.frozen
