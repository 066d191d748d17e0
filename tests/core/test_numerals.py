"""Numbers as people write them."""

import pytest

from phaseloop.core.numerals import number, numbers_in


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("pay $1,320.50 for o-1003", {1320.5, 1003}),
        ("1.320,50 euro", {1320.5}),
        ("249,5 and 1.234", {249.5, 1.234, 1234}),
        ("a sentence with 42.", {42}),
        ("5k, 3 million, 2 thousand", {5000, 3e6, 2000}),
        ("two hundred thousand", {200000}),
        ("one thousand two hundred and five", {1205}),
        ("twenty-five, a dozen, twelve hundred", {25, 12, 1200}),
        ("one two three", {1, 2, 3}),
        ("three million two thousand", {3002000}),
        ("a single one", {1}),
        ("退款50元，两千五百，三万五千，十二，十二万", {50, 2500, 35000, 12, 120000}),
        ("20千克 3万", {20, 30000}),
        ("ev31 v2.0 x_7", set()),
        ("1,2,3", set()),
        ("", set()),
    ],
)
def test_numbers_are_read_by_value(text, found):
    assert numbers_in(text) == found


@pytest.mark.parametrize(
    ("text", "value"),
    [("249.50", 249.5), (" -7 ", 7), ("1,320", 1320), ("O-1", None), ("", None), ("1e5", None), ("1.2.3", None)],
)
def test_a_text_of_digits_is_a_number(text, value):
    assert number(text) == value
