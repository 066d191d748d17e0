"""Fields of a form."""

import pytest

from phaseloop.cli.gate_fields import Field, FieldRefused, field_hint, fields_of, read_value, shown_default
from tests.gate_world import FORM


def test_a_schema_becomes_fields_in_its_order_with_what_is_known():
    fields = {field.name: field for field in fields_of(FORM, {"copies": 2})}
    assert list(fields) == ["email", "copies", "urgent", "tags", "limits", "colour"]
    assert (fields["email"].required, fields["email"].title) == (True, "E-mail")
    assert (fields["copies"].default, fields["copies"].kind) == (2, "integer")
    assert (fields["colour"].choices, fields["colour"].title) == (("red", "green"), "Colour")
    assert (fields["limits"].kind, fields["tags"].kind) == ("json", "array")


def test_shapes_that_are_not_known_are_asked_as_json():
    schema = {
        "properties": {"a": {"oneOf": []}, "b": {"type": ["integer", "null"]}, "c": "broken", "d": {"$ref": "#/x"}}
    }
    assert [field.kind for field in fields_of(schema, {})] == ["json", "integer", "json", "json"]


def test_a_reference_to_itself_ends():
    assert fields_of({"properties": {"a": {"$ref": "#/properties/a"}}}, {})[0].name == "a"


def test_labels_stand_for_choices_and_numbers_name_them():
    field = Field(
        "who", "Who", choices=("team", "all"), labels=("My team", "Everyone"), has_default=True, default="all"
    )
    assert field_hint(field, "en") == "1 My team, 2 Everyone"
    assert shown_default(field) == "Everyone"
    assert [read_value(field, line, "en") for line in ("1", "ALL", "my team")] == ["team", "all", "team"]
    with pytest.raises(FieldRefused, match="3 is none of: My team, Everyone"):
        read_value(field, "3", "en")


def test_a_number_that_is_a_choice_goes_before_its_place():
    field = Field("n", "N", choices=(3, 1), labels=("3", "1"))
    assert read_value(field, "1", "en") == 1


@pytest.mark.parametrize(
    ("kind", "line", "value"),
    [
        ("string", "7", "7"),
        ("integer", "-7", -7),
        ("number", "1.5", 1.5),
        ("number", "2", 2),
        ("boolean", "Yes", True),
        ("boolean", "否", False),
        ("array", "a, b，c", ["a", "b", "c"]),
        ("json", '{"a": [1]}', {"a": [1]}),
        ("unheard_of", "[1]", [1]),
    ],
)
def test_a_line_becomes_a_value_of_its_kind(kind, line, value):
    assert read_value(Field("f", "F", kind), line, "en") == value


@pytest.mark.parametrize(
    ("kind", "line"), [("integer", "1.5"), ("number", "nan"), ("number", "x"), ("boolean", "x"), ("json", "{")]
)
def test_a_line_that_is_no_value_is_refused(kind, line):
    with pytest.raises(FieldRefused):
        read_value(Field("f", "F", kind), line, "zh")


def test_defaults_are_shown_as_they_would_be_typed():
    assert shown_default(Field("f", "F", "boolean", has_default=True, default=False)) == "no"
    assert shown_default(Field("f", "F", "array", has_default=True, default=["a", "b"])) == "a, b"
    assert shown_default(Field("f", "F")) == ""
    assert field_hint(Field("f", "F", required=True), "en") == ""
