"""A host on a store in memory with roles and tools made of plain functions."""

import asyncio
from dataclasses import dataclass, field
from typing import Any

from phaseloop.adapters.sqlite_log import open_store
from phaseloop.core.answers import Begin, Verdict
from phaseloop.core.limits import Limits
from phaseloop.core.machine import fold
from phaseloop.core.plan import Finding
from phaseloop.core.process import FLAT
from phaseloop.core.run_events import Who
from phaseloop.core.state import open_gates
from phaseloop.core.tools import EffectClass, ToolSpec
from phaseloop.core.words import Answered
from phaseloop.engine.desk import ToolLayer
from phaseloop.engine.host import Host
from phaseloop.engine.perform import Edge
from phaseloop.engine.ports import Returned
from phaseloop.roles.protocols import Roles
from tests.core.player import plan, think

ANN = Who("ann", "cli")
READ = ToolSpec("look", effect=EffectClass.READ)
WRITE = ToolSpec("book", conflict_key="room:{room}")
ASKED = ToolSpec("pay", approval=True)
TOOLS = (READ, WRITE, ASKED)
NO_WAIT = Limits(backoff_seconds=(0.0, 0.0, 0.0))


class Planner:
    def __init__(self, *plans):
        self.plans = plans or (plan(think("a")),)

    async def plan(self, request, desk):
        made = self.plans[min(request.version, len(self.plans)) - 1]
        if isinstance(made, Exception):
            raise made
        return made


class Executor:
    """Runs the coroutine function `work(request, desk)`; a plain value is the output."""

    def __init__(self, work="done"):
        self.work = work
        self.entered = []

    async def run(self, request, desk):
        self.entered.append((request.step.id, request.attempt))
        return await self.work(request, desk) if callable(self.work) else self.work


class Critic:
    def __init__(self, said=10.0):
        self.said = said

    async def judge(self, request, desk):
        if isinstance(self.said, Exception):
            raise self.said
        return Verdict(self.said, by="model")


class Tools:
    """The tool layer: `calls[name]` is a coroutine function of the arguments, else `{"of": name}` comes back."""

    def __init__(self, **calls):
        self.calls = calls
        self.sent = []
        self.verified = (None, None)

    def catalogue(self):
        return TOOLS

    async def call(self, tool, args, key):
        self.sent.append((tool, key))
        if tool in self.calls:
            made = await self.calls[tool](args)
            return made if isinstance(made, Returned) else Returned("ok", made)
        return Returned("ok", {"of": tool})

    async def verify(self, tool, args, key):
        return self.verified


class Conditions:
    def evaluate(self, expression, names):
        return expression != "false", ""


class Checks:
    def run(self, checks, output):
        return () if output != "bad" else (Finding("check", "bad"),)


class Rules:
    async def evaluate(self, check, names):
        if check == "boom":
            raise RuntimeError("boom")
        return {"passed": True}, ()


class NoBreakers:
    async def blocked(self, tool):
        return None

    async def note(self, tool, ok):
        return None


@dataclass
class Stage:
    planner: Any = field(default_factory=Planner)
    executor: Any = field(default_factory=Executor)
    critic: Any = field(default_factory=Critic)
    tools: Any = field(default_factory=Tools)
    children: Any = None
    breakers: Any = field(default_factory=NoBreakers)
    store: Any = field(default_factory=lambda: open_store("memory:"))
    now: int = 1_000

    def __post_init__(self):
        self.host = self.another_host("w1")

    def another_host(self, worker):
        return Host(self.store, self.store.runs, self.store.leases, self.edge, self.clock, worker)

    def clock(self):
        self.now += 1
        return self.now

    def edge(self, run_id, started):
        layer = ToolLayer(self.tools, self.store.locks, self.breakers, "w1", run_id)
        roles = Roles(self.planner, self.executor, self.critic)
        return Edge(roles, layer, Conditions(), Checks(), Rules(), self.children, self.clock, run_id)

    def begin(self, definition=FLAT, limits=NO_WAIT, goal="Do it", **more):
        return Begin(goal, definition, limits, TOOLS, **more)

    async def run(self, run_id="r1", **begin):
        return await self.host.drive(run_id, self.begin(**begin))

    async def names(self, run_id="r1"):
        return [type(r.event).__name__ for r in await self.store.read(run_id)]

    async def events(self, *types, run_id="r1"):
        return [r.event for r in await self.store.read(run_id) if isinstance(r.event, types)]

    async def state(self, run_id="r1"):
        return fold(await self.store.read(run_id))

    async def answer(self, outcome, value=None, comment="", run_id="r1", host=None):
        gate_id, gate = open_gates(await self.state(run_id))[0]
        word = Answered(gate_id, gate.asked.version, outcome, ANN, value, comment)
        return await (host or self.host).receive(run_id, word)

    async def until(self, name, run_id="r1", times=1):
        """Wait until an event of this name was appended `times` times."""
        for _ in range(2_000):
            if (await self.names(run_id)).count(name) >= times:
                return
            await asyncio.sleep(0)
        raise AssertionError(f"no {name} in {await self.names(run_id)}")

    async def close(self):
        await self.host.close()
        self.store.close()


def play(scene, **parts):
    """Run `scene(stage)` to its end, within five seconds, and leave nothing behind."""

    async def whole():
        stage = Stage(**parts)
        try:
            async with asyncio.timeout(5):
                return await scene(stage)
        finally:
            await stage.close()
            left = [t for t in asyncio.all_tasks() if t is not asyncio.current_task()]
            assert not left, f"tasks are left behind: {left}"

    return asyncio.run(whole())
