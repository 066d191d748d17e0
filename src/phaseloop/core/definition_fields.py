"""Reads the fields of a definition file by tables and writes them back: one place for names and kinds."""

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from typing import Any, cast

from phaseloop.core.paths import is_list, is_object
from phaseloop.core.plan import Finding, Severity
from phaseloop.core.process import Option, Text
from phaseloop.core.values import Json, Object, canonical

SHOWN = 80  # characters of a value in a message

Kind = Callable[[Json], Any]
"""Turns a value of the file into a value of the core. Raises `ValueError` that says what is expected."""


@dataclass(frozen=True, slots=True)
class Field:
    """One field: its key in the file, its attribute in the core (empty: checked and kept as written)."""

    key: str
    attribute: str
    kind: Kind
    required: bool = False


def shown(value: Json) -> str:
    """A value as a message shows it."""
    text = canonical(value)
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"


def nearest(word: str, known: Iterable[str]) -> str:
    """The known word that `word` most likely stands for, or nothing."""
    return next(iter(get_close_matches(word, list(known), n=1, cutoff=0.6)), "")


def identifier(value: Json) -> str:
    """An id: text without blanks."""
    if not isinstance(value, str) or not value or any(mark.isspace() for mark in value):
        raise ValueError("an id: text without blanks")
    return value


def reference(value: Json) -> str:
    """An id, or empty for none."""
    return "" if value == "" else identifier(value)


def text(value: Json) -> str:
    """Any text."""
    if not isinstance(value, str):
        raise ValueError("text")
    return value


def words(value: Json) -> Text:
    """A text, or the same text by language."""
    if isinstance(value, str):
        return value
    if is_object(value) and value and all(isinstance(part, str) for part in value.values()):
        return dict(value)
    raise ValueError('text, or texts by language such as {"en": "Design", "zh": "设计"}')


def release(value: Json) -> str:
    """A version: text or a number."""
    if isinstance(value, bool) or not isinstance(value, str | int | float) or value == "":
        raise ValueError("a version: text or a number")
    return str(value)


def flag(value: Json) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise ValueError("true or false")
    return value


def whole(value: Json) -> int:
    """A whole number."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError("a whole number")
    return value


def number(value: Json) -> float:
    """Any number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("a number")
    return value


def names(value: Json) -> tuple[str, ...]:
    """A list of ids."""
    try:
        return tuple(identifier(item) for item in listed(value))
    except ValueError:
        raise ValueError("a list of names without blanks") from None


def table(value: Json) -> dict[str, Json]:
    """An object, kept as written."""
    if not is_object(value):
        raise ValueError("an object")
    return value


def sources(value: Json) -> dict[str, Json]:
    """An object whose values are names of artefacts or inputs."""
    if not is_object(value) or not all(isinstance(name, str) and name for name in value.values()):
        raise ValueError('an object of names such as {"intent": "confirmedIntent"}')
    return value


def listed(value: Json) -> list[Json]:
    """A list, its items read by their own table."""
    if not is_list(value):
        raise ValueError("a list")
    return value


def one_of(choices: type[StrEnum]) -> Kind:
    """One of the words of an enumeration, exactly as written there."""

    def choose(value: Json) -> StrEnum:
        if isinstance(value, str) and value in {choice.value for choice in choices}:
            return choices(value)
        raise ValueError("one of " + ", ".join(choice.value for choice in choices))

    return choose


def options(value: Json) -> tuple[Option, ...]:
    """The choices of a `select` gate: objects with `id` and `label`, or plain texts that are both."""
    try:
        return tuple(_option(item) for item in listed(value))
    except ValueError:
        raise ValueError('a list of options such as {"id": "a", "label": "First"}') from None


def _option(item: Json) -> Option:
    if isinstance(item, str):
        return Option(identifier(item), item)
    entry = dict(table(item))
    if entry.get("label") is None:
        entry["label"] = entry.get("id")
    values, findings = read_fields(OPTION_FIELDS, entry, "option")
    if findings:
        raise ValueError("an option")
    return Option(**values)


def auto_pass(value: Json) -> bool:
    """The article's parsing, exactly: a boolean is itself, "true" in any case is true, all else is false."""
    if isinstance(value, bool):
        return value
    return isinstance(value, str) and value.lower() == "true"


def read_fields(
    fields: Sequence[Field], document: Object, where: str, also: frozenset[str] = frozenset()
) -> tuple[dict[str, Any], list[Finding]]:
    """Attributes of the core from `document`, and what is wrong with it.

    An absent field and one that is `null` are the same. `also` are keys that somebody else reads.
    """
    values: dict[str, Any] = {}
    findings = unknown_fields([field.key for field in fields], document, where, also)
    for field in fields:
        value = document.get(field.key)
        place = f"{where}.{field.key}".lstrip(".")
        if value is None:
            if field.required:
                findings.append(
                    Finding(
                        "missing",
                        f"{field.key} is missing",
                        place,
                        f"add {field.key} to {where or 'the file'}",
                    )
                )
            continue
        try:
            values[field.attribute] = field.kind(value)
        except ValueError as expected:
            message = f"{field.key} is {shown(value)}; it must be {expected}"
            findings.append(Finding("wrong_type", message, place, f"write {expected}"))
    return values, findings


def unknown_fields(
    known: Sequence[str], document: Object, where: str, also: frozenset[str] = frozenset()
) -> list[Finding]:
    """A warning for each key that nothing reads, with the key that was probably meant."""
    findings: list[Finding] = []
    for key in document:
        if key in known or key in also or key.startswith(("x-", "$")):
            continue
        meant = nearest(key, known)
        mend = f"did you mean {meant}?" if meant else "remove it, or start its name with x-"
        place = f"{where}.{key}".lstrip(".")
        message = f"{key} is not a field of {where or 'a definition'} and is ignored"
        findings.append(Finding("unknown_field", message, place, mend, Severity.NOTE))
    return findings


def write_fields(fields: Sequence[Field], value: Any) -> dict[str, Json]:
    """The fields of a dataclass of the core as they stand in a file; what has its default is left out."""
    defaults: dict[str, Any] = {}
    for entry in dataclasses.fields(value):
        if entry.default is not dataclasses.MISSING:
            defaults[entry.name] = entry.default
        elif entry.default_factory is not dataclasses.MISSING:
            defaults[entry.name] = entry.default_factory()
    written: dict[str, Json] = {}
    for field in fields:
        own = getattr(value, field.attribute)
        if field.required or own != defaults.get(field.attribute):
            written[field.key] = plain(own)
    return written


def plain(value: Any) -> Json:
    """A value of the core as JSON."""
    if isinstance(value, StrEnum):
        return value.value
    if isinstance(value, Option):
        return write_fields(OPTION_FIELDS, value)
    if isinstance(value, tuple | list):
        return [plain(item) for item in cast("Sequence[Any]", value)]
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in cast("Mapping[str, Any]", value).items()}
    return value


OPTION_FIELDS = (
    Field("id", "id", identifier, required=True),
    Field("label", "label", text, required=True),
    Field("description", "description", text),
    Field("recommended", "recommended", flag),
)
