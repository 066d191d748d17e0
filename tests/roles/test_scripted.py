"""Scripts: by key, in order, by attempt, exceptions, callables with tools; the same answer on re-entry."""

import asyncio

import pytest

from phaseloop.core.answers import Verdict
from phaseloop.core.effects import JudgePlan, JudgeStep, MakePlan, RunStep
from phaseloop.core.errors import WrongUse
from phaseloop.core.plan import Plan, Step
from phaseloop.roles.protocols import CallResult, Critic, Executor, Planner, Roles
from phaseloop.roles.scripted import Attempts, ScriptedCritic, ScriptedExecutor, ScriptedPlanner
from tests.roles.fake_desk import FakeDesk


def plan(name):
    return Plan(name, (Step("1", name),))


def make_plan(planner, version=1, attempt=1, phase="a"):
    request = MakePlan("p", phase, version, attempt, "initial", "goal")
    return asyncio.run(planner.plan(request, FakeDesk()))


def run_step(executor, step_id="s1", attempt=1, desk=None, activity_id=None, action="do"):
    step = Step(step_id, action, activity_id=activity_id)
    return asyncio.run(executor.run(RunStep("e", step, attempt, "goal"), desk or FakeDesk()))


def judge_step(critic, step_id="s1", attempt=1, scope="step", activity_id=None):
    step = Step(step_id, "do", activity_id=activity_id)
    return asyncio.run(critic.judge(JudgeStep("j", scope, step, attempt, "goal"), FakeDesk()))


def judge_plan(critic, version=1, phase="a"):
    return asyncio.run(critic.judge(JudgePlan("j", phase, version, "goal"), FakeDesk()))


def test_the_roles_fit_the_protocols():
    planner: Planner = ScriptedPlanner([])
    executor: Executor = ScriptedExecutor([])
    critic: Critic = ScriptedCritic([])
    assert Roles(planner, executor, critic).planner is planner


def test_plans_are_chosen_by_version_and_not_by_a_count():
    planner = ScriptedPlanner([plan("one"), plan("two")])
    assert make_plan(planner, 2).goal == "two"
    assert make_plan(planner, 1).goal == make_plan(planner, 1).goal == "one"


def test_plans_by_phase_and_by_attempt_after_a_refusal():
    planner = ScriptedPlanner({"a": [Attempts(plan("bad"), plan("good")), plan("next")], "*": plan("rest")})
    assert make_plan(planner, 1, 1).goal == "bad"
    assert make_plan(planner, 1, 2).goal == "good"
    assert make_plan(planner, 2, 1).goal == "next"
    assert make_plan(planner, 9, 9, "b").goal == "rest"


def test_a_planner_that_runs_out_says_for_what():
    with pytest.raises(WrongUse, match="no answer for phase 'a', version 2; it holds 1"):
        make_plan(ScriptedPlanner([plan("one")]), 2)
    with pytest.raises(WrongUse, match="version 1, attempt 3; it holds 2"):
        make_plan(ScriptedPlanner([Attempts(plan("x"), plan("y"))]), 1, 3)
    with pytest.raises(WrongUse, match="no answer for phase 'b'; its keys are 'a'"):
        make_plan(ScriptedPlanner({"a": plan("x")}), phase="b")
    with pytest.raises(WrongUse, match="holds 'text' where a Plan is needed"):
        make_plan(ScriptedPlanner(["text"]))


def test_one_callable_answers_everything():
    planner = ScriptedPlanner(lambda request, desk: plan(f"{request.phase_id}{request.version}"))
    assert make_plan(planner, 3, phase="x").goal == "x3"


def test_outputs_by_step_number_step_id_activity_and_action():
    assert run_step(ScriptedExecutor(["one", "two"]), "s2") == "two"
    by_key = ScriptedExecutor({"s1": 1, "fetch": 2, "write it": 3, "*": 4})
    assert run_step(by_key, "s1") == 1
    assert run_step(by_key, "s7", activity_id="fetch") == 2
    assert run_step(by_key, "s8", action="write it") == 3
    assert run_step(by_key, "s9") == 4


def test_a_json_list_is_an_output_and_attempts_are_attempts():
    executor = ScriptedExecutor({"s1": [1, 2], "s2": Attempts("short", "long enough")})
    assert run_step(executor, "s1", 2) == [1, 2]
    assert run_step(executor, "s2", 2) == "long enough"
    assert run_step(executor, "s2", 1) == run_step(executor, "s2", 1) == "short"


def test_none_is_an_output():
    assert run_step(ScriptedExecutor({"s1": None})) is None


def test_exceptions_are_raised_as_instances_and_as_classes():
    with pytest.raises(TimeoutError, match="slow"):
        run_step(ScriptedExecutor([TimeoutError("slow")]))
    with pytest.raises(LookupError):
        run_step(ScriptedExecutor({"s1": Attempts(LookupError)}))


def test_a_callable_may_call_tools_and_be_asynchronous():
    async def fetch(request, desk):
        result = await desk.call("fetch", {"n": request.attempt})
        return {"got": result.value}

    desk = FakeDesk({"fetch": CallResult("ok", 5)})
    assert run_step(ScriptedExecutor({"s1": fetch}), attempt=2, desk=desk) == {"got": 5}
    assert desk.calls == [("fetch", {"n": 2})]
    assert run_step(ScriptedExecutor([lambda request, desk: request.step.id])) == "s1"
    assert run_step(ScriptedExecutor(lambda request, desk: request.attempt), attempt=3) == 3


def test_an_executor_that_runs_out_says_for_what():
    with pytest.raises(WrongUse, match=r"no answer for step 's3' \(do\); it holds 1"):
        run_step(ScriptedExecutor(["x"]), "s3")
    with pytest.raises(WrongUse, match="step 's0'"):
        run_step(ScriptedExecutor(["x"]), "s0")
    with pytest.raises(WrongUse, match="its keys are 's1'"):
        run_step(ScriptedExecutor({"s1": 1}), "s2")
    with pytest.raises(WrongUse, match="attempt 2; it holds 1"):
        run_step(ScriptedExecutor({"s1": Attempts("x")}), attempt=2)
    with pytest.raises(WrongUse, match="a list is read by step number"):
        run_step(ScriptedExecutor(["x"]), "label")


def test_a_list_of_verdicts_speaks_of_plan_versions():
    critic = ScriptedCritic([3, Verdict(9.0, issues=("thin",))])
    assert judge_plan(critic, 2) == Verdict(9.0, issues=("thin",))
    assert judge_plan(critic, 1).score == 3.0
    assert judge_step(critic).score == 10.0
    with pytest.raises(WrongUse, match="no answer for the plan of phase 'a'; it holds 2"):
        judge_plan(critic, 3)


def test_verdicts_by_key():
    critic = ScriptedCritic({"a": Attempts(2, 8), "s1": Attempts(5, 9), "deep": 0, "plan": 7, "send": 6})
    assert [judge_plan(critic, version).score for version in (1, 2)] == [2.0, 8.0]
    assert judge_plan(critic, phase="b").score == 7.0
    assert [judge_step(critic, attempt=attempt).score for attempt in (1, 2)] == [5.0, 9.0]
    assert judge_step(critic, "s2", scope="deep").score == 0.0
    assert judge_step(critic, "s3", activity_id="send").score == 6.0
    assert judge_step(critic, "s4").score == 10.0


def test_what_is_not_scripted_gets_otherwise_or_is_an_error():
    assert judge_step(ScriptedCritic({}, otherwise=4)).score == 4.0
    with pytest.raises(WrongUse, match=r"no answer for step 's1' \(scope step\)"):
        judge_step(ScriptedCritic({"s2": 1}, otherwise=None))
    with pytest.raises(WrongUse, match="holds 'fine' where a Verdict or a score is needed"):
        judge_plan(ScriptedCritic(["fine"]))


def test_a_critic_may_raise_and_may_be_a_callable():
    with pytest.raises(ConnectionError):
        judge_plan(ScriptedCritic([ConnectionError("down")]))
    assert judge_plan(ScriptedCritic(lambda request, desk: Verdict(1.0))).score == 1.0
