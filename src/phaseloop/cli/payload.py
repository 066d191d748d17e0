"""What a gate's payload holds: plain JSON, so each part is looked at before it is used (behaviours 2.7)."""

from typing import Any

from phaseloop.core.paths import is_list, is_object
from phaseloop.core.values import Json, Object
from phaseloop.core.view_run import GateView


def object_of(value: Json) -> dict[str, Any]:
    """`value` when it is a JSON object, else an empty one."""
    return value if is_object(value) else {}


def object_in(holder: Object, name: str) -> dict[str, Any]:
    """The object `holder` has under `name`, else an empty one."""
    return object_of(holder.get(name))


def list_in(holder: Object, name: str) -> list[Any]:
    """The list `holder` has under `name`, else an empty one."""
    value = holder.get(name)
    return value if is_list(value) else []


def text_at(holder: Object, name: str) -> str:
    """The text `holder` has under `name`, else an empty one."""
    value = holder.get(name)
    return value if isinstance(value, str) else ""


def schema_of(gate: GateView) -> dict[str, Any]:
    """The JSON Schema of the values a gate asks for, empty when it asks for none."""
    return object_in(gate.payload, "schema")


def properties_of(gate: GateView) -> dict[str, dict[str, Any]]:
    """The fields a gate asks for, by name, in their order."""
    fields = object_in(schema_of(gate), "properties")
    return {str(name): object_of(spec) for name, spec in fields.items()}


def required_of(gate: GateView) -> list[str]:
    """The names of fields that must be there."""
    return [str(name) for name in list_in(schema_of(gate), "required")]


def values_of(gate: GateView) -> dict[str, Any]:
    """The values a gate comes filled in with; of a tool approval, the arguments."""
    return object_in(gate.payload, "values") or object_in(gate.payload, "args")


def options_of(gate: GateView) -> list[dict[str, Any]]:
    """The options of a `select` gate, those with an id."""
    return [object_of(option) for option in list_in(gate.payload, "options") if object_of(option).get("id")]


def artefact_of(gate: GateView) -> tuple[str, Json]:
    """Name and value of what a gate shows, `("", None)` when it shows nothing."""
    shown = object_in(gate.payload, "artefact") or object_in(gate.payload, "artifact")
    return (text_at(shown, "name"), shown.get("value")) if shown else ("", None)
