"""Fields of a gate's form: what is asked in one line each, and how a typed line becomes a value."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from phaseloop.cli.figures import compact, printable
from phaseloop.cli.payload import list_in, object_in, object_of, text_at
from phaseloop.cli.texts import say
from phaseloop.core.errors import PhaseloopError
from phaseloop.core.paths import is_list
from phaseloop.core.values import Json, Object

YES = frozenset({"y", "yes", "true", "on", "1", "是", "对"})
NO = frozenset({"n", "no", "false", "off", "0", "否", "不"})


class FieldRefused(PhaseloopError):
    """A typed line is no value of its field; the message says what would be."""


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a form. `kind` is its JSON Schema type; `labels` belong to `choices`, in order.

    `default` is what Enter takes; it counts only when `has_default`.
    """

    name: str
    title: str
    kind: str = "string"
    description: str = ""
    choices: tuple[Json, ...] = ()
    labels: tuple[str, ...] = ()
    required: bool = False
    has_default: bool = False
    default: Json = None


def fields_of(schema: Object, values: Object) -> list[Field]:
    """The fields of an object schema in their order, filled in from `values`, else from their defaults."""
    required = {str(name) for name in list_in(schema, "required")}
    fields: list[Field] = []
    for name, spec in object_in(schema, "properties").items():
        part = _resolved(object_of(spec), schema)
        choices = list_in(part, "enum")
        labels = [compact(label) for label in list_in(part, "x-labels")]
        held = name in values or "default" in part
        fields.append(
            Field(
                name,
                printable(text_at(part, "title")) or printable(name),
                kind=_kind(part),
                description=printable(text_at(part, "description")),
                choices=tuple(choices),
                labels=tuple(labels if len(labels) == len(choices) else [compact(c) for c in choices]),
                required=name in required,
                has_default=held,
                default=values[name] if name in values else part.get("default"),
            )
        )
    return fields


def _resolved(part: dict[str, Any], schema: Object) -> dict[str, Any]:
    """`$ref` into the same schema followed, `anyOf [X, null]` read as X, its own words kept (Pydantic's shapes)."""
    for _ in range(8):
        reference = text_at(part, "$ref")
        others = [object_of(option) for option in list_in(part, "anyOf")]
        real = [option for option in others if option.get("type") != "null"]
        if reference.startswith("#/"):
            target: dict[str, Any] = object_of(schema)
            for step in reference[2:].split("/"):
                target = object_in(target, step)
            part = {**target, **{key: value for key, value in part.items() if key != "$ref"}}
        elif len(real) == 1:
            part = {**real[0], **{key: value for key, value in part.items() if key != "anyOf"}}
        else:
            break
    return part


def _kind(part: dict[str, Any]) -> str:
    kind = part.get("type")
    if isinstance(kind, list):
        kind = next((name for name in list_in(part, "type") if name != "null"), "")
    if not isinstance(kind, str) or not kind:
        return "string" if "enum" in part else "json"
    items = text_at(object_in(part, "items"), "type")
    if kind == "array" and items not in ("string", "integer", "number"):
        return "json"
    return "json" if kind == "object" else kind


def field_hint(field: Field, language: str) -> str:
    """What may be typed: the choices with their numbers, else whether the field may stay empty."""
    if field.choices:
        return ", ".join(f"{n} {label}" for n, label in enumerate(field.labels, 1))
    return "" if field.required else say(language, "c_optional")


def shown_default(field: Field) -> str:
    """The value Enter takes, as it would be typed."""
    if not field.has_default or field.default is None:
        return ""
    if field.choices and field.default in field.choices:
        return field.labels[field.choices.index(field.default)]
    if isinstance(field.default, bool):
        return "yes" if field.default else "no"
    if field.kind == "array" and is_list(field.default):
        return ", ".join(compact(item) for item in field.default)
    return compact(field.default)


def read_value(field: Field, line: str, language: str) -> Json:
    """The value of a typed line that is not empty. Raises `FieldRefused`."""
    if field.choices:
        return _choice(field, line, language)
    return _READERS.get(field.kind, _json)(line, language)


def _choice(field: Field, line: str, language: str) -> Json:
    wanted = line.casefold()
    for choice, label in zip(field.choices, field.labels, strict=True):
        if wanted in (compact(choice).casefold(), label.casefold()):
            return choice
    if line.isascii() and line.isdigit() and 1 <= int(line) <= len(field.choices):
        return field.choices[int(line) - 1]
    choices = ", ".join(field.labels)
    raise FieldRefused(say(language, "q_choice", text=line, choices=choices))


def _integer(line: str, language: str) -> int:
    try:
        return int(line)
    except ValueError:
        raise FieldRefused(say(language, "q_integer", text=line)) from None


def _number(line: str, language: str) -> float:
    try:
        value = float(line)
    except ValueError:
        raise FieldRefused(say(language, "q_number", text=line)) from None
    if value != value or value in (float("inf"), float("-inf")):  # JSON has neither
        raise FieldRefused(say(language, "q_number", text=line))
    return int(value) if value.is_integer() and "." not in line and "e" not in line.lower() else value


def _boolean(line: str, language: str) -> bool:
    word = line.casefold()
    if word in YES or word in NO:
        return word in YES
    raise FieldRefused(say(language, "q_bool", text=line))


def _array(line: str, language: str) -> list[Json]:
    return [part.strip() for part in line.replace("，", ",").split(",") if part.strip()]


def _json(line: str, language: str) -> Json:
    try:
        return json.loads(line)
    except ValueError as error:
        raise FieldRefused(say(language, "q_json", why=error)) from None


def _text(line: str, language: str) -> str:
    return line


_READERS: dict[str, Callable[[str, str], Json]] = {
    "string": _text,
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
    "array": _array,
}
