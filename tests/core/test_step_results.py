"""What the ends of calls, checks and verdicts mean."""

import pytest

from phaseloop.core.answers import Checked, PlanJudged, StepJudged, ToolReturned, ToolUnsure, Verdict, Verified
from phaseloop.core.limits import CriticPower, Limits
from phaseloop.core.plan import Step
from phaseloop.core.plan_events import ActivityStarted, ResultJudged
from phaseloop.core.process import Activity, ActivityType, Definition, Phase
from phaseloop.core.run_events import LimitReached
from phaseloop.core.state import RunStatus
from tests.core.player import Player, World, plan, think


def plan_judged(scores, limits=None, by="model", **phase):
    said = list(scores)

    def judge(effect):
        score = said.pop(0) if len(said) > 1 else said[0]
        return score if isinstance(score, Verdict) else Verdict(score, issues=(f"issue {len(said)} {score}",), by=by)

    definition = Definition("d", phases=(Phase("p1", auto_advance=True, **phase),))
    player = Player(World(plan=lambda r: plan(think("a")), judge=judge), definition, limits=limits)
    player.run()
    return player, [e.action for e in player.of(ResultJudged) if e.scope == "plan"]


@pytest.mark.parametrize(
    ("score", "action"), [(10, "accept"), (7.0, "accept"), (6.9, "note"), (6.0, "note"), (5.9, "replan"), (0, "replan")]
)
def test_the_verdict_on_a_plan_by_its_score(score, action):
    player, actions = plan_judged([score, 10])
    assert actions[0] == action
    assert player.state.status is RunStatus.COMPLETED
    assert bool(player.state.warnings) is (action == "note")


def test_two_replans_a_run_then_four_is_enough_with_a_warning_and_less_fails():
    player, actions = plan_judged([5, 4.5, 4.0])
    assert actions == ["replan", "replan", "note"]
    assert player.state.status is RunStatus.COMPLETED
    assert player.of(LimitReached)[-1] == LimitReached("task_replans", 2, 2)
    player, actions = plan_judged([5, 4.5, 3.9])
    assert actions[-1] == "abort"
    assert player.state.status is RunStatus.FAILED


def test_the_same_issue_without_a_better_score_stops_early():
    same = Verdict(3, issues=("same",), by="model")
    _, actions = plan_judged([same])
    assert actions == ["replan", "abort"]


def test_a_critic_that_only_advises_can_veto_and_never_steers():
    player, actions = plan_judged([2], Limits(critic=CriticPower.ADVISES))
    assert actions == ["veto"]
    assert player.gate("advance")[1].asked.payload["score"] == 2
    _, actions = plan_judged([2, 10], Limits(critic=CriticPower.ADVISES), by="rule")
    assert actions == ["replan", "accept"], "rules steer"


def test_without_a_critic_nobody_is_asked():
    assert plan_judged([1], Limits(critic=CriticPower.NONE))[1] == []
    assert plan_judged([1], Limits(critic_sees_plan=False))[1] == []


def judged_step(limits, score):
    work = Activity("work", ActivityType.LLM, config={"judge": True})
    definition = Definition("d", phases=(Phase("p1", auto_advance=True),), activities=(work,))
    world = World(
        plan=lambda r: plan(Step("a", "Work", activity_id="work")),
        judge=lambda e: Verdict(10 if e.id.startswith("judge/plan") else score, by="model"),
    )
    player = Player(world, definition, (), limits=limits)
    player.run()
    return player


def test_a_critic_that_only_advises_does_not_send_a_step_back():
    player = judged_step(Limits(critic=CriticPower.ADVISES), 1)
    assert player.state.status is RunStatus.COMPLETED
    assert len(player.of(ActivityStarted)) == 1
    assert judged_step(Limits(critic=CriticPower.NONE), 1).state.status is RunStatus.COMPLETED


def test_late_reports_of_calls_checks_and_verdicts_are_nobodys():
    player = Player(World(plan=lambda r: plan(think("a"))))
    player.run()
    late = (
        ToolReturned("c9", "ok"),
        ToolUnsure("c9", "x"),
        Verified("c9", True),
        Checked("s1", 1),
        Checked("s9", 1),
        StepJudged("s1", 1, "step", Verdict(1)),
        StepJudged("s9", 1, "step", Verdict(1)),
        PlanJudged("phase_default", 1, Verdict(1)),
    )
    for report in late:
        assert player.post(report) == ()
    assert Player().post(PlanJudged("phase_default", 1, Verdict(1))) == ()


def test_a_verdict_on_another_plan_or_scope_is_nobodys():
    player = Player(World(plan=lambda r: plan(think("a"))))
    player.drive()
    while not player.of(ResultJudged) and "judge/plan/phase_default/1" not in player.tasks:
        player.reconcile()
        if "judge/plan/phase_default/1" not in player.tasks:
            player.turn(player.ready())
    assert player.post(PlanJudged("phase_default", 2, Verdict(1))) == ()
    assert player.post(PlanJudged("other", 1, Verdict(1))) == ()
