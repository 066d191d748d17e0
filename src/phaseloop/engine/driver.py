"""One driver a run: a mailbox, one decision at a time, one append in flight; nothing leaves before it is durable."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from phaseloop.core.answers import Begin, Drive, ModelReplied, Report, ToolReturned, ToolUnsure
from phaseloop.core.asks import Ask, ChildWanted, Go, ModelCallWanted, Ruling, Serve, ToolCallWanted, Wait
from phaseloop.core.decide import decide, react, rule
from phaseloop.core.effects import Effect
from phaseloop.core.errors import Fenced, LogConflict, Stuck
from phaseloop.core.events import Event
from phaseloop.core.machine import evolve
from phaseloop.core.run_events import DriveStarted
from phaseloop.core.run_tables import shows_the_same, tables
from phaseloop.core.state import RunState, open_gates
from phaseloop.core.statuses import RunStatus
from phaseloop.core.tables import Tables
from phaseloop.core.wanted import desired
from phaseloop.engine.ports import Clock, EventLog

MAX_STARTS = 50  # of one effect in one drive; pausing and resuming starts a few again
Message = tuple[Report | Ask, "asyncio.Future[Ruling | None] | None"]
Perform = Callable[[Effect, "Driver"], Awaitable[None]]


class Driver:
    """Drives one run until it ends, waits for a person, or is fenced off (contract section 4)."""

    def __init__(self, run_id: str, log: EventLog, perform: Perform, clock: Clock, worker: str) -> None:
        self.run_id = run_id
        self.state = RunState()
        self.seq: int = 0
        self._log = log
        self._perform = perform
        self._clock = clock
        self._worker = worker
        self._drive = 0
        self._mail: list[Message] = []
        self._waiting: list[Message] = []
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._leaving: set[asyncio.Task[None]] = set()
        self._out: dict[str, str] = {}
        self._tables: Tables | None = None
        self._wake = asyncio.Event()
        self._error: BaseException | None = None
        self._stale = False
        self.settling = False
        self._wanted: frozenset[str] = frozenset()
        self._starts: dict[str, int] = {}

    # ---- what performers use

    async def ask(self, ask: Ask) -> Ruling:
        """The ruling on `ask`, once every fact that it follows from is durable."""
        ruling = self._at_once(ask) or await self._post(ask)
        assert ruling is not None
        return ruling

    def _at_once(self, ask: Ask) -> Ruling | None:
        """The ruling when `ask` is all there is and no fact follows from it: a batch of it would change nothing."""
        if self.settling or self._mail or self._stale or self._error is not None:
            return None
        if react(self.state, ask, self._clock()):
            return None
        ruling = self._rule(ask)
        if isinstance(ruling, Wait):
            return None
        self._grant(ask, ruling)
        return ruling

    def _rule(self, ask: Ask) -> Ruling:
        """The core's ruling; a call that one asker was let go for already is not let go for a second one."""
        ruling = rule(self.state, ask)
        if isinstance(ask, ToolCallWanted) and isinstance(ruling, Go) and ruling.call_id in self._out:
            return Wait()
        return ruling

    async def tell(self, report: Report) -> None:
        """Hand in a report; returns when it is durable."""
        await self._post(report)

    async def _post(self, message: Report | Ask) -> Ruling | None:
        future: asyncio.Future[Ruling | None] = asyncio.get_running_loop().create_future()
        self._mail.append((message, future))
        self._wake.set()
        return await future

    def note(self, report: Report) -> None:
        """Hand in a report without waiting, for a performer that is being cancelled; lost when the drive ends."""
        self._mail.append((report, None))
        self._wake.set()

    def nudge(self) -> None:
        """Somebody else appended to the run: look at the log."""
        self._stale = True
        self._wake.set()

    @property
    def stale(self) -> bool:
        """Whether somebody appended and this driver has not looked yet, perhaps because it has just parked."""
        return self._stale

    def child_ended(self, child_run_id: str) -> None:
        """A child that a step waits for is over: the step is entered again and asks how it ended."""
        for ask, future in self._waiting:
            parked = isinstance(ask, ChildWanted) and ask.parked and ask.child_run_id == child_run_id
            if parked and future is not None and not future.done():
                future.set_result(Serve("ok", child_run_id))

    # ---- the loop

    async def drive(self, begin: Begin | None = None) -> RunState:
        """Drive until the run is over or parked, and return its state. Safe to call again after any crash.

        Raises `Fenced` when a newer drive has the run and `LogBroken` when a commit failed.
        """
        await self._catch_up()
        opening: list[Message] = [(begin, None)] if begin is not None else []
        self._mail[:0] = [*opening, (Drive(self._worker), None)]
        try:
            while True:
                if not self._mail and not self._wake.is_set():
                    await self._wake.wait()
                self._wake.clear()
                if self._error is not None:
                    raise self._error
                batch, self._mail = self._mail, []
                self.settling = True
                await self._settle(batch)
                self.settling = False
                if self.state.over or self._parked():
                    return self.state
                if not self._tasks and not self._mail and not self._stale:
                    raise Stuck(self.run_id, f"nothing to do after event {self.seq}")
        finally:
            await self._stop()

    async def _stop(self) -> None:
        """Cancel what is under way and forget it: crash, park, pause and hand-over are one mechanism."""
        for task in self._tasks.values():
            task.cancel()
        if tasks := [*self._tasks.values(), *self._leaving]:  # those cancelled before may still be on their way out
            await asyncio.gather(*tasks, return_exceptions=True)
        self._tasks.clear()

    async def _settle(self, batch: list[Message]) -> None:
        """Reports in order of arrival, then all asks, old and new, in plan order; append; rule (contract section 4)."""
        reports = [message for message in batch if not isinstance(message[0], Ask)]
        asks = [message for message in (*self._waiting, *batch) if isinstance(message[0], Ask)]
        asks.sort(key=self._place)
        messages = [*reports, *asks]
        if self._stale:
            self._stale = False
            await self._catch_up()
        while not await self._append(messages):
            await self._catch_up()
        self._waiting = []
        for message, future in messages:
            self._release(message, future)
        self._reconcile()

    async def _append(self, messages: Sequence[Message]) -> bool:
        """Decide and append one batch. `False` when somebody else appended first."""
        at = self._clock()
        events: list[Event] = []
        state = self.state
        for message, _ in messages:
            new, state = decide(state, message, at)
            events += new
        if not messages:
            new, state = decide(state, None, at)
            events += new
        if events:
            known = self._tables if shows_the_same(self.state, state) else None
            rows = known or tables(self.run_id, state)
            changed = rows if rows != self._tables else None
            try:
                await self._log.append(self.run_id, self.seq, at, events, changed)
            except LogConflict:
                return False
            self.seq += len(events)
            self._tables = rows
        self.state = state
        self._drive = self._drive or (state.drive if any(isinstance(m, Drive) for m, _ in messages) else 0)
        return True

    async def _catch_up(self) -> None:
        """Fold what others appended. Raises `Fenced` when a newer drive is among it."""
        for recorded in await self._log.read(self.run_id, self.seq):
            self.state = evolve(self.state, recorded.event, recorded.at)
            self.seq = recorded.seq
            self._tables = None  # whoever appended wrote the derived rows anew
            event = recorded.event
            if isinstance(event, DriveStarted) and self._drive and event.drive > self._drive:
                raise Fenced(self.run_id, self._drive, event.drive)

    def _place(self, message: Message) -> tuple[int, int, int]:
        """Plan order of the step, reply, place in the reply."""
        ask = message[0]
        assert isinstance(ask, Ask)
        order = self.state.phase.plan.order if self.state.phase_index >= 0 else ()
        place = order.index(ask.step_id) if ask.step_id in order else -1
        match ask:
            case ToolCallWanted():
                return (place, ask.n, ask.i)
            case ModelCallWanted():
                return (place, ask.n, -1)
            case ChildWanted():
                return (place, 0, 0)

    def _release(self, message: Report | Ask, future: "asyncio.Future[Ruling | None] | None") -> None:
        """Answer whoever handed the message in; what must wait stays."""
        match message:
            case ToolReturned() | ToolUnsure():
                self._out.pop(message.call_id, None)
            case ModelReplied():
                self._out.pop(f"{message.scope}/m{message.n}", None)
            case _:
                pass
        if future is None or future.done():
            return
        if not isinstance(message, Ask):
            future.set_result(None)
            return
        ruling = self._rule(message)
        if isinstance(ruling, Wait):
            self._waiting.append((message, future))
            return
        self._grant(message, ruling)
        future.set_result(ruling)

    def _grant(self, ask: Ask, ruling: Ruling) -> None:
        """Remember what was let go until its end is reported."""
        if isinstance(ruling, Go):
            grant = ruling.call_id if isinstance(ask, ToolCallWanted) else ruling.key
            self._out[grant] = effect_of(ask)

    def _reconcile(self) -> None:
        """Start what is missing of the desired set, cancel what is not in it."""
        wanted = dict(desired(self.state))
        self._wanted = frozenset(wanted)
        for effect_id in [effect_id for effect_id in self._tasks if effect_id not in wanted]:
            unwanted = self._tasks.pop(effect_id)
            unwanted.cancel()
            self._leaving.add(unwanted)
        if self.state.status is RunStatus.PAUSED:  # nothing new starts (contract section 9)
            return
        for effect_id, build in wanted.items():
            if effect_id not in self._tasks:
                self._starts[effect_id] = self._starts.get(effect_id, 0) + 1
                if self._starts[effect_id] > MAX_STARTS:
                    raise Stuck(self.run_id, f"{effect_id} ended {MAX_STARTS} times and changed nothing")
                task = asyncio.get_running_loop().create_task(self._run(build), name=effect_id)
                self._tasks[effect_id] = task
                task.add_done_callback(self._ended)

    async def _run(self, build: Callable[[], Effect]) -> None:
        await self._perform(build(), self)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        """A performer that raises aborts the drive: it must not look like a run that waits (contract section 4)."""
        effect_id = task.get_name()
        self._leaving.discard(task)
        if self._tasks.get(effect_id) is task:
            del self._tasks[effect_id]
        self._out = {grant: owner for grant, owner in self._out.items() if owner != effect_id}
        self._waiting = [(ask, future) for ask, future in self._waiting if not future or not future.done()]
        if not task.cancelled() and (error := task.exception()) is not None:
            self._error = error
        if self._error is not None or effect_id in self._wanted:
            self._wake.set()

    def _parked(self) -> bool:
        """Nothing granted is out, only asks wait, and a person or a child is waited for: cancel and forget."""
        if self._out or self._mail or self._stale or self._error is not None:
            return False
        idle = {effect_of(ask) for ask, _ in self._waiting if isinstance(ask, Ask)}
        if any(effect_id not in idle for effect_id in self._tasks if not effect_id.startswith("timer/")):
            return False
        child = any(isinstance(ask, ChildWanted) for ask, _ in self._waiting)
        return child or self.state.status is RunStatus.PAUSED or bool(open_gates(self.state))


def effect_of(ask: Ask) -> str:
    """The id of the effect whose performer asks."""
    match ask:
        case ModelCallWanted():
            return ask.scope
        case ToolCallWanted() | ChildWanted():
            return f"step/{ask.step_id}/{ask.attempt}"
