"""A desk that records what was asked and serves it to whoever enters again, as the engine's does."""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from phaseloop.core.tools import ToolSpec
from phaseloop.core.values import Json, canonical, digest
from phaseloop.roles.protocols import CallResult, ModelReply

Tool = Callable[[dict[str, Any]], CallResult]


@dataclass
class Record:
    """The log of one attempt, as JSON text: nothing but plain values survives in it."""

    replies: list[str] = field(default_factory=list)
    fingerprints: list[str] = field(default_factory=list)
    prompts: list[Json] = field(default_factory=list)
    models: list[ModelReply] = field(default_factory=list)
    calls: dict[tuple[int, int], tuple[str, str]] = field(default_factory=dict)


class RecordingDesk:
    """Live for what the record does not hold. `sent` counts live model requests, `ran` lists live calls."""

    def __init__(
        self,
        tools: tuple[ToolSpec, ...] = (),
        run: Mapping[str, Tool] | None = None,
        record: Record | None = None,
    ) -> None:
        self.tools = tools
        self.run = dict(run or {})
        self.record = record or Record()
        self.replies = 0
        self.sent = 0
        self.ran: list[tuple[str, Json]] = []
        self.asked: list[tuple[str, Json, int]] = []
        self.diverged: list[tuple[int, str]] = []

    def entered_again(self) -> "RecordingDesk":
        """A new desk over the same record whose tools must not be needed."""
        return RecordingDesk(self.tools, {}, self.record)

    async def model(
        self,
        role: str,
        model: str,
        fingerprint: str,
        send: Callable[[], Awaitable[ModelReply]],
        prompt: Json = None,
    ) -> Json:
        self.replies += 1
        n = self.replies
        if n <= len(self.record.replies):
            if self.record.fingerprints[n - 1] != fingerprint:
                self.diverged.append((n, fingerprint))
            return json.loads(self.record.replies[n - 1])
        self.sent += 1
        reply = await send()
        self.record.models.append(reply)
        self.record.fingerprints.append(fingerprint)
        self.record.prompts.append(prompt)
        self.record.replies.append(canonical(reply.reply))
        return reply.reply

    async def call(self, tool: str, args: Json, *, i: int | None = None) -> CallResult:
        assert i is not None
        place = (self.replies, i)
        self.asked.append((tool, args, i))
        if place in self.record.calls:
            outcome, value = self.record.calls[place]
            return CallResult(outcome, json.loads(value))
        assert digest(tool, args) == self.record.models[self.replies - 1].calls[i], "the digest is of the raw arguments"
        self.ran.append((tool, args))
        result = self.run[tool](args)
        self.record.calls[place] = (result.outcome, canonical(result.value))
        return result


def ok(value: Json) -> Tool:
    """A tool that always returns `value`."""
    return lambda args: CallResult("ok", value)
