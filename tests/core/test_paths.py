"""Paths: what can be written, what is read, and what is said when nothing is there."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phaseloop.core.paths import parse_path, path_text, read


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", ()),
        ("  ", ()),
        ("id", ("id",)),
        ("orders[0].id", ("orders", 0, "id")),
        ("orders[-1]", ("orders", -1)),
        ("[0].a", (0, "a")),
        ("[0][1]", (0, 1)),
        ("Exchange Rate.last-price", ("Exchange Rate", "last-price")),
        ("地址.城市", ("地址", "城市")),
        ('a["x.y[0]"].b', ("a", "x.y[0]", "b")),
        ("a['q\\'s']", ("a", "q's")),
        ('["\\"quoted\\""]', ('"quoted"',)),
    ],
)
def test_a_path_reads_into_its_parts(text, parts):
    assert parse_path(text) == parts


@pytest.mark.parametrize("text", ["a..b", "a.", "a[", "a[x]", "[0]a", "a]", ".", "a. .b", '["a'])
def test_a_path_that_cannot_be_read_is_named_in_the_error(text):
    with pytest.raises(ValueError, match="cannot be read from"):
        parse_path(text)


@given(st.lists(st.one_of(st.integers(-99, 99), st.text(min_size=1)), max_size=5))
def test_a_written_path_reads_back_to_the_same_parts(parts):
    assert parse_path(path_text(parts)) == tuple(parts)


VALUE = {"orders": [{"id": "O-1"}, {"id": None}], "empty": [], "n": 3, "none": None, "0": "zero"}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", VALUE),
        ("orders[0].id", "O-1"),
        ("orders[-1].id", None),
        ("orders.1.id", None),
        ("none", None),
        ("0", "zero"),
    ],
)
def test_reading_follows_fields_and_places_and_null_is_a_value(text, found):
    assert read(VALUE, parse_path(text), "s1") == found


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("empty[0]", "s1.empty has 0 items"),
        ("orders[2].id", "s1.orders has 2 items"),
        ("orders[-3]", "s1.orders has 2 items"),
        ("orders[0].x", "s1.orders[0] has no field 'x'; it has 'id'"),
        ("orders.id", "s1.orders is a list of 2, so it has no field 'id'"),
        ("none.x", "s1.none is null, so it has no field 'x'"),
        ("n[0]", "s1.n is 3, so it has no place [0]"),
        ("[0]", "s1 has no place [0], it is an object"),
    ],
)
def test_a_missing_path_says_what_is_there_instead(text, said):
    with pytest.raises(LookupError) as caught:
        read(VALUE, parse_path(text), "s1")
    assert caught.value.args[0].startswith(said)


def test_long_values_and_many_fields_are_cut_in_the_message():
    with pytest.raises(LookupError) as caught:
        read({f"f{n}": n for n in range(20)}, ("x",), "s1")
    assert caught.value.args[0].endswith("'f7' and 12 more")
    with pytest.raises(LookupError) as caught:
        read("y" * 100, ("x",), "s1")
    assert len(caught.value.args[0]) < 90
