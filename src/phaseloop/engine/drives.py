"""The drives of this process: one task a run, waiting for other processes, due timers, and runs of runs."""

import asyncio
import contextlib
from dataclasses import dataclass, field

from phaseloop.core.errors import Fenced, LogBroken, RunUnknown, StoreUnusable
from phaseloop.core.run_tables import is_waiting
from phaseloop.core.state import RunState
from phaseloop.core.statuses import RunStatus
from phaseloop.engine.host import Host
from phaseloop.engine.surroundings import is_gone

LOOK_SECONDS = 0.2  # how often another process's drive is looked at
TICK_SECONDS = 0.5  # how late a timer of a resting run may fire


@dataclass(slots=True)
class Drives:
    """Keeps runs moving: drives them, or waits while another process does, and takes over what it leaves.

    A SUBPROCESS's run is driven by the run it belongs to, so that both go on.
    """

    host: Host
    _tasks: dict[str, "asyncio.Task[RunState]"] = field(default_factory=dict[str, "asyncio.Task[RunState]"])
    _mine: set[str] = field(default_factory=set[str])
    _ticking: "asyncio.Task[None] | None" = None

    def drive(self, run_id: str) -> "asyncio.Task[RunState]":
        """The task that drives a run which belongs to no other; a new one when the last has ended."""
        task = self._tasks.get(run_id)
        if task is None or task.done():
            task = asyncio.ensure_future(self._carry(run_id))
            task.set_name(run_id)
            task.add_done_callback(self._ended)
            self._tasks[run_id] = task
            self._mine.add(run_id)
        if self._ticking is None or self._ticking.done():
            self._ticking = asyncio.ensure_future(self._tick())
        return task

    def _ended(self, task: "asyncio.Task[RunState]") -> None:
        """A run at rest costs no memory here; what broke a drive is kept for whoever asks for the result."""
        run_id = task.get_name()
        failed = not task.cancelled() and task.exception() is not None
        if self._tasks.get(run_id) is task and not failed:
            del self._tasks[run_id]
        if not task.cancelled() and not failed and task.result().over:
            self._mine.discard(run_id)

    async def settled(self, run_id: str) -> RunState:
        """Wait until nobody drives the run, and return its state. Raises what the drive in this process raised."""
        owner = await self.owner(run_id)
        if (task := self._tasks.get(owner)) is not None:
            await asyncio.shield(task)
        else:
            await self._until_free(owner)
        if owner in self._mine and owner not in self._tasks and await self._is_left(owner):
            await asyncio.shield(self.drive(owner))
        state, _ = await self.host.load(run_id)
        return state

    async def owner(self, run_id: str) -> str:
        """The run that drives this one: itself, or the one whose SUBPROCESS it is. Raises `RunUnknown`."""
        state, _ = await self.host.load(run_id)
        while parent := state.facts.parent_run_id:
            run_id = parent
            state, _ = await self.host.load(run_id)
        return run_id

    async def waiting_child(self, state: RunState) -> tuple[str, RunState] | None:
        """The run below this one that waits for a person, when there is one."""
        for child_id in _children(state):
            with contextlib.suppress(RunUnknown):
                child, _ = await self.host.load(child_id)
                if is_waiting(child):
                    return child_id, child
                if (found := await self.waiting_child(child)) is not None:
                    return found
        return None

    async def below(self, run_id: str) -> list[str]:
        """The runs below this one that are not over, the nearest first. Raises `RunUnknown`."""
        state, _ = await self.host.load(run_id)
        found: list[str] = []
        for child_id in _children(state):
            with contextlib.suppress(RunUnknown):
                child, _ = await self.host.load(child_id)
                if not child.over:
                    found += [child_id, *await self.below(child_id)]
        return found

    async def close(self) -> None:
        """Stop driving; every run rests where it is."""
        tasks = [*self._tasks.values(), *([self._ticking] if self._ticking else [])]
        tasks = [task for task in tasks if not task.done()]  # those that failed may be of an earlier event loop
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._tasks.clear()
        self._ticking = None
        await self.host.close()

    async def _carry(self, run_id: str) -> RunState:
        while True:
            if await self._until_free(run_id):
                state, _ = await self.host.load(run_id)
                if state.over or state.status is RunStatus.PAUSED or is_waiting(state):
                    return state
            try:
                state = await self.host.resume(run_id)
            except Fenced:
                continue
            if state.over or state.status is RunStatus.PAUSED or not await self._child_moves(state):
                return state

    async def _until_free(self, run_id: str) -> bool:
        """Wait while a live worker elsewhere drives the run; whether there was one.

        A process that was killed holds its lease for five seconds more; where it can be seen that it is gone,
        nobody waits for it.
        """
        seen = False
        while (holder := await self.host.leases.holder(run_id)) not in (None, self.host.worker):
            if is_gone(str(holder)):
                break
            seen = True
            await asyncio.sleep(LOOK_SECONDS)
        return seen

    async def _child_moves(self, state: RunState) -> bool:
        """Whether a run below can go on, because its question was answered while this one was busy."""
        for child_id in _children(state):
            try:
                child, _ = await self.host.load(child_id)
            except RunUnknown:
                return True
            if child.over:
                return True
            rests = child.status is RunStatus.PAUSED or is_waiting(child)
            if not rests and (not _children(child) or await self._child_moves(child)):
                return True
        return False

    async def _tick(self) -> None:
        """Fire due timers; go on with runs of this process that a timer or a word said elsewhere has moved."""
        while True:
            with contextlib.suppress(LogBroken, StoreUnusable, RunUnknown):  # a later look will do
                await self.host.fire_due()
                for row in await self.host.runs.list_runs("running"):
                    owner = await self.owner(row.run_id) if row.parent_run_id else row.run_id
                    if owner in self._mine and owner not in self._tasks and await self._is_left(owner):
                        self.drive(owner)
            await asyncio.sleep(TICK_SECONDS)

    async def _is_left(self, run_id: str) -> bool:
        """Whether the run could go on and nobody drives it."""
        if await self.host.leases.holder(run_id) is not None:
            return False
        state, _ = await self.host.load(run_id)
        if state.status is not RunStatus.RUNNING or is_waiting(state):
            return False
        return not _children(state) or await self._child_moves(state)


def _children(state: RunState) -> list[str]:
    """The runs that this one's steps wait for."""
    if state.over or state.phase_index < 0:
        return []
    steps = (state.steps[step_id] for step_id in state.phase.plan.order)
    return [step.child_run_id for step in steps if step.active and step.child_run_id]
