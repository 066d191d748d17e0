"""Carrying effects out: whatever a role raises is an answer, whatever we raise is not."""

import asyncio
from dataclasses import replace

import pytest

from phaseloop.core.answers import StepRaised
from phaseloop.core.call_events import ToolCallFinished
from phaseloop.core.effects import EvaluateRule, RunStep, SetTimer
from phaseloop.core.errors import RecordUnreadable
from phaseloop.core.plan import Finding, Step
from phaseloop.core.plan_events import ActivityFailed, ActivityStarted, PlanRefused, ResultJudged
from phaseloop.core.process import Activity, ActivityType, Definition, Phase
from phaseloop.core.run_events import ConditionEvaluated
from phaseloop.core.state import RunStatus
from phaseloop.core.words import CatalogueMoved
from phaseloop.engine.ports import Returned
from tests.core.player import plan, read, think, write
from tests.engine.stage import NO_WAIT, TOOLS, Critic, Executor, Planner, Tools, play


class Told:
    def __init__(self):
        self.reports = []

    async def tell(self, report):
        self.reports.append(report)

    def note(self, report):
        self.reports.append(report)


def test_a_planner_that_raises_is_answered_with_a_refusal():
    async def scene(stage):
        assert (await stage.run()).status is RunStatus.COMPLETED
        assert [f.message for e in await stage.events(PlanRefused) for f in e.findings] == ["ValueError: no idea"]

    class Twice(Planner):
        async def plan(self, request, desk):
            if request.attempt == 1:
                raise ValueError("no idea")
            return self.plans[0]

    play(scene, planner=Twice())


@pytest.mark.parametrize("work", [ValueError("broke"), {1, 2}])
def test_an_executor_that_raises_or_returns_no_json_fails_its_step(work):
    async def run(request, desk):
        if isinstance(work, Exception):
            raise work
        return work

    async def scene(stage):
        assert (await stage.run()).status is RunStatus.FAILED
        assert "Error: " in (await stage.events(ActivityFailed))[0].message

    play(scene, executor=Executor(run))


def test_a_step_that_takes_too_long_is_over_and_its_own_time_outs_are_its_own():
    async def long(request, desk):
        await asyncio.sleep(5)

    async def own(request, desk):
        raise TimeoutError("socket")

    async def scene(stage):
        for work, said in ((long, "the step took more than 0.01 s of active time"), (own, "TimeoutError: socket")):
            told = Told()
            stage.executor.work = work
            effect = RunStep("step/s1/1", Step("s1", "x"), 1, "g", timeout_seconds=0.01)
            await stage.edge("r1", None).perform(effect, told)
            assert told.reports[-1].reason == said
            assert told.reports[-1].kind == ("timeout" if work is long else "error")

    play(scene, executor=Executor(long))


def test_a_critic_that_fails_throws_nothing_away():
    async def scene(stage):
        state = await stage.run()
        assert state.status is RunStatus.COMPLETED
        judged = (await stage.events(ResultJudged))[-1]
        assert (judged.score, judged.by) == (6.0, "rule")
        assert "the critic failed: ValueError: no" in judged.issues

    play(scene, critic=Critic(ValueError("no")))


def test_our_own_errors_are_never_a_roles_failure():
    async def scene(stage):
        for part, error in (("planner", RecordUnreadable("a", "b")), ("critic", RecordUnreadable("a", "b"))):
            setattr(stage, part, Planner(error) if part == "planner" else Critic(error))
            with pytest.raises(RecordUnreadable):
                await stage.run(run_id=f"r-{part}")
            setattr(stage, part, Planner() if part == "planner" else Critic())

    play(scene)


RULES = Definition(
    "d",
    phases=(Phase("p1", auto_advance=True, entry_condition="true"),),
    activities=(Activity("check", ActivityType.RULE, config={"check": "ok"}),),
)


def test_a_rule_and_a_condition_are_carried_out_at_the_edge():
    async def scene(stage):
        state = await stage.run(definition=RULES)
        assert state.steps["s1"].output == {"passed": True}
        assert [e.value for e in await stage.events(ConditionEvaluated)] == [True]
        told = Told()
        await stage.edge("r1", None).perform(EvaluateRule("step/s1/1", Step("s1", "x"), 1, "boom"), told)
        assert told.reports == [StepRaised("s1", 1, "RuntimeError: boom")]

    play(scene, planner=Planner(plan(Step("a", "Check", activity_id="check"))))


def test_a_weak_output_found_by_a_check_is_tried_again():
    async def work(request, desk):
        return "bad" if request.attempt == 1 else "good"

    async def scene(stage):
        assert (await stage.run()).steps["s1"].output == "good"
        assert [e.attempt for e in await stage.events(ActivityStarted)] == [1, 2]

    class Soft:
        def run(self, checks, output):
            return (Finding("soft", "bad"),) if output == "bad" else ()

    async def with_soft(stage):
        make = stage.host.make_edge
        stage.host.make_edge = lambda *a: replace(make(*a), checks=Soft())
        await scene(stage)

    play(with_soft, executor=Executor(work))


def test_a_bound_step_is_tried_again_after_a_network_error_and_fails_for_good_after_four():
    async def down(args):
        return Returned("failed", error="net", transient=True, unsent=True)

    async def scene(stage):
        assert (await stage.run()).status is RunStatus.FAILED
        ends = await stage.events(ToolCallFinished)
        assert [e.next for e in ends][:4] == ["again", "again", "again", ""]

    play(scene, planner=Planner(plan(write("a", room="1"))), tools=Tools(book=down))


def test_a_bound_step_whose_tool_went_away_fails_instead_of_hanging():
    async def scene(stage):
        async def work(request, desk):
            await stage.host.receive("r1", CatalogueMoved(TOOLS[1:]))
            return "x"

        stage.executor.work = work
        state = await stage.run()
        assert state.status is RunStatus.FAILED
        assert "there is no tool 'look'" in (await stage.events(ActivityFailed))[0].message

    play(scene, planner=Planner(plan(think("a"), read("b", "a"))))


def test_a_write_in_doubt_is_verified_before_a_person_is_asked():
    async def unsure(args):
        return Returned("unsure", error="cut")

    async def scene(stage):
        stage.tools.verified = (True, "was")
        spec = next(t for t in TOOLS if t.name == "book")
        begin = replace(stage.begin(), tools=(replace(spec, verify=True),))
        state = await stage.host.drive("r1", begin)
        assert state.status is RunStatus.COMPLETED
        assert state.steps["s1"].output == "was"

    play(scene, planner=Planner(plan(write("a", room="1"))), tools=Tools(book=unsure))


def test_a_timer_is_told_when_it_is_due():
    async def scene(stage):
        told = Told()
        await stage.edge("r1", None).perform(SetTimer("timer/g1/1", "g1/1", stage.now + 3), told)
        assert told.reports[0].timer_id == "g1/1"
        assert NO_WAIT.backoff_seconds == (0.0, 0.0, 0.0)

    play(scene)
