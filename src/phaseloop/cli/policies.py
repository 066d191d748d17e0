"""Answers given in the name of the person who typed `--yes` (contract section 9)."""

from collections.abc import Callable

from phaseloop.core.values import Json
from phaseloop.engine.results import WaitingFor

Answer = tuple[str, Json, str]
"""Outcome, value, comment."""
Policy = Callable[[WaitingFor], Answer | None]
"""Answers a gate, or leaves it to a person."""


def nobody(gate: WaitingFor) -> Answer | None:
    """No policy: every gate waits for a person."""
    return None


def yes(gate: WaitingFor) -> Answer | None:
    """The positive outcome where it needs no knowledge; never for `in_doubt` or `blocked`."""
    if gate.kind in ("in_doubt", "blocked"):
        return None
    if gate.kind == "advance":
        return ("advance", None, "")
    if gate.mode == "select":
        return _selected(gate)
    if gate.mode == "form":
        return _submitted(gate)
    return ("approve" if gate.mode == "approve" else "confirm", None, "")


def yes_safe(gate: WaitingFor) -> Answer | None:
    """As `yes`, but what asks for an approval stays open."""
    return None if gate.mode == "approve" else yes(gate)


def _selected(gate: WaitingFor) -> Answer | None:
    options: list[dict[str, Json]] = gate.payload.get("options") or []
    best: list[Json] = [option["id"] for option in options if option.get("recommended")]
    chosen: list[Json] = best[:1] or ([options[0]["id"]] if len(options) == 1 else [])
    return ("select", chosen, "") if chosen else None


def _submitted(gate: WaitingFor) -> Answer | None:
    values: dict[str, Json] = gate.payload.get("values") or {}
    schema: dict[str, Json] = gate.payload.get("schema") or {}
    complete = all(name in values for name in schema.get("required", ()))
    return ("submit", values, "") if complete else None
