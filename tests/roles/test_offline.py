"""The offline roles: what they plan, what a re-plan leaves out, what they say and how they judge."""

import asyncio
from dataclasses import replace

import pytest

from phaseloop.core.effects import FinishedStep, JudgePlan, JudgeStep, MakePlan, RunStep
from phaseloop.core.errors import PhaseloopError
from phaseloop.core.plan import ActivityType, Call, Finding, Step
from phaseloop.core.process import Activity
from phaseloop.core.tools import EffectClass, ToolSpec
from phaseloop.roles.article import TEMPLATE
from phaseloop.roles.offline import OfflineCritic, OfflineExecutor, OfflinePlanner
from phaseloop.roles.offline_plan import TEMPLATES, merged
from phaseloop.roles.protocols import CallResult, Critic, Executor, Planner, Roles
from tests.roles.fake_desk import FakeDesk, read_tool

GOAL = "调研竞品，输出对比报告，给出落地建议"


def asked(goal=GOAL, **more):
    return MakePlan("p1", "phase_default", more.pop("version", 1), 1, "initial", goal, **more)


def plan_of(request):
    return asyncio.run(OfflinePlanner().plan(request, FakeDesk()))


def actions(plan):
    return [step.action for step in plan.steps]


def finished(*pairs):
    return tuple(FinishedStep(step_id, action) for step_id, action in pairs)


# ---- planner: goals


def test_the_roles_fit_the_protocols():
    planner: Planner = OfflinePlanner()
    executor: Executor = OfflineExecutor()
    critic: Critic = OfflineCritic()
    assert Roles(planner, executor, critic).critic is critic


def test_a_goal_becomes_a_chain_of_open_steps():
    plan = plan_of(asked())
    assert plan.goal == GOAL
    assert actions(plan) == ["调研竞品", "输出对比报告", "给出落地建议"]
    assert [step.id for step in plan.steps] == ["1", "2", "3"]
    assert [step.depends_on for step in plan.steps] == [(), ("1",), ("2",)]
    assert not any(step.bound or step.activity_id for step in plan.steps)
    assert plan.constraints == ()


@pytest.mark.parametrize(
    ("goal", "expected"),
    [
        ("做个年度计划", list(TEMPLATE)),
        ("做个年度计划。", ["做个年度计划"]),
        ("，。；", list(TEMPLATE)),
        ("", list(TEMPLATES["en"])),
        ("Plan the year", list(TEMPLATES["en"])),
        ("Compare rivals, write a report; advise", ["Compare rivals", "write a report", "advise"]),
        ("3.14，1,000 元", ["3.14", "1", "000 元"]),
    ],
)
def test_a_goal_without_pieces_gets_the_template_of_its_script(goal, expected):
    assert actions(plan_of(asked(goal))) == expected


def test_eleven_pieces_are_merged_into_eight_the_larger_groups_first():
    plan = plan_of(asked("一,二,三,四,五,六,七,八,九,十,十一"))
    assert actions(plan) == ["一 / 二", "三 / 四", "五 / 六", "七", "八", "九", "十", "十一"]
    assert [step.id for step in plan.steps] == list("12345678")


@pytest.mark.parametrize(("count", "limit"), [(3, 8), (8, 8), (9, 8), (16, 8), (17, 8), (100, 8), (5, 1)])
def test_merging_keeps_every_piece_in_order_and_groups_nearly_equal(count, limit):
    pieces = [f"p{n}" for n in range(count)]
    groups = [group.split(" / ") for group in merged(pieces, limit)]
    assert [piece for group in groups for piece in group] == pieces
    sizes = [len(group) for group in groups]
    assert len(groups) == min(count, limit)
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] - sizes[-1] <= 1


def test_a_smaller_cap_of_the_request_counts():
    assert actions(plan_of(asked("a,b,c,d", max_steps=2))) == ["a / b", "c / d"]


def test_the_last_steps_make_the_outputs_with_their_schemas():
    plan = plan_of(asked(outputs=("x", "y"), schemas={"y": {"type": "object"}}))
    assert [(step.produces, step.output_schema) for step in plan.steps] == [
        (None, None),
        ("x", None),
        ("y", {"type": "object"}),
    ]


def test_outputs_beyond_the_pieces_get_steps_of_their_own():
    plan = plan_of(asked("写报告。", outputs=("x", "y")))
    assert [(step.action, step.produces) for step in plan.steps] == [("写报告", "x"), ("产出 y", "y")]


def test_a_piece_that_names_a_read_tool_has_it_as_its_hint():
    tools = (read_tool("list_orders"), ToolSpec("mail"), read_tool("broken"))
    plan = plan_of(asked("用list_orders取单，mail客户，list_orders_all，broken", tools=tools, broken_tools=("broken",)))
    assert [step.tool_hint for step in plan.steps] == ["list_orders", None, None, None]


def test_the_same_request_gets_the_same_plan():
    assert plan_of(asked()) == plan_of(asked())


# ---- planner: re-plans


def test_feedback_failure_and_findings_become_constraints_and_never_steps():
    request = asked(feedback="短一点，好吗", failure="timeout", findings=(Finding("unused", "s2 is unused"),))
    plan = plan_of(request)
    assert actions(plan) == ["调研竞品", "输出对比报告", "给出落地建议"]
    assert plan.constraints == ("反馈：短一点，好吗", "上次失败：timeout", "计划检查：s2 is unused")
    assert plan_of(replace(request, goal="a,b")).constraints == (
        "Feedback: 短一点，好吗",
        "Failed before: timeout",
        "Plan check: s2 is unused",
    )


def test_a_replan_leaves_finished_steps_out_keeps_pending_ones_and_plans_the_failed_one_anew():
    pending = Step("s3", "给出落地建议", depends_on=("s2",))
    request = asked(finished=finished(("s1", "调研竞品")), pending=(pending,), failure="s2 timed out")
    first, second = plan_of(request).steps
    assert (first.id, first.action, first.depends_on) == ("2", "输出对比报告", ("s1",))
    assert second == replace(pending, depends_on=("2",))


def test_a_pending_step_whose_dependencies_live_is_returned_unchanged():
    pending = (Step("s2", "输出对比报告", depends_on=("s1",)), Step("s3", "给出落地建议", depends_on=("s2",)))
    request = asked(finished=finished(("s1", "调研竞品")), pending=pending, feedback="快")
    assert plan_of(request).steps == pending


def test_a_pending_step_of_another_planner_is_kept_behind_the_rest():
    other = Step("s9", "something else", depends_on=("s4", "s1"))
    request = asked(finished=finished(("s1", "调研竞品")), pending=(other,))
    steps = plan_of(request).steps
    assert [step.id for step in steps] == ["2", "3", "s9"]
    assert steps[2].depends_on == ("s1", "3")


def test_pending_steps_are_found_in_any_order_and_others_stay_as_they_are():
    pending = (Step("s8", "extra", depends_on=("s1",)), Step("s3", "b"), Step("s2", "a"))
    plan = plan_of(asked("a,b", finished=finished(("s1", "x")), pending=pending))
    assert plan.steps == (pending[2], pending[1], pending[0])


def test_equal_pieces_are_counted_one_by_one():
    plan = plan_of(asked("检查，检查，检查", finished=finished(("s1", "检查"), ("s2", "检查"))))
    assert [(step.id, step.depends_on) for step in plan.steps] == [("3", ("s2",))]


def test_with_everything_finished_a_comment_adds_a_revision_of_each_output():
    done = finished(("s1", "调研竞品"), ("s2", "输出对比报告"), ("s3", "给出落地建议"))
    plan = plan_of(asked(finished=done, feedback="更短", outputs=("report",)))
    assert [(step.action, step.produces, step.depends_on) for step in plan.steps] == [
        ("按意见修订report", "report", ("s3",))
    ]
    assert plan.constraints == ("反馈：更短",)
    assert actions(plan_of(asked(finished=done, feedback="更短"))) == ["按意见修订产出"]


def test_a_failure_that_names_outputs_revises_only_those():
    done = finished(("s1", "a"), ("s2", "b"))
    plan = plan_of(asked("a,b", finished=done, failure="y is missing", outputs=("x", "y")))
    assert [(step.action, step.produces) for step in plan.steps] == [("Revise y as asked", "y")]


def test_with_everything_finished_and_nothing_wrong_nothing_is_planned():
    assert plan_of(asked("a,b", finished=finished(("s1", "a"), ("s2", "b")))).steps == ()


# ---- planner: declared activities

DECLARED = (
    Activity("route", ActivityType.RULE, config={"check": "true"}, title={"en": "Route", "zh": "路由"}),
    Activity("fetch", ActivityType.TOOL, config={"tool": "fetch", "args": {"q": 1}}, produces="rows"),
    Activity("ask", ActivityType.HUMAN),
    Activity("extra", ActivityType.LLM, optional=True),
    Activity("write", ActivityType.LLM, config={"instruction": "Write it", "tools": ["search"]}),
    Activity(
        "send",
        ActivityType.TOOL,
        config={
            "tool": "mail",
            "args": {"body": {"$ref": "write"}, "n": [{"$tmpl": "{fetch:[0].id} rows"}], "to": "a"},
        },
    ),
    Activity("child", ActivityType.SUBPROCESS, config={"definitionId": "d"}),
)


def test_declared_activities_are_each_one_step_in_declared_order():
    steps = plan_of(asked("Do it", activities=DECLARED, outputs=("rows",))).steps
    assert [step.activity_id for step in steps] == ["route", "fetch", "write", "send", "child"]
    assert [step.type.value for step in steps] == ["RULE", "TOOL", "LLM", "TOOL", "SUBPROCESS"]
    assert [step.depends_on for step in steps] == [
        (),
        ("route",),
        ("fetch",),
        ("write", "fetch"),
        ("send",),
    ]
    assert [step.action for step in steps] == ["Route", "fetch", "Write it", "send", "child"]
    assert steps[1].call == Call("fetch", {"q": 1})
    assert (steps[1].produces, steps[1].tool_hint) == ("rows", "fetch")
    assert (steps[2].call, steps[2].tool_hint) == (None, "search")


def test_titles_follow_the_script_of_the_goal():
    assert plan_of(asked("做", activities=DECLARED)).steps[0].action == "路由"


def test_a_single_output_that_nobody_claims_is_made_by_the_last_open_step():
    activities = DECLARED[:1] + (Activity("classify", ActivityType.LLM, title="Classify"),)
    steps = plan_of(asked("x", activities=activities, outputs=("intent",), schemas={"intent": {"a": 1}})).steps
    assert [(step.produces, step.output_schema) for step in steps] == [(None, None), ("intent", {"a": 1})]


def test_a_single_output_behind_a_rule_is_left_to_the_core():
    activities = (Activity("make", ActivityType.LLM, title="Make"), DECLARED[0])
    assert [s.produces for s in plan_of(asked("x", activities=activities, outputs=("out",))).steps] == [
        None,
        None,
    ]


def test_an_output_that_an_activity_claims_is_left_to_it():
    activities = (
        Activity("make", ActivityType.LLM, title="Make", produces="out", config={"output_schema": {"b": 2}}),
        Activity("look", ActivityType.LLM, title="Look"),
    )
    steps = plan_of(asked("x", activities=activities, outputs=("out",), schemas={"out": {"a": 1}})).steps
    assert [(step.produces, step.output_schema) for step in steps] == [("out", {"b": 2}), (None, None)]


def test_a_phase_of_gates_alone_has_no_steps():
    assert plan_of(asked("x", activities=(Activity("ask", ActivityType.HUMAN),))).steps == ()


def test_a_replan_of_declared_activities_points_references_at_what_stands_for_them_now():
    done = (FinishedStep("s1", "路由", None, "route"), FinishedStep("s2", "whatever", None, "fetch"))
    stale = Step(
        "s4",
        "send",
        depends_on=("s3", "s2"),
        activity_id="send",
        type=ActivityType.TOOL,
        call=Call("mail", {"body": {"$ref": "s3"}, "n": [{"$tmpl": "{s2:[0].id} rows"}], "to": "a"}),
    )
    child = Step("s5", "child", depends_on=("s4",), activity_id="child", type=ActivityType.SUBPROCESS)
    plan = plan_of(asked("Do", activities=DECLARED, finished=done, pending=(stale, child), failure="s3: empty"))
    write, send, last = plan.steps
    assert (write.id, write.activity_id, write.depends_on) == ("write", "write", ("s2",))
    assert (send.id, send.depends_on) == ("s4", ("s2", "write"))
    assert send.call.args == {"body": {"$ref": "write"}, "n": [{"$tmpl": "{s2:[0].id} rows"}], "to": "a"}
    assert last == child


def test_finished_activities_are_known_by_their_action_when_the_request_does_not_name_them():
    plan = plan_of(asked("Do", activities=DECLARED, finished=finished(("s1", "Route"), ("s2", "fetch"))))
    assert [step.id for step in plan.steps] == ["write", "send", "child"]


# ---- executor


def run_step(step, goal=GOAL, desk=None):
    return asyncio.run(OfflineExecutor().run(RunStep("e1", step, 1, goal), desk or FakeDesk()))


def test_the_text_follows_the_script_of_the_goal_and_the_number_of_the_step():
    assert run_step(Step("s2", "输出对比报告")) == "完成[2]: 输出对比报告 -> 产出2"
    assert run_step(Step("s12", "write"), "Do it") == "Done[12]: write -> output 12"


def test_a_read_tool_without_arguments_is_called_through_the_desk():
    desk = FakeDesk({"list": CallResult("ok", [1])}, (read_tool("other"), read_tool("list")))
    assert run_step(Step("s1", "x", "list"), "Do", desk) == {"text": "Done[1]: x -> output 1", "value": [1]}
    assert desk.calls == [("list", {})]


@pytest.mark.parametrize(
    "tool",
    [read_tool("t", ["id"]), ToolSpec("t"), ToolSpec("t", effect=EffectClass.IDEMPOTENT), read_tool("u")],
)
def test_any_other_hint_is_left_alone(tool):
    desk = FakeDesk(tools=(tool,))
    assert run_step(Step("s1", "x", "t"), "Do", desk) == "Done[1]: x -> output 1"
    assert desk.calls == []


def test_a_failing_tool_fails_the_step():
    desk = FakeDesk({"list": CallResult("failed", "no route")}, (read_tool("list"),))
    with pytest.raises(PhaseloopError, match="tool list of step s1 failed: no route"):
        run_step(Step("s1", "x", "list"), "Do", desk)


def test_a_schema_gets_its_smallest_value():
    schema = {
        "type": "object",
        "required": ["goal", "summary", "n"],
        "properties": {
            "goal": {"type": "string"},
            "summary": {"type": "string"},
            "n": {"type": "integer", "minimum": 1},
        },
    }
    assert run_step(Step("s1", "x", output_schema=schema), "Do") == {
        "goal": "Do",
        "summary": "Done[1]: x -> output 1",
        "n": 1,
    }


# ---- critic


def judge_plan(*outputs, goal=GOAL, critic=None):
    results = tuple(FinishedStep(f"s{n}", "x", output) for n, output in enumerate(outputs, start=1))
    request = JudgePlan("j", "phase_default", 1, goal, results)
    return asyncio.run((critic or OfflineCritic()).judge(request, FakeDesk()))


@pytest.mark.parametrize(
    ("good", "total", "score", "passed"),
    [
        (1, 2, 5.0, False),
        (2, 3, 6.7, True),
        (2, 4, 5.0, False),
        (3, 4, 7.5, True),
        (2, 5, 4.0, False),
        (3, 5, 6.0, True),
        (3, 6, 5.0, False),
        (4, 6, 6.7, True),
        (4, 7, 5.7, False),
        (5, 8, 6.2, True),
        (4, 4, 10.0, True),
        (0, 3, 0.0, False),
    ],
)
def test_the_score_is_ten_times_the_share_of_good_results(good, total, score, passed):
    verdict = judge_plan(*["long enough"] * good, *["short"] * (total - good))
    assert (verdict.score, verdict.passed, len(verdict.issues)) == (score, passed, total - good)


def test_issues_name_the_result_and_what_it_lacks():
    verdict = judge_plan("短", None, "  ", "足够长的一段产出")
    assert verdict.issues == (
        "s1: 产出不足8字（实际1字）",
        "s2: 产出为空",
        "s3: 产出为空",
    )
    assert verdict.suggestion == "部分产出不足，建议重规划"
    english = judge_plan("abc", goal="Do it")
    assert english.issues == ("s1: the output has 3 characters, fewer than 8",)
    assert english.suggestion == "Some results fall short; plan again"


def test_length_counts_after_the_trim_and_eight_is_enough():
    assert judge_plan("\ufeff 12345678 \ufeff").passed
    assert not judge_plan("\ufeff 1234567 \ufeff").passed


def test_what_is_no_text_is_good_unless_empty():
    assert judge_plan(True, 0, {"a": 1}, [0]).score == 10.0
    assert judge_plan({}, [], None, "").score == 0.0


def test_no_results_is_the_worst_verdict():
    assert judge_plan().score == 0.0
    assert judge_plan().issues == ("没有任何执行结果，需要重规划",)
    assert judge_plan(goal="Do").issues == ("There is no result at all; plan again",)


def test_thresholds_are_settings():
    assert judge_plan("abc", critic=OfflineCritic(min_len=3)).score == 10.0
    assert not judge_plan("long enough", "long enough", "x", critic=OfflineCritic(threshold=0.7)).passed


def judge_step(output=None, failure="", scope="step", goal="Do"):
    request = JudgeStep("j", scope, Step("s4", "x"), 1, goal, output, failure=failure)
    return asyncio.run(OfflineCritic().judge(request, FakeDesk()))


@pytest.mark.parametrize(
    ("output", "score"), [("long enough", 10.0), ("short", 5.0), ("", 2.0), (None, 2.0), (7, 10.0)]
)
def test_a_step_is_scored_by_the_table_of_rule_findings(output, score):
    verdict = judge_step(output)
    assert (verdict.score, verdict.passed) == (score, score == 10.0)


def test_a_failure_is_scored_zero_with_its_reason():
    verdict = judge_step("long enough", "timeout after 30 s", "deep")
    assert (verdict.score, verdict.passed) == (0.0, False)
    assert verdict.issues == ("s4: timeout after 30 s",)
    assert judge_step(failure="x", scope="deep", goal=GOAL).suggestion == "换一种做法重新规划此步骤"


def test_verdicts_are_by_rule():
    assert judge_plan("short").by == judge_step("short").by == "rule"
