import asyncio
import json

import pytest
from pydantic_ai import ModelResponse, TextPart, models
from pydantic_ai.models.function import FunctionModel

from phaseloop.adapters.model_failure import ModelStopped
from phaseloop.adapters.model_roles import ModelCritic, ModelExecutor, ModelPlanner, differently
from phaseloop.adapters.scripted_model import Rule, ScriptedModel
from phaseloop.core.effects import JudgePlan, JudgeStep, MakePlan, RunStep
from phaseloop.core.errors import RecordUnreadable
from phaseloop.core.plan import Step
from phaseloop.core.tools import EffectClass, ToolSpec
from tests.adapters.recording_desk import RecordingDesk, ok

models.ALLOW_MODEL_REQUESTS = False

LOOK = ToolSpec("look", "Look something up.", EffectClass.READ)
PLAN = {
    "goal": "know the weather",
    "steps": [
        {
            "id": "s1",
            "action": "look",
            "tool_hint": "look",
            "depends_on": [],
            "call": {"tool": "look", "args": {}},
        },
        {"id": "s2", "action": "say it", "tool_hint": None, "depends_on": ["s1"]},
    ],
    "constraints": ["be brief"],
}
BAD, GOOD = "I think first we look, then we say it.", json.dumps(PLAN)
VERDICT = '{"passed": true, "score": 9, "issues": [], "suggestion": ""}'
REQUEST = MakePlan("plan/p/1/1", "p", 1, 1, "start", "Tell me the weather", tools=(LOOK,))
STEP = RunStep("step/s1/1", Step("s1", "Look up the weather", "look"), 1, "Tell me the weather", tools=(LOOK,))
JUDGE = JudgeStep("judge/s1/1", "step", STEP.step, 1, "Tell me the weather", "Rain.", ({"tool": "look"},))


class Replies(FunctionModel):
    """Answers in turn and keeps the settings and the texts it was asked with."""

    def __init__(self, *replies):
        self.given, self.asked, self.told = [], [], []
        self.replies = list(replies)
        super().__init__(self.respond, model_name="replies")

    def respond(self, messages, info):
        self.given.append(dict(info.model_settings or {}))
        self.asked.append(str(messages[-1].parts[-1].content))
        self.told.append(info.instructions)
        reply = self.replies.pop(0)
        return reply if isinstance(reply, ModelResponse) else ModelResponse([TextPart(reply)])


def plan(desk, *replies, request=REQUEST):
    return asyncio.run(ModelPlanner(Replies(*replies)).plan(request, desk))


def judge(desk, *replies, request=JUDGE):
    return asyncio.run(ModelCritic(Replies(*replies)).judge(request, desk))


def test_a_plan_is_read_and_its_calls_are_bound():
    desk = RecordingDesk()
    made = plan(desk, GOOD)
    assert [step.action for step in made.steps] == ["look", "say it"]
    assert made.steps[0].call.tool == "look"
    assert made.constraints == ("be brief",)
    assert desk.record.models[0].drift == ()


def test_a_planner_entered_again_asks_no_model_and_gives_the_same_plan():
    desk = RecordingDesk()
    made = plan(desk, BAD, f"```json\n{GOOD}\n```")
    again = desk.entered_again()
    assert plan(again) == made
    assert (again.sent, again.diverged) == (0, [])


def test_an_unreadable_plan_is_asked_for_once_more_with_other_settings_and_the_reason():
    model = Replies(BAD, GOOD)
    desk = RecordingDesk()
    asyncio.run(ModelPlanner(model, profile={"seed": True}).plan(REQUEST, desk))
    assert "temperature" not in model.given[0]
    assert (model.given[1]["temperature"], model.given[1]["seed"]) == (0.2, 7)
    assert "expected a plan object with steps, got: I think first" in model.asked[1]
    assert desk.record.models[0].drift == (f"expected a plan object with steps, got: {BAD}",)


def test_two_unreadable_plans_are_a_failure_that_says_what_came():
    with pytest.raises(ModelStopped, match="no usable planner reply in 2 tries.*got: I think"):
        plan(RecordingDesk(), BAD, BAD)


def test_a_plan_cut_at_the_token_limit_is_never_taken():
    cut = ModelResponse([TextPart(GOOD)], finish_reason="length")
    desk = RecordingDesk()
    assert plan(desk, cut, GOOD).goal == "know the weather"
    assert "cut at its token limit" in desk.record.models[0].drift[0]
    with pytest.raises(ModelStopped, match="cut at its token limit"):
        plan(RecordingDesk(), cut, cut)


def test_a_second_planning_uses_other_settings_at_once():
    model = Replies(GOOD)
    second = MakePlan("plan/p/1/2", "p", 1, 2, "refused", "Tell me the weather")
    asyncio.run(ModelPlanner(model).plan(second, RecordingDesk()))
    assert model.given[0]["temperature"] == 0.2


def test_a_model_with_native_json_gets_a_schema_with_the_tool_names():
    seen = []

    def respond(messages, info):
        seen.append(info.model_request_parameters)
        return ModelResponse([TextPart(GOOD)])

    planner = ModelPlanner(
        FunctionModel(respond, profile={"supports_json_schema_output": True}), profile={"native_json": True}
    )
    asyncio.run(planner.plan(REQUEST, RecordingDesk()))
    (parameters,) = seen
    assert parameters.output_mode == "native"
    step = parameters.output_object.json_schema["properties"]["steps"]["items"]["properties"]
    assert step["call"]["properties"]["tool"]["enum"] == ["look"]


def test_a_step_ends_with_the_sentence_of_the_model():
    desk = RecordingDesk((LOOK,), {"look": ok({"weather": "rain"})})
    model = ScriptedModel(
        [Rule("Look up", ({"tool": "look", "args": {"at": "Oslo"}}, "It rains."), (7, 3))], "executor"
    )
    executor = ModelExecutor(model)
    assert asyncio.run(executor.run(STEP, desk)) == "It rains."
    assert desk.ran == [("look", {"at": "Oslo"})]
    assert [reply.usage.tokens_in for reply in desk.record.models] == [7, 7]
    again = desk.entered_again()
    assert asyncio.run(executor.run(STEP, again)) == "It rains."
    assert (again.sent, again.ran, again.diverged, model.requests) == (0, [], [], 2)


def test_an_attempt_that_began_with_other_words_goes_on_with_those():
    desk = RecordingDesk((LOOK,), {"look": ok(1)})
    model = Replies("Rain.")
    asyncio.run(ModelExecutor(model).run(STEP, desk))
    before = RunStep(**{**_fields(STEP), "prompt": {"instructions": "old rules", "user": "old task"}})
    model = Replies("Sun.")
    assert asyncio.run(ModelExecutor(model).run(before, RecordingDesk())) == "Sun."
    assert (model.asked, model.told) == (["old task"], ["old rules"])
    broken = RunStep(**{**_fields(STEP), "prompt": "text"})
    with pytest.raises(RecordUnreadable, match="the recorded prompt"):
        asyncio.run(ModelExecutor(Replies()).run(broken, RecordingDesk()))


def test_a_step_with_an_output_schema_gives_data():
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    step = Step("s1", "Name the city", output_schema=schema)
    request = RunStep("step/s1/1", step, 1, "goal")
    desk = RecordingDesk()
    assert asyncio.run(ModelExecutor(Replies('Sure: {"city": "Oslo",}')).run(request, desk)) == {"city": "Oslo"}
    assert desk.record.models[0].drift
    assert asyncio.run(ModelExecutor(Replies("no idea")).run(request, RecordingDesk())) == "no idea"


def test_an_answer_cut_at_the_token_limit_is_a_failure():
    cut = ModelResponse([TextPart("It rai")], finish_reason="length")
    with pytest.raises(ModelStopped, match="cut at its token limit"):
        asyncio.run(ModelExecutor(Replies(cut)).run(STEP, RecordingDesk()))


def test_a_model_that_never_answers_is_told_apart_by_its_kind():
    def stubborn(messages, info):
        return ModelResponse([TextPart('{"name": "look", "arguments": {}}')])

    desk = RecordingDesk((LOOK,), {"look": ok(1)})
    request = RunStep(**{**_fields(STEP), "rounds": 2})
    answer = asyncio.run(ModelExecutor(FunctionModel(stubborn)).run(request, desk))
    assert answer == '{"name": "look", "arguments": {}}'  # in the last round there is no tool: it is text
    assert len(desk.ran) == 1


def test_a_large_tool_result_is_cut_for_the_model():
    desk = RecordingDesk((LOOK,), {"look": ok({"page": "x" * 20_000})})
    model = ScriptedModel([Rule("Look up", ({"tool": "look"}, "Read."))])
    seen = []
    inner = model.function

    def watch(messages, info):
        seen.append(messages[-1].parts[0].content)
        return inner(messages, info)

    asyncio.run(ModelExecutor(FunctionModel(watch)).run(STEP, desk))
    assert len(seen[1]) < 9000
    assert "[cut: 20011 bytes in all, sha256:" in seen[1]


def test_a_verdict_is_read_with_a_strict_temperature():
    model = Replies(VERDICT)
    verdict = asyncio.run(ModelCritic(model).judge(JUDGE, RecordingDesk()))
    assert (verdict.score, verdict.passed, verdict.by, verdict.format_issue) == (9, True, "model", "")
    assert model.given[0]["temperature"] == 0.2
    assert '[EVIDENCE]\n1. {"tool":"look"}' in model.asked[0]


def test_a_verdict_without_json_is_asked_for_once_more_and_then_served():
    desk = RecordingDesk()
    verdict = judge(desk, "It looks right to me.", VERDICT)
    assert judge(desk.entered_again()) == verdict
    with pytest.raises(ModelStopped, match="no usable critic reply in 2 tries"):
        judge(RecordingDesk(), "fine", "fine")


def test_a_contradiction_in_a_verdict_is_recorded_as_a_difference():
    desk = RecordingDesk()
    verdict = judge(desk, '{"passed": true, "score": 3}')
    assert (verdict.score, verdict.format_issue) == (3, "passed is true, but the score is 3")
    assert desk.record.models[0].drift == ("passed is true, but the score is 3",)


def test_a_whole_plan_is_judged_with_its_results():
    model = Replies(VERDICT)
    request = JudgePlan("judge/plan/1", "p", 1, "Tell me the weather")
    asyncio.run(ModelCritic(model).judge(request, RecordingDesk()))
    assert "[EVIDENCE]\nnone" in model.asked[0]


def test_asking_again_always_changes_the_temperature():
    assert differently({}, {})["temperature"] == 0.2
    assert differently({"temperature": 0.2}, {})["temperature"] == 0.7
    assert differently({"temperature": 0.9, "seed": 1}, {"seed": True}) == {"temperature": 0.2, "seed": 8}


def test_a_failing_script_fails_the_role():
    with pytest.raises(ValueError, match="the script of planner has no reply for"):
        asyncio.run(ModelPlanner(ScriptedModel([], "planner")).plan(REQUEST, RecordingDesk()))


def _fields(request):
    return {name: getattr(request, name) for name in request.__dataclass_fields__}
