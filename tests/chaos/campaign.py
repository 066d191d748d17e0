"""Crash campaigns over the scenario: plan faults, run trials in two warmed processes, judge what is left.

`python -m tests.chaos.campaign [EVERY]` runs all campaigns and prints their figures.
"""

import asyncio
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path

from phaseloop.adapters.codec import Codec
from phaseloop.adapters.sqlite_log import open_store
from phaseloop.core.call_events import HistoryDiverged
from phaseloop.core.errors import PhaseloopError
from phaseloop.core.gate_events import GateOpened
from phaseloop.core.machine import evolve
from phaseloop.core.process import GateKind
from phaseloop.core.run_events import DriveStarted
from phaseloop.core.run_tables import tables
from phaseloop.core.state import RunState, final_artifacts
from phaseloop.core.statuses import CallStatus
from phaseloop.core.tables import RunRow
from phaseloop.core.values import digest
from phaseloop.engine.ports import Recorded
from phaseloop.engine.replay import replay
from phaseloop.engine.results import run_result
from tests.chaos.faults import Fault
from tests.chaos.ledger import Ledger, running_ledger
from tests.chaos.mutations import MUTATIONS
from tests.chaos.scenario import BROKEN, FENCED, RUN, WRITES, Orders, run_process

MEMORY = Path("/dev/shm")  # a killed process leaves the page cache alive, so a disk would only take longer
IN_WRITES = ("send:after", "book:after", "ship:after", "pay:after", "upsert:after", "upsert:before")
SECONDS = 90  # after which a child that hangs is killed by its own alarm


@dataclass(frozen=True)
class Plan:
    """What goes wrong in one trial: a fault for each process in turn; one without comes last.

    `point` names the place of the fault where its number is 0.
    """

    faults: tuple[tuple[Fault, int], ...]
    seed: int = 1
    mutation: str = ""
    point: str = ""


@dataclass(frozen=True)
class Judged:
    """What a trial left behind. `problems` is empty for a good one; the rest is counted."""

    plan: object
    codes: tuple[int, ...]
    problems: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    twice: tuple[str, ...] = ()
    again: int = 0
    asked: int = 0
    end: str = ""

    @property
    def kills(self) -> int:
        """Processes that SIGKILL ended."""
        return sum(code == -signal.SIGKILL for code in self.codes)

    @property
    def fenced(self) -> bool:
        """Whether a process lost the run to another one."""
        return FENCED in self.codes


@dataclass(frozen=True)
class Report:
    """All trials of a campaign."""

    name: str
    trials: tuple[Judged, ...]
    seconds: float

    @property
    def bad(self) -> list[Judged]:
        """Trials that broke a promise."""
        return [trial for trial in self.trials if trial.problems or trial.lost or trial.twice]

    def __str__(self) -> str:
        trials = self.trials
        once = sum(not (t.lost or t.twice or t.again) for t in trials)
        return (
            f"{self.name}: {len(trials)} points, {sum(t.kills for t in trials)} kills, {once} exactly once, "
            f"{sum(t.again > 0 for t in trials)} same key again (idempotent), "
            f"{sum(t.asked > 0 for t in trials)} asked, {sum(len(t.lost) for t in trials)} lost, "
            f"{sum(len(t.twice) for t in trials)} twice; {len(self.bad)} bad; {self.seconds:.0f} s"
        )


# ---- one process, one trial


def spawn(orders: Orders, mutation: str = "") -> int:
    """Fork a process that carries out `orders`; its pid. Only to be called where no thread runs."""
    pid = os.fork()
    if pid:
        return pid
    code = BROKEN
    try:
        signal.alarm(SECONDS)
        if mutation:
            MUTATIONS[mutation]()
        code = run_process(orders)
    finally:
        os._exit(code)


def ended(pid: int) -> int:
    """Wait for the process: its exit code, or minus the signal that ended it."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@contextmanager
def workspace(ledger: Ledger, trial: str) -> Iterator[Orders]:
    """Orders for an undisturbed process in a folder of its own."""
    folder = Path(tempfile.mkdtemp(prefix="chaos", dir=MEMORY if MEMORY.is_dir() else None))
    try:
        yield Orders(folder, ledger.address, ledger.file, trial)
    finally:
        shutil.rmtree(folder)


def trial(ledger: Ledger, name: str, plan: Plan, expected: str) -> Judged:
    """Run processes with the planned faults, then one without, and judge."""
    with workspace(ledger, name) as orders:
        codes: list[int] = []
        for restarts, (fault, at) in enumerate((*plan.faults, (Fault.NONE, 0))):
            name_of_point = "" if at else plan.point
            told = replace(orders, fault=fault, at=at, name=name_of_point, restarts=restarts, seed=plan.seed)
            codes.append(ended(spawn(told, plan.mutation)))
            if codes[-1] == 0 and restarts < len(plan.faults):
                break
        return judge(ledger, orders, plan, tuple(codes), expected)


def two_at_once(ledger: Ledger, name: str, seed: int, expected: str) -> Judged:
    """Two processes drive the run at the same time; whoever is overtaken is fenced and ends."""
    with workspace(ledger, name) as orders:
        told = [replace(orders, seed=seed + n, patience=0.6) for n in range(2)]
        first = spawn(told[0])
        time.sleep(random.Random(seed).random() * 0.15)
        codes = [ended(pid) for pid in (first, spawn(told[1]))]
        judged = judge(ledger, orders, f"two at once, seed {seed}", tuple(codes), expected)
    fair = set(codes) <= {0, FENCED} and 0 in codes
    return judged if fair else replace(judged, problems=(*judged.problems, f"exit codes {codes}"))


def frozen(ledger: Ledger, name: str, point: str, expected: str) -> Judged:
    """A process is frozen at a point, overtaken by another that ends the run, and thawed."""
    with workspace(ledger, name) as orders:
        pid = spawn(replace(orders, fault=Fault.FREEZE, name=point))
        _, status = os.waitpid(pid, os.WUNTRACED)
        stopped = os.WIFSTOPPED(status)
        other = ended(spawn(replace(orders, restarts=1)))
        os.kill(pid, signal.SIGCONT)
        codes = (ended(pid), other) if stopped else (os.waitstatus_to_exitcode(status), other)
        judged = judge(ledger, orders, f"frozen at {point}", codes, expected)
    if codes == (FENCED, 0):
        return judged
    return replace(judged, problems=(*judged.problems, f"it was not fenced: exit codes {codes}"))


# ---- judging


def judge(ledger: Ledger, orders: Orders, plan: object, codes: tuple[int, ...], expected: str) -> Judged:
    """Compare the log and the ledger with what was promised."""
    problems: list[str] = []
    if 0 not in codes:
        error = orders.folder / "error.txt"
        problems.append(error.read_text()[-800:] if error.exists() else f"exit codes {codes}")
    store = open_store(str(orders.folder / "store.db"))
    history = asyncio.run(store.read(RUN))
    row = asyncio.run(store.runs.run_row(RUN))
    store.close()
    problems += _log_problems(history)
    lost, twice, again = _deliveries(ledger, orders.trial)
    judged = Judged(plan, codes, tuple(problems), lost, twice, again)
    try:
        return _with_state(judged, history, row, expected)
    except PhaseloopError as error:
        return replace(judged, problems=(*problems, f"the log cannot be folded: {error}"))


def _with_state(judged: Judged, history: Sequence[Recorded], row: RunRow | None, expected: str) -> Judged:
    """What the fold of the log adds. Raises `PhaseloopError` for a log that cannot be folded."""
    problems = list(judged.problems)
    state, doubts = _folded(history)
    gates = [r.event for r in history if isinstance(r.event, GateOpened) and r.event.kind is GateKind.IN_DOUBT]
    asked = {gate.call_id for gate in gates}
    problems += [f"nobody was asked about {call} in doubt" for call in sorted(doubts - asked)]
    problems += [f"asked about {g.payload['tool']}" for g in gates if g.payload["tool"] in ("pay", "upsert")]
    if row != tables(RUN, state).row:
        problems.append("the derived row is not that of the fold")
    if expected and end_of(state) != expected:
        problems.append(f"another end: {state.status} {state.failure} {run_result(RUN, state).value}")
    return replace(judged, problems=tuple(problems), asked=len(asked), end=end_of(state))


def _log_problems(history: Sequence[Recorded]) -> Iterator[str]:
    if [recorded.seq for recorded in history] != list(range(1, len(history) + 1)):
        yield "the log has a gap"
    if (difference := replay(history).difference) is not None:
        yield str(difference)
    codec = Codec()
    for recorded in history:
        row = codec.encode(recorded.event)
        blobs = dict(row.blobs)
        if codec.decode(row.name, row.version, row.body, blobs.__getitem__) != recorded.event:
            yield f"event {recorded.seq} changes when it is written again"
        if isinstance(recorded.event, HistoryDiverged):
            yield f"event {recorded.seq}: the executor said the same, the record diverged"


def _folded(history: Sequence[Recorded]) -> tuple[RunState, set[str]]:
    """The state, and the calls that a new drive found in doubt and whose tool cannot be asked."""
    state, doubts = RunState(), set[str]()
    for recorded in history:
        state = evolve(state, recorded.event, recorded.at)
        if isinstance(recorded.event, DriveStarted):
            doubtful = (c for c in state.calls.values() if c.status is CallStatus.IN_DOUBT)
            doubts |= {c.call_id for c in doubtful if not state.facts.tools[c.tool].verify}
    return state, doubts


def _deliveries(ledger: Ledger, trial: str) -> tuple[tuple[str, ...], tuple[str, ...], int]:
    """Writes that never arrived, writes that arrived too often, and repeats of the idempotent one."""
    keys: dict[str, list[str]] = {}
    for effect in ledger.deliveries():
        if effect["trial"] == trial:
            name = f"{effect['tool']} {next(iter(effect['args'].values()))}"
            keys.setdefault(name, []).append(effect["key"])
    lost = tuple(name for name in WRITES if name not in keys)
    harmless = {name for name, used in keys.items() if name.startswith("upsert") and len(set(used)) == 1}
    twice = tuple(name for name, used in keys.items() if len(used) > 1 and name not in harmless)
    unknown = tuple(f"{name} (unknown)" for name in keys if name not in WRITES)
    again = sum(len(keys[name]) - 1 for name in harmless)
    return lost, (*twice, *unknown), again


def end_of(state: RunState) -> str:
    """A digest of what the run came to: status, result, artefacts, and every step with its output."""
    steps = {sid: [s.spec.action, s.status.value, s.output] for sid, s in state.steps.items()}
    value = run_result(RUN, state).value
    return digest(state.status.value, value, final_artifacts(state), steps, sorted(state.ledger), state.replans)


# ---- campaigns


def warm(ledger: Ledger) -> None:
    """Load and compile what a run needs, so that forked processes have it."""
    undisturbed(ledger, f"warm-{os.getpid()}")


def undisturbed(ledger: Ledger, name: str = "undisturbed") -> tuple[str, int, int]:
    """The end that every trial must come to, how many points there are, and how many commits."""
    with workspace(ledger, name) as orders:
        code = run_process(orders)
        judged = judge(ledger, orders, "undisturbed", (code,), "")
        spoiled = [*judged.problems, *judged.lost, *judged.twice]
        assert not spoiled, judged
        assert judged.asked == 0
        end = json.loads((orders.folder / "end.jsonl").read_text())
    return judged.end, len(end["points"]), end["commits"]


def kills(points: int, every: int = 1, start: int = 1) -> list[Plan]:
    """One kill at every point, and some beyond the last, since runs differ in length."""
    return [Plan(((Fault.KILL, at),), seed=1 + at % 7) for at in range(start, points + 8, every)]


def kills_in_recovery(points: int, count: int) -> list[Plan]:
    """Three kills each at random points: two of them while the run recovers."""
    rng = random.Random(7)
    found: list[Plan] = []
    for _ in range(count):
        at = rng.randint(1, points), rng.randint(1, points // 2), rng.randint(1, 30)
        found.append(Plan(tuple((Fault.KILL, n) for n in at), rng.randint(1, 99)))
    return found


def kills_in_writes(mutation: str, seeds: int = 3) -> list[Plan]:
    """One kill each right after a write without an idempotency of its own was delivered."""
    points = [point for point in IN_WRITES if not point.startswith("upsert")]
    return [Plan(((Fault.KILL, 0),), seed, mutation, point) for point in points for seed in range(1, seeds + 1)]


def failing_commits(commits: int, fault: Fault, every: int = 1) -> list[Plan]:
    """The n-th commit fails, for every n."""
    return [Plan(((fault, n),)) for n in range(1, commits + 1, every)]


class Campaign:
    """Two warmed processes, one ledger outside, and the end to compare with."""

    def __init__(self, ledger: Ledger, workers: int = 2) -> None:
        self.ledger = ledger
        self.pool = ProcessPoolExecutor(workers, get_context("spawn"), initializer=warm, initargs=(ledger,))
        self.end, self.points, self.commits = self.pool.submit(undisturbed, ledger).result()
        self._count = 0

    def run(self, name: str, plans: Sequence[Plan]) -> Report:
        """One trial a plan."""
        return self._report(name, trial, plans)

    def run_two_at_once(self, seeds: Sequence[int]) -> Report:
        """Two drivers from the start, with a little time between them."""
        return self._report("two drivers at once", two_at_once, seeds)

    def run_frozen(self, points: Sequence[str]) -> Report:
        """A driver frozen inside a write."""
        return self._report("frozen and overtaken", frozen, points)

    def _report(self, name: str, what: Callable[..., Judged], each: Sequence[object]) -> Report:
        began = time.monotonic()
        waiting = []
        for one in each:
            self._count += 1
            waiting.append(self.pool.submit(what, self.ledger, f"t{self._count}", one, self.end))
        return Report(name, tuple(job.result() for job in waiting), time.monotonic() - began)


@contextmanager
def campaign(workers: int = 2) -> Iterator[Campaign]:
    """A campaign with its ledger, ended with it."""
    with running_ledger() as ledger:
        running = Campaign(ledger, workers)
        try:
            yield running
        finally:
            running.pool.shutdown(cancel_futures=True)


def main(every: str = "1") -> None:
    """All campaigns, with their figures and the first bad trials."""
    step = int(every)
    with campaign() as run:
        reports = [
            run.run("a kill at every point", kills(run.points, step)),
            run.run("three kills each", kills_in_recovery(run.points, max(60 // step, 4))),
            run.run("n-th commit fails, nothing written", failing_commits(run.commits, Fault.COMMIT_LOST, step)),
            run.run("n-th commit fails, but was written", failing_commits(run.commits, Fault.COMMIT_KEPT, step)),
            run.run_two_at_once(range(1, 1 + max(20 // step, 2))),
            run.run_frozen(IN_WRITES),
        ]
        print(f"{run.points} points, {run.commits} commits")
        for report in reports:
            print(report)
            print("   kinds:", Counter(problem[:100] for t in report.bad for problem in t.problems).most_common(4))
            for bad in report.bad[:3]:
                print("  ", bad)


if __name__ == "__main__":
    main(*sys.argv[1:])
