"""What a JSON Schema promises about a path and about types; only what is certain, never a validation."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from phaseloop.core.paths import Part, fields_text, is_list, is_object, path_text
from phaseloop.core.values import Json

_DEEPEST = 12  # a schema nested or referring deeper than this is treated as unknown


@dataclass(frozen=True, slots=True)
class Place:
    """What stands at a path: a `schema`, or nothing known (`None`), or `impossible` says why nothing can."""

    schema: Json = None
    impossible: str = ""


UNKNOWN = Place()


def inlined(schema: Json, root: Json) -> Json:
    """`schema` with a local `$ref` such as `#/$defs/order` followed; `None` when it leads nowhere."""
    for _ in range(_DEEPEST):
        if not is_object(schema) or "$ref" not in schema:
            return schema
        target = root
        for key in str(schema["$ref"]).removeprefix("#").strip("/").split("/"):
            if key:
                name = key.replace("~1", "/").replace("~0", "~")
                target = target.get(name) if is_object(target) else None
        schema = target
    return None


def follow(schema: Json, path: Sequence[Part], name: str = "value") -> Place:
    """What `schema` says about `path`. A field that declared properties do not list counts as impossible.

    Only `additionalProperties` (true or a schema) or `patternProperties` opens an object that lists them.
    """
    place = Place(schema)
    for at, part in enumerate(path):
        if place.schema is None:
            return place
        place = _enter(place.schema, part, schema, name + path_text(path[:at]))
    return place if place.schema is None else Place(inlined(place.schema, schema))


def _enter(schema: Json, part: Part, root: Json, name: str, depth: int = 0) -> Place:
    schema = inlined(schema, root)
    if not is_object(schema) or not schema or depth > _DEEPEST:
        return UNKNOWN
    if (joined := _branches(schema)) is not None:
        combine, branches = joined
        return combine([_enter(branch, part, root, name, depth + 1) for branch in branches])
    types = _declared(schema)
    as_index = part if isinstance(part, int) else int(part) if part.isdecimal() else None
    if types is None or "object" in types:
        if isinstance(part, str):
            return _field(schema, part, name)
        if types is None and "properties" not in schema:
            return _item(schema, part)
    if types is not None and "array" in types and as_index is not None:
        return _item(schema, as_index)
    return Place(impossible=_closed_text(schema, types, part, name))


def _branches(schema: dict[str, Json]) -> tuple[Callable[[list[Place]], Place], list[Json]] | None:
    """The parts a schema is put together from, its own properties among them, and how they combine."""
    for word, combine in (("anyOf", _any_of), ("oneOf", _any_of), ("allOf", _all_of)):
        if is_list(branches := schema.get(word)):
            rest = {key: value for key, value in schema.items() if key != word}
            if "properties" not in rest:
                return combine, branches
            return _all_of, [rest, {word: branches}]
    return None


def _any_of(places: list[Place]) -> Place:
    if not places or UNKNOWN in places:
        return UNKNOWN
    known = [place.schema for place in places if place.schema is not None]
    if not known:
        return places[0]
    return Place(known[0] if len(known) == 1 else {"anyOf": known})


def _all_of(places: list[Place]) -> Place:
    known = next((place for place in places if place.schema is not None), None)
    if known is not None or not places:
        return known or UNKNOWN
    return UNKNOWN if UNKNOWN in places else places[0]


def _field(schema: dict[str, Json], part: str, name: str) -> Place:
    properties = schema.get("properties")
    if is_object(properties) and part in properties:
        return Place(properties[part]) if properties[part] is not True else UNKNOWN
    more = schema.get("additionalProperties", not properties)
    if schema.get("patternProperties") or more is True:
        return UNKNOWN
    if is_object(more):
        return Place(more) if more else UNKNOWN
    there = fields_text(properties) if is_object(properties) else "it has no fields"
    return Place(impossible=f"{name} has no field {part!r}; {there}")


def _item(schema: dict[str, Json], index: int) -> Place:
    fixed = schema.get("prefixItems")
    if is_list(fixed) and 0 <= index < len(fixed):
        return Place(fixed[index])
    items = schema.get("items")
    return Place(items) if is_object(items) and items else UNKNOWN


def _closed_text(schema: dict[str, Json], types: frozenset[str] | None, part: Part, name: str) -> str:
    kind = type_text(types) if types else "an object"
    if isinstance(part, str) and types and "array" in types:
        return f"{name} is a list, so it has no field {part!r}; take an element first, as in {name}[0].{part}"
    wanted = f"no field {part!r}" if isinstance(part, str) else f"no place [{part}]"
    fields = schema.get("properties")
    return f"{name} is {kind}, so it has {wanted}" + (f"; {fields_text(fields)}" if is_object(fields) else "")


def _declared(schema: dict[str, Json]) -> frozenset[str] | None:
    kind = schema.get("type")
    if isinstance(kind, str):
        return frozenset((kind,))
    if is_list(kind):
        return frozenset(map(str, kind))
    if "const" in schema:
        return frozenset((json_type(schema["const"]),))
    if is_list(choices := schema.get("enum")):
        return frozenset(map(json_type, choices))
    return frozenset(("object",)) if "properties" in schema else None


def types_of(schema: Json, root: Json, depth: int = 0) -> frozenset[str] | None:
    """The JSON types a value of `schema` may have; `None` when it does not say."""
    schema = inlined(schema, root)
    if not is_object(schema) or depth > _DEEPEST:
        return None
    if (own := _declared(schema)) is not None:
        return own
    for word in ("anyOf", "oneOf"):
        if is_list(branches := schema.get(word)):
            kinds = [types_of(branch, root, depth + 1) for branch in branches]
            known = [kind for kind in kinds if kind is not None]
            return frozenset[str]().union(*known) if known and len(known) == len(kinds) else None
    parts = schema.get("allOf")
    found = [types_of(part, root, depth + 1) for part in parts] if is_list(parts) else []
    return next((kind for kind in found if kind is not None), None)


def may_fit(source: frozenset[str] | None, target: frozenset[str] | None) -> bool:
    """Whether some value of a source type is of a target type; a number may turn out to be an integer."""
    if source is None or target is None:
        return True
    return bool({_wide(kind) for kind in source} & {_wide(kind) for kind in target})


def _wide(kind: str) -> str:
    return "number" if kind == "integer" else kind


def json_type(value: Json) -> str:
    """The narrowest JSON Schema type of a value; `2.0` is an integer."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    if isinstance(value, float):
        return "integer" if value.is_integer() else "number"
    return "string" if isinstance(value, str) else "array" if is_list(value) else "object"


def type_text(types: frozenset[str]) -> str:
    """Types in a sentence: `a string or null`."""
    words = {"integer": "an integer", "object": "an object", "array": "a list", "null": "null"}
    return " or ".join(words.get(kind, f"a {kind}") for kind in sorted(types))
