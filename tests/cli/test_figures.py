"""Numbers, times and foreign text."""

from datetime import UTC, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from phaseloop.cli.figures import (
    compact,
    count,
    cut,
    duration,
    fine_money,
    moment,
    money,
    padded,
    padded_left,
    printable,
    printable_lines,
    score,
    weight,
    wrapped,
)


@pytest.mark.parametrize(
    ("n", "text"),
    [(0, "0"), (300, "300"), (999, "999"), (1000, "1k"), (4300, "4.3k"), (9800, "9.8k"), (9960, "10k"), (24_000, "24k"),
     (120_000, "120k"), (999_400, "999k"), (999_600, "1M"), (1_250_000, "1.2M"), (2_000_000_000, "2.0G")],
)  # fmt: skip
def test_counts_are_short(n, text):
    assert count(n) == text


@pytest.mark.parametrize(
    ("ms", "english", "chinese"),
    [
        (0, "0 s", "0 秒"),
        (999, "0 s", "0 秒"),
        (24_000, "24 s", "24 秒"),
        (90_000, "1 m 30 s", "1 分 30 秒"),
        (1_200_000, "20 m", "20 分"),
        (3_900_000, "1 h 5 m", "1 小时 5 分"),
        (-5, "0 s", "0 秒"),
        (float("inf"), "27777777 h 46 m", "27777777 小时 46 分"),
    ],
)
def test_durations_are_told_in_both_languages(ms, english, chinese):
    assert (duration(ms, "en"), duration(ms, "zh")) == (english, chinese)


def test_money_has_as_many_digits_as_matter():
    assert (money(1.5), money(0.004), money(0)) == ("$1.50", "$0.004", "$0.00")
    assert (fine_money(0.0909), fine_money(0), fine_money(12)) == ("$0.091", "", "$12.00")


def test_scores_and_sizes_are_short():
    assert (score(10.0), score(7.5), score(3)) == ("10", "7.5", "3")
    assert (weight("x" * 640), weight("x" * 18_432), weight({"a": 1})) == ("640 B", "18.0 KB", "8 B")


def test_a_moment_is_a_time_of_day_in_its_zone_and_one_beyond_the_calendar_is_none():
    assert moment(0, UTC) == "00:00"
    assert moment(0, timezone(timedelta(hours=8)), seconds=True) == "08:00:00"
    assert moment(86_400_000, UTC, beside=0) == "01-02 00:00"
    assert moment(60_000, UTC, beside=0) == "00:01"
    assert moment(10**18, UTC) == "--:--"
    assert moment(-(10**18), UTC, seconds=True) == "--:--:--"


def test_foreign_text_is_harmless_on_one_line():
    assert printable("a\x1b[31mb\x07\u202ec\r\n\td") == "a[31mbc d"
    assert printable_lines("a\tb\n\x1bc\u2066") == ["a   b", "c"]
    assert compact({"b": "文"}) == '{"b": "文"}'
    assert compact("line\nline") == "line line"


@given(st.text(max_size=60), st.integers(1, 30))
def test_cut_and_padded_text_has_the_width_asked_for(text, width):
    clean = printable(text)
    assert cell_len(cut(clean, width)) <= width
    assert cell_len(padded(clean, width)) == width
    assert cell_len(padded_left(clean, width)) == width


@given(st.text(alphabet="ab 计划", max_size=60), st.integers(4, 30))
def test_wrapped_text_fits_and_keeps_every_word(text, width):
    lines = wrapped(text, width)
    assert all(cell_len(line) <= width for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())


def test_an_indented_line_stays_indented_when_it_is_wrapped():
    assert wrapped("    one two three", 13) == ["   one two", "   three"]
