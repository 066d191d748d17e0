import pytest

from phaseloop.adapters.schema_shapes import VERDICT_SCHEMA, arguments_of, plan_schema, shape_of


@pytest.mark.parametrize(
    ("schema", "shape"),
    [
        ({"type": "string"}, "text"),
        ({"type": "string", "format": "date"}, "text, date"),
        ({"type": ["integer", "null"]}, 0),
        ({"type": "boolean"}, True),
        ({"type": "null"}, None),
        ({"const": 3}, 3),
        ({"enum": ["a", "b"]}, "a | b"),
        ({"anyOf": [{"type": "number"}, {"type": "null"}]}, 0),
        ({"type": "array", "items": {"type": "string"}}, ["text"]),
        ({"items": {"$ref": "#/$defs/a"}, "$defs": {"a": {"type": "integer"}}}, [0]),
        ({"properties": {"a": {"type": "string"}, "b": {}}}, {"a": "text", "b": "any value"}),
        ({}, "any value"),
        (None, "any value"),
    ],
)
def test_a_schema_becomes_an_example(schema, shape):
    assert shape_of(schema) == shape


def test_a_schema_that_holds_itself_ends():
    schema = {"$ref": "#/$defs/n", "$defs": {"n": {"type": "object", "properties": {"n": {"$ref": "#/$defs/n"}}}}}
    assert "any value" in str(shape_of(schema))


def test_arguments_without_fields_are_none():
    assert arguments_of({}) == "none"


def every(schema):
    yield schema
    for value in schema.values():
        for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            if isinstance(inner, dict):
                yield from every(inner)
        if isinstance(value, dict):
            yield from every(value)


@pytest.mark.parametrize("schema", [plan_schema(("look",), 5), plan_schema(()), VERDICT_SCHEMA])
def test_every_list_and_text_of_a_reply_schema_is_bounded(schema):
    for part in every(schema):
        if part.get("type") == "array":
            assert part["maxItems"] <= 8
        if part.get("type") == "string" and "enum" not in part:
            assert part["maxLength"] <= 600


def test_a_plan_schema_without_tools_has_no_calls():
    step = plan_schema(())["properties"]["steps"]["items"]["properties"]
    assert "call" not in step
    assert plan_schema(("look",), 5)["properties"]["steps"]["maxItems"] == 5
