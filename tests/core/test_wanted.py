"""The desired set: what should be under way now."""

from phaseloop.core.answers import StepJudged, StepReturned, ToolUnsure, Verdict
from phaseloop.core.asks import ModelCallWanted, ToolCallWanted
from phaseloop.core.effects import CallTool, EvaluateRule, JudgePlan, MakePlan, RunStep, StartChild, VerifyCall
from phaseloop.core.plan import Step
from phaseloop.core.process import Activity, ActivityType, Definition, GateConfig, Phase
from phaseloop.core.tools import ToolSpec
from phaseloop.core.wanted import next_effects
from phaseloop.core.words import Pause
from tests.core.player import ANN, TOOLS, Player, World, plan, read, think, write


def ids(player):
    return [effect.id for effect in next_effects(player.state)]


def begun(*steps, definition=None, tools=TOOLS, **world):
    world.setdefault("plan", lambda r: plan(*steps))
    player = Player(World(**world), definition or Definition("d", phases=(Phase("p1", auto_advance=True),)), tools)
    player.drive()
    for _ in range(2):
        if not player.state.phase.plan.version:
            player.reconcile()
            player.turn(player.ready())
    return player


def test_nothing_is_wanted_without_a_drive_or_when_the_run_is_over():
    player = Player()
    assert ids(player) == []
    player.run()
    assert ids(player) == []


def test_first_a_plan_then_the_steps_then_the_verdict():
    player = Player(World(plan=lambda r: plan(read("a"), think("b", "a"))))
    player.drive()
    assert ids(player) == ["plan/phase_default/1/1"]
    player = begun(think("a"), write("b", room="1"))
    kinds = {effect.id: type(effect) for effect in next_effects(player.state)}
    assert kinds == {"step/s1/1": RunStep, "step/s2/1": CallTool}
    player = begun(think("a"))
    player.post(StepReturned("s1", 1, "x"))
    (judge,) = next_effects(player.state)
    assert isinstance(judge, JudgePlan)
    assert judge.id == "judge/plan/p1/1"
    assert [(r.id, r.output) for r in judge.results] == [("s1", "x")]


def test_the_planner_sees_the_phase_what_is_done_and_why_it_is_asked_again():
    player = begun(think("a", produces=None))
    player.post(StepReturned("s1", 1, ""))
    (again,) = next_effects(player.state)
    assert isinstance(again, MakePlan)
    assert (again.version, again.attempt, again.reason, again.failure) == (2, 1, "replan", "the result is empty")
    assert [t.name for t in again.tools] == ["book", "look", "put"]
    assert again.max_steps == 8


def test_a_step_is_entered_again_with_its_first_prompt_and_its_hint():
    player = begun(think("a", tool_hint="book"))
    player.post(ModelCallWanted("step/s1/1", 1, "executor", "m", step_id="s1", prompt={"p": 1}))
    (step,) = next_effects(player.state)
    assert step.prompt == {"p": 1}
    assert [t.name for t in step.tools] == ["book", "look", "put"]
    assert step.timeout_seconds == 300.0


def test_a_write_in_doubt_is_verified_once_a_drive():
    player = begun(write("a", tool="pay"), tools=(ToolSpec("pay", verify=True),))
    player.post(ToolCallWanted("s1", 1, 0, 0, "pay", {}, locked="pay"))
    player.post(ToolUnsure("c1", "cut"))
    verify = next_effects(player.state)[0]
    assert isinstance(verify, VerifyCall)
    assert (verify.id, verify.tool) == ("verify/c1/1", "pay")
    player.drive()
    assert "verify/c1/2" in ids(player)


def test_activities_are_carried_out_by_their_type():
    activities = (
        Activity("check", ActivityType.RULE, config={"check": "x > 1"}),
        Activity("sub", ActivityType.SUBPROCESS, config={"definitionId": "other", "outputs": {"a": "b"}}),
        Activity("write", ActivityType.LLM, config={"instruction": {"en": "Write it", "zh": "写"}}),
    )
    definition = Definition("d", phases=(Phase("p1", auto_advance=True),), activities=activities)
    player = begun(*(Step(n, n, activity_id=n) for n in ("check", "sub", "write")), definition=definition, tools=())
    rule, child, step = next_effects(player.state)
    assert isinstance(rule, EvaluateRule)
    assert rule.check == "x > 1"
    assert isinstance(child, StartChild)
    assert (child.definition_id, child.outputs) == ("other", {"a": "b"})
    assert step.instruction == "Write it"


def test_timers_and_conditions_are_wanted_while_they_are_open():
    gate = Activity("ok", ActivityType.HUMAN, gate=GateConfig(timeout_seconds=9))
    phase = Phase("p1", exit_human_activity_id="ok", entry_condition="a > 1")
    player = Player(definition=Definition("d", phases=(phase,), activities=(gate,)))
    player.drive()
    assert ids(player) == ["condition/phase:p1"]
    player.run()
    assert ids(player) == ["timer/g1/1"]


def test_a_verdict_that_grants_a_retry_while_paused_asks_the_critic_no_more():
    work = Activity("work", ActivityType.LLM, config={"judge": True})
    definition = Definition("d", phases=(Phase("p1", auto_advance=True),), activities=(work,))
    player = begun(Step("a", "x", activity_id="work"), definition=definition, tools=())
    player.post(StepReturned("s1", 1, "x"))
    assert ids(player) == ["judge/s1/1/step"]
    player.word(Pause(ANN))
    player.post(StepJudged("s1", 1, "step", Verdict(5, issues=("weak",), by="model")))
    assert ids(player) == []
