"""Rows under way: attempts, verdicts, calls, sub-runs."""

import pytest

from phaseloop.core.call_events import (
    BreakerClosed,
    BreakerOpened,
    ModelCallStarted,
    ToolCallFinished,
    ToolCallStarted,
)
from phaseloop.core.plan import ActivityType, Finding, Step
from phaseloop.core.plan_events import (
    ActivityCompleted,
    ActivityFailed,
    ActivityPaused,
    ActivityResumed,
    ActivityStarted,
    PlanRefused,
    PlanUpdated,
    ResultJudged,
    SubprocessCompleted,
    SubprocessStarted,
)
from phaseloop.core.run_events import PhaseStarted, RunStarted
from phaseloop.core.view_row_changes import entered, going
from phaseloop.core.view_rows import ActivityRow, RowState, elapsed
from phaseloop.core.view_run import find_row
from phaseloop.core.views import view
from tests.sales_story import START, Story, begun, done, live, model_call


def one_step() -> Story:
    story = Story().tell(0, RunStarted("g"), PhaseStarted("p"))
    return story.tell(1, PlanUpdated("p", 1, "g", (Step("s1", "Do it"), Step("s2", "Then that", depends_on=("s1",)))))


def row(story: Story, step: str = "s1") -> ActivityRow:
    found = find_row(view(story.history), step)
    assert found is not None
    return found


def test_a_later_attempt_is_a_retry_and_keeps_the_earlier_ones():
    story = one_step().tell(2, begun("s1"))
    assert row(story).state is RowState.RUNNING
    story.tell(5, ResultJudged("step", False, 5, "retry", activity_id="s1", step_id="s1", issues=("short",)))
    assert (row(story).state, row(story).line) == (RowState.RETRYING, "short")
    story.tell(6, begun("s1", 2)).tell(9, done("s1", 8))
    attempts = row(story).attempts
    assert [(a.n, a.score, a.action) for a in attempts] == [(1, 5, "retry"), (2, 8, "")]
    assert (row(story).state, row(story).score, elapsed(row(story).active, 0)) == (RowState.DONE, 8, 7000)


def test_an_attempt_that_is_entered_again_after_a_crash_is_one_attempt():
    assert len(row(one_step().tell(2, begun("s1")).tell(9, begun("s1"))).attempts) == 1


@pytest.mark.parametrize(
    ("action", "state"),
    [
        ("accept", RowState.CHECKING),
        ("note", RowState.CHECKING),
        ("ask", RowState.CHECKING),
        ("veto", RowState.CHECKING),
        ("retry", RowState.RETRYING),
        ("replan", RowState.FAILED),
        ("abort", RowState.FAILED),
    ],
)
def test_a_verdict_moves_a_row_that_is_under_way(action, state):
    story = one_step().tell(2, begun("s1"), ResultJudged("step", True, 6, action, activity_id="s1", step_id="s1"))
    assert (row(story).state, row(story).score) == (state, 6)


def test_a_verdict_on_a_finished_row_changes_its_score_and_not_its_state():
    story = one_step().tell(2, begun("s1"), done("s1"))
    story.tell(3, ResultJudged("deep", False, 3, "replan", activity_id="s1", step_id="s1"))
    assert (row(story).state, row(story).score) == (RowState.DONE, 3)


def test_a_verdict_on_the_plan_touches_no_row():
    story = one_step().tell(2, begun("s1"), ResultJudged("plan", False, 2, "replan"))
    assert row(story).state is RowState.RUNNING
    assert view(story.history).replan_cause == 2


def test_a_failure_is_final_or_leads_to_another_try():
    assert (
        row(one_step().tell(2, begun("s1"), ActivityFailed("s1", "timeout", "slow", "s1", next="retry"))).state
        is RowState.RETRYING
    )
    failed = row(one_step().tell(2, begun("s1"), ActivityFailed("s1", "timeout", "slow", "s1")))
    assert (failed.state, failed.line, failed.attempts[-1].action) == (RowState.FAILED, "slow", "replan")


def test_a_skipped_step_has_no_score():
    skipped = row(one_step().tell(2, ActivityCompleted("s1", "s1", "skipped", summary="condition false")))
    assert (skipped.state, skipped.score, skipped.line) == (RowState.SKIPPED, None, "condition false")


def test_a_step_that_waits_for_a_person_is_not_charged_for_the_wait():
    story = one_step().tell(2, begun("s1")).tell(4, ActivityPaused("s1", "tool_approval", "s1"))
    assert row(story).state is RowState.WAITING
    story.tell(100, ActivityResumed("s1", "answered", "s1"))
    assert (row(story).state, elapsed(row(story).active, START + 101_000)) == (RowState.RUNNING, 3000)


def test_a_suspended_step_is_paused_and_an_ended_one_stays_ended():
    assert row(one_step().tell(2, begun("s1"), ActivityPaused("s1", "suspended", "s1"))).state is RowState.PAUSED
    ended = one_step().tell(
        2, begun("s1"), done("s1"), ActivityPaused("s1", "human", "s1"), ActivityResumed("s1", "x", "s1")
    )
    assert row(ended).state is RowState.DONE


def test_a_question_waits_and_after_changes_are_asked_for_it_comes_again():
    story = one_step().tell(2, ActivityStarted("ask", ActivityType.HUMAN, title="Right?"))
    assert row(story, "ask").state is RowState.WAITING
    story.tell(3, ActivityResumed("ask", "revise"))
    assert row(story, "ask").state is RowState.NOT_STARTED
    assert going(ActivityRow("x", type="HUMAN")) is RowState.WAITING


def test_a_critic_at_work_shows_as_checking():
    story = one_step().tell(2, begun("s1"), ModelCallStarted("c1", "critic", "m", "judge/s1", 1, "k", step_id="s1"))
    assert row(story).state is RowState.CHECKING


def test_model_calls_are_charged_to_run_and_row():
    story = one_step().tell(
        2, begun("s1"), *model_call("c1", "s1", 500, 0.25), *model_call("c2", "", 70, 0.5, "planner")
    )
    shown = view(story.history)
    assert (shown.meters.tokens, shown.meters.cost_usd, shown.meters.model_calls) == (570, 0.75, 2)
    assert (row(story).tokens, row(story).cost_usd) == (500, 0.25)
    assert shown.calls == {}


def test_tool_calls_are_counted():
    story = one_step().tell(2, begun("s1"), ToolCallStarted("c1", "t", "k", activity_id="s1", step_id="s1"))
    shown = view(story.history)
    assert (shown.meters.tool_calls, row(story).tool_calls, dict(shown.calls)) == (1, 1, {"c1": "s1"})
    assert view(story.tell(3, ToolCallFinished("c1")).history).calls == {}


def test_a_sub_run_is_named_on_its_row_until_it_ends():
    story = one_step().tell(2, begun("s1"), SubprocessStarted("s1", "s1", "r_child", "compose-page"))
    assert (row(story).child_run_id, row(story).child_state, row(story).tool) == ("r_child", "running", "compose-page")
    story.tell(9, SubprocessCompleted("s1", "s1", "r_child", "failed", message="no page"))
    assert (row(story).child_state, row(story).line) == ("failed", "no page")


def test_a_refused_plan_says_why_while_planning_goes_on():
    story = Story().tell(0, RunStarted("g"), PhaseStarted("p"))
    shown = view(story.tell(1, PlanRefused("p", 1, 1, (Finding("loop", "s1 waits for itself"),))).history)
    assert (shown.phases[0].planning, shown.phases[0].note) == (True, "s1 waits for itself")


def test_tools_that_are_shut_off_are_listed_until_they_are_back():
    story = one_step().tell(2, BreakerOpened("t", 5, 9), BreakerOpened("t", 6, 9), BreakerOpened("u", 5, 9))
    assert view(story.history).broken_tools == ("t", "u")
    assert view(story.tell(3, BreakerClosed("t")).history).broken_tools == ("u",)


def test_facts_about_unknown_rows_change_nothing():
    before = view(one_step().history)
    after = view(one_step().tell(2, done("s9"), ResultJudged("step", True, 1, "retry", step_id="s9")).history)
    assert after.phases == before.phases


def test_the_clock_of_a_row_runs_only_while_it_works():
    assert entered(ActivityRow("x"), RowState.RUNNING, 5).active.since == 5
    assert entered(entered(ActivityRow("x"), RowState.RUNNING, 5), RowState.DONE, 9).active.ms == 4


def test_the_story_of_the_picture_ends_with_one_retry_two_running_and_one_replaced():
    states = {r.id: r.state.value for r in view(live().history).phases[2].rows if r.kind == "activity"}
    assert states == {
        "s1": "done",
        "s2": "done",
        "s3": "replaced",
        "s5": "running",
        "s6": "retrying",
        "s7": "done",
        "s8": "not_started",
    }
