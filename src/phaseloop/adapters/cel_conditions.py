"""Conditions in CEL: compiled once, bounded in size and work, errors as text and never as exceptions."""

import re
from collections.abc import Iterable
from functools import lru_cache

from cel_expr_python.cel import (  # type: ignore[import-untyped]  # it has a stub and no py.typed
    Env,
    Expression,
    NewEnv,
    Type,
)

from phaseloop.core.definition_fields import nearest
from phaseloop.core.expression_names import names_in, variables_in
from phaseloop.core.values import Object

MAX_CHARACTERS = 2_000  # a condition is a line, not a program; the library's own bounds are on depth and loops
CACHED = 512

_PLACE = re.compile(r"ERROR: <input>:(\d+):(-?\d+): (.*)")
_NO_TEXT = ("incompatible function arguments", "basic_string")  # what the library says of lone surrogates
_STATUS = re.compile(r"^[A-Z_]+: | \[[A-Z_]+\]$")
_NUMBER = "(?:int|uint|double|int64|uint64)"
_MIXED_COMPARISON = re.compile(
    rf"found no matching overload for '_(?:<|<=|>|>=|==|!=)_' applied to '\({_NUMBER}, {_NUMBER}\)'"
)
_MIXED_ARITHMETIC = re.compile(rf"overloads? .*_[-+*/%]_.*\({_NUMBER}, {_NUMBER}\)")


def names_of(expression: str) -> tuple[str, ...]:
    """The names the expression takes from outside, in order of appearance."""
    return names_in(expression)


def compile_error(expression: str) -> str:
    """Why the expression is no condition, or nothing; which names exist is checked elsewhere."""
    try:
        _compiled(expression, (*names_in(expression), *variables_in(expression)))
    except ValueError as error:
        return str(error)
    return ""


class CelConditions:
    """The `Conditions` port.

    A condition sees exactly the names it is given; one that is given as `None` is `null`, one that is
    not given is an error, so that a misspelt name is never quietly false. Numbers compare by value,
    whole or not.
    """

    def evaluate(self, expression: str, names: Object) -> tuple[bool | None, str]:
        """The value, or `None` and one sentence that says why there is none."""
        wanted, bound = _names(expression)
        given = {name: names[name] for name in (*wanted, *bound) if name in names}
        missing = [name for name in wanted if name not in given]
        if missing:
            return None, _unknown(missing[0], names)
        try:
            value = _compiled(expression, tuple(sorted(given))).eval(data=given)
        except (ValueError, TypeError, RuntimeError) as error:
            return None, _sentence(str(error))
        kind = value.type()
        if kind == Type.BOOL:
            return bool(value.plain_value()), ""
        if kind == Type.ERROR:
            return None, _sentence(str(value.plain_value()))
        return None, _not_boolean(kind)

    def names_of(self, expression: str) -> tuple[str, ...]:
        """As the function of this name."""
        return names_of(expression)

    def compile_error(self, expression: str) -> str:
        """As the function of this name."""
        return compile_error(expression)


@lru_cache(maxsize=CACHED)
def _names(expression: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What the expression takes from outside, and what it binds itself."""
    return names_in(expression), variables_in(expression)


@lru_cache(maxsize=CACHED)
def _compiled(expression: str, names: Iterable[str]) -> Expression:
    """Raises `ValueError` with one sentence."""
    if len(expression) > MAX_CHARACTERS:
        raise ValueError(f"the condition has {len(expression)} characters; at most {MAX_CHARACTERS} are allowed")
    if not expression.strip():
        raise ValueError("the condition is empty")
    try:
        environment: Env = NewEnv(variables=dict.fromkeys(names, Type.DYN))
        compiled = _checked(environment, expression)
    except (RuntimeError, TypeError) as error:
        raise ValueError(_sentence(str(error))) from error
    kind = compiled.return_type()
    if kind not in (Type.BOOL, Type.DYN):
        raise ValueError(_not_boolean(kind))
    return compiled


def _checked(environment: Env, expression: str) -> Expression:
    """Compiled with type checks, save that a whole number may be compared with any other.

    The checker refuses `score * 2.0 > 7`, which evaluates well and is right for numbers out of JSON.
    """
    try:
        return environment.compile(expression)
    except RuntimeError as error:
        complaints = [hit[3] for hit in _PLACE.finditer(str(error))]
        if complaints and all(_MIXED_COMPARISON.search(complaint) for complaint in complaints):
            return environment.compile(expression, disable_check=True)
        raise


def _sentence(message: str) -> str:
    """The library's message in one line, with the place and, where we know it, the mend."""
    if hit := _PLACE.search(message):
        text = re.sub(r" expecting \{.*", "", hit[3]).replace(" (in container '')", "")
        place = f" at column {hit[2]}" if hit[1] == "1" else f" at line {hit[1]}, column {hit[2]}"
        return f"{text}{place}" if int(hit[2]) > 0 else text
    if any(sign in message for sign in _NO_TEXT):
        return "the condition or a value holds characters that are no text, such as half a surrogate pair"
    text = _STATUS.sub("", message.strip().splitlines()[0] if message.strip() else "evaluation failed")
    text = _STATUS.sub("", text)
    if _MIXED_ARITHMETIC.search(text):
        return f"{text}; write double(...) around the whole number"
    if "Key not found in map" in text or "SELECT to non-message" in text:
        return f"{text}; a field that may be absent is asked for with has(...) after a test for null"
    return text


def _not_boolean(kind: Type) -> str:
    return f"the condition gives {kind.name()}; it must give true or false"


def _unknown(name: str, names: Object) -> str:
    meant = nearest(name, sorted(names))
    if meant:
        return f"{name} is not a known name; did you mean {meant}?"
    return f"{name} is not a known name; known are: {', '.join(sorted(names)) or 'none'}"
