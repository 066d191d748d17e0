"""Tools as a pydantic-ai agent sees them: schemas only, with a guard against loops and a cap on rounds."""

import re
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from pydantic_ai import RunContext, ToolCallPart, ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
from pydantic_core import SchemaValidator, core_schema

from phaseloop.adapters.model_door import Door
from phaseloop.adapters.model_journal import Journal, as_text, raw_arguments
from phaseloop.core.tools import ToolSpec
from phaseloop.core.values import Json, digest

MAX_NAME = 64  # the longest function name the chat completions API takes
NOT_A_NAME = re.compile(r"[^A-Za-z0-9_-]")
ANY_OBJECT = SchemaValidator(core_schema.dict_schema(core_schema.str_schema(), core_schema.any_schema()))
"""Only the shape is checked here: types are the tool layer's business, whose answer is in the log."""
EMPTY_OBJECT: dict[str, Json] = {"type": "object", "properties": {}}


class SchemaTools(AbstractToolset[Door]):
    """The tools of one step. Their functions are not here: every call goes through the journal's desk."""

    def __init__(self, offered: dict[str, ToolSpec], retries: int) -> None:
        self.definitions = [definition_of(name, spec) for name, spec in offered.items()]
        self.retries = retries

    @property
    def id(self) -> str:
        """A constant: nothing durable hangs on it."""
        return "phaseloop"

    async def get_tools(self, ctx: RunContext[Door]) -> dict[str, ToolsetTool[Door]]:
        """All tools, each with the rounds of the step as its retry budget."""
        return {
            definition.name: ToolsetTool(
                toolset=self, tool_def=definition, max_retries=self.retries, args_validator=ANY_OBJECT
            )
            for definition in self.definitions
        }

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Door], tool: ToolsetTool[Door]
    ) -> Any:
        """Refuses: a call that comes here went past the journal."""
        raise AssertionError(f"tool {name} was called past the desk")


class LoopGuard(Journal):
    """The journal of a step: answers a call made often enough from memory, and takes the tools away after it.

    One capability with the journal, not one around it: for each the library copies its context at every hook.

    Contract section 8: an equal read may run `equal_reads` times in one attempt, tools declared `poll`
    as often as they like. An equal write or idempotent call is answered by the ledger once, unless the
    tool is `repeatable`. Contract section 7: the last round has no tools, so that the model must answer.
    """

    def __init__(self, equal_reads: int = 3) -> None:
        self.equal_reads = equal_reads

    async def prepare_tools(self, ctx: RunContext[Door], tool_defs: list[ToolDefinition]) -> list[ToolDefinition]:
        """No tools once they were withdrawn or in the last round."""
        door = ctx.deps
        return [] if door.withdrawn or door.asked + 1 >= door.rounds else tool_defs

    async def wrap_tool_execute(
        self,
        ctx: RunContext[Door],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: dict[str, Any],
        handler: Callable[[dict[str, Any]], Awaitable[Any]],
    ) -> Any:
        """Let the call through to the desk, or answer it from memory."""
        door = ctx.deps
        spec = door.offered.get(call.tool_name)
        asked = super().wrap_tool_execute
        if spec is None or spec.poll:
            return await asked(ctx, call=call, tool_def=tool_def, args=args, handler=handler)
        key = digest(spec.name, raw_arguments(call))
        door.counts[key] = door.counts.get(key, 0) + 1
        if door.counts[key] <= self.limit(spec):
            answer = await asked(ctx, call=call, tool_def=tool_def, args=args, handler=handler)
            door.answers[key] = answer
            return answer
        door.withdrawn = True
        return remembered(call.tool_name, door.answers.get(key))

    def limit(self, spec: ToolSpec) -> int:
        """How often an equal call goes through in one attempt."""
        return self.equal_reads if spec.reads or spec.repeatable else 2


def offer(tools: Iterable[ToolSpec]) -> dict[str, ToolSpec]:
    """The tools by the names a model sees: providers refuse dots and slashes, and long names."""
    offered: dict[str, ToolSpec] = {}
    for spec in sorted(tools, key=lambda tool: tool.name):
        name = NOT_A_NAME.sub("_", spec.name)
        if name in offered or len(name) > MAX_NAME:
            name = f"{name[: MAX_NAME - 9]}_{digest(spec.name)[:8]}"
        offered[name] = spec
    return offered


def definition_of(name: str, spec: ToolSpec) -> ToolDefinition:
    """What is sent to the provider for a tool. Calls that change something run one by one, in order."""
    schema = dict(spec.input_schema) or EMPTY_OBJECT
    return ToolDefinition(
        name=name,
        description=spec.description or None,
        parameters_json_schema=schema if schema.get("type") == "object" else {**schema, "type": "object"},
        sequential=not spec.reads,
    )


def remembered(name: str, answer: Json) -> str:
    """What a model reads instead of making the same call again."""
    told = f" Its result was: {as_text(answer)}." if answer is not None else ""
    return f"You already made this call of {name}.{told} Do not call tools again; answer in plain text now."
