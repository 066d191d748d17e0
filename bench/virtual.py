"""Runs through the real driver in virtual time: an event loop whose clock jumps to the next timer."""

import asyncio
import selectors
from contextlib import asynccontextmanager, contextmanager

from bench.graphs import RESOURCE
from bench.stage import FixedPlanner, Tools, begin, edge
from phaseloop.core import scheduling
from phaseloop.core.plan import Call, Plan, Step
from phaseloop.core.state import ActivityStatus
from phaseloop.core.tools import EffectClass, ToolSpec
from phaseloop.engine.desk import ToolLayer
from phaseloop.engine.driver import Driver
from phaseloop.roles.protocols import Roles

SPECS = (
    ToolSpec("read", effect=EffectClass.READ),
    ToolSpec("write", effect=EffectClass.WRITE, conflict_key=RESOURCE, repeatable=True),
)


class _Jump(selectors.SelectSelector):
    """Does not wait: what a real selector would sleep is added to the loop's clock."""

    def __init__(self):
        super().__init__()
        self.now = 0.0

    def select(self, timeout=None):
        if timeout is None:
            raise RuntimeError("everybody waits and no timer is set: the run would hang")
        self.now += max(timeout, 0.0)
        return super().select(0)


class VirtualLoop(asyncio.SelectorEventLoop):
    """`time()` is virtual; only sleeping makes it pass."""

    def __init__(self):
        self._jump = _Jump()
        super().__init__(self._jump)

    def time(self):
        return self._jump.now


class MemoryLog:
    """Takes every append at once and keeps nothing but the count."""

    def __init__(self):
        self.events = 0

    async def append(self, run_id, expected_seq, at, events, tables):
        self.events += len(events)

    async def read(self, run_id, after=0):
        return []


class MemoryLocks:
    """First come, first served, as the store's locks are within a process."""

    def __init__(self):
        self._locks = {}

    @asynccontextmanager
    async def hold(self, key, owner):
        async with self._locks.setdefault(key, asyncio.Lock()):
            yield


class NoBreakers:
    async def blocked(self, tool):
        return None

    async def note(self, tool, ok):
        return None


def plan_of(graph):
    """The graph as a bound plan; every call has arguments of its own."""
    steps = (
        Step(
            node.name,
            f"do {node.name}",
            depends_on=node.waits,
            call=Call("write" if node.writes else "read", {"name": node.name}),
        )
        for node in graph
    )
    return Plan("measure", tuple(steps), result=[{"$ref": node.name} for node in graph])


async def _run(graph, max_parallel):
    seconds = {node.name: node.seconds for node in graph}
    writing = []
    most = 0

    async def act(tool, args):
        nonlocal most
        if tool == "write":
            writing.append(args["name"])
            most = max(most, len(writing))
        await asyncio.sleep(seconds[args["name"]])
        if tool == "write":
            writing.remove(args["name"])
        return args["name"]

    layer = ToolLayer(Tools(SPECS, act), MemoryLocks(), NoBreakers(), "bench", "r")
    roles = Roles(FixedPlanner(plan_of(graph)), None, None)
    driver = Driver("r", MemoryLog(), edge("r", roles, layer).perform, lambda: 0, "bench")
    start = begin(SPECS, plan_steps=len(graph), max_parallel=max_parallel, lint_reasks=1)
    state = await driver.drive(start)
    assert state.status == "completed", state.failure
    return asyncio.get_running_loop().time(), most


def makespan(graph, max_parallel=64):
    """Virtual seconds from start to end, and how many writes of the one resource ran at once at most."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(_run(graph, max_parallel))


@contextmanager
def level_barrier():
    """Inside, a step starts only when every step of all earlier levels is over, as in supersteps."""
    own = scheduling.waiting_steps
    scheduling.waiting_steps = _by_level
    try:
        yield
    finally:
        scheduling.waiting_steps = own


def _by_level(state):
    steps, order = state.steps, state.phase.plan.order
    level = {}
    for sid in order:
        level[sid] = 1 + max((level[d] for d in steps[sid].spec.depends_on), default=0)
    now = min((level[sid] for sid in order if not steps[sid].ended), default=0)
    return (steps[s] for s in order if level[s] == now and steps[s].status is ActivityStatus.PENDING)
