"""The one thread that writes: jobs of many runs share a commit, and who waits is told once a loop."""

import asyncio
import queue
import sqlite3
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from enum import Enum
from typing import Any, NamedTuple, TypeVar

from phaseloop.adapters.sqlite_schema import Link, explain
from phaseloop.core.errors import LogBroken, PhaseloopError, StoreUnusable

Job = Callable[[sqlite3.Connection], Any]
"""Runs inside the transaction. A `PhaseloopError` it raises before its first write fails this job alone."""
Fault = Callable[[str], None]
"""Called with `before` and `after` around each commit, in the writer's thread; for tests of crashes."""
Loop = asyncio.AbstractEventLoop
T = TypeVar("T")

MAX_BATCH = 2000  # bounds how long the first job of a batch waits for the last
LOOK_SECONDS = 0.02  # SQLite tells nobody about other processes; a look costs 3 microseconds


class Signal(Enum):
    """What the thread is told beside jobs: look again whether anybody follows, or end."""

    NUDGE = "nudge"
    STOP = "stop"


class Ticket(NamedTuple):
    """A job, who waits for it, and the run whose followers hear of it."""

    job: Job
    loop: Loop
    future: asyncio.Future[Any]
    run_id: str = ""


class Outcome(NamedTuple):
    """What became of a job; delivered in the loop that submitted it."""

    future: asyncio.Future[Any]
    result: Any = None
    error: BaseException | None = None


class Bell:
    """Tells followers that a run may have news. Rung from any thread."""

    def __init__(self, nudge: Callable[[], None]) -> None:
        self._lock = threading.Lock()
        self._ears: dict[str, list[tuple[Loop, asyncio.Event]]] = {}
        self._nudge = nudge

    @property
    def has_ears(self) -> bool:
        """Whether anybody follows a run."""
        return bool(self._ears)

    @contextmanager
    def listen(self, run_id: str) -> Generator[asyncio.Event]:
        """An event that is set whenever `run_id` may have news, from now on."""
        ear = asyncio.get_running_loop(), asyncio.Event()
        with self._lock:
            self._ears.setdefault(run_id, []).append(ear)
        self._nudge()
        try:
            yield ear[1]
        finally:
            with self._lock:
                self._ears[run_id].remove(ear)
                if not self._ears[run_id]:
                    del self._ears[run_id]

    def ears(self, run_ids: set[str] | None) -> list[tuple[Loop, asyncio.Event]]:
        """Those who follow one of `run_ids`, or anybody for `None`."""
        with self._lock:
            wanted = self._ears if run_ids is None else run_ids & self._ears.keys()
            return [ear for run_id in wanted for ear in self._ears[run_id]]


class Writer:
    """Owns the writing connection. Every change of the store is a job that passes through here."""

    def __init__(self, link: Link, fault: Fault | None = None, slow_ms: float = 0.0) -> None:
        self._link = link
        self._fault: Fault = fault or _no_fault
        self._slow = slow_ms / 1000
        self._inbox: queue.SimpleQueue[Ticket | Signal] = queue.SimpleQueue()
        self.bell = Bell(lambda: self._inbox.put(Signal.NUDGE))
        self.commits = 0
        self._version = 0
        self._closed = False
        self._thread = threading.Thread(target=self._work, name="phaseloop-writer", daemon=True)
        self._thread.start()

    def submit(self, job: Callable[[sqlite3.Connection], T], run_id: str = "") -> "asyncio.Future[T]":
        """Queue `job`; the future resolves when it is on disk. Jobs are written in the order of submission.

        The job is written even when nobody waits for the future any more. Raises `StoreUnusable` when closed.
        """
        if self._closed:
            raise StoreUnusable(self._link.store, "it was closed: open it again")
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self._inbox.put(Ticket(job, loop, future, run_id))
        return future

    def close(self) -> None:
        """Write what is queued, end the thread, close the connection."""
        if not self._closed:
            self._closed = True
            self._inbox.put(Signal.STOP)
            self._thread.join()
            self._link.db.close()

    def _work(self) -> None:
        going = True
        while going:
            taken = self._take()
            going = Signal.STOP not in taken
            tickets = [entry for entry in taken if isinstance(entry, Ticket)]
            if self._others_wrote():
                _deliver([], [], self.bell.ears(None))
            if tickets:
                self._write(tickets)

    def _take(self) -> list[Ticket | Signal]:
        """What is queued, waiting for the first entry; empty when a look at other processes is due."""
        taken: list[Ticket | Signal] = []
        try:
            taken.append(self._inbox.get(timeout=LOOK_SECONDS if self.bell.has_ears else None))
            while len(taken) < MAX_BATCH:
                taken.append(self._inbox.get_nowait())
        except queue.Empty:
            pass
        return taken

    def _others_wrote(self) -> bool:
        if not self.bell.has_ears:
            return False
        before = self._version
        try:
            with self._link.lock:
                self._version = self._link.db.execute("PRAGMA data_version").fetchone()[0]
        except sqlite3.Error:
            return True  # the followers' own reads say what is wrong
        return self._version != before

    def _write(self, tickets: list[Ticket]) -> None:
        outcomes, spoiled = self._transact(tickets)
        if spoiled and len(tickets) > 1:  # nothing was written: each alone, so that one bad job fails alone
            for ticket in tickets:
                self._write([ticket])
            return
        if self._slow:
            time.sleep(self._slow)
        _deliver(tickets, outcomes, self.bell.ears({t.run_id for t in tickets}))

    def _transact(self, tickets: list[Ticket]) -> tuple[list[Outcome], bool]:
        """The outcomes, and whether a job raised something unforeseen before the commit was tried."""
        db = self._link.db
        with self._link.lock:
            try:
                db.execute("BEGIN IMMEDIATE")
                outcomes = [_run(ticket, db) for ticket in tickets]
            except Exception as error:  # the thread must live, whatever a job does
                return _all_broken(tickets, db, error), not isinstance(error, sqlite3.Error)
            try:
                self._fault("before")
                db.execute("COMMIT")
                self.commits += 1
                self._fault("after")
            except Exception as error:  # written or not: nobody knows
                return _all_broken(tickets, db, error), False
        return outcomes, False


def _no_fault(moment: str) -> None:
    """Outside tests a commit has no hook."""


def _run(ticket: Ticket, db: sqlite3.Connection) -> Outcome:
    try:
        return Outcome(ticket.future, ticket.job(db))
    except PhaseloopError as refusal:
        return Outcome(ticket.future, error=refusal)


def _all_broken(tickets: list[Ticket], db: sqlite3.Connection, error: Exception) -> list[Outcome]:
    """A failed transaction: roll back what can be, and tell everybody that nothing is known."""
    reason = explain(error) if isinstance(error, sqlite3.Error) else f"{type(error).__name__}: {error}"
    try:
        if db.in_transaction:
            db.execute("ROLLBACK")
    except sqlite3.Error as worse:
        reason += f"; then {worse}"
    return [Outcome(t.future, error=LogBroken(reason)) for t in tickets]


def _deliver(tickets: list[Ticket], outcomes: list[Outcome], ears: list[tuple[Loop, asyncio.Event]]) -> None:
    """One call into each loop for everything that concerns it."""
    by_loop: dict[Loop, tuple[list[Outcome], list[asyncio.Event]]] = {}
    for ticket, outcome in zip(tickets, outcomes, strict=True):
        by_loop.setdefault(ticket.loop, ([], []))[0].append(outcome)
    for loop, event in ears:
        by_loop.setdefault(loop, ([], []))[1].append(event)
    for loop, (settled, events) in by_loop.items():
        try:
            loop.call_soon_threadsafe(_settle, settled, events)
        except RuntimeError:
            continue  # that loop has ended, and with it everybody who waited in it


def _settle(outcomes: list[Outcome], events: list[asyncio.Event]) -> None:
    for outcome in outcomes:
        if outcome.future.done():
            continue
        if outcome.error is None:
            outcome.future.set_result(outcome.result)
        else:
            outcome.future.set_exception(outcome.error)
            outcome.future.exception()  # a caller that went away must not be reported as an unseen error
    for event in events:
        event.set()
