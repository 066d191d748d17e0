"""Smallest values, each checked against its schema by an independent validator."""

import jsonschema_rs
import pytest

from phaseloop.core.errors import PhaseloopError
from phaseloop.roles.instance import minimal_instance

TEXT = "Done[1]: x -> output 1"

SCHEMAS = [
    {},
    True,
    {"type": "null"},
    {"type": "boolean"},
    {"const": {"a": [1]}},
    {"enum": ["low", "high"]},
    {"type": "string", "maxLength": 5},
    {"type": "string", "minLength": 80},
    {"type": "string", "pattern": "^[0-9a-f]{64}$"},
    {"type": "string", "pattern": "^[A-Z]+$"},
    {"type": "string", "pattern": r"^\d+\.\d+\.\d+$"},
    *({"type": "string", "format": name} for name in ("date", "date-time", "email", "uri", "uuid", "ipv4")),
    {"type": "integer"},
    {"type": "integer", "minimum": 3},
    {"type": "integer", "exclusiveMinimum": 3},
    {"type": "integer", "maximum": -2},
    {"type": "integer", "minimum": 4, "multipleOf": 5},
    {"type": "number", "minimum": 0, "maximum": 1},
    {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
    {"type": "number", "minimum": 0.1, "maximum": 0.2},
    {"type": "number", "multipleOf": 0.25, "minimum": 0.3},
    {"type": ["string", "null"]},
    {"type": "array"},
    {"type": "array", "items": {"type": "integer"}, "minItems": 2},
    {"type": "array", "items": {"type": "integer", "minimum": 5}, "minItems": 3, "uniqueItems": True},
    {"type": "array", "items": {"type": "integer", "maximum": -5}, "minItems": 3, "uniqueItems": True},
    {"type": "array", "items": {"type": "string", "maxLength": 6}, "minItems": 3, "uniqueItems": True},
    {"type": "array", "items": {"enum": ["a", "b"]}, "minItems": 2, "uniqueItems": True},
    {"type": "array", "items": {"type": "boolean"}, "minItems": 2, "uniqueItems": True},
    {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "minItems": 2},
    {"type": "array", "contains": {"const": 7}},
    {"type": "object", "minProperties": 2},
    {"type": "object", "properties": {"a": {"type": "integer"}}, "minProperties": 1},
    {"properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False},
    {"required": ["free"]},
    {"anyOf": [{"type": "integer"}, {"type": "string"}]},
    {"oneOf": [{"type": "string", "minLength": 30}, {"type": "null"}]},
    {
        "allOf": [
            {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
            {"properties": {"b": {"type": "boolean"}}, "required": ["b"]},
        ]
    },
    {
        "$defs": {"node": {"type": "object", "required": ["id"], "properties": {"id": {"type": "string"}}}},
        "type": "object",
        "required": ["root"],
        "properties": {"root": {"$ref": "#/$defs/node"}},
    },
    {
        "$defs": {"tree": {"type": "array", "items": {"$ref": "#/$defs/tree"}}},
        "$ref": "#/$defs/tree",
    },
]


@pytest.mark.parametrize("schema", SCHEMAS, ids=lambda schema: str(schema)[:60])
def test_the_value_satisfies_its_schema(schema):
    value = minimal_instance(schema, TEXT)
    assert jsonschema_rs.validator_for(schema, validate_formats=True).is_valid(value), value
    assert minimal_instance(schema, TEXT) == value


def test_optional_properties_are_left_out_and_texts_are_given():
    schema = {"properties": {"goal": {}, "note": {"type": "string"}, "opt": {}}, "required": ["goal", "note"]}
    assert minimal_instance(schema, TEXT, {"goal": "G"}) == {"goal": "G", "note": TEXT}


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (False, r"no value at \$: the schema there allows none"),
        ({"required": ["a"], "properties": {"a": False}}, r"no value at \$\.a: the schema there allows none"),
        ({"type": "string", "pattern": "^x{7}y$"}, r"no text is known for the pattern '\^x\{7\}y\$'"),
        ({"type": "integer", "minimum": 2, "maximum": 1}, "no integer is known within"),
        ({"type": "integer", "exclusiveMinimum": 1, "exclusiveMaximum": 2}, "no integer is known within"),
        ({"$ref": "#/$defs/gone"}, "#/\\$defs/gone is not in the schema"),
        ({"$ref": "https://example.com/x"}, "https://example.com/x lies outside the schema"),
        ({"$ref": "#"}, "never ends"),
        ({"type": "object", "required": ["a"], "properties": {"a": {"$ref": "#"}}}, "requires itself"),
        ({"items": {"enum": [1]}, "minItems": 2, "uniqueItems": True}, "only 1 choices, 2 are needed"),
        ({"items": {"type": "null"}, "minItems": 2, "uniqueItems": True}, "cannot make 2 different items"),
    ],
)
def test_what_cannot_be_made_is_said_with_its_place(schema, message):
    with pytest.raises(PhaseloopError, match=message):
        minimal_instance(schema, TEXT)
