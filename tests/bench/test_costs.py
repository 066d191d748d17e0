"""What the machine costs, with twice the bar as the limit: these run on machines that are not quiet."""

import pytest

from bench import overhead, parked
from bench.report import Row, percentile, table

SLACK = 2.0


def row(value, bar):
    return Row("b", "row", 1, {"x": value}, {"x": bar})


def test_the_log_of_a_wordy_run_is_little_more_than_what_it_carries_and_grows_with_it():
    assert overhead.bytes_row().misses() == []


@pytest.mark.clock
def test_two_hundred_runs_at_once_keep_their_rate():
    assert overhead.bound_row(runs=1000).misses(SLACK) == []


@pytest.mark.clock
def test_an_open_step_costs_little_above_the_model_library():
    assert overhead.open_row(runs=100).misses(SLACK) == []


@pytest.mark.clock
def test_a_long_history_is_folded_quickly():
    assert overhead.fold_row(rounds=10).misses(SLACK) == []


@pytest.mark.clock
def test_a_parked_run_costs_next_to_nothing():
    assert parked.parked_row(runs=3000, woken=100, idle=5.0).misses(SLACK) == []


def test_a_bar_is_missed_on_its_wrong_side_only():
    assert row(2.0, "<= 2").misses() == row(2.0, ">= 2").misses() == []
    assert row(2.1, "<= 2").misses() == ["row: x is 2.1, the bar is <= 2"]
    assert row(1.9, ">= 2").misses() == ["row: x is 1.9, the bar is >= 2"]


def test_slack_allows_twice_the_cost_and_no_more():
    assert row(4.0, "<= 2").misses(SLACK) == row(1.0, ">= 2").misses(SLACK) == []
    assert row(4.1, "<= 2").misses(SLACK)
    assert row(0.9, ">= 2").misses(SLACK)


def test_a_row_says_where_it_was_measured_and_the_table_marks_what_is_missed():
    line = row(2.1, "<= 2").line()
    for word in ('"load"', '"cores"', '"versions"', '"n": 1', '"holds": false', '"cpu_s"', '"wall_s"', '"seed"'):
        assert word in line
    assert table([row(2.1, "<= 2")]).endswith("<= 2  MISSED")
    assert not table([row(2.0, "<= 2")]).endswith("MISSED")


def test_a_percentile_is_a_value_of_the_sample():
    assert percentile([3, 1, 2], 0.5) == 2
    assert percentile([3, 1, 2], 0.95) == 3
