"""What a schema promises about paths and types."""

import pytest

from phaseloop.core.paths import parse_path
from phaseloop.core.schemas import UNKNOWN, Place, follow, inlined, json_type, may_fit, type_text, types_of

TEXT = {"type": "string"}
ORDER = {"type": "object", "properties": {"id": TEXT, "any": True, "n": {"type": "integer"}}}
SCHEMA = {
    "type": "object",
    "properties": {
        "orders": {"type": "array", "items": {"$ref": "#/$defs/order"}},
        "pair": {"type": "array", "prefixItems": [TEXT, ORDER]},
        "maybe": {"anyOf": [ORDER, {"type": "null"}]},
        "either": {"oneOf": [ORDER, {"type": "object", "properties": {"id": {"type": "integer"}}}]},
        "both": {"allOf": [ORDER, {"type": "object", "properties": {"more": TEXT}}]},
        "known": {"properties": {"id": TEXT}, "anyOf": [{"required": ["id"]}, {"required": ["x"]}]},
        "map": {"type": "object", "additionalProperties": ORDER},
        "open": {"type": "object", "properties": {"id": TEXT}, "additionalProperties": True},
        "shut": {"type": "object", "additionalProperties": False},
        "odd": {"type": "object", "properties": {"id": TEXT}, "patternProperties": {"^x": TEXT}},
        "free": {},
        "list": {"type": "array"},
        "loose": {"items": ORDER},
        "lost": {"$ref": "#/$defs/none"},
    },
    "$defs": {"order": ORDER, "loop": {"$ref": "#/$defs/loop"}},
}


@pytest.mark.parametrize(
    ("path", "schema"),
    [
        ("", SCHEMA),
        ("orders[0].id", TEXT),
        ("orders[-1]", ORDER),
        ("orders.0.id", TEXT),
        ("pair[0]", TEXT),
        ("pair[1].id", TEXT),
        ("maybe.id", TEXT),
        ("either.id", {"anyOf": [TEXT, {"type": "integer"}]}),
        ("both.id", TEXT),
        ("both.more", TEXT),
        ("known.id", TEXT),
        ("map.whatever.id", TEXT),
        ("loose[3].id", TEXT),
    ],
)
def test_a_path_leads_to_its_schema(path, schema):
    assert follow(SCHEMA, parse_path(path)) == Place(schema)


@pytest.mark.parametrize(
    "path",
    ["orders[0].any", "open.x", "odd.y", "free.x.y", "list[0].x", "pair[2]", "known.z", "lost.x", "map.x.any.y"],
)
def test_of_an_open_place_nothing_is_known(path):
    assert follow(SCHEMA, parse_path(path)) == UNKNOWN
    assert follow(None, parse_path(path)) == UNKNOWN


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("order", "s1 has no field 'order'; it has 'orders', 'pair', 'maybe'"),
        ("orders[0].x", "s1.orders[0] has no field 'x'; it has 'id', 'any', 'n'"),
        ("orders.id", "s1.orders is a list, so it has no field 'id'; take an element first, as in s1.orders[0].id"),
        ("orders[0].id.x", "s1.orders[0].id is a string, so it has no field 'x'"),
        ("orders[0].n[0]", "s1.orders[0].n is an integer, so it has no place [0]"),
        ("maybe[0]", "s1.maybe is an object, so it has no place [0]; it has 'id'"),
        ("maybe.x", "s1.maybe has no field 'x'"),
        ("either.x", "s1.either has no field 'x'"),
        ("both.x", "s1.both has no field 'x'"),
        ("shut.x", "s1.shut has no field 'x'; it has no fields"),
    ],
)
def test_an_impossible_path_says_what_there_is(path, said):
    place = follow(SCHEMA, parse_path(path), "s1")
    assert place.schema is None
    assert place.impossible.startswith(said)


def test_a_reference_may_mean_the_whole_schema_and_escape_its_keys():
    root = {
        "type": "object",
        "properties": {"child": {"$ref": "#"}, "x": {"$ref": "#/$defs/a~1b"}},
        "$defs": {"a/b": TEXT},
    }
    assert follow(root, parse_path("child.child.x")) == Place(TEXT)


def test_a_circle_of_references_ends_in_nothing_known():
    assert inlined({"$ref": "#/$defs/loop"}, SCHEMA) is None
    deep = {"anyOf": []}
    deep["anyOf"].append(deep)
    assert follow(deep, ("x",)) == UNKNOWN
    assert types_of(deep, deep) is None


@pytest.mark.parametrize(
    ("schema", "types"),
    [
        (TEXT, {"string"}),
        ({"type": ["string", "null"]}, {"string", "null"}),
        ({"enum": ["a", 1, None]}, {"string", "integer", "null"}),
        ({"const": 2.5}, {"number"}),
        ({"properties": {}}, {"object"}),
        ({"anyOf": [TEXT, {"type": "null"}]}, {"string", "null"}),
        ({"oneOf": [TEXT, {}]}, None),
        ({"allOf": [{}, TEXT]}, {"string"}),
        ({"allOf": [{}]}, None),
        ({"type": "object", "anyOf": [{"required": ["x"]}]}, {"object"}),
        ({"$ref": "#/properties/map"}, {"object"}),
        ({}, None),
        (True, None),
    ],
)
def test_the_types_of_a_schema(schema, types):
    assert types_of(schema, SCHEMA) == (None if types is None else frozenset(types))


def test_types_fit_unless_they_certainly_do_not():
    text, whole, real, null = (frozenset((kind,)) for kind in ("string", "integer", "number", "null"))
    assert may_fit(None, text)
    assert may_fit(text, None)
    assert may_fit(text | null, text)
    assert may_fit(real, whole)
    assert may_fit(whole, real)
    assert not may_fit(text, real)
    assert not may_fit(null, text)


def test_json_types_are_the_narrowest():
    values = [None, True, 1, 2.0, 2.5, float("inf"), "x", [], {}]
    kinds = ["null", "boolean", "integer", "integer", "number", "number", "string", "array", "object"]
    assert [json_type(value) for value in values] == kinds
    assert type_text(frozenset(("integer", "null", "array"))) == "a list or an integer or null"
