"""The runs that this process drives: start, wake, receive words, fire timers, run children."""

import asyncio
import contextlib
import itertools
from collections.abc import Callable
from dataclasses import dataclass, field

from phaseloop.core.answers import Begin, TimerDue
from phaseloop.core.decide import receive
from phaseloop.core.errors import Fenced, LogBroken, LogConflict, RunUnknown, StoreUnusable
from phaseloop.core.machine import evolve, evolve_all, fold
from phaseloop.core.reactions import REACT
from phaseloop.core.run_tables import tables
from phaseloop.core.state import RunState
from phaseloop.core.words import Word
from phaseloop.engine.driver import Driver
from phaseloop.engine.perform import Edge
from phaseloop.engine.ports import Clock, EventLog, Leases, Runs

MakeEdge = Callable[[str, RunState | Begin], Edge]
"""The edge of one run: its roles and tools, by what it started with."""

MAX_BROKEN = 3  # commits that fail one after another before the caller is told


@dataclass(slots=True)
class Host:
    """Drives runs as tasks of one process. A parked run costs no task and no memory (architecture section 10)."""

    log: EventLog
    runs: Runs
    leases: Leases
    make_edge: MakeEdge
    clock: Clock
    worker: str
    wake: Callable[[str], object] | None = None
    """Called with a run that rests although its child ended. Without it nobody drives on until `resume`."""
    _drivers: dict[str, Driver] = field(default_factory=dict[str, Driver])
    _driving: set[str] = field(default_factory=set[str])
    _beating: "asyncio.Task[None] | None" = None

    async def load(self, run_id: str) -> tuple[RunState, int]:
        """The state of a run and its last place. Raises `RunUnknown`."""
        history = await self.log.read(run_id)
        if not history:
            raise RunUnknown(run_id)
        return fold(history), history[-1].seq

    async def begin(self, run_id: str, begin: Begin) -> None:
        """Append what a run starts with, without driving it."""
        at = self.clock()
        facts = REACT[Begin](RunState(), begin, at)
        await self.log.append(run_id, 0, at, facts, tables(run_id, evolve_all(RunState(), facts, at)))

    async def drive(self, run_id: str, begin: Begin | None = None) -> RunState:
        """Drive a run until it is over or parked. A commit that failed is unknown: fold again and go on."""
        if run_id in self._driving:
            known = self._drivers.get(run_id)
            return known.state if known is not None else (await self.load(run_id))[0]
        self._driving.add(run_id)
        self._beat()
        try:
            while True:
                driver = await self._drive_once(run_id, begin)
                begin = None
                if driver.state.over or not (await self._was_overheard(driver) or driver.stale):
                    break
        finally:
            self._drivers.pop(run_id, None)
            self._driving.discard(run_id)
        self._tell_parent(driver)
        return driver.state

    async def _drive_once(self, run_id: str, begin: Begin | None) -> Driver:
        """One lease, one drive; again when its commit failed. Returns the driver that came to rest."""
        broken = 0
        taking = asyncio.ensure_future(self.leases.take(run_id, self.worker))  # advice: no append waits for it
        try:
            while True:
                edge = self.make_edge(run_id, begin if begin is not None else (await self.load(run_id))[0])
                driver = Driver(run_id, self.log, edge.perform, self.clock, self.worker)
                self._drivers[run_id] = driver
                try:
                    await driver.drive(begin)
                    return driver
                except LogBroken:
                    broken += 1
                    if broken >= MAX_BROKEN:
                        raise
                    begin = None if await self.log.read(run_id) else begin
        finally:
            await self._leave(run_id, taking)

    async def _was_overheard(self, driver: Driver) -> bool:
        """Whether a word came in while the drive was ending: whoever said it saw a live drive and left it to us."""
        news = await self.log.read(driver.run_id, driver.seq)
        return bool(news) and await self.leases.holder(driver.run_id) is None

    async def _leave(self, run_id: str, taking: "asyncio.Future[None]") -> None:
        with contextlib.suppress(LogBroken, StoreUnusable):  # a lease is advice: it dies by itself in five seconds
            await taking
        with contextlib.suppress(LogBroken, StoreUnusable):
            await self.leases.leave(run_id, self.worker)

    def _beat(self) -> None:
        """One heartbeat for all leases and locks of this process."""
        if self._beating is None or self._beating.done():
            self._beating = asyncio.ensure_future(self._heartbeat())

    async def _heartbeat(self) -> None:
        """Every second a heartbeat, five times a second a look for what others appended to runs that stand still.

        A run that moves needs no look: its next append meets what others appended as a conflict.
        """
        looked: dict[str, int] = {}
        for tick in itertools.count():
            with contextlib.suppress(LogBroken, StoreUnusable):  # the store is in trouble: appends will say so
                if tick % 5 == 0:
                    await self.leases.beat(self.worker)
                before, looked = looked, {run_id: driver.seq for run_id, driver in self._drivers.items()}
                for driver in list(self._drivers.values()):
                    still = before.get(driver.run_id) == driver.seq and not driver.settling
                    if still and await self.log.read(driver.run_id, driver.seq):
                        driver.nudge()
            await asyncio.sleep(0.2)

    async def close(self) -> None:
        """Stop the heartbeat."""
        if self._beating is not None:
            self._beating.cancel()
            await asyncio.gather(self._beating, return_exceptions=True)
            self._beating = None

    def _tell_parent(self, child: Driver) -> None:
        """A child that ended wakes its parent: the driver's step that waits for it, or whoever drives runs."""
        parent = child.state.facts.parent_run_id
        if not parent or not child.state.over:
            return
        if (driver := self._drivers.get(parent)) is not None:
            driver.child_ended(child.run_id)
            driver.nudge()  # one that is just parking must not rest
        elif self.wake is not None:
            self.wake(parent)

    def drives(self, run_id: str) -> bool:
        """Whether this process drives the run now."""
        return run_id in self._driving

    async def receive(self, run_id: str, word: Word | TimerDue) -> RunState:
        """Take a person's word: decide, append, again on conflict; then wake the driver (contract section 3).

        Raises `RunUnknown`, `AnswerRefused`, `WrongUse` and `LogBroken`.
        """
        state, seq = await self.load(run_id)
        while True:
            at = self.clock()
            facts = REACT[type(word)](state, word, at) if isinstance(word, TimerDue) else receive(state, word, at)
            if not facts:
                return state
            after = evolve_all(state, facts, at)
            try:
                await self.log.append(run_id, seq, at, facts, tables(run_id, after))
                break
            except LogConflict:
                for recorded in await self.log.read(run_id, seq):
                    state, seq = evolve(state, recorded.event, recorded.at), recorded.seq
        if (driver := self._drivers.get(run_id)) is not None:
            driver.nudge()
        return after

    async def fire_due(self) -> list[str]:
        """Fire overdue timers of runs that nobody drives; returns the runs that moved."""
        moved: list[str] = []
        for run_id, timer in await self.runs.timers_due(self.clock()):
            if run_id in self._drivers or await self.leases.holder(run_id) is not None:
                continue
            await self.receive(run_id, TimerDue(timer.timer_id))
            moved.append(run_id)
        return moved

    async def resume(self, run_id: str) -> RunState:
        """Drive a run that rests; a run that is over is returned as it is. Raises `Fenced` when another has it."""
        state, _ = await self.load(run_id)
        if state.over:
            return state
        return await self.drive(run_id)


__all__ = ["Fenced", "Host", "MakeEdge"]
