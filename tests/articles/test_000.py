"""Article 000, one test for each id of its inventory that can be tested without a model."""

import ast
import asyncio
import runpy
import sys
from pathlib import Path

import pytest

from phaseloop.core.effects import FinishedStep, MakePlan
from phaseloop.core.plan import Step
from phaseloop.roles import article, orchestrator
from phaseloop.roles.article import (
    MIN_LEN,
    REPLAN_THRESHOLD,
    TEMPLATE,
    CriticAgent,
    CriticVerdict,
    PlannerAgent,
    SubTask,
    WorkerAgent,
)
from phaseloop.roles.offline import OfflinePlanner
from phaseloop.roles.orchestrator import Orchestrator, OrchestratorResult
from tests.roles.fake_desk import FakeDesk

ROOT = Path(__file__).parents[2]
REFERENCE = "调研竞品，输出对比报告，给出落地建议"
THREE = "目标一，目标二。目标三"
ELEVEN = "一,二,三,四,五,六,七,八,九,十,十一"
SUFFIX = "；反思反馈："
TEMPLATE_TEXTS = ["明确目标的边界与成功标准", "拆解为核心可执行步骤", "执行并汇总自检结果"]


class LowScoreCritic(CriticAgent):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def review(self, goal, results):
        self.calls += 1
        return CriticVerdict(0.3, True, "mock 不达标")


class Recorder:
    """All three roles in one, writing down who was called with what."""

    def __init__(self, *verdicts):
        self.verdicts = list(verdicts) or [CriticVerdict(1.0, False, "")]
        self.log = []
        self.reviews = 0

    def decompose(self, goal):
        self.log.append(("plan", goal))
        return PlannerAgent().decompose(goal)

    def execute_all(self, plan, context):
        self.log.append(("work", context))
        return WorkerAgent().execute_all(plan, context)

    def review(self, goal, results):
        self.log.append(("judge", goal))
        self.reviews += 1
        return self.verdicts[min(self.reviews, len(self.verdicts)) - 1]

    def run(self, goal, max_replans=1):
        return Orchestrator(self, self, self).run(goal, max_replans)


class FixedWorker:
    def __init__(self, *results):
        self.results = list(results)

    def execute_all(self, plan, context):
        return self.results


def pieces(goal):
    return [task.description for task in PlannerAgent().decompose(goal)]


def review(*results, critic=None):
    return (critic or CriticAgent()).review("目标", list(results))


def share(good, total):
    return review(*["八个字的足够产出"] * good, *["短"] * (total - good))


def imports_of(module):
    tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        if isinstance(node, ast.ImportFrom):
            found.add(node.module)
    return found


def test_000_01_three_roles_carry_the_reference_goal_through():
    result = Orchestrator(PlannerAgent(), WorkerAgent(), CriticAgent()).run(REFERENCE)
    assert [task.description for task in result.plan] == ["调研竞品", "输出对比报告", "给出落地建议"]
    assert (result.score, result.replanned) == (1.0, False)


def test_000_02_only_the_orchestrator_calls_the_roles_one_way():
    roles = Recorder(CriticVerdict(0.1, True, "差"))
    roles.run("甲", 1)
    assert [who for who, _ in roles.log] == ["plan", "work", "judge", "plan", "work", "judge"]
    for role in (PlannerAgent(), WorkerAgent(), CriticAgent()):
        parts = vars(role).values()
        assert not any(isinstance(part, PlannerAgent | WorkerAgent | CriticAgent) for part in parts)


def test_000_03_every_step_has_its_own_input_and_output_text():
    result = Orchestrator().run(REFERENCE)
    pairs = list(zip([task.description for task in result.plan], result.results, strict=True))
    assert all(isinstance(text, str) for pair in pairs for text in pair)
    assert all(description in output for description, output in pairs)
    assert len(set(result.results)) == 3


def test_000_04_an_unsatisfied_critic_sends_its_feedback_to_the_planner():
    roles = Recorder(CriticVerdict(0.2, True, "第2条太短"), CriticVerdict(1.0, False, ""))
    roles.run("甲", 1)
    assert [goal for who, goal in roles.log if who == "plan"] == ["甲", "甲；反思反馈：第2条太短"]


def test_000_05_one_weak_step_is_planned_again_alone():
    done = (FinishedStep("s1", "调研竞品"), FinishedStep("s2", "输出对比报告"))
    request = MakePlan("p", "f", 2, 1, "replan", REFERENCE, finished=done, failure="落地建议太薄")
    plan = asyncio.run(OfflinePlanner().plan(request, FakeDesk()))
    assert [(step.action, step.depends_on) for step in plan.steps] == [("给出落地建议", ("s2",))]


@pytest.mark.parametrize("goal", [REFERENCE, THREE, "做个年度计划", ""])
def test_000_06_the_default_roles_are_pure(goal):
    assert Orchestrator().run(goal, 2) == Orchestrator().run(goal, 2)
    assert imports_of(article) == {"collections.abc", "dataclasses", "phaseloop.core.errors"}


def test_000_07_subtasks_are_numbered_from_one_without_gaps():
    tasks = PlannerAgent().decompose("，甲，，乙；丙")
    assert tasks == [SubTask(1, "甲"), SubTask(2, "乙"), SubTask(3, "丙")]


@pytest.mark.parametrize("delimiter", ["，", "。", "、", "；", ";", ","])
def test_000_08_six_characters_delimit(delimiter):
    assert pieces(f"甲{delimiter}乙") == ["甲", "乙"]
    assert len(article.DELIMITERS) == 6


@pytest.mark.parametrize("other", [".", ":", "：", "!", "?", "！", "？", "\n", " ", "|", "/", "．"])
def test_000_08_other_marks_do_not_delimit(other):
    assert pieces(f"a{other}b{other}c") == TEMPLATE_TEXTS


def test_000_09_what_counts_is_that_a_delimiter_occurs():
    assert pieces("做个年度计划") == TEMPLATE_TEXTS
    assert pieces("做个年度计划。") == ["做个年度计划"]


@pytest.mark.parametrize(
    ("goal", "expected"),
    [
        (REFERENCE, ["调研竞品", "输出对比报告", "给出落地建议"]),
        (THREE, ["目标一", "目标二", "目标三"]),
        (THREE + SUFFIX + "mock 不达标", ["目标一", "目标二", "目标三", "反思反馈：mock 不达标"]),
        (
            "做个年度计划" + SUFFIX + "部分产出不足，建议重规划",
            ["做个年度计划", "反思反馈：部分产出不足", "建议重规划"],
        ),
        ("3.14，1,000 元", ["3.14", "1", "000 元"]),
        (ELEVEN, ELEVEN.split(",")),
        (" \u3000甲 , \ufeff乙\ufeff ,\t丙\n", ["甲", "乙", "丙"]),
    ],
)
def test_000_10_pieces_are_closed_by_delimiters_trimmed_and_never_empty(goal, expected):
    assert pieces(goal) == expected


def test_000_11_the_template_has_exactly_three_texts():
    assert list(TEMPLATE) == TEMPLATE_TEXTS
    assert pieces("a.b.c") == TEMPLATE_TEXTS


@pytest.mark.parametrize("goal", ["", "，。；", " , ; ", "\ufeff，"])
def test_000_12_every_input_has_a_plan(goal):
    assert pieces(goal) == TEMPLATE_TEXTS


def test_000_13_one_result_a_subtask_in_the_fixed_text():
    assert WorkerAgent().execute(SubTask(2, "输出对比报告"), "") == "完成[2]: 输出对比报告 -> 产出2"


def test_000_14_results_follow_the_plan_and_the_context_is_the_feedback():
    roles = Recorder(CriticVerdict(0.1, True, "差"))
    result = roles.run(THREE, 1)
    assert [context for who, context in roles.log if who == "work"] == ["", "差"]
    assert [text.split(" -> ")[1] for text in result.results] == ["产出1", "产出2", "产出3", "产出4"]


def test_000_15_min_len_is_eight_inclusive():
    assert MIN_LEN == 8
    assert review("12345678").score == 1.0
    assert review("1234567").score == 0.0
    assert review(" \ufeff\u30001234567\n").score == 0.0
    assert review("\ufeff12345678\ufeff").score == 1.0
    assert review("😀" * 7).score == 0.0  # characters as Python counts them: contract section 10
    assert review("\x1c1234567").score == 1.0  # a blank to str.strip, none to JavaScript's trim


@pytest.mark.parametrize(
    ("good", "total", "replans"),
    [
        (1, 2, True),
        (2, 3, False),
        (2, 4, True),
        (3, 4, False),
        (2, 5, True),
        (3, 5, False),
        (3, 6, True),
        (4, 6, False),
        (4, 7, True),
        (5, 8, False),
    ],
)
def test_000_16_below_six_tenths_replans_and_six_tenths_does_not(good, total, replans):
    assert REPLAN_THRESHOLD == 0.6
    verdict = share(good, total)
    assert verdict.score == good / total
    assert verdict.needs_replan is replans


def test_000_17_no_results_is_zero_and_a_replan():
    assert review() == CriticVerdict(0.0, True, "没有任何执行结果，需要重规划")


def test_000_18_all_good_is_one():
    assert share(3, 3) == CriticVerdict(1.0, False, "全部子任务产出达标")


def test_000_19_in_between_the_share_decides():
    assert share(1, 2) == CriticVerdict(0.5, True, "部分产出不足，建议重规划")
    assert share(3, 4) == CriticVerdict(0.75, False, "大部分达标，可交付")
    assert share(0, 2) == CriticVerdict(0.0, True, "部分产出不足，建议重规划")


def test_000_20_a_verdict_is_plain_data_that_any_critic_may_return():
    class Model:
        def review(self, goal, results):
            return CriticVerdict(score=0.42, needs_replan=False, feedback="fine")

    assert Orchestrator(critic=Model()).run(THREE).score == 0.42
    assert CriticVerdict(0.5, True, "x") == CriticVerdict(0.5, True, "x")


def test_000_21_feedback_is_input_of_the_next_decomposition():
    result = Orchestrator(critic=LowScoreCritic()).run(THREE)
    assert result.plan[-1] == SubTask(4, "反思反馈：mock 不达标")


def test_000_22_run_takes_a_goal_and_a_bound_of_one_and_returns_four_fields():
    result = Orchestrator().run(THREE)
    assert result == OrchestratorResult(
        plan=[SubTask(1, "目标一"), SubTask(2, "目标二"), SubTask(3, "目标三")],
        results=["完成[1]: 目标一 -> 产出1", "完成[2]: 目标二 -> 产出2", "完成[3]: 目标三 -> 产出3"],
        score=1.0,
        replanned=False,
    )
    critic = LowScoreCritic()
    Orchestrator(critic=critic).run(THREE)
    assert critic.calls == 2


def test_000_23_the_loop_goes_on_while_a_replan_is_wanted_and_the_bound_is_not_reached():
    high_and_unwanted = Recorder(CriticVerdict(0.0, False, ""))
    assert not high_and_unwanted.run("甲", 5).replanned
    assert Recorder(CriticVerdict(1.0, True, "")).run("甲", 1).replanned

    class Failing(Recorder):
        def decompose(self, goal):
            if self.reviews:
                raise RuntimeError("planner down")
            return super().decompose(goal)

    with pytest.raises(RuntimeError, match="planner down"):
        Failing(CriticVerdict(0.0, True, "")).run("甲", 1)
    body = ast.parse(Path(orchestrator.__file__).read_text(encoding="utf-8"))
    loop = next(node for node in ast.walk(body) if isinstance(node, ast.While) and "max_" in ast.dump(node.test))
    assert ast.unparse(loop.test) == "verdict.needs_replan and replan_count < max_replans"
    assert ast.unparse(loop.body[0]) == "replan_count += 1"


def test_000_24_the_suffix_is_added_to_the_original_goal_with_the_latest_feedback():
    roles = Recorder(CriticVerdict(0, True, "一"), CriticVerdict(0, True, "二"))
    roles.run("甲", 2)
    assert [goal for who, goal in roles.log if who == "plan"] == [
        "甲",
        "甲；反思反馈：一",
        "甲；反思反馈：二",
    ]


def test_000_25_the_critic_reviews_against_the_original_goal():
    roles = Recorder(CriticVerdict(0, True, "一"))
    roles.run("甲", 3)
    assert [goal for who, goal in roles.log if who == "judge"] == ["甲"] * 4


@pytest.mark.parametrize(("max_replans", "calls"), [(0, 1), (1, 2), (3, 4)])
def test_000_26_the_critic_is_called_at_most_once_more_than_the_bound(max_replans, calls):
    critic = LowScoreCritic()
    Orchestrator(critic=critic).run(THREE, max_replans)
    assert critic.calls == calls


def test_000_27_a_low_score_is_returned_and_never_raised():
    result = Orchestrator(worker=FixedWorker("短", "短")).run(THREE, 2)
    assert (result.results, result.score, result.replanned) == (["短", "短"], 0.0, True)
    assert Orchestrator(worker=FixedWorker()).run(THREE, 0).score == 0.0


def test_000_28_each_role_may_be_injected_alone():
    class OneStep:
        def decompose(self, goal):
            return [SubTask(1, goal)]

    assert len(Orchestrator(planner=OneStep()).run(THREE).plan) == 1
    assert Orchestrator(worker=FixedWorker("x")).run(THREE).results == ["x"]
    assert Orchestrator(critic=LowScoreCritic()).run(THREE).score == 0.3
    assert Orchestrator().run(THREE).score == 1.0


def show(capsys, monkeypatch, *argv):
    script = ROOT / "examples" / "article_000" / "run.py"
    monkeypatch.setattr(sys, "argv", [str(script), *argv])
    runpy.run_path(str(script), run_name="__main__")
    return capsys.readouterr().out.splitlines()


def test_000_29_the_demonstration_shows_plan_results_score_and_replan(capsys, monkeypatch):
    assert show(capsys, monkeypatch) == [
        "1. 调研竞品",
        "2. 输出对比报告",
        "3. 给出落地建议",
        "完成[1]: 调研竞品 -> 产出1",
        "完成[2]: 输出对比报告 -> 产出2",
        "完成[3]: 给出落地建议 -> 产出3",
        "评审分: 1.0",
        "一次通过，未触发重规划",
    ]
    assert show(capsys, monkeypatch, "做个年度计划")[0] == "1. 明确目标的边界与成功标准"


def test_000_30_lines_and_the_two_texts():
    example = runpy.run_path(str(ROOT / "examples" / "article_000" / "run.py"))
    lines = example["lines_of"](Orchestrator(critic=LowScoreCritic()).run("甲，乙"))
    assert lines[:2] == ["1. 甲", "2. 乙"]
    assert lines[-1] == "本次发生了重规划"
    assert example["lines_of"](Orchestrator().run("甲，乙"))[-1] == "一次通过，未触发重规划"


SCENES = {
    "a Chinese comma splits": (THREE, 1, None, lambda r: len(r.plan) == 3),
    "the reference goal splits in three": (REFERENCE, 1, None, lambda r: len(r.plan) == 3),
    "an ASCII comma splits": ("a,b", 1, None, lambda r: len(r.plan) == 2),
    "an ASCII semicolon splits": ("a;b", 1, None, lambda r: len(r.plan) == 2),
    "an enumeration comma splits": ("甲、乙", 1, None, lambda r: len(r.plan) == 2),
    "mixed delimiters split": ("甲，乙;丙、丁", 1, None, lambda r: len(r.plan) == 4),
    "a trailing delimiter adds nothing": ("甲，乙。", 1, None, lambda r: len(r.plan) == 2),
    "blanks are trimmed": (" 甲 ， 乙 ", 1, None, lambda r: r.plan[1].description == "乙"),
    "no delimiter takes the template": (
        "做个年度计划",
        1,
        None,
        lambda r: r.plan[0].description == TEMPLATE[0],
    ),
    "the template has three steps": ("做个年度计划", 1, None, lambda r: len(r.plan) == 3),
    "an empty goal takes the template": ("", 1, None, lambda r: len(r.plan) == 3),
    "delimiters alone take the template": ("，。；", 1, None, lambda r: len(r.plan) == 3),
    "ids run from one": (THREE, 1, None, lambda r: [t.id for t in r.plan] == [1, 2, 3]),
    "results match the plan": (THREE, 1, None, lambda r: len(r.results) == len(r.plan)),
    "a result names its step": (THREE, 1, None, lambda r: r.results[2] == "完成[3]: 目标三 -> 产出3"),
    "a good score is one": (THREE, 1, None, lambda r: r.score == 1.0),
    "a good score does not replan": (THREE, 1, None, lambda r: not r.replanned),
    "a low score replans": (THREE, 1, LowScoreCritic, lambda r: r.replanned),
    "a low score replans exactly once": (THREE, 1, LowScoreCritic, lambda r, c: c.calls == 2),
    "a bound of three reviews four times": (THREE, 3, LowScoreCritic, lambda r, c: c.calls == 4),
    "a bound of zero reviews once": (THREE, 0, LowScoreCritic, lambda r, c: c.calls == 1 and not r.replanned),
    "a low score is returned": (THREE, 1, LowScoreCritic, lambda r: r.score == 0.3),
}


def scene(name, call):
    goal, bound, make_critic, holds = SCENES[name]
    critic = make_critic() if make_critic else None
    result = call(Orchestrator(critic=critic), goal, bound)
    return holds(result, critic) if holds.__code__.co_argcount == 2 else holds(result)


def test_000_34_the_same_22_scenes_hold_in_both_ways_of_running():
    assert len(SCENES) == 22
    for name in SCENES:
        assert scene(name, lambda loop, goal, bound: loop.run(goal, bound)), name
        assert scene(name, lambda loop, goal, bound: asyncio.run(loop.arun(goal, bound))), name


@pytest.mark.parametrize("name", list(SCENES))
def test_000_35_each_scene_of_the_orchestration(name):
    assert scene(name, lambda loop, goal, bound: loop.run(goal, bound))


def test_000_36_the_reference_test_of_the_article():
    critic = LowScoreCritic()
    result = Orchestrator(critic=critic).run("目标一，目标二。目标三", 1)
    assert critic.calls == 2
    assert result.replanned is True


def test_000_37_real_work_joined_context_and_another_critic_keep_the_signatures():
    class Chained(WorkerAgent):
        async def execute(self, subtask, context):
            return f"{subtask.description} after [{context}]"

        async def execute_all(self, plan, context):
            results = []
            for subtask in plan:
                results.append(await self.execute(subtask, "; ".join([*filter(None, [context]), *results])))
            return results

    class Model:
        async def review(self, goal, results):
            return CriticVerdict(0.9, False, "每条都有依据")

    result = asyncio.run(Orchestrator(worker=Chained(), critic=Model()).arun("a,b"))
    assert result.results == ["a after []", "b after [a after []]"]
    assert result.score == 0.9


def test_000_38_an_asynchronous_worker_makes_run_asynchronous_with_the_same_bound():
    class Slow(WorkerAgent):
        async def execute(self, subtask, context):
            await asyncio.sleep(0)
            return "太短"

    class Counting(CriticAgent):
        calls = 0

        def review(self, goal, results):
            self.calls += 1
            return super().review(goal, results)

    critic = Counting()
    result = asyncio.run(Orchestrator(worker=Slow(), critic=critic).arun(THREE, 3))
    assert (critic.calls, result.score, result.replanned) == (4, 0.0, True)


def test_000_39_a_critic_that_is_never_satisfied_cannot_hang_the_loop():
    critic = LowScoreCritic()
    Orchestrator(critic=critic).run(THREE, 500)
    assert critic.calls == 501


def test_000_40_detailed_feedback_says_which_results_fall_short_and_by_how_much():
    verdict = review("足够长的一条产出", "短", "", critic=CriticAgent(details=True))
    assert verdict.feedback.splitlines() == [
        "部分产出不足，建议重规划",
        "第2条不足8字（实际1字）",
        "第3条不足8字（实际0字）",
    ]
    assert review("足够长的一条产出", "短").feedback == "部分产出不足，建议重规划"


def test_000_41_the_engine_planner_caps_a_plan_at_eight_by_merging_neighbours():
    request = MakePlan("p", "f", 1, 1, "initial", ELEVEN)
    steps: tuple[Step, ...] = asyncio.run(OfflinePlanner().plan(request, FakeDesk())).steps
    assert [len(step.action.split(" / ")) for step in steps] == [2, 2, 2, 1, 1, 1, 1, 1]
    assert [step.id for step in steps] == ["1", "2", "3", "4", "5", "6", "7", "8"]
    assert len(Orchestrator().run(ELEVEN).plan) == 11


@pytest.mark.parametrize(
    ("threshold", "good", "total", "replans"),
    [(0.9, 1, 2, True), (0.9, 8, 9, True), (0.3, 1, 3, False), (0.3, 1, 2, False), (0.6, 3, 5, False)],
)
def test_000_42_thresholds_are_settings(threshold, good, total, replans):
    results = ["八个字的足够产出"] * good + ["短"] * (total - good)
    assert review(*results, critic=CriticAgent(replan_threshold=threshold)).needs_replan is replans
    assert review("abc", critic=CriticAgent(min_len=3)).score == 1.0


def test_000_43_roles_and_orchestration_import_neither_engine_nor_edge():
    for module in (article, orchestrator):
        ours = {name for name in imports_of(module) if name.startswith("phaseloop")}
        assert all(name.startswith(("phaseloop.core", "phaseloop.roles")) for name in ours)
        assert not imports_of(module) & {
            "socket",
            "urllib.request",
            "http.client",
            "sqlite3",
            "subprocess",
            "os",
        }


def test_000_44_roles_are_called_in_this_process_and_a_number_ends_the_loop():
    roles = Recorder(CriticVerdict(0.0, True, "差"))
    result = roles.run("甲", 7)
    assert len(roles.log) == 3 * 8
    assert result.replanned
