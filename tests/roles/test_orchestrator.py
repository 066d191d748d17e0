"""The bounded loop: injection, the bound, asynchronous roles, bad input. Article values: tests/articles."""

import asyncio

import pytest

from phaseloop.core.errors import WrongUse
from phaseloop.roles.article import CriticAgent, CriticVerdict, PlannerAgent, SubTask, WorkerAgent
from phaseloop.roles.orchestrator import Orchestrator

GOAL = "目标一，目标二。目标三"


class LowScore(CriticAgent):
    """As in article 000 section 4: a subclass that keeps a count of its own."""

    calls = 0

    def review(self, goal, results):
        self.calls += 1
        return CriticVerdict(0.3, True, "mock 不达标")


class CountingCritic:
    def __init__(self, *verdicts):
        self.verdicts = list(verdicts)
        self.seen = []

    def review(self, goal, results):
        self.seen.append((goal, list(results)))
        return self.verdicts[min(len(self.seen), len(self.verdicts)) - 1]


LOW = CriticVerdict(0.3, True, "mock 不达标")
HIGH = CriticVerdict(0.9, False, "好")


class RecordingPlanner(PlannerAgent):
    def __init__(self):
        self.goals = []

    def decompose(self, goal):
        self.goals.append(goal)
        return super().decompose(goal)


class RecordingWorker(WorkerAgent):
    def __init__(self):
        self.contexts = []

    def execute_all(self, plan, context):
        self.contexts.append(context)
        return super().execute_all(plan, context)


@pytest.mark.parametrize("max_replans", [0, 1, 2, 3, 7])
def test_the_critic_is_called_once_more_than_the_bound(max_replans):
    critic = CountingCritic(LOW)
    result = Orchestrator(critic=critic).run(GOAL, max_replans)
    assert len(critic.seen) == max_replans + 1
    assert result.replanned is (max_replans > 0)
    assert result.score == 0.3


def test_a_good_verdict_stops_the_loop_before_the_bound():
    critic = CountingCritic(LOW, HIGH)
    result = Orchestrator(critic=critic).run(GOAL, max_replans=5)
    assert len(critic.seen) == 2
    assert (result.score, result.replanned) == (0.9, True)


def test_feedback_reaches_planner_and_worker_and_is_not_accumulated():
    planner, worker = RecordingPlanner(), RecordingWorker()
    critic = CountingCritic(CriticVerdict(0.1, True, "一"), CriticVerdict(0.2, True, "二"), HIGH)
    Orchestrator(planner, worker, critic).run("甲", max_replans=3)
    assert planner.goals == ["甲", "甲；反思反馈：一", "甲；反思反馈：二"]
    assert worker.contexts == ["", "一", "二"]
    assert [goal for goal, _ in critic.seen] == ["甲", "甲", "甲"]


def test_a_subclass_of_the_critic_may_be_injected_alone():
    critic = LowScore()
    result = Orchestrator(critic=critic).run(GOAL)
    assert critic.calls == 2
    assert len(result.plan) == 4


def test_a_worker_with_execute_alone_is_called_for_each_subtask():
    class Single:
        def execute(self, subtask, context):
            return f"result of {subtask.description}"

    assert Orchestrator(worker=Single()).run("a,b").results == ["result of a", "result of b"]


def test_arun_awaits_every_role():
    class AsyncPlanner:
        async def decompose(self, goal):
            return [SubTask(1, goal)]

    class AsyncWorker:
        async def execute_all(self, plan, context):
            return [f"a long result for {subtask.description}" for subtask in plan]

    class AsyncCritic:
        async def review(self, goal, results):
            return CriticVerdict(0.5, False, "")

    result = asyncio.run(Orchestrator(AsyncPlanner(), AsyncWorker(), AsyncCritic()).arun("x"))
    assert result.plan == [SubTask(1, "x")]
    assert result.results == ["a long result for x"]
    assert (result.score, result.replanned) == (0.5, False)


class AsyncExecute(WorkerAgent):
    def __init__(self, fails_at=0):
        self.order = []
        self.fails_at = fails_at

    async def execute(self, subtask, context):
        self.order.append(("in", subtask.id))
        await asyncio.sleep(0)
        if subtask.id == self.fails_at:
            raise ConnectionError("gone")
        self.order.append(("out", subtask.id))
        return f"result {subtask.id} is long"


def test_an_asynchronous_execute_runs_step_after_step_in_plan_order():
    worker = AsyncExecute()
    result = asyncio.run(Orchestrator(worker=worker).arun("a,b"))
    assert result.results == ["result 1 is long", "result 2 is long"]
    assert worker.order == [("in", 1), ("out", 1), ("in", 2), ("out", 2)]


def test_arun_keeps_the_bound():
    critic = CountingCritic(LOW)
    asyncio.run(Orchestrator(worker=AsyncExecute(), critic=critic).arun("a,b", 3))
    assert len(critic.seen) == 4


def test_arun_equals_run_for_plain_roles():
    for goal in (GOAL, "做个年度计划", ""):
        assert asyncio.run(Orchestrator().arun(goal)) == Orchestrator().run(goal)


def test_what_a_role_raises_comes_out_unchanged():
    with pytest.raises(ConnectionError, match="gone"):
        asyncio.run(Orchestrator(worker=AsyncExecute(fails_at=1)).arun("a,b,c"))


def test_run_refuses_an_asynchronous_role_and_names_arun():
    with pytest.raises(WrongUse, match="arun"):
        Orchestrator(worker=AsyncExecute()).run("a,b")

    class AsyncPlanner:
        async def decompose(self, goal):
            return []

    with pytest.raises(WrongUse, match="arun"):
        Orchestrator(AsyncPlanner()).run("a,b")


def test_results_that_are_futures_are_awaited_and_refused_alike():
    class Futures:
        def execute_all(self, plan, context):
            futures = [asyncio.get_running_loop().create_future() for _ in plan]
            for future in futures:
                future.set_result("long enough")
            return tuple(futures)

    async def both():
        with pytest.raises(WrongUse, match="arun"):
            Orchestrator(worker=Futures()).run("a,b")
        return await Orchestrator(worker=Futures()).arun("a,b")

    assert asyncio.run(both()).results == ["long enough", "long enough"]


@pytest.mark.parametrize("bound", [-1, 1.5, float("inf"), None, "2"])
def test_a_bound_that_is_no_whole_number_is_refused(bound):
    with pytest.raises(WrongUse, match="max_replans must be a whole number from 0, not"):
        Orchestrator().run("a", bound)


def test_a_goal_that_is_no_text_is_refused():
    with pytest.raises(WrongUse, match="the goal must be a text, not 3"):
        Orchestrator().run(3)


def test_a_role_without_its_method_is_refused_at_once():
    with pytest.raises(WrongUse, match="no method decompose"):
        Orchestrator(planner=object())
    with pytest.raises(WrongUse, match="no method execute_all or execute"):
        Orchestrator(worker=object())
    with pytest.raises(WrongUse, match="no method review"):
        Orchestrator(critic=object())


def test_a_result_that_is_no_text_is_refused_by_the_default_critic():
    class Nothing:
        def execute_all(self, plan, context):
            return [None]

    with pytest.raises(WrongUse, match="result 1 must be a text, not None"):
        Orchestrator(worker=Nothing()).run("a")


def test_more_than_eight_pieces_are_not_capped_here():
    assert len(Orchestrator().run(",".join("abcdefghijkl")).plan) == 12
