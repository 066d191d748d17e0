import asyncio
import json
from dataclasses import replace

import pytest
from pydantic_ai import (
    Agent,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    UserPromptPart,
    models,
)
from pydantic_ai.messages import InstructionPart, ModelRequestPart, ToolReturnPart
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.usage import RequestUsage

from phaseloop.adapters.model_door import Door
from phaseloop.adapters.model_failure import ModelStopped
from phaseloop.adapters.model_journal import (
    Journal,
    encodable,
    fingerprint,
    price,
    raw_arguments,
    recorded,
    response_of,
)
from phaseloop.adapters.model_tools import LoopGuard, SchemaTools, offer
from phaseloop.core.errors import RecordUnreadable
from phaseloop.core.tools import EffectClass, ToolSpec
from phaseloop.core.values import digest
from phaseloop.roles.protocols import CallResult
from tests.adapters.recording_desk import RecordingDesk, ok

models.ALLOW_MODEL_REQUESTS = False

LOOK = ToolSpec("look", effect=EffectClass.READ)
SEND = ToolSpec("mail.send", effect=EffectClass.WRITE)


def scripted(*turns):
    """A model that answers turn by turn and fails when it is asked once too often."""

    def respond(messages, info):
        return turns[sum(isinstance(message, ModelResponse) for message in messages)]

    return FunctionModel(respond, model_name="test")


def run(desk, model, rounds=5, instructions="be brief"):
    agent = Agent(model, deps_type=Door, capabilities=[LoopGuard()])
    offered = offer(desk.tools)
    door = Door(desk, "executor", "m", {"user": "go"}, rounds=rounds, offered=offered)
    tools = SchemaTools(offered, rounds)
    work = agent.run("go", deps=door, instructions=instructions, toolsets=[tools], retries=rounds)
    return asyncio.run(work).output


def call(name, args, call_id="c"):
    return ToolCallPart(name, args, tool_call_id=call_id)


def say(text):
    return ModelResponse([TextPart(text)])


def two_rounds():
    return scripted(
        ModelResponse([call("look", '{"at": null, "n": 1}', "a"), call("mail_send", {"to": "x"}, "b")]),
        ModelResponse([call("look", {"at": 2}, "a")]),
        say("done"),
    )


def live_desk():
    return RecordingDesk((LOOK, SEND), {"look": ok({"seen": 1}), "mail.send": ok("sent")})


def test_a_run_that_is_entered_again_asks_no_model_and_calls_no_tool():
    desk = live_desk()
    assert run(desk, two_rounds()) == "done"
    assert (desk.sent, len(desk.ran)) == (3, 3)
    again = desk.entered_again()
    assert run(again, scripted()) == "done"
    assert (again.sent, again.ran, again.diverged) == (0, [], [])
    assert again.asked == desk.asked


def test_a_run_goes_on_live_where_the_record_ends():
    desk = live_desk()
    run(desk, two_rounds())
    desk.record.replies.pop()
    desk.record.fingerprints.pop()
    again = desk.entered_again()
    assert run(again, two_rounds()) == "done"
    assert (again.sent, again.ran) == (1, [])


def test_calls_go_to_the_desk_by_place_with_raw_arguments_and_the_tools_own_name():
    desk = live_desk()
    run(desk, two_rounds())
    assert desk.asked == [
        ("look", {"at": None, "n": 1}, 0),
        ("mail.send", {"to": "x"}, 1),
        ("look", {"at": 2}, 0),  # the id "a" comes back in the second reply: the place counts
    ]
    assert desk.record.models[0].calls == (
        digest("look", {"at": None, "n": 1}),
        digest("mail.send", {"to": "x"}),
    )


def test_the_first_request_carries_the_prompt_and_only_the_first():
    desk = live_desk()
    run(desk, two_rounds())
    assert desk.record.prompts == [{"user": "go"}, None, None]


def test_other_instructions_change_the_fingerprint_and_the_record_wins():
    desk = live_desk()
    run(desk, two_rounds())
    again = desk.entered_again()
    assert run(again, scripted(), instructions="be long") == "done"
    assert [n for n, _ in again.diverged] == [1, 2, 3]


def test_the_record_holds_the_rescued_reply_and_says_what_was_wrong():
    desk = live_desk()
    text = '```json\n{"name": "look", "arguments": {"at": 1}}\n```'
    assert run(desk, scripted(say(text), say("seen"))) == "seen"
    first = desk.record.models[0]
    assert first.reply["parts"][0]["part_kind"] == "tool-call"
    assert first.calls == (digest("look", {"at": 1}),)
    assert len(first.drift) == 1
    assert desk.record.models[1].drift == ()


@pytest.mark.parametrize(("outcome", "shown"), [("failed", "no such mail"), ("retry", "no such mail")])
def test_what_a_tool_refused_is_told_to_the_model_live_and_served(outcome, shown):
    seen = []

    def respond(messages, info):
        if len(messages) == 1:
            return ModelResponse([call("look", {})])
        seen.append(str(messages[-1].parts[0].content))
        return say("gave up")

    desk = RecordingDesk((LOOK,), {"look": lambda args: CallResult(outcome, "no such mail")})
    assert run(desk, FunctionModel(respond)) == "gave up"
    assert shown in seen[0]
    again = desk.entered_again()
    assert run(again, scripted()) == "gave up"
    assert again.diverged == []


def test_an_undecodable_record_is_our_fault_and_nothing_else():
    desk = live_desk()
    run(desk, two_rounds())
    desk.record.replies[1] = json.dumps({"parts": [{"content": "no part_kind"}], "kind": "response"})
    with pytest.raises(RecordUnreadable, match="reply 2 of the executor"):
        run(desk.entered_again(), scripted())
    with pytest.raises(RecordUnreadable, match="not a response"):
        response_of({"parts": [], "kind": "request"}, "reply 1")


def test_an_error_of_the_desk_inside_a_tool_call_leaves_the_run_unchanged():
    class Broken(RecordingDesk):
        async def call(self, tool, args, *, i=None):
            raise RecordUnreadable("the result of c1", "no such blob")

    with pytest.raises(RecordUnreadable, match="the result of c1"):
        run(Broken((LOOK,)), scripted(ModelResponse([call("look", {})])))


def test_a_cancelled_run_is_cancelled_while_it_waits_at_the_desk():
    class Waiting(RecordingDesk):
        async def call(self, tool, args, *, i=None):
            waiting.set()
            await asyncio.Event().wait()
            raise AssertionError

    async def cancel():
        task = asyncio.create_task(
            Agent(model, deps_type=Door, capabilities=[Journal()]).run(
                "go", deps=door, toolsets=[SchemaTools(door.offered, 5)]
            )
        )
        await waiting.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert asyncio.all_tasks() == {asyncio.current_task()}

    waiting = asyncio.Event()
    model = scripted(ModelResponse([call("look", {}, "a"), call("look", {"n": 2}, "b")]))
    door = Door(Waiting((LOOK,)), "executor", "m", rounds=5, offered=offer((LOOK,)))
    asyncio.run(cancel())


def test_an_equal_read_runs_three_times_then_comes_from_memory_and_the_tools_are_gone():
    offered = []

    def respond(messages, info):
        offered.append(len(info.function_tools))
        return ModelResponse([call("look", {"q": 1})]) if info.function_tools else say("it is 4")

    desk = RecordingDesk((LOOK,), {"look": ok(4)})
    assert run(desk, FunctionModel(respond), rounds=10) == "it is 4"
    assert len(desk.ran) == 3
    assert offered == [1, 1, 1, 1, 0]
    again = desk.entered_again()
    assert run(again, scripted(), rounds=10) == "it is 4"
    assert again.diverged == []


def test_a_polling_tool_is_not_held_back():
    def respond(messages, info):
        return ModelResponse([call("look", {})]) if len(messages) < 12 else say("ready")

    desk = RecordingDesk((replace(LOOK, poll=True),), {"look": ok("not yet")})
    assert run(desk, FunctionModel(respond), rounds=9) == "ready"
    assert len(desk.ran) == 6


def test_an_equal_write_goes_to_the_ledger_once_more_and_then_no_further():
    def respond(messages, info):
        return ModelResponse([call("mail_send", {"to": "a"})]) if info.function_tools else say("sent")

    desk = RecordingDesk((SEND,), {"mail.send": ok("sent")})
    assert run(desk, FunctionModel(respond), rounds=10) == "sent"
    assert len(desk.ran) == 2


def test_the_last_round_has_no_tools_and_rounds_end():
    offered = []

    def stubborn(messages, info):
        offered.append(len(info.function_tools))
        return ModelResponse([call("look", {"n": len(messages)})])

    desk = RecordingDesk((LOOK,), {"look": ok(1)})
    with pytest.raises(ModelStopped, match="no answer in 3 rounds") as failure:
        run(desk, FunctionModel(stubborn), rounds=3)
    assert failure.value.kind == "max_rounds"
    assert offered == [1, 1, 0]
    assert (desk.sent, len(desk.ran)) == (3, 2)


def test_writes_of_one_reply_run_one_by_one_and_reads_together():
    going, most = set(), {"look": 0, "mail.send": 0}

    class Slow(RecordingDesk):
        async def call(self, tool, args, *, i=None):
            going.add(i)
            most[tool] = max(most[tool], len(going))
            for _ in range(5):
                await asyncio.sleep(0)
            going.discard(i)
            return CallResult("ok", 1)

    for name, spec in (("look", LOOK), ("mail_send", SEND)):
        parts = [call(name, {"n": n}, str(n)) for n in range(3)]
        run(Slow((spec,)), scripted(ModelResponse(parts), say("ok")))
    assert most == {"look": 3, "mail.send": 1}


def test_a_recorded_reply_has_no_time_no_library_ids_and_no_zeros():
    usage = RequestUsage(input_tokens=3, output_tokens=0, cache_read_tokens=2)
    response = ModelResponse(
        [TextPart("x"), call("look", {"a": None})],
        usage=usage,
        model_name="m",
        run_id="r",
        conversation_id="c",
    )
    body = recorded(response)
    assert body["usage"] == {"input_tokens": 3, "cache_read_tokens": 2}
    assert {"timestamp", "run_id", "conversation_id"}.isdisjoint(body)
    assert body["parts"][1]["args"] == {"a": None}
    assert None not in body.values()
    assert "usage" not in recorded(ModelResponse([TextPart("x")]))
    assert response_of(body, "it").parts == response.parts


def test_every_kind_of_part_comes_back_equal():
    raw = [
        {"kind": "response", "parts": [
            {"part_kind": "thinking", "content": "hm", "signature": "s"},
            {"part_kind": "text", "content": "你好"},
            {"part_kind": "tool-call", "tool_name": "look", "args": "{}", "tool_call_id": "1"},
            {"part_kind": "file", "content": {
                "kind": "binary", "data": "AP8=", "media_type": "image/png", "identifier": "x"}},
        ]}
    ]  # fmt: skip
    response = ModelMessagesTypeAdapter.validate_json(json.dumps(raw))[0]
    assert response_of(json.loads(json.dumps(recorded(response))), "it").parts == response.parts


@pytest.mark.parametrize(
    ("args", "raw"),
    [
        ('{"a": 1.0}', {"a": 1.0}),
        ({"a": None}, {"a": None}),
        (None, {}),
        ("", {}),
        ('{"a": ', '{"a": '),
        ('{"a": NaN}', '{"a": NaN}'),
        ('{"a": "\\ud83d"}', {"a": "?"}),
        ("[1]", [1]),
    ],
)
def test_raw_arguments_are_what_the_model_wrote(args, raw):
    assert raw_arguments(ToolCallPart("look", args)) == raw


def test_half_an_emoji_can_be_stored():
    assert encodable({"a": ["x\ud83d"]}) == {"a": ["x?"]}
    assert recorded(ModelResponse([TextPart("\ud83d")]))["parts"][0]["content"] == "?"


def test_arguments_that_are_no_object_never_reach_the_desk():
    desk = live_desk()
    assert run(desk, scripted(ModelResponse([call("look", "[1]")]), say("sorry"))) == "sorry"
    assert desk.asked == []


def test_the_fingerprint_sees_what_is_new_and_neither_ids_nor_times():
    def asked(*parts: ModelRequestPart, tools=(), said="be brief"):
        parameters = ModelRequestParameters(instruction_parts=[InstructionPart(said)], function_tools=list(tools))
        return fingerprint([ModelRequest([UserPromptPart("old")]), say("x"), ModelRequest(list(parts))], parameters)

    one = asked(ToolReturnPart("look", {"a": 1}, "id1"))
    assert one == asked(ToolReturnPart("look", {"a": 1}, "id2"))
    assert one != asked(ToolReturnPart("look", {"a": 2}, "id1"))
    assert one != asked(ToolReturnPart("look", {"a": 1}, "id1"), said="be long")
    parameters = SchemaTools(offer((LOOK, SEND)), 1).definitions
    assert asked(tools=parameters) == asked(tools=parameters[::-1]) != asked()


def test_a_model_without_a_price_costs_nothing_and_one_with_a_price_something():
    usage = RequestUsage(input_tokens=1000, output_tokens=1000)
    assert price(ModelResponse([], usage=usage, model_name="no-such-model")) == 0.0
    assert price(ModelResponse([], usage=usage)) == 0.0
    assert price(ModelResponse([], usage=usage, model_name="gpt-4o", provider_name="openai")) > 0


def test_a_tool_name_that_providers_refuse_gets_another_one():
    names = [ToolSpec("mail.send"), ToolSpec("mail/send"), ToolSpec("a" * 80)]
    offered = offer(names)
    assert {spec.name for spec in offered.values()} == {spec.name for spec in names}
    assert all(len(name) <= 64 and name.replace("_", "").isalnum() for name in offered)
    assert offered["mail_send"].name == "mail.send"
