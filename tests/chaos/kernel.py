"""The scenario as a real program, killed before its n-th storage call by the kit's library."""

import os
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.chaos.campaign import Judged, Report, judge, workspace
from tests.chaos.kill import NOTHING, Outcome, run_under
from tests.chaos.kill import Orders as KillOrders
from tests.chaos.ledger import Ledger
from tests.chaos.scenario import Orders

ROOT = Path(__file__).parents[2]


def program(orders: Orders, kill: KillOrders = NOTHING) -> Outcome:
    """Run `python -m tests.chaos.scenario` once, with its storage calls counted."""
    told = (orders.folder, orders.address, orders.ledger, orders.trial, orders.restarts)
    command = [sys.executable, "-m", "tests.chaos.scenario", *map(str, told)]
    paths = os.pathsep.join((str(ROOT / "src"), str(ROOT)))
    return run_under(kill, command, orders.folder, environment={"PYTHONPATH": paths})


def storage_calls(ledger: Ledger) -> tuple[int, str]:
    """How many storage calls an undisturbed program makes, and the end that it comes to."""
    with workspace(ledger, "kernel-undisturbed") as orders:
        outcome = program(orders)
        assert (outcome.code, outcome.stdout) == (0, "done\n"), outcome.stderr
        return outcome.calls, judge(ledger, orders, "undisturbed", (0,), "").end


def killed_at(ledger: Ledger, n: int, expected: str) -> Judged:
    """Kill before storage call `n`, run again without orders, and judge."""
    with workspace(ledger, f"kernel-{n}") as orders:
        first = program(orders, KillOrders(kill_at=n))
        second = program(Orders(orders.folder, orders.address, orders.ledger, orders.trial, restarts=1))
        return judge(ledger, orders, f"storage call {n}", (first.code, second.code), expected)


def kernel_campaign(ledger: Ledger, trials: int, workers: int = 2) -> Report:
    """Kills spread evenly over all storage calls of the program."""
    began = time.monotonic()
    calls, expected = storage_calls(ledger)
    numbers: Sequence[int] = [1 + n * calls // trials for n in range(trials)]
    with ThreadPoolExecutor(workers) as pool:
        judged = tuple(pool.map(lambda n: killed_at(ledger, n, expected), numbers))
    return Report(f"killed before one of {calls} storage calls", judged, time.monotonic() - began)
