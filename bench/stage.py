"""What a measured run stands on: scripted planner, tools that do nothing or sleep, a host on a store."""

import time
from contextlib import asynccontextmanager
from pathlib import Path

from phaseloop.adapters.sqlite_log import open_store
from phaseloop.core.answers import Begin
from phaseloop.core.limits import CriticPower, Limits
from phaseloop.core.plan import Call, Plan, Step
from phaseloop.core.process import FLAT
from phaseloop.core.tools import EffectClass, ToolSpec
from phaseloop.engine.desk import ToolLayer
from phaseloop.engine.host import Host
from phaseloop.engine.perform import Edge
from phaseloop.engine.ports import Returned

READ = ToolSpec("read", effect=EffectClass.READ)
WORKER = "bench"


def clock():
    """Milliseconds since 1970 UTC."""
    return time.time_ns() // 1_000_000


class FixedPlanner:
    """Hands out one plan, whatever is asked."""

    def __init__(self, plan):
        self.plan_made = plan

    async def plan(self, request, desk):
        return self.plan_made


class Tools:
    """Tools whose work is `act(tool, args)`, a coroutine; none of ours is between it and the engine."""

    def __init__(self, specs, act):
        self.specs = specs
        self.act = act

    def catalogue(self):
        return self.specs

    async def call(self, tool, args, key):
        return Returned("ok", await self.act(tool, args))

    async def verify(self, tool, args, key):
        return None, None


class NoConditions:
    def evaluate(self, expression, names):
        return True, ""


class NoChecks:
    def run(self, checks, output):
        return ()


def edge(run_id, roles, layer):
    """The edge of a run that has neither conditions nor rules nor children."""
    return Edge(roles, layer, NoConditions(), NoChecks(), None, None, clock, run_id)


def begin(specs, goal="measure", **limits):
    """How a measured run starts: no critic, since a model's verdict is not what is measured."""
    return Begin(goal, FLAT, Limits(critic=CriticPower.NONE, deep_reflection=False, **limits), tuple(specs))


@asynccontextmanager
async def hosted(folder, roles, tools, slow_ms=0.0):
    """A host that drives runs on a store in `folder`, with `synchronous=FULL`."""
    store = open_store(str(Path(folder) / "runs.db"), slow_ms=slow_ms)

    def make_edge(run_id, _):
        return edge(run_id, roles, ToolLayer(tools, store.locks, store.breakers, WORKER, run_id))

    host = Host(store, store.runs, store.leases, make_edge, clock, WORKER)
    try:
        yield host, store
    finally:
        await host.close()
        store.close()


def chain_plan(length):
    """Bound reads, each of which needs the output of the one before."""

    def args(n):
        return {"q": {"$ref": str(n - 1), "path": "v"} if n > 1 else "start"}

    steps = (
        Step(str(n), f"read {n}", "read", (str(n - 1),) if n > 1 else (), call=Call("read", args(n)))
        for n in range(1, length + 1)
    )
    return Plan("measure", tuple(steps))


async def echo(tool, args):
    """A tool without work."""
    return {"v": args["q"]}
