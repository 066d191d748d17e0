"""Runs, limits and endings in the view."""

import pytest

from phaseloop.core.events import LimitRaised, NoteAdded
from phaseloop.core.limits import Limits
from phaseloop.core.plan import Step
from phaseloop.core.plan_events import PlanUpdated
from phaseloop.core.process import FLAT
from phaseloop.core.run_events import (
    BudgetNeared,
    DriveStarted,
    PhaseRow,
    PhaseStarted,
    RunCancelled,
    RunCompleted,
    RunFailed,
    RunPaused,
    RunReopened,
    RunResumed,
    RunStarted,
    SnapshotTaken,
    Who,
)
from phaseloop.core.view_rows import Diamond, PhaseState, RowState, RunState, elapsed
from phaseloop.core.view_run import open_gates
from phaseloop.core.view_run_changes import budget_of
from phaseloop.core.views import view
from tests.sales_story import START, Story, begun, live, opening, waiting

KAI = Who("kai", "cli")


def test_the_head_says_who_started_what_with_which_limits():
    shown = view(opening().history)
    assert (shown.title, shown.by, shown.started_at) == ("Sales dashboard page for the Q3 review", "kai", START)
    assert budget_of(shown.meters) == {"tokens": 120_000, "cost_usd": 1.5, "seconds": 1200, "replans": 2}


def test_the_goal_stands_in_for_a_title():
    assert view(Story().tell(0, RunStarted("find it")).history).title == "find it"


def test_a_phase_that_asks_nobody_has_no_diamond():
    rows = (
        PhaseRow("a", "A", 1, auto_advance=True),
        PhaseRow("b", "B", 2),
        PhaseRow("c", "C", 3, exit_human_activity_id="g", auto_advance=True),
    )
    shown = view(Story().tell(0, RunStarted("g", phases=rows)).history)
    assert [phase.diamond for phase in shown.phases] == [Diamond.NONE, Diamond.FUTURE, Diamond.FUTURE]


def test_limits_that_are_no_numbers_are_no_limits():
    shown = view(Story().tell(0, RunStarted("g", budget={"tokens": "many", "seconds": True})).history)
    assert budget_of(shown.meters) == {}


def test_the_caps_of_the_snapshot_fill_in_what_the_budget_leaves_open():
    story = Story().tell(0, RunStarted("g"), SnapshotTaken(FLAT, Limits(replans=3)))
    shown = view(story.history)
    assert (shown.meters.replans_limit, shown.pass_score, shown.replan_score) == (3, 7, 4)
    given = Story().tell(0, RunStarted("g", budget={"replans": 1}), SnapshotTaken(FLAT, Limits(replans=3)))
    assert view(given.history).meters.replans_limit == 1


def test_time_counts_only_while_a_driver_works_and_nobody_is_waited_for():
    shown = view(opening().history)
    assert elapsed(shown.meters.active, shown.at) == 40_000  # 39 s up to the gate, 1 s after the answer


def test_the_gap_between_two_drives_is_not_charged():
    story = Story().tell(0, RunStarted("g"), DriveStarted(1, "w"), PhaseStarted("p"))
    story.tell(2, PlanUpdated("p", 1, "g", (Step("s1", "a"),)), begun("s1"))
    story.tell(5, NoteAdded("still here", KAI)).tell(3600, DriveStarted(2, "w2"))
    shown = view(story.tell(3601, NoteAdded("again", KAI)).history)
    assert elapsed(shown.meters.active, shown.at) == 6000
    assert elapsed(shown.phases[0].rows[0].active, shown.at) == 4000


def test_a_pause_stops_the_clock_and_a_resume_starts_it_again():
    story = Story().tell(0, RunStarted("g")).tell(10, RunPaused(KAI)).tell(60, RunResumed(KAI))
    paused = view(story.history[:2])
    assert (paused.state, paused.paused_by, elapsed(paused.meters.active, START + 50_000)) == (
        RunState.PAUSED,
        "kai",
        10_000,
    )
    resumed = view(story.history)
    assert (resumed.state, elapsed(resumed.meters.active, START + 61_000)) == (RunState.RUNNING, 11_000)


def test_a_raised_limit_adds_and_takes_the_warning_away():
    story = Story().tell(0, RunStarted("g", budget={"tokens": 100})).tell(1, BudgetNeared("tokens", 81, 100))
    assert view(story.history).near == ("tokens",)
    raised = view(story.tell(2, LimitRaised("tokens", 50, KAI)).history)
    assert (raised.near, raised.meters.tokens_limit) == ((), 150)


def test_a_limit_that_was_never_set_stays_unset_when_raised():
    shown = view(Story().tell(0, RunStarted("g"), LimitRaised("tokens", 50, KAI), LimitRaised("odd", 1, KAI)).history)
    assert shown.meters.tokens_limit is None


@pytest.mark.parametrize(
    ("ending", "state", "phase"),
    [
        (RunCompleted(result="ok", warnings=("soft",)), RunState.COMPLETED, PhaseState.DONE),
        (RunFailed("contract_unmet", "no output"), RunState.FAILED, PhaseState.FAILED),
        (RunCancelled(KAI, in_doubt=("c1",)), RunState.CANCELLED, PhaseState.CANCELLED),
    ],
)
def test_an_ending_closes_rows_gates_and_the_phase_and_stops_all_clocks(ending, state, phase):
    shown = view(live().tell(200, ending).history)
    assert (shown.state, shown.ending.state, shown.phases[2].state) == (state, state, phase)
    rows = {row.id: row for row in shown.phases[2].rows}
    assert rows["s5"].state is RowState.CANCELLED
    assert rows["s8"].state is RowState.NOT_STARTED
    assert elapsed(shown.meters.active, START + 900_000) == elapsed(shown.meters.active, shown.at)
    assert elapsed(rows["s6"].active, START + 900_000) == 52_000


def test_a_run_that_ends_at_a_gate_leaves_no_gate_open():
    assert open_gates(view(waiting().tell(300, RunCancelled(KAI)).history)) == ()


def test_the_failed_step_is_selected():
    shown = view(live().tell(200, RunFailed("replans_exhausted", "why", activity_id="s6")).history)
    assert shown.focus_id == "s6"


def test_a_reopened_run_goes_on_with_more_room():
    story = live().tell(200, RunFailed("replans_exhausted", "why", activity_id="s6"))
    shown = view(story.tell(300, RunReopened(KAI, "once more", {"task_replans": 2})).history)
    assert (shown.state, shown.over, shown.meters.replans_limit) == (RunState.RUNNING, False, 4)
    assert shown.phases[2].state is PhaseState.ACTIVE


def test_notes_are_kept_in_order():
    story = Story().tell(0, RunStarted("g"), NoteAdded("one", KAI), NoteAdded("two", KAI))
    assert view(story.history).notes == ("one", "two")
