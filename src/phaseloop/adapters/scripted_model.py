"""A real pydantic-ai model that answers from a script: for the offline demo and tests of the whole."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from pydantic_ai import ModelMessage, ModelRequest, ModelResponse, TextPart, ToolCallPart, UserPromptPart
from pydantic_ai.messages import ModelResponsePart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.usage import RequestUsage

from phaseloop.core.values import Json

Turn: TypeAlias = str | Mapping[str, Json] | Sequence[Mapping[str, Json]] | ModelResponse | Exception
"""One reply: a text; a call `{"tool": name, "args": {...}}` or a list of them; any other object as JSON text;
a whole response; or an error to raise."""


@dataclass(frozen=True, slots=True)
class Rule:
    """When `pattern` (a regular expression) is found in the request, the replies are `turns`, in order.

    `tokens` are the numbers of tokens in and out that every reply reports.
    """

    pattern: str
    turns: tuple[Turn, ...]
    tokens: tuple[int, int] = (0, 0)


class ScriptExhausted(ValueError):
    """The script has no rule for a request, or no turn left."""

    def __init__(self, role: str, asked: str) -> None:
        super().__init__(role, asked)
        self.role = role
        self.asked = asked

    def __str__(self) -> str:
        return f"the script of {self.role} has no reply for: {self.asked}"


class ScriptedModel(FunctionModel):
    """Deterministic: the rule is chosen by the texts of the user, the turn by the replies so far.

    So the same model serves a run that goes on after a crash. The first rule that matches wins.
    Raises `ScriptExhausted`. `requests` counts the live requests.
    """

    def __init__(self, rules: Sequence[Rule], role: str = "model") -> None:
        self.rules = tuple(rules)
        self.role = role
        self.requests = 0
        super().__init__(self._respond, model_name=role)

    @property
    def system(self) -> str:
        """The provider part of the model's name, as in `scripted:planner`."""
        return "scripted"

    def _respond(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        self.requests += 1
        text = user_text(messages)
        turn = sum(isinstance(message, ModelResponse) for message in messages)
        rule = next((rule for rule in self.rules if re.search(rule.pattern, text, re.DOTALL)), None)
        if rule is None:
            raise ScriptExhausted(self.role, text[:200])
        if turn >= len(rule.turns):
            raise ScriptExhausted(self.role, f"turn {turn + 1} of {rule.pattern!r}")
        reply = rule.turns[turn]
        if isinstance(reply, Exception):
            raise reply
        if isinstance(reply, ModelResponse):
            return reply
        usage = RequestUsage(input_tokens=rule.tokens[0], output_tokens=rule.tokens[1])
        return ModelResponse(parts_of(reply, turn), usage=usage, model_name=self.role, finish_reason="stop")


def user_text(messages: Sequence[ModelMessage]) -> str:
    """Everything the user said, one text a line."""
    return "\n".join(
        str(part.content)
        for message in messages
        if isinstance(message, ModelRequest)
        for part in message.parts
        if isinstance(part, UserPromptPart)
    )


def parts_of(turn: str | Mapping[str, Json] | Sequence[Mapping[str, Json]], number: int) -> list[ModelResponsePart]:
    """The parts of a scripted reply; call ids say tool, turn and place."""
    if isinstance(turn, str):
        return [TextPart(turn)]
    if isinstance(turn, Mapping) and "tool" not in turn:
        return [TextPart(json.dumps(turn, ensure_ascii=False))]
    calls: list[Mapping[str, Any]] = [turn] if isinstance(turn, Mapping) else list(turn)
    return [
        ToolCallPart(call["tool"], dict(call.get("args", {})), tool_call_id=f"{call['tool']}-{number}-{place}")
        for place, call in enumerate(calls)
    ]
