"""The crash kit itself: does it kill where it says, and does the ledger count what happened?"""

import sqlite3
import sys
from pathlib import Path

import pytest

from tests.chaos.kill import NOTHING, Orders, Outcome, run_under, why_not
from tests.chaos.ledger import Ledger, deliver, running_ledger
from tests.chaos.payments import PAYMENTS

pytestmark = pytest.mark.skipif(bool(why_not()), reason=why_not() or "can")
PROGRAM = Path(__file__).with_name("payments.py")


def pay(folder: Path, ledger: Ledger, orders: Orders = NOTHING) -> Outcome:
    """Run the program once on the database in `folder`."""
    return run_under(orders, [sys.executable, str(PROGRAM), str(folder / "notes.db"), ledger.address], folder)


def paid(folder: Path) -> list[str]:
    """What the program's own database says."""
    db = sqlite3.connect(folder / "notes.db")
    try:
        return [key for (key,) in db.execute("SELECT key FROM note WHERE what = 'paid' ORDER BY key")]
    finally:
        db.close()


def kill_then_finish(folder: Path, n: int) -> bool:
    """Kill at storage call `n`, go on without orders, and compare both sides. Whether it was killed."""
    folder.mkdir()
    with running_ledger() as ledger:
        first = pay(folder, ledger, Orders(kill_at=n))
        assert first.killed or first.stdout == "done\n", first.stderr
        assert not first.killed or first.calls == n
        second = pay(folder, ledger)
        assert second.stdout == "done\n", second.stderr
        assert paid(folder) == PAYMENTS
        times = ledger.times()
        assert set(times) == set(PAYMENTS), "a payment was lost"
        assert sum(times.values()) <= len(PAYMENTS) + 1, "more than the payment in flight happened twice"
        return first.killed


def test_an_undisturbed_run_delivers_each_effect_once_and_its_calls_are_counted(tmp_path):
    with running_ledger() as ledger:
        outcome = pay(tmp_path, ledger)
        assert (outcome.code, outcome.stdout) == (0, "done\n")
        assert outcome.calls > 2 * len(PAYMENTS), "at least a write and a sync for each note"
        assert ledger.times() == dict.fromkeys(PAYMENTS, 1)


def test_a_program_killed_at_a_storage_call_goes_on_where_it_was(tmp_path):
    with running_ledger() as ledger:
        (tmp_path / "count").mkdir()
        calls = pay(tmp_path / "count", ledger).calls
    for n in (1, calls // 2, calls):
        assert kill_then_finish(tmp_path / str(n), n)
    assert not kill_then_finish(tmp_path / "beyond", calls + 1)


@pytest.mark.slow
def test_every_storage_call_is_a_kill_point_that_loses_nothing(tmp_path):
    n = 1
    while kill_then_finish(tmp_path / str(n), n):
        n += 1
    assert n > 2 * len(PAYMENTS)


def test_a_full_disk_stops_the_program_and_keeps_what_was_committed(tmp_path):
    with running_ledger() as ledger:
        calls = pay(tmp_path, ledger).calls
    full = tmp_path / "full"
    full.mkdir()
    with running_ledger() as ledger:
        outcome = pay(full, ledger, Orders(full_at=calls // 2))
        assert outcome.code == 1
        assert "database or disk is full" in outcome.stderr
        before = paid(full)
        assert 0 < len(before) < len(PAYMENTS)
        assert pay(full, ledger).stdout == "done\n"
        assert paid(full) == PAYMENTS


def test_a_sync_that_fails_is_reported_to_the_program_and_may_still_be_written(tmp_path):
    with running_ledger() as ledger:
        (tmp_path / "count").mkdir()
        calls = pay(tmp_path / "count", ledger).calls
    with running_ledger() as ledger:
        outcome = pay(tmp_path, ledger, Orders(sync_fails_at=calls // 2))
        assert outcome.code == 1
        assert "disk I/O error" in outcome.stderr
        assert pay(tmp_path, ledger).stdout == "done\n"
        assert paid(tmp_path) == PAYMENTS


@pytest.mark.parametrize(("side", "happened"), [("before", 0), ("after", 1)])
def test_the_ledger_kills_on_either_side_of_an_effect(tmp_path, side, happened):
    with running_ledger(kill_at=3, side=side) as ledger:
        assert pay(tmp_path, ledger).killed
        assert ledger.times()[PAYMENTS[2]] == happened
        assert paid(tmp_path) == PAYMENTS[:2]
        assert pay(tmp_path, ledger).stdout == "done\n"
        assert ledger.times()[PAYMENTS[2]] == happened + 1


def test_a_delivery_to_a_dead_ledger_is_an_error():
    with running_ledger() as ledger:
        deliver(ledger.address, {"key": "one"})
        assert ledger.deliveries() == [{"key": "one"}]
    with pytest.raises(OSError, match="No such file"):
        deliver(ledger.address, {"key": "two"})
