"""Checks of what a run starts with: its goal, its inputs, its tools."""

from collections.abc import Collection

from phaseloop.core.errors import WrongUse
from phaseloop.core.paths import is_object
from phaseloop.core.plan import ActivityType
from phaseloop.core.process import Definition
from phaseloop.core.values import Object, canonical
from phaseloop.engine.ports import Contracts

MAX_GOAL = 100_000  # characters; every prompt carries the goal, and longer material belongs in a file or an input


def check_goal(goal: str, needed: bool) -> None:
    """Refuse a goal that cannot be carried: empty where `needed`, too long, broken. Raises `WrongUse`."""
    if needed and not goal.strip():
        raise WrongUse("a run needs a goal; the text is empty")
    if len(goal) > MAX_GOAL:
        raise WrongUse(
            f"the goal has {len(goal):,} characters; it may have {MAX_GOAL:,}:"
            " put long material into a file that a tool reads, or into an input"
        )
    if (at := _broken_at(goal)) is not None:
        raise WrongUse(f"the goal is broken Unicode at character {at + 1} ({goal[at]!r}); give it as UTF-8 text")


def check_inputs(contracts: Contracts, definition: Definition, inputs: Object) -> None:
    """Refuse inputs that the definition does not declare or that do not fit. Raises `WrongUse`."""
    declared = definition.inputs
    for name, value in inputs.items():
        if declared and name not in declared:
            raise WrongUse(f"{definition.definition_id} takes no input {name!r}; it takes {', '.join(declared)}")
        try:
            text = canonical(value)
        except (TypeError, ValueError) as error:
            raise WrongUse(f"input {name!r} is no JSON: {error}") from error
        if _broken_at(text) is not None or _broken_at(name) is not None:
            raise WrongUse(f"input {name!r} holds broken Unicode; give it as UTF-8 text")
        schema = declared.get(name)
        if is_object(schema) and value is not None and (found := contracts.check(schema, value)):
            raise WrongUse(f"input {name!r} does not fit: {found[0].where or 'value'}: {found[0].message}")


def check_tools(definition: Definition, tools: Collection[str]) -> None:
    """Refuse a process that names tools nobody gave: better now than four phases later. Raises `WrongUse`."""
    for activity in definition.activities:
        name = activity.config.get("tool")
        if activity.type is ActivityType.TOOL and isinstance(name, str) and name not in tools:
            known = f"known are {', '.join(sorted(tools))}" if tools else "no tools are given"
            raise WrongUse(f"activity {activity.activity_id} needs the tool {name!r}; {known} (--tools, --mcp)")


def _broken_at(text: str) -> int | None:
    """Where a lone surrogate stands: UTF-8 cannot carry one."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        return error.start
    return None
