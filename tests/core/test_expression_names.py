"""Names are found by reading an expression's words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phaseloop.core.expression_names import fields_in, is_name, names_in, variables_in


@pytest.mark.parametrize(
    ("expression", "names"),
    [
        ("", ()),
        ("confirmedIntent != null", ("confirmedIntent",)),
        ("s1.items.size() > 0 && s1.ok", ("s1",)),
        ("size(s1.items) > limit", ("s1", "limit")),
        ("has(a.b) ? a.b : c", ("a", "c")),
        ("'alpha' == beta && \"gam'ma\" != delta", ("beta", "delta")),
        ("r'x\\' + a", ("a",)),
        ("a == 1 // b == 2\n && c", ("a", "c")),
        ("a.exists(i, i.v > b)", ("a", "b")),
        ("a.map(k, v, k + v).all(x, x > 1u)", ("a",)),
        ("type(a) == int && b in [1, 2]", ("a", "b")),
        ("a . b . c", ("a",)),
        ('{"k": v}[k]', ("v", "k")),
        ("1e5 > x && 0x1F < y", ("x", "y")),
        ('"""a "b" c""" == d', ("d",)),
    ],
)
def test_names_are_what_comes_from_outside(expression, names):
    assert names_in(expression) == names


def test_a_macro_binds_its_own_names():
    assert variables_in("a.exists(i, b.all(j, i == j))") == ("i", "j")
    assert variables_in("exists(i, j)") == ()


def test_fields_are_read_by_a_dot_or_by_a_text():
    expression = 'artifact.one.two != null && artifact["three"].x && artifact.size() > 0 && x.artifact.no'
    assert fields_in(expression, "artifact") == ("one", "three")


@pytest.mark.parametrize(
    ("text", "fits"), [("approvedPlan", True), ("a-b", False), ("in", False), ("计划", False), ("", False)]
)
def test_only_plain_identifiers_can_be_named(text, fits):
    assert is_name(text) is fits


@given(st.text(alphabet="ab1_.([{\"'\\,/ \nr", max_size=40))
def test_any_text_can_be_read(expression):
    assert set(names_in(expression)).isdisjoint(variables_in(expression))
    fields_in(expression, "a")
