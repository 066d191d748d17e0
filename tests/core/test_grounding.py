"""Whether a value occurs in what people said."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phaseloop.core.grounding import folded, ground, leaves, occurs


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("O-1003", "refund o-1003, please"),
        ("a@b.io", "Write to A@B.io."),
        ("张三", "给张三发邮件"),
        ("ＡＢＣ", "the abc team"),
        ("12 Main St, Springfield", "at 12 main st. Springfield"),
        ("+1 555-0100 22", "call +1-555-0100-22 now"),
        ("DE89370400440532", "IBAN DE89 3704 0044 0532"),
        ("euro", "into Euros"),
        ("249.50", "pay 249.50."),
        ("v2", "use v2 of it"),
    ],
)
def test_what_was_said_is_found(words, text):
    assert occurs(folded(words), folded(text))


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("O-100", "refund O-1003"),
        ("reyes@corp.io", "dana.reyes@corp.io"),
        ("a@b.io", "a@b.io.evil.example"),
        ("a@b.io", "xa@b.io"),
        ("249", "pay 249.50"),
        ("50", "pay 249.50"),
        ("DE8937040044053", "IBAN DE89 3704 0044 0532"),
        ("cat", "concatenate"),
        ("to", "too tos"),
        ("ann lee", "ann bee lee"),
        ("", "anything"),
        ("...", "end."),
    ],
)
def test_what_was_not_said_is_not_found(words, text):
    assert not occurs(folded(words), folded(text))


def test_numbers_hold_by_value_and_sign_does_not_count():
    said = ground(["pay 1,320.50 to 4", {"deep": [7, True, None]}])
    assert said.holds(1320.5)
    assert said.holds(-1320.5)
    assert said.holds("1320.50")
    assert said.holds(7)
    assert said.holds(4.0)
    assert not said.holds(1)
    assert not said.holds(1320)
    assert not said.holds("320.50")


def test_long_ids_given_as_numbers_are_compared_as_texts():
    assert ground("id 12345678901234567891").holds(12345678901234567891)
    assert not ground("id 12345678901234567892").holds(12345678901234567892000)
    assert not ground("").holds(10**400)


@given(st.text(alphabet=st.characters(categories=("L", "N")), min_size=1).map(folded).filter(bool))
def test_a_word_is_found_among_other_words(word):
    assert occurs(word, folded(f"x {word} y"))


def test_leaves_are_texts_and_numbers_only():
    assert list(leaves({"a": [1, "x", None, True, {"b": 2.5}]})) == [1, "x", 2.5]
