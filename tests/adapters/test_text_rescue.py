import pytest
from pydantic_ai import ModelResponse, TextPart, ToolCallPart, ToolDefinition
from pydantic_ai.models import ModelRequestParameters

from phaseloop.adapters.text_rescue import find_calls, rescue

WEATHER = ToolDefinition(name="get_weather")
MAIL = ToolDefinition(name="send_email")
OFFERED = ModelRequestParameters(function_tools=[WEATHER, MAIL])
CALL = '{"name": "get_weather", "arguments": {"city": "Oslo"}}'

FORMS = {
    "bare": CALL,
    "fence": f"```json\n{CALL}\n```",
    "tool_call tag": f"<tool_call>\n{CALL}\n</tool_call>",
    "tool_call tag never closed": f"<tool_call>\n{CALL}",
    "tools tag, copied braces": f"<tools>{{{CALL}}}</tools>",
    "function_call tag": f"<function_call>{CALL}</function_call>",
    "prose around": f"I will look that up. {CALL} One moment.",
    "fence inside a tag": f"<tool_call>\n```json\n{CALL}\n```\n</tool_call>",
    "parameters": '{"name": "get_weather", "parameters": {"city": "Oslo"}}',
    "tool and args": '{"tool": "get_weather", "args": {"city": "Oslo"}}',
    "tool_name and input": '{"tool_name": "get_weather", "input": {"city": "Oslo"}}',
    "action and action_input": '{"action": "get_weather", "action_input": {"city": "Oslo"}}',
    "function as text": '{"function": "get_weather", "parameters": {"city": "Oslo"}}',
    "function as object": '{"type": "function", "function": {"name": "get_weather", "arguments": {"city": "Oslo"}}}',
    "arguments as text": '{"name": "get_weather", "arguments": "{\\"city\\": \\"Oslo\\"}"}',
    "tool_calls list": f'{{"tool_calls": [{CALL}]}}',
    "list": f"[{CALL}]",
    "mark before a list": f"[TOOL_CALLS][{CALL}]",
    "tool name as key": '{"get_weather": {"city": "Oslo"}}',
    "broken: trailing comma": '{"name": "get_weather", "arguments": {"city": "Oslo",}}',
    "broken: single quotes": "{'name': 'get_weather', 'arguments': {'city': 'Oslo'}}",
    "markup": "<tool_call>\n<function=get_weather>\n<parameter=city>\nOslo\n</parameter>\n</function>\n</tool_call>",
}


@pytest.mark.parametrize("text", FORMS.values(), ids=FORMS.keys())
def test_a_call_written_as_text_becomes_one_real_call(text):
    response, drift = rescue(ModelResponse([TextPart(text)]), OFFERED)
    (part,) = response.parts
    assert isinstance(part, ToolCallPart)
    assert (part.tool_name, part.args) == ("get_weather", {"city": "Oslo"})
    assert len(drift) == 1
    assert response.finish_reason == "tool_call"


@pytest.mark.parametrize(
    "text",
    [
        "The weather in Oslo is fine.",
        '{"name": "delete_all", "arguments": {}}',
        '{"action": "send_email", "status": "sent", "to": "a@x.org"}',
        '{"name": "Oslo", "temperature": 4}',
        "I used get_weather and it says rain.",
    ],
)
def test_an_answer_that_only_mentions_tools_stays_an_answer(text):
    before = ModelResponse([TextPart(text)])
    assert rescue(before, OFFERED) == (before, ())


def test_two_calls_in_one_text_keep_their_order_and_get_two_ids():
    text = f'<tool_call>{CALL}</tool_call><tool_call>{{"name": "send_email", "arguments": {{"to": "a"}}}}</tool_call>'
    response, _ = rescue(ModelResponse([TextPart(text)]), OFFERED)
    assert [part.tool_name for part in response.parts] == ["get_weather", "send_email"]
    assert len({part.tool_call_id for part in response.parts}) == 2


def test_ids_of_rescued_calls_are_the_same_each_time():
    first, _ = rescue(ModelResponse([TextPart(CALL)]), OFFERED)
    second, _ = rescue(ModelResponse([TextPart(CALL)]), OFFERED)
    assert first.parts[0].tool_call_id == second.parts[0].tool_call_id


def test_a_reply_cut_at_its_token_limit_is_not_rescued():
    cut = ModelResponse([TextPart('{"name": "send_email", "arguments": {"to": "a@x.')], finish_reason="length")
    assert rescue(cut, OFFERED) == (cut, ())


def test_a_reply_with_real_calls_keeps_its_text():
    before = ModelResponse([TextPart(CALL), ToolCallPart("get_weather", {"city": "Rome"}, tool_call_id="1")])
    assert rescue(before, OFFERED) == (before, ())


def test_equal_and_empty_ids_inside_a_reply_are_told_apart():
    parts = [ToolCallPart("get_weather", {"city": c}, tool_call_id=i) for c, i in (("a", "x"), ("b", "x"), ("c", ""))]
    response, drift = rescue(ModelResponse(parts), OFFERED)
    assert [part.tool_call_id for part in response.parts] == ["x", "x_1", "_2"]
    assert len(drift) == 1


def test_bare_arguments_belong_to_a_single_output_tool():
    output = ToolDefinition(
        name="final", parameters_json_schema={"type": "object", "properties": {"a": {}}, "required": ["a"]}
    )
    offered = ModelRequestParameters(output_tools=[output])
    assert find_calls('```json\n{"a": 1}\n```', offered) == [("final", {"a": 1})]
    assert find_calls('{"b": 1}', offered) == []


def test_nothing_is_rescued_when_no_tool_is_offered():
    assert find_calls(CALL, ModelRequestParameters()) == []
