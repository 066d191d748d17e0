"""A desk for tests of roles: tools answer from a dictionary, models are refused."""

from dataclasses import dataclass, field
from typing import Any

from phaseloop.core.tools import EffectClass, ToolSpec
from phaseloop.roles.protocols import CallResult


def read_tool(name, required=()):
    return ToolSpec(name, effect=EffectClass.READ, input_schema={"type": "object", "required": list(required)})


@dataclass
class FakeDesk:
    answers: dict[str, CallResult] = field(default_factory=dict)
    tools: tuple[ToolSpec, ...] = ()
    calls: list[tuple[str, Any]] = field(default_factory=list)
    replies: int = 0

    async def call(self, tool, args, *, i=None):
        self.calls.append((tool, args))
        return self.answers[tool]

    async def model(self, role, model, fingerprint, send, prompt=None):
        raise AssertionError(f"{role} asked a model")
