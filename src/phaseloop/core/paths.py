"""Paths into JSON values such as `orders[0].id`: reading, following, saying what is there instead."""

import json
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import TypeAlias, TypeGuard

from phaseloop.core.values import Json

Part: TypeAlias = str | int
"""A field of an object, or a place in a list; negative places count from the end."""

_PART = re.compile(
    r"""\[\s*(?P<index>-?\d+)\s*\]
      | \[\s*(?P<quoted>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')\s*\]
      | \.?(?P<key>[^.\[\]]+)""",
    re.VERBOSE,
)
_PLAIN_KEY = re.compile(r"[^\s.\[\]\"'](?:[^.\[\]\"']*[^\s.\[\]\"'])?")
_SHOWN_FIELDS = 8
_SHOWN_CHARS = 40


def is_object(value: Json) -> TypeGuard[dict[str, Json]]:
    """Whether the value is a JSON object."""
    return isinstance(value, dict)


def is_list(value: Json) -> TypeGuard[list[Json]]:
    """Whether the value is a JSON list."""
    return isinstance(value, list)


@lru_cache(maxsize=4096)
def parse_path(text: str) -> tuple[Part, ...]:
    """The parts of a path; blank text is the whole value. Raises `ValueError` naming what cannot be read.

    Keys may hold blanks, hyphens and any script; one with `.`, `[`, `]` or outer blanks is written `["..."]`.
    """
    text = text.strip()
    parts: list[Part] = []
    at = 0
    while at < len(text):
        hit = _PART.match(text, at)
        joined = hit is not None and hit.lastgroup == "key" and at > 0 and text[at] != "."
        if hit is None or joined or (hit.lastgroup == "key" and not hit["key"].strip()):
            raise ValueError(f"path {text!r} cannot be read from {text[at:]!r} on")
        parts.append(_part(hit))
        at = hit.end()
    return tuple(parts)


def _part(hit: re.Match[str]) -> Part:
    if hit.lastgroup == "index":
        return int(hit["index"])
    if hit.lastgroup == "key":
        return hit["key"].strip()
    quoted = hit["quoted"]
    if quoted[0] == "'":
        return re.sub(r"\\(.)", r"\1", quoted[1:-1])
    return str(json.loads(quoted))


def path_text(path: Sequence[Part]) -> str:
    """The path as it is written after a source: `.orders[0].id`."""
    out: list[str] = []
    for part in path:
        if isinstance(part, int):
            out.append(f"[{part}]")
        elif _PLAIN_KEY.fullmatch(part):
            out.append(f".{part}")
        else:
            out.append(f"[{json.dumps(part, ensure_ascii=False)}]")
    return "".join(out)


def read(value: Json, path: Sequence[Part], name: str = "value") -> Json:
    """What stands at `path`; `null` is a value. Raises `LookupError` saying what is there instead."""
    for place, part in enumerate(path):
        if isinstance(part, str):
            if is_object(value) and part in value:
                value = value[part]
                continue
            index = int(part) if is_list(value) and part.isdecimal() else None
        else:
            index = part
        if index is None or not is_list(value) or not -len(value) <= index < len(value):
            raise LookupError(_instead(value, part, name + path_text(path[:place])))
        value = value[index]
    return value


def _instead(value: Json, part: Part, name: str) -> str:
    if is_list(value):
        if isinstance(part, str) and not part.isdecimal():
            return f"{name} is a list of {len(value)}, so it has no field {part!r}"
        return f"{name} has {len(value)} item{'' if len(value) == 1 else 's'}"
    if is_object(value):
        wanted = f"no field {part!r}" if isinstance(part, str) else f"no place [{part}], it is an object"
        return f"{name} has {wanted}; {fields_text(value)}"
    wanted = f"field {part!r}" if isinstance(part, str) else f"place [{part}]"
    return f"{name} is {shown(value)}, so it has no {wanted}"


def fields_text(fields: Sequence[str] | dict[str, Json]) -> str:
    """The names of an object's fields, cut after eight."""
    names = list(fields)
    more = f" and {len(names) - _SHOWN_FIELDS} more" if len(names) > _SHOWN_FIELDS else ""
    return f"it has {', '.join(map(repr, names[:_SHOWN_FIELDS]))}{more}" if names else "it is empty"


def shown(value: Json) -> str:
    """A value in a sentence, short."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _SHOWN_CHARS else text[: _SHOWN_CHARS - 1] + "…"
