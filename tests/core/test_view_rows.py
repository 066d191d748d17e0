"""Clocks of rows and runs."""

from phaseloop.core.view_rows import Clock, elapsed, started, stopped


def test_a_clock_counts_only_while_it_runs():
    clock = stopped(started(Clock(), 1000), 4000)
    assert clock == Clock(3000, None)
    assert elapsed(clock, 9000) == 3000
    assert elapsed(started(clock, 9000), 9500) == 3500


def test_starting_a_running_clock_and_stopping_a_stopped_one_change_nothing():
    running = started(Clock(), 1000)
    assert started(running, 2000) == running
    assert stopped(Clock(5), 2000) == Clock(5)


def test_a_moment_before_the_start_counts_as_none():
    assert elapsed(started(Clock(7), 1000), 500) == 7
