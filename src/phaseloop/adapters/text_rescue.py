"""Tool calls that a model wrote as text, turned into real ones; and equal call ids told apart."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import groupby
from typing import Any

from pydantic_ai import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.messages import ModelResponsePart
from pydantic_ai.models import ModelRequestParameters

from phaseloop.adapters.json_ladder import CUT, candidates, find_json, head, read_piece, read_strict
from phaseloop.core.paths import is_list, is_object
from phaseloop.core.values import Json, digest

MARKUP = re.compile(r"<function=([\w.:-]+)>(.*?)(?:</function>|\Z)", re.DOTALL)
PARAMETER = re.compile(r"<parameter=([\w.:-]+)>\n?(.*?)\n?(?:</parameter>|(?=<parameter=)|\Z)", re.DOTALL)
NAME_KEYS = ("name", "tool", "tool_name", "function", "function_name", "action")
ARGUMENT_KEYS = ("arguments", "parameters", "args", "input", "action_input", "kwargs")
LIST_KEYS = ("tool_calls", "calls", "function_calls", "tools")


def rescue(response: ModelResponse, offered: ModelRequestParameters) -> tuple[ModelResponse, tuple[str, ...]]:
    """`response` with text-form calls of offered tools made real, and how it differed.

    A reply that was cut at its token limit is left alone: half a call must not run.
    """
    if any(isinstance(part, ToolCallPart) for part in response.parts):
        return number_equal_ids(response)
    text = "".join(part.content for part in response.parts if isinstance(part, TextPart))
    if not text or response.finish_reason == "length":
        return response, ()
    calls = find_calls(text, offered)
    if not calls:
        return response, ()
    seed = digest(text)
    parts: list[ModelResponsePart] = [part for part in response.parts if not isinstance(part, TextPart)]
    parts += [ToolCallPart(name, args, tool_call_id=f"text_{seed}_{n}") for n, (name, args) in enumerate(calls)]
    note = f"expected tool calls, got {len(calls)} as text: {head(text)}"
    return replace(response, parts=parts, finish_reason="tool_call"), (note,)


def number_equal_ids(response: ModelResponse) -> tuple[ModelResponse, tuple[str, ...]]:
    """Equal or empty call ids inside one reply made different; the library refuses such a reply."""
    seen: set[str] = set()
    parts: list[ModelResponsePart] = []
    changed = 0
    for n, part in enumerate(response.parts):
        if isinstance(part, ToolCallPart):
            if not part.tool_call_id or part.tool_call_id in seen:
                part = replace(part, tool_call_id=f"{part.tool_call_id}_{n}")
                changed += 1
            seen.add(part.tool_call_id)
        parts.append(part)
    if not changed:
        return response, ()
    return replace(response, parts=parts), (f"{changed} tool calls had an id that another call has",)


def find_calls(text: str, offered: ModelRequestParameters) -> list[tuple[str, dict[str, Any]]]:
    """The calls of offered tools that `text` spells out, in order, each once."""
    names = {tool.name for tool in (*offered.function_tools, *offered.output_tools)}
    if not names:
        return []
    calls = [call for call in _markup_calls(text) if call[0] in names] or _json_calls(text, names)
    if not calls and len(offered.output_tools) == 1:
        tool = offered.output_tools[0]
        required = set(tool.parameters_json_schema.get("required", ()))
        found = find_json(text, lambda value: is_object(value) and bool(required) and required <= set(value))
        calls = [(tool.name, found.value)] if found else []
    return list(_once(calls))


def _markup_calls(text: str) -> list[tuple[str, dict[str, Any]]]:
    """Calls written as `<function=NAME><parameter=KEY>value</parameter></function>`."""
    return [
        (hit[1], {key: _scalar(value) for key, value in PARAMETER.findall(hit[2])}) for hit in MARKUP.finditer(text)
    ]


def _json_calls(text: str, names: set[str]) -> list[tuple[str, dict[str, Any]]]:
    """The calls of the first kind of place that has any. Only cut pieces of one kind overlap."""
    for where, pieces in groupby(candidates(text), key=lambda candidate: candidate[1]):
        calls: list[tuple[str, dict[str, Any]]] = []
        for piece, _ in pieces:
            found = read_piece(piece)
            if found is not None:
                calls += [call for item in _objects(found.value) if (call := _call_of(item, names))]
            if calls and where == CUT:
                break
        if calls:
            return calls
    return []


def _objects(value: Json) -> Iterator[dict[str, Any]]:
    if is_list(value):
        for item in value:
            yield from _objects(item)
    elif is_object(value):
        for key in LIST_KEYS:
            if is_list(value.get(key)):
                yield from _objects(value[key])
                return
        inner = value.get("function")
        yield inner if is_object(inner) else value


def _call_of(item: Mapping[str, Any], names: set[str]) -> tuple[str, dict[str, Any]] | None:
    named = next((key for key in NAME_KEYS if isinstance(item.get(key), str) and item[key] in names), None)
    if named is None:
        only = next(iter(item), "")  # {"get_weather": {"city": "Oslo"}}
        args: Json = item[only] if len(item) == 1 and only in names else None
        return (only, args) if is_object(args) else None
    given = next((key for key in ARGUMENT_KEYS if key in item), None)
    mentions = given is None and not set(item) <= {named, "id", "type"}
    if mentions:  # as {"action": "send_email", "status": "sent"} does in a final answer
        return None
    name = item[named]
    args = item[given] if given else None
    if args is None:
        args = {}
    if isinstance(args, str):
        found = read_piece(args) if args.strip() else None
        args = found.value if found else {}
    return (name, args) if is_object(args) else None


def _once(calls: Iterable[tuple[str, dict[str, Any]]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """A call that stands in a fence inside a tag is found twice; it is one call."""
    seen: set[str] = set()
    for name, args in calls:
        key = digest(name, args)
        if key not in seen:
            seen.add(key)
            yield name, args


def _scalar(text: str) -> Json:
    readable, value = read_strict(text.strip())
    return value if readable else text
