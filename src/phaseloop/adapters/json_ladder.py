"""JSON out of a model's text: every candidate, repaired when broken, unwrapped until it is what was asked."""

import json
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import json_repair

from phaseloop.core.paths import is_list, is_object
from phaseloop.core.values import Json

FENCE = re.compile(r"```[\w+-]*[ \t]*\n?(.*?)(?:```|\Z)", re.DOTALL)
TAG = re.compile(r"<(?:tool_calls?|function_calls?|tools?|json|answer|output)>\s*(.*?)\s*(?:</\w+>|\Z)", re.DOTALL)
MAX_STARTS = 50  # brackets looked at in one text; a reply made of brackets must not cost seconds
WRAPPER_DEPTH = 3
CUT = "without its end"


@dataclass(frozen=True, slots=True)
class Found:
    """A value and how it differs from what was asked; no `drift` when the text was exactly that."""

    value: Json
    drift: tuple[str, ...] = ()


def find_json(text: str, accept: Callable[[Json], bool]) -> Found | None:
    """The first value in `text` that `accept` takes, from the strictest reading to the most lenient.

    Strict JSON, then every candidate cut from the text, then each of them repaired (article 003
    section 7.1). A reply that was cut at its token limit must not come here: a repair makes a shorter,
    valid value of it.
    """
    for reading in _readings(text):
        for value, wrapper in _unwrapped(reading.value):
            if accept(value):
                return Found(value, reading.drift + wrapper)
    return None


def candidates(text: str) -> Iterator[tuple[str, str]]:
    """Pieces of `text` that may be JSON, each with where it was found."""
    for hit in TAG.finditer(text):
        yield hit[1], "inside a tag"
    for hit in FENCE.finditer(text):
        yield hit[1], "inside a code fence"
    for start, end, closed in _spans(text):
        yield text[start:end], "among other text" if closed else CUT


def read_strict(text: str) -> tuple[bool, Json]:
    """Whether `text` is JSON as RFC 8259 has it (no NaN, no infinity), and its value."""
    try:
        return True, json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return False, None


def read_braces(text: str) -> tuple[bool, Json]:
    """The value of a text whose braces were doubled, as small models copy them from chat templates."""
    text = text.strip()
    if not (text.startswith("{{") and text.endswith("}}")):
        return False, None
    readable, value = read_strict(text[1:-1])
    return (readable, value) if readable else read_strict(text.replace("{{", "{").replace("}}", "}"))


def read_repaired(text: str) -> Json:
    """What can be saved of broken JSON; an empty string when nothing can."""
    try:
        return _finite(json_repair.loads(text))
    except (ValueError, RecursionError):
        return ""


def read_piece(text: str) -> Found | None:
    """The object or list in one candidate, strict first, repaired last."""
    text = text.strip()
    readable, value = read_strict(text)
    if readable:
        return Found(value)
    readable, value = read_braces(text)
    if readable:
        return Found(value, ("braces were doubled",))
    value = read_repaired(text)
    return Found(value, ("broken JSON was repaired",)) if (is_object(value) or is_list(value)) and value else None


def head(text: str, limit: int = 80) -> str:
    """The beginning of `text` on one line, for a message."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[:limit] + "…"


def _readings(text: str) -> Iterator[Found]:
    readable, value = read_strict(text.strip())
    if readable:
        yield Found(value)
    pieces = list(candidates(text))
    for piece, where in pieces:
        readable, value = read_strict(piece.strip())
        if readable and (is_object(value) or is_list(value)):
            yield Found(value, (_difference(where, text),))
    for piece, where in pieces:
        found = read_piece(piece)
        if found is not None and found.drift:
            yield Found(found.value, (_difference(where, text), *found.drift))
    whole = read_piece(text)
    if whole is not None and whole.drift:
        yield Found(whole.value, (_difference("as broken text", text), *whole.drift))


def _difference(where: str, text: str) -> str:
    return f"expected only JSON, got it {where}: {head(text)}"


def _unwrapped(value: Json) -> Iterator[tuple[Json, tuple[str, ...]]]:
    """The value itself, then what stands inside the wrappers models put around it."""
    yield value, ()
    if is_list(value) and len(value) == 1:
        yield value[0], ("unwrapped a list of one",)
    wrappers: tuple[str, ...] = ()
    for _ in range(WRAPPER_DEPTH):
        key = _wrapper_key(value)
        if key is None or not is_object(value):
            return
        value = value[key]
        if isinstance(value, str):
            readable, inner = read_strict(value)
            value = inner if readable else value
        wrappers += (f"unwrapped {key!r}",)
        yield value, wrappers


def _wrapper_key(value: Json) -> str | None:
    if not is_object(value):
        return None
    for key in ("arguments", "parameters", "args"):
        if key in value and ("name" in value or "tool" in value or "function" in value):
            return key
    if is_object(value.get("properties")):
        return "properties"  # the model filled in the schema it was shown
    return next(iter(value)) if len(value) == 1 else None


def _spans(text: str) -> list[tuple[int, int, bool]]:
    """Where bracketed pieces stand: `(start, end, closed)`, closed ones first."""
    closed: list[tuple[int, int, bool]] = []
    cut: list[tuple[int, int, bool]] = []
    position, starts = 0, 0
    while starts < MAX_STARTS:
        start = next((n for n in range(position, len(text)) if text[n] in "{["), -1)
        if start < 0:
            break
        starts += 1
        end = _end_of(text, start)
        if end < 0:
            cut.append((start, len(text), False))
            position = start + 1
        else:
            closed.append((start, end, True))
            position = end
    return closed + cut


def _end_of(text: str, start: int) -> int:
    """Where the bracket opened at `start` closes, text in quotes skipped; -1 when it does not."""
    depth, quoted, escaped = 0, False, False
    for n in range(start, len(text)):
        mark = text[n]
        if quoted:
            if escaped or mark == "\\":
                escaped = not escaped
            elif mark == '"':
                quoted = False
        elif mark == '"':
            quoted = True
        elif mark in "{[":
            depth += 1
        elif mark in "}]":
            depth -= 1
            if depth == 0:
                return n + 1
    return -1


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _finite(value: Any) -> Json:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if is_object(value):
        return {str(key): _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if is_list(value) else value
