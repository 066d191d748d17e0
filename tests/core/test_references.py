"""References and templates: resolving, listing and renaming them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phaseloop.core.errors import UnresolvedReference
from phaseloop.core.references import (
    Reference,
    Values,
    faults,
    is_literal,
    references,
    rename,
    resolve,
    step_references,
)

VALUES = Values(
    steps={"s1": {"orders": [{"id": "O-1", "n": 2}], "none": None, 'q"}': 1}, "1": "one"},
    artifacts={"intent": {"title": "Ship"}, "a.b": 5},
    inputs={"city": "Bremen"},
    item={"sku": "A-77"},
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text().filter(lambda key: key not in ("$ref", "$tmpl")), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(JSON)
def test_a_value_without_references_is_returned_as_it_is(value):
    assert resolve(value, VALUES) is value
    assert is_literal(value)
    assert references(value) == ()
    assert faults(value) == ()
    assert rename(value, {"s1": "s9"}) == value


@pytest.mark.parametrize(
    ("form", "found"),
    [
        ({"$ref": "s1", "path": "orders[0].id"}, "O-1"),
        ({"$ref": "s1", "path": "none"}, None),
        ({"$ref": "1"}, "one"),
        ({"$ref": 1, "path": ""}, "one"),
        ({"$ref": "1", "path": None}, "one"),
        ({"$ref": "artifact.intent", "path": "title"}, "Ship"),
        ({"$ref": "artifact.a.b"}, 5),
        ({"$ref": "input.city"}, "Bremen"),
        ({"$ref": "item", "path": "sku"}, "A-77"),
        ({"$tmpl": "Order {s1:orders[0].id} to {input.city}: {item:sku} {artifact.intent:title}"},
         "Order O-1 to Bremen: A-77 Ship"),
        ({"$tmpl": "{s1:orders[0]} {s1:none} {1:}"}, '{"id":"O-1","n":2} null one'),
        ({"$tmpl": "{{s1}} {{{1}}}"}, "{s1} {one}"),
        ({"$tmpl": '{s1:["q\\"}"]}'}, "1"),
        ({"$tmpl": ""}, ""),
    ],
)  # fmt: skip
def test_every_form_resolves(form, found):
    assert resolve({"deep": [form]}, VALUES) == {"deep": [found]}


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ({"$ref": "s1", "path": "orders[1].id"},
         "reference s1.orders[1].id cannot be resolved: s1.orders has 1 item"),
        ({"$ref": "s9"}, "reference s9 cannot be resolved: there is no finished step 's9'; there are: s1, 1"),
        ({"$ref": "artifact.x"},
         "reference artifact.x cannot be resolved: there is no artefact 'x'; there are: intent, a.b"),
        ({"$ref": "input.x"}, "reference input.x cannot be resolved: there is no input 'x'; there are: city"),
        ({"$ref": "s1", "path": "a..b"}, "path 'a..b' cannot be read from '..b' on"),
        ({"$ref": "s1", "path": "none.x"}, "s1.none is null, so it has no field 'x'"),
        ({"$ref": "s1", "paht": "x"}, "may hold no other field, it has 'paht'"),
        ({"$ref": None}, "must be the name of a source"),
        ({"$tmpl": 'as {"a": 1}'}, "a brace in it is neither a reference"),
        ({"$tmpl": "{ }"}, "a brace in it is neither a reference"),
        ({"$tmpl": 5}, "must be a text"),
        ({"$tmpl": "x", "path": "y"}, "may hold no other field, it has 'path'"),
        ({"$tmpl": "{s1:orders[0].x}"}, "s1.orders[0] has no field 'x'; it has 'id', 'n'"),
    ],
)  # fmt: skip
def test_what_cannot_be_resolved_names_the_reference_and_what_is_there(form, said):
    with pytest.raises(UnresolvedReference) as caught:
        resolve([form], VALUES)
    assert said in str(caught.value)


def test_resolving_changes_nothing_in_place_and_keeps_unchanged_parts():
    value = {"a": [1, {"b": 2}], "c": {"$ref": "1"}}
    out = resolve(value, VALUES)
    assert out == {"a": [1, {"b": 2}], "c": "one"}
    assert out["a"] is value["a"]
    assert value["c"] == {"$ref": "1"}


def test_references_come_in_order_of_appearance():
    value = {
        "x": {"$ref": "s2", "path": "a.b"},
        "y": [{"$tmpl": "{s1:n} {artifact.plan:title} {s1:n}"}, {"$ref": 3}],
        "z": {"$ref": "item"},
    }
    assert references(value) == (
        Reference("s2", "a.b"),
        Reference("s1", "n"),
        Reference("artifact.plan", "title"),
        Reference("s1", "n"),
        Reference("3"),
        Reference("item"),
    )
    assert step_references(value) == ("s2", "s1", "3")
    assert [r.kind for r in references(value)] == ["step", "step", "artifact", "step", "step", "item"]
    assert references(value)[2].name == "plan"
    assert str(Reference("s1", "a..b")) == "s1:a..b"


def test_faults_name_forms_that_can_never_resolve():
    value = [{"$ref": "s1", "path": "a["}, {"$tmpl": "{"}, {"$ref": "s1"}, {"$tmpl": "{s1:a..b}"}]
    assert [fault.split(": ", 1)[0] for fault in faults(value)] == [
        '{"$ref":"s1","path":"a["}',
        '{"$tmpl":"{"}',
        '{"$tmpl":"{s1:a..b}"}',
    ]
    assert references({"$tmpl": 5}) == ()


def test_renaming_replaces_labels_all_at_once_and_nothing_else():
    value = {
        "a": {"$ref": "1", "path": "x"},
        "b": {"$tmpl": "{1:x} {{1}} {2} {s1:1} {input.1}"},
        "c": ["1", {"$ref": 2}, {"$tmpl": 7}, {"$ref": "input.1"}],
    }
    assert rename(value, {"1": "2", "2": "1"}) == {
        "a": {"$ref": "2", "path": "x"},
        "b": {"$tmpl": "{2:x} {{1}} {1} {s1:1} {input.1}"},
        "c": ["1", {"$ref": "1"}, {"$tmpl": 7}, {"$ref": "input.1"}],
    }
