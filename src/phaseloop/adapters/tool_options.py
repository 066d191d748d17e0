"""The rules of a tool that code, annotations or the configuration may set, and their checks."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import Any, TypedDict

from phaseloop.adapters.tool_values import is_array
from phaseloop.core.errors import WrongUse
from phaseloop.core.tools import EffectClass, Risk, ToolSpec

TOOL_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")  # what every model provider takes as a function name
_LONGEST_TIMEOUT = 86_400.0


class ToolRules(TypedDict, total=False):
    """What may be said about a tool beyond its signature; architecture section 4.

    `effect`: read, idempotent or write. `conflict`: a template over the arguments that names what a call
    touches. `timeout`: seconds. `fallback`: the tool to call when this one is down. `identity`: arguments
    that say whom a write touches.
    """

    effect: EffectClass | str
    conflict: str
    timeout: float
    fallback: str
    category: str
    risk: Risk | str
    repeatable: bool
    poll: bool
    untrusted: bool
    approval: bool
    exclusive_reads: bool
    identity: Sequence[str]


_FLAGS = ("repeatable", "poll", "untrusted", "approval", "exclusive_reads")
_TEXTS = {"conflict": "conflict_key", "fallback": "fallback", "category": "category"}


def with_rules(spec: ToolSpec, rules: Mapping[str, Any]) -> ToolSpec:
    """`spec` with `rules` laid over it. Raises `WrongUse` for an unknown rule or a value that cannot be."""
    known = ToolRules.__annotations__
    for name in rules:
        if name not in known:
            raise WrongUse(f"tool {spec.name}: unknown option {name!r}{did_you_mean(name, known)}")
    changes: dict[str, Any] = {_TEXTS[name]: _text(spec, name, rules[name]) for name in _TEXTS if name in rules}
    changes |= {name: _flag(spec, name, rules[name]) for name in _FLAGS if name in rules}
    if "effect" in rules:
        changes["effect"] = EffectClass(_choice(spec, "effect", rules["effect"], [*EffectClass]))
    if "risk" in rules:
        changes["risk"] = Risk(_choice(spec, "risk", rules["risk"], [*Risk]))
    if "timeout" in rules:
        changes["timeout_seconds"] = _seconds(spec, rules["timeout"])
    if "identity" in rules:
        changes["identity"] = _names(spec, rules["identity"])
    changed = replace(spec, **changes)
    _check_arguments(changed)
    return changed


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A tail for an error sentence: close names, else all of a short list, else nothing."""
    names = sorted(known)
    close = get_close_matches(name, names, n=3, cutoff=0.6)
    if close:
        return f"; did you mean {' or '.join(repr(one) for one in close)}?"
    return f"; known are {', '.join(names)}" if 0 < len(names) <= 15 else ""


def _check_arguments(spec: ToolSpec) -> None:
    """Names in `conflict` and `identity` must be arguments, or the rule would silently not hold."""
    arguments = spec.input_schema.get("properties", {})
    for option, names in (
        ("conflict", re.findall(r"\{(\w*)\}", spec.conflict_key)),
        ("identity", spec.identity),
    ):
        for name in names:
            if name not in arguments:
                raise WrongUse(
                    f"tool {spec.name}: {option} names {name!r}, which is not an argument"
                    f"{did_you_mean(name, arguments)}"
                )
    if spec.fallback == spec.name:
        raise WrongUse(f"tool {spec.name}: fallback must name another tool")


def _text(spec: ToolSpec, option: str, value: Any) -> str:
    if not isinstance(value, str):
        raise WrongUse(f"tool {spec.name}: {option} must be text, not {value!r}")
    return value


def _flag(spec: ToolSpec, option: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise WrongUse(f"tool {spec.name}: {option} must be true or false, not {value!r}")
    return value


def _choice(spec: ToolSpec, option: str, value: Any, choices: Sequence[str]) -> str:
    if value not in choices:
        raise WrongUse(f"tool {spec.name}: {option} must be one of {', '.join(choices)}, not {value!r}")
    return str(value)


def _seconds(spec: ToolSpec, value: Any) -> float:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not 0 < value <= _LONGEST_TIMEOUT:
        raise WrongUse(f"tool {spec.name}: timeout must be seconds above 0 and at most 86400, not {value!r}")
    return float(value)


def _names(spec: ToolSpec, value: Any) -> tuple[str, ...]:
    if not is_array(value):
        raise WrongUse(f"tool {spec.name}: identity must be a list of argument names, not {value!r}")
    return tuple(str(name) for name in value)
