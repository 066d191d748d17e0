import asyncio

import pytest
from pydantic_ai import Agent, ModelResponse, TextPart, ToolCallPart

from phaseloop.adapters.scripted_model import Rule, ScriptedModel, ScriptExhausted


def look(n: int) -> int:
    """Look."""
    return n + 1


def ask(model, text):
    return asyncio.run(Agent(model, tools=[look]).run(text))


def test_the_rule_is_chosen_by_the_text_and_the_turn_by_the_replies_so_far():
    model = ScriptedModel([Rule("^A", ({"tool": "look", "args": {"n": 1}}, "two")), Rule(".", ("other",))])
    assert ask(model, "A").output == "two"
    assert ask(model, "B").output == "other"
    assert ask(model, "A").output == "two"
    assert model.requests == 5


def test_calls_have_the_same_ids_each_time():
    model = ScriptedModel([Rule(".", ([{"tool": "look", "args": {"n": 1}}, {"tool": "look", "args": {"n": 2}}], "ok"))])
    calls = [part for part in ask(model, "x").all_messages()[1].parts if isinstance(part, ToolCallPart)]
    assert [part.tool_call_id for part in calls] == ["look-0-0", "look-0-1"]


def test_an_object_that_is_no_call_is_json_text():
    assert (
        ask(ScriptedModel([Rule(".", ({"passed": True, "score": 9},))]), "x").output == '{"passed": true, "score": 9}'
    )


def test_tokens_whole_responses_and_errors_can_be_scripted():
    model = ScriptedModel([Rule("tokens", ("a",), (11, 3)), Rule("whole", (ModelResponse([TextPart("w")]),))], "critic")
    usage = ask(model, "tokens").usage
    assert (usage.input_tokens, usage.output_tokens) == (11, 3)
    assert ask(model, "whole").output == "w"
    with pytest.raises(TimeoutError, match="slow"):
        ask(ScriptedModel([Rule(".", (TimeoutError("slow"),))]), "x")
    assert model.model_id == "scripted:critic"


def test_a_script_without_a_reply_says_so():
    with pytest.raises(ScriptExhausted, match="the script of planner has no reply for: hello"):
        ask(ScriptedModel([Rule("bye", ("x",))], "planner"), "hello")
    with pytest.raises(ScriptExhausted, match="turn 2 of"):
        ask(ScriptedModel([Rule(".", ({"tool": "look", "args": {"n": 1}},))]), "x")
