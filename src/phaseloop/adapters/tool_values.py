"""Turns whatever a Python tool returns into plain JSON, or says in one sentence why that cannot be."""

import base64
import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from typing import Any, TypeGuard
from uuid import UUID

from phaseloop.core.values import Json, canonical

SMALL_BYTES = 8_000  # the size up to which the log keeps a body inline: contract section 2
MAX_DEPTH = 100  # far above any real result and far below the interpreter's recursion limit


class NotJson(ValueError):
    """A value that has no JSON form; the message names the place and the type."""


def plain(value: Any) -> Json:
    """`value` as plain JSON: dataclasses and models as objects, dates in ISO 8601, sets sorted.

    Bytes become `{"bytes": n}`, with `base64` up to 8 kB; NaN and infinities become null; half surrogates,
    which no UTF-8 store can take, become U+FFFD. Raises `NotJson`.
    """
    return _plain(value, "", 0)


def is_object(value: Any) -> TypeGuard[Mapping[Any, Any]]:
    """Whether `value` becomes a JSON object."""
    return isinstance(value, Mapping)


def is_array(value: Any) -> TypeGuard[Sequence[Any]]:
    """Whether `value` becomes a JSON array with the order it has."""
    return isinstance(value, list | tuple)


def _is_set(value: Any) -> TypeGuard[Iterable[Any]]:
    return isinstance(value, set | frozenset)


def _plain(value: Any, where: str, depth: int) -> Json:
    if value is None or isinstance(value, bool):
        return value
    if depth > MAX_DEPTH:
        raise NotJson(f"{_place(where)} is nested deeper than {MAX_DEPTH} levels or contains itself")
    for kinds, convert in _SCALARS:
        if isinstance(value, kinds):
            return convert(value)
    value = _opened(value)
    fields = _fields(value)
    if fields is not None:
        return _object(fields, where, depth)
    if is_array(value):
        return [_plain(item, f"{where}[{n}]", depth + 1) for n, item in enumerate(value)]
    if _is_set(value):
        return sorted((_plain(item, where, depth + 1) for item in value), key=canonical)
    raise NotJson(f"{_place(where)} is of type {type(value).__name__}, which has no JSON form")


def _object(fields: Mapping[Any, Any], where: str, depth: int) -> dict[str, Json]:
    made: dict[str, Json] = {}
    for key, item in fields.items():
        name = _key(key, where)
        if name in made:
            raise NotJson(f"{_place(where)} has two keys that both read {name!r}")
        made[name] = _plain(item, f"{where}.{name}" if where else name, depth + 1)
    return made


def _key(key: Any, where: str) -> str:
    name = key.value if isinstance(key, Enum) else key
    if isinstance(name, bool) or name is None:
        return {True: "true", False: "false", None: "null"}[name]
    if isinstance(name, str):
        return _text(name)
    if isinstance(name, int | float | Decimal | UUID | PurePath):
        return str(name)
    if isinstance(name, date | datetime):
        return name.isoformat()
    raise NotJson(f"{_place(where)} has a key of type {type(key).__name__}; keys must be text")


def _fields(value: Any) -> Mapping[Any, Any] | None:
    """The members of a mapping or a dataclass; `None` for anything else."""
    if is_object(value):
        return value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return None


def _opened(value: Any) -> Any:
    """A pydantic model's content by alias, as its schema names it; anything else as it is."""
    dump = None if isinstance(value, type) else getattr(value, "model_dump", None)
    return dump(by_alias=True) if callable(dump) else value


def _text(value: str) -> str:
    return value if value.isascii() else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _float(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _bytes(value: bytes | bytearray | memoryview) -> Json:
    raw = bytes(value)
    body = {"base64": base64.b64encode(raw).decode()} if len(raw) <= SMALL_BYTES else {}
    return {"bytes": len(raw), **body}


def _duration(value: timedelta) -> str:
    """ISO 8601, as the JSON Schema format `duration` asks."""
    seconds = value.total_seconds()
    return f"{'-' if seconds < 0 else ''}PT{abs(seconds):.6f}".rstrip("0").rstrip(".") + "S"


def _iso(value: date | time) -> str:
    return value.isoformat()


_SCALARS: tuple[tuple[Any, Callable[[Any], Json]], ...] = (
    (Enum, lambda member: plain(member.value)),
    (str, lambda text: _text(str(text))),
    (int, int),
    (float, _float),
    ((bytes, bytearray, memoryview), _bytes),
    ((date, time), _iso),
    (timedelta, _duration),
    ((Decimal, UUID, PurePath), str),
)


def _place(where: str) -> str:
    return f"its result at {where}" if where else "its result"
