import pytest

from phaseloop.adapters.model_prompts import (
    first_free,
    fitting,
    instructions,
    plan_prompt,
    shown,
    step_prompt,
    verdict_prompt,
)
from phaseloop.core.effects import FinishedStep, JudgeStep, MakePlan, RunStep
from phaseloop.core.plan import Call, Finding, Step
from phaseloop.core.process import Activity, ActivityType
from phaseloop.core.tools import EffectClass, ToolSpec

LOOK = ToolSpec(
    "look",
    "Look  a\ncity up.",
    EffectClass.READ,
    {
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "a city", "examples": ["Oslo"]},
            "day": {"type": "string", "format": "date"},
        },
        "required": ["city"],
    },
    {"type": "object", "properties": {"summary": {"type": "string"}}},
)
FULL = MakePlan(
    "plan/p2/3/1",
    "p2",
    3,
    1,
    "replan",
    "Tell Mia the weather",
    phase_name="Do",
    instruction="Be brief",
    later_phases=("Integrate", "Deploy"),
    inputs={"city": "Oslo", "age": 4},
    artifacts={"brief": {"who": "Mia"}},
    outputs=("note",),
    schemas={"note": {"type": "object", "properties": {"text": {"type": "string"}}}},
    tools=(LOOK, ToolSpec("send", "Send a note.")),
    broken_tools=("fax",),
    activities=(Activity("act1", ActivityType.TOOL, config={"tool": "send"}, optional=True, produces="note"),),
    finished=(FinishedStep("s1", "Look up Oslo", {"summary": "rain"}),),
    pending=(Step("s4", "Send it", "send", ("s1",), call=Call("send", {"text": {"$ref": "s1"}})),),
    failure="send was refused",
    feedback="write friendlier",
    findings=(Finding("unknown_tool", "there is no tool fax", "step s2", "use send"),),
)


def test_the_planner_sees_the_present_phase_and_only_names_of_later_ones():
    text = plan_prompt(FULL).user
    assert "[LATER_PHASES]\nLater phases, which you do not plan: Integrate, Deploy" in text
    assert "[PHASE]\nDo\nBe brief" in text


def test_the_planner_sees_tools_with_arguments_examples_and_what_they_give():
    text = plan_prompt(FULL).user
    assert "- look (read): Look a city up." in text
    assert 'arguments: {"city":"text: a city: for example \\"Oslo\\"","day?":"text, date"}' in text
    assert 'gives: {"summary":"text"}' in text
    assert "- send (write): Send a note.\n  arguments: none" in text
    assert "Do not use them: fax" in text


def test_the_planner_is_told_what_is_done_what_failed_and_what_a_person_wants():
    text = plan_prompt(FULL).user
    assert 'Do not repeat them:\n- s1 Look up Oslo: {"summary":"rain"}' in text
    assert "Plan only what remains:\nsend was refused" in text
    assert "[FEEDBACK]\nA person asks for this change:\nwrite friendlier" in text
    assert "- step s2: there is no tool fax use send" in text
    assert '"call":{"args":{"text":{"$ref":"s1"}},"tool":"send"}' in text
    assert '- note: {"text":"text"}' in text
    assert '- act1 (TOOL): , produces note, optional, {"tool":"send"}' in text
    assert text.endswith("Number new steps from s5. At most 8 steps. Reply with the JSON object only.")


def test_the_stable_part_of_a_planner_prompt_comes_first_and_has_no_ids():
    text = plan_prompt(FULL).user
    before, _, _ = text.partition("[USER_INPUT]")
    other = plan_prompt(MakePlan(**{**_fields(FULL), "goal": "Tell Tom", "finished": (), "id": "x", "version": 9})).user
    assert other.startswith(before)
    assert "plan/p2" not in text


def test_a_chinese_goal_is_planned_in_chinese():
    prompt = plan_prompt(MakePlan("plan/p/1/1", "p", 1, 1, "replan", "查询奥斯陆的天气", failure="超时"))
    assert prompt.instructions == instructions("planner", "zh")
    assert "请只规划剩余未完成的部分" in prompt.user
    assert "步骤总数控制在 3-8 步之间" in prompt.instructions


@pytest.mark.parametrize("role", ["planner", "executor", "critic"])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_role_has_instructions_in_both_languages(role, language):
    assert len(instructions(role, language)) > 200


def test_a_new_step_gets_a_number_that_no_other_has():
    assert first_free(FULL) == 5
    assert first_free(MakePlan("plan/p/1/1", "p", 1, 1, "start", "go")) == 1


def test_the_executor_sees_its_namespaces_in_the_given_order_then_its_step():
    request = RunStep(
        "step/s2/2",
        Step(
            "s2",
            "Send it",
            "send",
            output_schema={"type": "object", "properties": {"id": {"type": "string"}}},
        ),
        2,
        "Tell Mia",
        {"USER_INPUT": "Tell Mia the weather", "[PLAN]": {"steps": 2}, "STEP_1_RESULT": "rain"},
        hint="name the city",
        finished_writes=("send to Mia",),
        instruction="Be kind",
    )
    text = step_prompt(request).user
    order = [
        "[INSTRUCTION]",
        "[USER_INPUT]",
        "[PLAN]",
        "[STEP_1_RESULT]\nrain",
        "[FINISHED_WRITES]",
        "[STEP]\nSend it",
    ]
    places = [text.index(name) for name in order]
    assert places == sorted(places)
    assert "Likely tool: send" in text
    assert '{"id":"text"} and nothing else' not in text
    assert 'JSON of this shape and nothing else: {"id":"text"}' in text
    assert text.endswith("Do this differently: name the city")


def test_the_critic_sees_evidence_even_when_there_is_none():
    request = JudgeStep("judge/s1/1", "deep", Step("s1", "Send it"), 1, "Tell Mia", "", failure="timed out")
    prompt = verdict_prompt(request)
    assert "strict verifier" in prompt.instructions
    assert "[EVIDENCE]\nnone" in prompt.user
    assert "timed out" in prompt.user


def test_a_large_value_is_shown_as_head_size_and_handle():
    text = shown("é" * 10_000)
    assert text.startswith("é" * 1024 + "… [cut: 20000 bytes in all, sha256:")
    assert len(text) < 1200
    assert shown("é" * 4096) == "é" * 4096
    assert fitting({"a": 1}) == {"a": 1}
    assert fitting([1] * 9000).startswith("[1,1,")


def _fields(request):
    return {name: getattr(request, name) for name in request.__dataclass_fields__}
