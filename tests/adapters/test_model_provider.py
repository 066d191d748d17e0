import asyncio
import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from pydantic_ai import ModelRequest, ModelResponse, TextPart, models
from pydantic_ai.exceptions import ModelAPIError, ModelHTTPError
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.function import FunctionModel

from phaseloop.adapters.model_failure import ModelStopped, sentence
from phaseloop.adapters.model_provider import PatientModel, Slots, build_model, describe_model, explained, transient
from phaseloop.core.errors import WrongUse
from phaseloop.core.limits import Limits

ASKED = [ModelRequest.user_text_prompt("hello")]
LIMITS = Limits()
SECRET = "sk-abcdefghijklmnop1234"


def failing(*errors):
    """A model that raises each error in turn and then answers; and the list of its requests."""
    asked = []

    def respond(messages, info):
        asked.append(dict(info.model_settings or {}))
        if len(asked) <= len(errors):
            raise errors[len(asked) - 1]
        return ModelResponse([TextPart("fine")])

    return FunctionModel(respond, model_name="f"), asked


def request(model, slots=None, limits=LIMITS):
    waited = []

    async def sleep(seconds):
        waited.append(seconds)

    patient = PatientModel(model, limits, slots or Slots(32), sleep)
    response = asyncio.run(patient.request(ASKED, None, ModelRequestParameters()))
    return response.parts[0].content, waited


def test_a_call_is_tried_four_times_with_growing_waits():
    error = ModelHTTPError(503, "m", None)
    model, asked = failing(error, ModelAPIError("m", "no connection"), ModelHTTPError(429, "m", None))
    assert request(model) == ("fine", [1.0, 2.0, 4.0])
    model, asked = failing(*[error] * 4)
    with pytest.raises(ModelStopped, match="answered with HTTP 503 after 4 attempts"):
        request(model)
    assert len(asked) == 4


@pytest.mark.parametrize(
    "error",
    [
        ModelHTTPError(400, "m", {"error": {"message": "bad"}}),
        ModelHTTPError(401, "m", None),
        ModelHTTPError(404, "m", None),
        ModelHTTPError(429, "m", {"error": {"code": "insufficient_quota"}}),
    ],
)
def test_what_waiting_does_not_mend_is_not_tried_again(error):
    model, asked = failing(error)
    with pytest.raises(ModelStopped):
        request(model)
    assert len(asked) == 1
    assert not transient(error)


def test_the_retries_of_the_library_are_off():
    model, asked = failing()
    request(model)
    assert asked[0]["max_retries"] == 0


def test_a_model_that_does_not_answer_in_time_is_a_timeout():
    async def hang(messages, info):
        await asyncio.Event().wait()

    with pytest.raises(ModelStopped, match="gave no answer within 0.01 s") as failure:
        request(FunctionModel(hang, model_name="f"), limits=Limits(model_seconds=0.01))
    assert failure.value.kind == "timeout"


def test_no_more_calls_than_slots_go_at_once_and_all_get_their_turn():
    going, most, slots = 0, 0, Slots(2)

    async def respond(messages, info):
        nonlocal going, most
        going += 1
        most = max(most, going)
        for _ in range(3):
            await asyncio.sleep(0)
        going -= 1
        return ModelResponse([TextPart("fine")])

    async def many():
        model = PatientModel(FunctionModel(respond), slots=slots)
        await asyncio.gather(*(model.request(ASKED, None, ModelRequestParameters()) for _ in range(9)))

    asyncio.run(many())
    assert most == 2
    assert request(FunctionModel(respond), slots)[0] == "fine"


def test_a_cancelled_waiter_loses_no_slot():
    async def scene():
        slots, inside = Slots(1), asyncio.Event()

        async def holder():
            async with slots.hold():
                inside.set()

        async with slots.hold():
            waiters = [asyncio.create_task(holder()) for _ in range(2)]
            await asyncio.sleep(0)
            waiters[0].cancel()
            await asyncio.wait(waiters[:1])
        await waiters[1]
        async with asyncio.timeout(5), slots.hold():
            return inside.is_set()

    assert asyncio.run(scene())


def test_a_waiter_cancelled_just_when_its_turn_came_passes_it_on():
    async def scene():
        slots = Slots(1)
        async with slots.hold():
            waiter = asyncio.create_task(slots._take())
            await asyncio.sleep(0)
        waiter.cancel()
        await asyncio.wait([waiter])
        async with asyncio.timeout(5), slots.hold():
            return True

    assert asyncio.run(scene())


def test_slots_are_shared_by_the_loops_of_all_threads():
    slots, going, most, lock = Slots(1), 0, 0, threading.Lock()

    async def work():
        nonlocal going, most
        async with slots.hold():
            with lock:
                going += 1
                most = max(most, going)
            await asyncio.sleep(0)
            with lock:
                going -= 1

    threads = [threading.Thread(target=lambda: asyncio.run(work())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert (most, going) == (1, 0)


def test_keys_never_reach_a_message(monkeypatch):
    monkeypatch.setenv("MY_API_KEY", "plainword-without-shape")
    text = sentence(f"bad key {SECRET} and\nBearer abc.def and https://me:pw@host/ and plainword-without-shape")
    assert text == "bad key *** and *** and https://***@host/ and ***"
    error = ModelHTTPError(401, "m", {"error": {"message": f"Incorrect API key provided: {SECRET}"}})
    assert explained("openai:m", error, 1) == "model openai:m answered with HTTP 401: Incorrect API key provided: ***"
    assert len(sentence("x" * 1000)) == 301


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("gpt-5", "has no provider: write provider:name"),
        ("openai:", "has no provider"),
        ("nobody:m", "cannot be used: Unknown model: nobody:m"),
        ("openai:m", "cannot be used: .*OPENAI_API_KEY"),
    ],
)
def test_a_model_that_cannot_be_built_says_what_to_do(monkeypatch, name, told):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(WrongUse, match=told):
        build_model(name)


def test_an_unknown_server_is_trusted_with_nothing(monkeypatch):
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    assert describe_model("openai:gpt-5")["native_json"]
    assert not describe_model("scripted:x")["native_json"]
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    assert describe_model("openai:gpt-5") == {"native_tools": False, "native_json": False, "seed": True}


class Server(BaseHTTPRequestHandler):
    """Answers as a chat completions server; the first request gets a 500."""

    asked: list[tuple[str, dict]] = []

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.asked.append((self.path, body))
        message = {"role": "assistant", "content": "hi"}
        answer = {"id": "1", "object": "chat.completion", "created": 1, "model": "tiny"}
        answer["choices"] = [{"index": 0, "finish_reason": "stop", "message": message}]
        answer["usage"] = {"prompt_tokens": 5, "completion_tokens": 1, "total_tokens": 6}
        status, answer = (500, {"error": {"message": "busy"}}) if len(self.asked) == 1 else (200, answer)
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(answer).encode())

    def log_message(self, *args):
        pass


def test_openai_with_a_base_url_speaks_chat_completions_and_one_failure_is_one_request(monkeypatch):
    monkeypatch.setattr(models, "ALLOW_MODEL_REQUESTS", True)
    server = HTTPServer(("127.0.0.1", 0), Server)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{server.server_port}/v1")
        monkeypatch.delenv("OPENAI_API_KEY", raising=False)
        model = build_model("openai:tiny", Limits(backoff_seconds=(0.0,)))

        async def scene():
            async with model:
                return await model.request(ASKED, None, ModelRequestParameters())

        response = asyncio.run(scene())
        assert response.parts[0].content == "hi"
        assert [path for path, _ in Server.asked] == ["/v1/chat/completions"] * 2
    finally:
        server.shutdown()
        thread.join(5)
        server.server_close()


def test_no_server_at_all_is_one_clear_sentence(monkeypatch):
    monkeypatch.setattr(models, "ALLOW_MODEL_REQUESTS", True)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    model = build_model("openai:tiny", Limits(transport_attempts=2, backoff_seconds=(0.0,)))

    async def scene():
        async with model:
            await model.request(ASKED, None, ModelRequestParameters())

    with pytest.raises(ModelStopped, match="model openai:tiny failed after 2 attempts: .*[Cc]onnect"):
        asyncio.run(scene())
