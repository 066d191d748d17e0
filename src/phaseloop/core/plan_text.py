"""From a planner's loose JSON to a `Plan`: the forms that models really send, each change recorded."""

import json
import re
from collections.abc import Collection, Sequence

from phaseloop.core.paths import is_list, is_object, shown
from phaseloop.core.plan import ActivityType, Call, Plan, Step
from phaseloop.core.plan_labels import Aliases, aliases_of, label_of
from phaseloop.core.plan_references import condition_names, rename_condition
from phaseloop.core.references import PATH, REF, rename, step_references
from phaseloop.core.values import Json

_NOTHING = frozenset(("", "null", "none", "nil", "n/a", "-"))
_STEPS = ("steps", "plan", "tasks", "subtasks", "actions")
_IDS = ("id", "step_id", "stepId", "label", "number", "step")
_ACTION = ("action", "description", "task", "title", "instruction", "name", "step")
_HINT = ("tool_hint", "toolHint", "tool", "tool_name", "toolName")
_WAITS = ("depends_on", "dependsOn", "dependencies", "deps", "after", "requires")
_ARGS = ("args", "arguments", "parameters")
_DEEPEST = 5  # wrappers around a plan; a real reply has one or two


def normalise(draft: Json, known: Collection[str] = ()) -> tuple[Plan, tuple[str, ...]]:
    """The plan in `draft`, and a sentence for each thing that was not in the plan's own form.

    `known` are ids of earlier steps that the planner may name. Numbers become labels such as `step1`, which
    a condition can name and which no step id `s1` is mistaken for. A dependency on nothing is dropped.
    Raises `ValueError` when there is no list of steps.
    """
    drift: list[str] = []
    whole, raw = _unwrapped(draft, drift)
    items = [_object(item, place, drift) for place, item in enumerate(raw, 1)]
    names = [[text for key in _ACTION if (text := _text(item.get(key)))] for item in items]
    own_names = [[*texts, _tool_name(item)] for texts, item in zip(names, items, strict=True)]
    aliases = aliases_of([_label(item) for item in items], own_names, known)
    result = whole.get("result")
    plan = Plan(
        goal=_text(whole.get("goal")),
        steps=tuple(_step(item, label, aliases, drift) for item, label in zip(items, aliases.labels, strict=True)),
        constraints=_texts(whole.get("constraints")),
        result=None if _is_nothing(result) else _renamed(result, aliases),
    )
    return plan, tuple(dict.fromkeys(drift))


def _unwrapped(draft: Json, drift: list[str]) -> tuple[dict[str, Json], list[Json]]:
    """The object around the steps, and the steps; goal and constraints may stand further out."""
    outer: dict[str, Json] = {}
    value = draft
    for _ in range(_DEEPEST):
        if isinstance(value, str):
            drift.append("the plan is a text that holds JSON")
            value = _parsed(value)
        if is_list(value):
            drift.append("the plan is a bare list of steps")
            return outer, value
        if not is_object(value):
            break
        outer = {**outer, **value}
        inner = _first(value, _STEPS)
        if is_list(inner):
            return outer, inner
        if is_object(inner) and _is_table(inner):
            drift.append("the steps are an object instead of a list")
            return outer, [_keyed(key, item) for key, item in inner.items()]
        if inner is None:
            drift.append("the plan is wrapped in another object")
            inner = next(filter(is_object, value.values()), None)
        value = inner
    raise ValueError(f"the plan has no list of steps: {shown(draft)}; expected an object with 'goal' and 'steps'")


def _is_table(inner: dict[str, Json]) -> bool:
    """Whether an object holds steps by their labels."""
    whole = "goal" in inner or _first(inner, _STEPS) is not None
    return bool(inner) and not whole and all(isinstance(item, str | dict) for item in inner.values())


def _parsed(text: str) -> Json:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _keyed(key: str, item: Json) -> dict[str, Json]:
    return {"id": key, **item} if is_object(item) else {"id": key, "action": item}


def _object(item: Json, place: int, drift: list[str]) -> dict[str, Json]:
    if is_object(item):
        return item
    drift.append(f"step {place} is {'a text' if isinstance(item, str) else shown(item)} instead of an object")
    return {"action": _text(item)}


def _label(item: dict[str, Json]) -> str:
    """The label of a step; `step` holds it only when there is an action beside it or it is a number."""
    names = _IDS if isinstance(item.get("step"), int) or _first(item, _ACTION[:-1]) else _IDS[:-1]
    return label_of(_first(item, names))


def _step(item: dict[str, Json], label: str, aliases: Aliases, drift: list[str]) -> Step:
    call = _call(item, label, drift)
    condition = _text(_first(item, ("only_if", "onlyIf")))
    names = {name: found for name in condition_names(condition) if (found := aliases.step(name, by_text=False))}
    schema = _first(item, ("output_schema", "outputSchema"))
    return Step(
        id=label,
        action=_text(_first(item, _ACTION)),
        tool_hint=_tool_name(item) or None,
        depends_on=_waits(item, label, aliases, drift),
        produces=_text(item.get("produces")) or None,
        activity_id=_text(_first(item, ("activityId", "activity_id"))) or None,
        call=Call(call.tool, _renamed(call.args, aliases)) if call else None,
        each=_each(item.get("each"), label, aliases, drift),
        only_if=rename_condition(condition, names) or None,
        output_schema=schema if is_object(schema) else None,
        type=_type(item, call),
    )


def _call(item: dict[str, Json], label: str, drift: list[str]) -> Call | None:
    """A bound call: in `call`, or the tool and its arguments beside each other."""
    inner = item.get("call")
    if is_object(inner):
        tool, args = _text(_first(inner, (*_HINT, "name", "function"))), _first(inner, (*_ARGS, "input"))
    else:
        tool, args = _text(inner) or _tool_name(item), _first(item, _ARGS)
        if args is None and _is_nothing(inner):
            return None
    if isinstance(args, str) and not _is_nothing(args):
        args = _parsed(args)
        drift.append(f"step {label!r}: its arguments are a text that holds JSON")
    if args is not None and not is_object(args):
        drift.append(f"step {label!r}: its arguments are {shown(args)} instead of an object and were dropped")
    if not tool:
        if args:
            drift.append(f"step {label!r}: arguments without a tool were dropped")
        return None
    return Call(tool, args if is_object(args) else {})


def _tool_name(item: dict[str, Json]) -> str:
    name = _first(item, _HINT)
    if is_object(name):
        name = name.get("name")
    return _text(name[0] if is_list(name) and name else name)


def _type(item: dict[str, Json], call: Call | None) -> ActivityType:
    name = _text(item.get("type")).upper()
    if name in ActivityType.__members__:
        return ActivityType[name]
    return ActivityType.TOOL if call else ActivityType.LLM


def _each(value: Json, label: str, aliases: Aliases, drift: list[str]) -> dict[str, Json] | None:
    """The list a call is repeated for; `"s1.orders"` is read as a reference."""
    if is_object(value):
        return _renamed(value, aliases) if value else None
    if _is_nothing(value):
        return None
    source, path = (*re.split(r"[.:]", _text(value), maxsplit=1), "")[:2]
    drift.append(f"step {label!r}: its each is {shown(value)} instead of a reference")
    found = aliases.step(source)
    return {REF: found, PATH: path} if found else {REF: _text(value)}


def _waits(item: dict[str, Json], label: str, aliases: Aliases, drift: list[str]) -> tuple[str, ...]:
    raw = _first(item, _WAITS)
    if isinstance(raw, str) and not aliases.step(raw):
        raw = raw.split(",")
    found: list[str] = []
    for one in raw if is_list(raw) else [raw]:
        name = _first(one, _IDS) if is_object(one) else one
        if _is_nothing(name):
            continue
        target = aliases.step(name)
        if target is None:
            drift.append(f"step {label!r}: dependency {shown(name)} names no step and was dropped")
        elif target == label:
            drift.append(f"step {label!r}: its dependency on itself was dropped")
        else:
            if target not in (name, label_of(name)):
                drift.append(f"step {label!r}: dependency {shown(name)} was read as {target!r}")
            found.append(target)
    return tuple(found)


def _renamed(value: Json, aliases: Aliases) -> Json:
    """`value` with the sources of its references in the plan's own labels."""
    sources = step_references(value)
    return rename(value, {name: found for name in sources if (found := aliases.step(name)) and found != name})


def _first(item: dict[str, Json], names: Sequence[str]) -> Json:
    return next((item[name] for name in names if item.get(name) is not None), None)


def _is_nothing(value: Json) -> bool:
    return value is None or (isinstance(value, str) and value.strip().casefold() in _NOTHING)


def _text(value: Json) -> str:
    if _is_nothing(value):
        return ""
    return value.strip() if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _texts(value: Json) -> tuple[str, ...]:
    items = value if is_list(value) else [value]
    return tuple(text for item in items if (text := _text(item)))
