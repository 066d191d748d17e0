from phaseloop.core.gate_events import GateResolved
from phaseloop.core.loop_state import LOOP_MOVES, loop_state
from phaseloop.core.plan import ActivityType
from phaseloop.core.plan_events import (
    ActivityCompleted,
    ActivityFailed,
    ActivityStarted,
    PlanRefused,
    PlanUpdated,
    ResultJudged,
)
from phaseloop.core.run_events import PhaseCompleted, PhaseFailed, PhaseStarted
from phaseloop.core.statuses import LoopState

START = PhaseStarted("p1")
PLAN = PlanUpdated("p1", 1, "goal", ())
STEP = ActivityStarted("s1", ActivityType.LLM, "s1")
DONE = ActivityCompleted("s1", "s1")


def judged(action):
    return ResultJudged("step", passed=False, score=3, action=action)


def test_the_loop_plans_executes_reflects_and_is_done():
    assert loop_state([START]) is LoopState.PLANNING
    assert loop_state([START, PLAN]) is LoopState.EXECUTING
    assert loop_state([START, PLAN, STEP, DONE]) is LoopState.REFLECTING
    assert loop_state([START, PLAN, STEP, DONE, PhaseCompleted("p1")]) is LoopState.DONE


def test_the_back_edge_from_reflecting_to_executing_exists():
    assert loop_state([START, PLAN, STEP, judged("retry"), STEP]) is LoopState.EXECUTING


def test_the_back_edge_from_replanning_to_executing_exists():
    history = [START, PLAN, STEP, judged("replan"), ActivityFailed("s1", "judged", "bad", "s1")]
    assert loop_state(history) is LoopState.REPLANNING
    assert loop_state([*history, PLAN]) is LoopState.EXECUTING


def test_a_refused_plan_stays_planning_and_a_failed_phase_fails():
    refused = PlanRefused("p1", 1, 1, ())
    assert loop_state([START, refused]) is LoopState.PLANNING
    assert loop_state([START, refused, PhaseFailed("p1")]) is LoopState.FAILED


def test_a_person_who_asks_for_changes_sends_the_loop_back_to_planning():
    asked = GateResolved("g1", "gate", "reject")
    assert loop_state([START, PLAN, STEP, DONE, asked]) is LoopState.REPLANNING


def test_every_state_has_a_row_and_is_reached_by_some_move():
    assert set(LOOP_MOVES) == set(LoopState)
    reached = {after for row in LOOP_MOVES.values() for after in row.values()}
    assert reached == set(LoopState)
