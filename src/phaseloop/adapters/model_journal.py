"""Every model request and tool call of a pydantic-ai run, sent through the desk and used as recorded."""

import json
from collections.abc import Awaitable, Callable
from functools import cache
from typing import Any

from pydantic_ai import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelResponse,
    ModelRetry,
    RunContext,
    TextPart,
    ToolCallPart,
    ToolDefinition,
    ToolFailed,
)
from pydantic_ai.capabilities import AbstractCapability, CapabilityOrdering
from pydantic_ai.models import ModelRequestContext, ModelRequestParameters
from pydantic_core import to_json, to_jsonable_python

from phaseloop.adapters.model_door import Door
from phaseloop.adapters.model_failure import ModelStopped
from phaseloop.adapters.text_rescue import rescue
from phaseloop.core.call_events import Usage
from phaseloop.core.errors import RecordUnreadable
from phaseloop.core.values import Json, canonical, digest
from phaseloop.roles.protocols import ModelReply

NOT_RECORDED = ("timestamp", "run_id", "conversation_id")
"""Fields of a reply that are the library's or repeat the time of the log (contract section 3)."""


class Journal(AbstractCapability[Door]):
    """The outermost hook. What the loop uses is what the desk returned, live and served alike."""

    def get_ordering(self) -> CapabilityOrdering:
        """Outside of everything that rewrites a reply: the record holds the rewritten one."""
        return CapabilityOrdering(position="outermost")

    async def wrap_model_request(
        self,
        ctx: RunContext[Door],
        *,
        request_context: ModelRequestContext,
        handler: Callable[[ModelRequestContext], Awaitable[ModelResponse]],
    ) -> ModelResponse:
        """Ask the desk for the reply; `handler` runs only when the log does not have it.

        Calls written as text are made real before they are recorded, so that a later release need not
        read them in the same way.

        Raises `ModelStopped` of kind `max_rounds` after the last round, and `RecordUnreadable`.
        """
        door = ctx.deps
        if door.asked >= door.rounds:
            kind = "loop_detected" if door.withdrawn else "max_rounds"
            raise ModelStopped(f"model {door.model} gave no answer in {door.rounds} rounds", kind)
        offered = request_context.model_request_parameters

        async def send() -> ModelResponse:
            response, drift = rescue(await handler(request_context), offered)
            door.drift.extend(drift)
            return response

        return await ask(door, fingerprint(request_context.messages, offered), send)

    async def wrap_tool_execute(
        self,
        ctx: RunContext[Door],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: dict[str, Any],
        handler: Callable[[dict[str, Any]], Awaitable[Any]],
    ) -> Any:
        """Ask the desk for the call; the library's own tool function is never run.

        The call is known by its place in the reply: a `tool_call_id` may come back in a later reply.
        """
        door = ctx.deps
        raw = raw_arguments(call)
        if not isinstance(raw, dict):
            raise ModelRetry(f"the arguments of {call.tool_name} must be one JSON object")
        ended = await door.desk.call(door.tool_name(call.tool_name), raw, i=door.places[call.tool_call_id])
        if ended.outcome == "retry":
            raise ModelRetry(as_text(ended.value))
        if ended.outcome == "failed":
            raise ToolFailed(as_text(ended.value))
        return door.show(ended.value)


async def ask(door: Door, asked: str, send: Callable[[], Awaitable[ModelResponse]]) -> ModelResponse:
    """The reply to the next request of `door`: from the log, else from `send`, recorded first."""
    door.asked += 1

    async def live() -> ModelReply:
        door.drift.clear()
        return reply_of(await send(), door)

    record = await door.desk.model(door.role, door.model, asked, live, door.prompt if door.asked == 1 else None)
    response = response_of(record, f"reply {door.asked} of the {door.role}")
    calls = [part for part in response.parts if isinstance(part, ToolCallPart)]
    door.places = {part.tool_call_id: place for place, part in enumerate(calls)}
    return response


def reply_of(response: ModelResponse, door: Door) -> ModelReply:
    """A reply as the log keeps it: plain JSON, digests of its calls (raw arguments), usage, price."""
    calls = [part for part in response.parts if isinstance(part, ToolCallPart)]
    text = text_of(response)
    drift = list(door.drift)
    if response.finish_reason == "length":
        drift.append("expected a whole reply, got one cut at its token limit")
    elif not calls:
        drift += door.inspect(text)
    return ModelReply(
        reply=recorded(response),
        calls=tuple(digest(door.tool_name(part.tool_name), raw_arguments(part)) for part in calls),
        usage=Usage(response.usage.input_tokens, response.usage.output_tokens, response.usage.cache_read_tokens),
        cost_usd=price(response),
        finish=response.finish_reason or "",
        drift=tuple(drift),
    )


def recorded(response: ModelResponse) -> Json:
    """The library's own JSON of a reply, without what is empty, zero, or told elsewhere in the log."""
    body = ModelMessagesTypeAdapter.dump_python([response], mode="json", exclude_none=True)[0]
    for key in NOT_RECORDED:
        body.pop(key, None)
    body["usage"] = {key: value for key, value in body.get("usage", {}).items() if value}
    if not body["usage"]:
        del body["usage"]
    return encodable(body)


def response_of(record: Json, what: str) -> ModelResponse:
    """The reply that `record` holds. Raises `RecordUnreadable` when this release cannot decode it."""
    try:
        message: ModelMessage = ModelMessagesTypeAdapter.validate_json(to_json([record]))[0]
    except (ValueError, TypeError) as error:
        raise RecordUnreadable(what, str(error).split("\n", 1)[0]) from error
    if not isinstance(message, ModelResponse):
        raise RecordUnreadable(what, f"it is a {message.kind}, not a response")
    return message


def fingerprint(messages: list[ModelMessage], offered: ModelRequestParameters) -> str:
    """What is asked: all that is new since the last reply, the tools offered, the instructions.

    Not the whole history, which was fingerprinted when it was new; no ids and no times (contract 4).
    """
    new: list[Json] = []
    for message in reversed(messages):
        if isinstance(message, ModelResponse):
            break
        new += [
            [part.part_kind, getattr(part, "tool_name", None), getattr(part, "content", None)] for part in message.parts
        ]
    names = sorted(tool.name for tool in (*offered.function_tools, *offered.output_tools))
    instructions = [part.content for part in offered.instruction_parts or ()]
    return digest(encodable(to_jsonable_python([new, names, instructions], fallback=repr)))


def raw_arguments(part: ToolCallPart) -> Json:
    """The arguments as the model wrote them; the text itself when it is not JSON."""
    if not part.args:
        return {}
    if not isinstance(part.args, str):
        return encodable(part.args)
    try:
        return encodable(json.loads(part.args, parse_constant=_refuse_constant))
    except (ValueError, RecursionError):
        return encodable(part.args)


def encodable(value: Json) -> Json:
    """`value` with lone surrogates replaced: models do write half an emoji, and UTF-8 has no place for it."""
    text = canonical(value)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.loads(text.encode("utf-8", "replace").decode())
    return value


def text_of(response: ModelResponse) -> str:
    """The text of a reply, its parts joined."""
    return "".join(part.content for part in response.parts if isinstance(part, TextPart)).strip()


def as_text(value: Json) -> str:
    """A value as a model reads it."""
    return value if isinstance(value, str) else canonical(value)


def price(response: ModelResponse) -> float:
    """US dollars of one reply by the library's price table; 0 for a model that has no price there."""
    if not response.model_name or not _has_price(response.model_name, response.provider_name):
        return 0.0
    try:
        return float(response.cost().total_price)
    except (LookupError, ValueError):
        return 0.0


@cache
def _has_price(model_name: str, provider_name: str | None) -> bool:
    """Asked once a model: a look-up that finds nothing costs more than the rest of a call."""
    try:
        ModelResponse([], model_name=model_name, provider_name=provider_name).cost()
    except (LookupError, ValueError):
        return False
    return True


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
