"""JSON Schemas as a small model can read them: an example of the shape instead of the schema itself.

A model that is shown a schema tends to send the schema back; an example shape is filled in (measured:
0 of 2 against 4 of 4 replies of a 1.5 B model).
"""

from phaseloop.core.paths import is_list, is_object
from phaseloop.core.plan import MAX_STEPS
from phaseloop.core.schemas import inlined
from phaseloop.core.values import Json, Object, canonical

DEEPEST = 6
MAX_TEXT = 600
MAX_LABEL = 40
MAX_CONSTRAINTS = 8


def shape_of(schema: Json, root: Json = None, depth: int = 0) -> Json:
    """An example of what `schema` asks for: `{"name": "text", "items": [{"id": "text"}]}`."""
    root = schema if root is None else root
    schema = inlined(schema, root)
    if not is_object(schema) or not schema or depth > DEEPEST:
        return "any value"
    if "const" in schema:
        return schema["const"]
    if is_list(schema.get("enum")):
        return " | ".join(str(choice) for choice in schema["enum"])
    for word in ("anyOf", "oneOf", "allOf"):
        if is_list(schema.get(word)) and schema[word]:
            return shape_of(schema[word][0], root, depth + 1)
    kind = _kind(schema)
    if kind == "object":
        fields: dict[str, Json] = schema.get("properties") or {}
        return {name: shape_of(field, root, depth + 1) for name, field in fields.items()}
    if kind == "array":
        return [shape_of(schema.get("items", {}), root, depth + 1)]
    return _scalar(kind, schema)


def arguments_of(schema: Object) -> str:
    """The arguments of a tool on one line, `?` after what may be left out, descriptions included."""
    fields: dict[str, Json] = schema.get("properties") or {}
    if not fields:
        return "none"
    required = schema.get("required") or ()
    told = {name if name in required else f"{name}?": _told(field, schema) for name, field in fields.items()}
    return canonical(told)


def plan_schema(tools: tuple[str, ...], max_steps: int = MAX_STEPS) -> dict[str, Json]:
    """The schema of a plan for constrained decoding: tool names as a choice, every list and text bounded.

    Unbounded lists run away under constrained decoding.
    """
    text = {"type": "string", "maxLength": MAX_TEXT}
    label = {"type": "string", "maxLength": MAX_LABEL}
    tool = {"type": "string", "enum": list(tools)} if tools else {"type": "null"}
    call = {
        "type": "object",
        "properties": {"tool": tool, "args": {"type": "object"}},
        "required": ["tool", "args"],
    }
    step = {
        "type": "object",
        "properties": {
            "id": label,
            "action": text,
            "tool_hint": {"anyOf": [tool, {"type": "null"}]},
            "depends_on": {"type": "array", "items": label, "maxItems": max_steps},
            "call": call,
            "produces": label,
            "activityId": label,
            "only_if": text,
            "output_schema": {"type": "object"},
        },
        "required": ["id", "action", "tool_hint", "depends_on"],
    }
    if not tools:
        del step["properties"]["call"]  # type: ignore[attr-defined]
    return {
        "type": "object",
        "properties": {
            "goal": text,
            "steps": {"type": "array", "items": step, "minItems": 1, "maxItems": max_steps},
            "constraints": {"type": "array", "items": text, "maxItems": MAX_CONSTRAINTS},
        },
        "required": ["goal", "steps", "constraints"],
    }


VERDICT_SCHEMA: dict[str, Json] = {
    "type": "object",
    "properties": {
        "passed": {"type": "boolean"},
        "score": {"type": "number", "minimum": 0, "maximum": 10},
        "issues": {"type": "array", "items": {"type": "string", "maxLength": MAX_TEXT}, "maxItems": 8},
        "suggestion": {"type": "string", "maxLength": MAX_TEXT},
    },
    "required": ["passed", "score", "issues", "suggestion"],
    "additionalProperties": False,
}


def _kind(schema: dict[str, Json]) -> str:
    kind = schema.get("type")
    if is_list(kind):
        kind = next((word for word in kind if word != "null"), "null")
    if isinstance(kind, str):
        return kind
    return "object" if "properties" in schema else "array" if "items" in schema else "any"


def _scalar(kind: str, schema: dict[str, Json]) -> Json:
    if kind in ("integer", "number"):
        return 0
    if kind == "boolean":
        return True
    if kind == "null":
        return None
    return f"text, {schema['format']}" if schema.get("format") else "text" if kind == "string" else "any value"


def _told(field: Json, root: Json) -> Json:
    shape = shape_of(field, root)
    words = [shape if isinstance(shape, str) else canonical(shape)]
    field = inlined(field, root)
    if is_object(field):
        words += [str(field["description"])] if field.get("description") else []
        words += [f"for example {canonical(field['examples'][0])}"] if field.get("examples") else []
    return ": ".join(words)
