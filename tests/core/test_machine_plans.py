"""How plans and their steps change with each event."""

import pytest

from phaseloop.core.errors import IllegalMove
from phaseloop.core.machine import evolve
from phaseloop.core.machine_plans import step_move
from phaseloop.core.plan import ActivityType, Call, Step
from phaseloop.core.plan_events import (
    ActivityCompleted,
    ActivityFailed,
    ActivityPaused,
    ActivityResumed,
    ActivityStarted,
    PlanUpdated,
    ResultJudged,
)
from phaseloop.core.state import ActivityStatus
from tests.core.player import Player, World, plan, think


def begun(*steps):
    made = plan(*(steps or (think("a"), think("b", "a"), think("c", "b"))))
    player = Player(World(plan=lambda r: made))
    player.drive()
    player.reconcile()
    player.turn(player.ready())
    return player.state


def judged(action, score, scope="step", **more):
    return ResultJudged(scope, False, score, action, "model", "s1", "s1", **more)


def test_a_plan_knows_the_longest_way_from_each_step_to_the_end():
    state = begun()
    assert state.phase.plan.tails == {"s1": 3, "s2": 2, "s3": 1}
    assert (state.phase.plan.version, state.next_step, state.phase.trigger) == (1, 4, "")


def test_a_step_that_left_the_plan_is_skipped_and_its_id_is_never_given_again():
    steps = (begun().steps["s1"].spec, Step("s9", "new", depends_on=("s1",)))
    state = evolve(begun(), PlanUpdated("phase_default", 2, "g", steps, reason="replan"), 2)
    assert state.steps["s2"].status is state.steps["s3"].status is ActivityStatus.SKIPPED
    assert (state.next_step, state.replans) == (10, 1)
    assert evolve(begun(), PlanUpdated("phase_default", 2, "g", steps, reason="human"), 2).replans == 0


def test_tools_that_an_approved_plan_names_stay_approved():
    steps = (Step("s5", "x", call=Call("book")), Step("s6", "y", tool_hint="look"))
    done = evolve(begun(), ActivityCompleted("s1", "s1", output="x"), 1)
    state = evolve(done, PlanUpdated("phase_default", 2, "g", steps, reason="given", approved_by="ann"), 2)
    assert state.phase.plan.approved_tools == {"book", "look"}
    state = evolve(
        state, PlanUpdated("phase_default", 3, "g", (Step("s7", "z", call=Call("pay")),), reason="replan"), 3
    )
    assert (state.phase.plan.approved_by, state.phase.plan.approved_tools) == ("ann", {"book", "look"})


def test_a_verdict_that_is_still_to_come_leaves_what_was_said_before():
    state = evolve(begun(), judged("retry", 5, output="draft", issues=("weak",)), 2)
    state = evolve(state, ActivityStarted("s1", ActivityType.LLM, "s1", attempt=2), 3)
    state = evolve(state, judged("ask", 10, output="other"), 4)
    step = state.steps["s1"]
    assert (step.status, step.score, step.issues) == (ActivityStatus.JUDGING, 5, ("weak",))
    assert (step.best_score, step.best_output, step.output) == (5, "draft", "other")


def test_the_best_output_is_kept_until_the_step_is_done():
    state = evolve(begun(), judged("retry", 6, output="better"), 2)
    state = evolve(state, judged("retry", 5, output="worse"), 3)
    assert (state.steps["s1"].best_output, state.steps["s1"].best_score) == ("better", 6)
    state = evolve(state, ActivityCompleted("s1", "s1", output="better"), 4)
    assert (state.steps["s1"].output, state.steps["s1"].best_output) == ("better", None)


def test_reasons_for_a_replan_are_gathered():
    state = evolve(begun(), judged("replan", 1, issues=("one",), suggestion="do x"), 2)
    state = evolve(state, judged("replan", 1, "deep", issues=("two",)), 3)
    assert state.phase.failure == "one (do x); two"


def test_pause_and_resume_move_a_step_and_questions_of_a_phase_move_none():
    state = evolve(begun(), ActivityPaused("s1", "human", "s1"), 2)
    assert state.steps["s1"].status is ActivityStatus.PAUSED
    assert evolve(state, ActivityResumed("s1", "answered", "s1"), 3).steps["s1"].status is ActivityStatus.RUNNING
    for event in (
        ActivityPaused("ok", "human"),
        ActivityResumed("ok", "revise"),
        ActivityCompleted("ok"),
        ActivityFailed("ok", "x", "y"),
        ActivityStarted("ok", ActivityType.HUMAN),
    ):
        assert evolve(state, event, 4).steps == state.steps


def test_a_step_that_is_done_never_moves_again():
    state = evolve(begun(), ActivityCompleted("s1", "s1", output="x"), 2)
    with pytest.raises(IllegalMove, match="ActivityFailed is not allowed while step s1 is completed"):
        evolve(state, ActivityFailed("s1", "error", "x", "s1"), 3)
    with pytest.raises(IllegalMove):
        step_move(state.steps["s1"], "ActivityStarted")
