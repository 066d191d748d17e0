"""Tables of fields: a kind says what it expects, and reading reports what does not fit."""

from dataclasses import dataclass

import pytest

from phaseloop.core.definition_fields import (
    Field,
    nearest,
    number,
    plain,
    read_fields,
    reference,
    release,
    shown,
    text,
    whole,
    write_fields,
)
from phaseloop.core.process import GateMode, Option


@dataclass(frozen=True, slots=True)
class Sample:
    name: str
    count: int = 1


FIELDS = (Field("theName", "name", text, required=True), Field("theCount", "count", whole))


def test_absent_and_null_fields_keep_their_default():
    values, findings = read_fields(FIELDS, {"theName": "x", "theCount": None}, "place")
    assert Sample(**values) == Sample("x")
    assert findings == []


def test_a_required_field_that_is_missing_is_named():
    values, findings = read_fields(FIELDS, {"theCount": 2}, "place")
    assert values == {"count": 2}
    assert [(f.code, f.where, f.mend) for f in findings] == [("missing", "place.theName", "add theName to place")]


def test_what_has_its_default_is_not_written():
    assert write_fields(FIELDS, Sample("x")) == {"theName": "x"}
    assert write_fields(FIELDS, Sample("x", 2)) == {"theName": "x", "theCount": 2}


@pytest.mark.parametrize(
    ("kind", "value"), [(whole, 1.5), (number, "1"), (number, True), (release, ""), (reference, "a b")]
)
def test_a_kind_refuses_other_values(kind, value):
    with pytest.raises(ValueError, match="number|version|id"):
        kind(value)


def test_numbers_are_versions_too():
    assert release(2) == "2"
    assert release(1.5) == "1.5"


def test_values_of_the_core_become_plain_json():
    value = {"mode": GateMode.FORM, "options": (Option("a", "A"),), "n": [1, (2,)]}
    assert plain(value) == {"mode": "form", "options": [{"id": "a", "label": "A"}], "n": [1, [2]]}


def test_the_nearest_word_is_offered_only_when_it_is_near():
    assert nearest("aplha", ["beta", "alpha"]) == "alpha"
    assert nearest("zzz", ["beta", "alpha"]) == ""


def test_a_long_value_is_cut():
    assert shown({"a": 1}) == '{"a":1}'
    assert len(shown("x" * 1000)) == 80
