"""Ten thousand runs that wait for a person: memory, disk, idle CPU, and how soon an answer moves one."""

import asyncio
import ctypes
import gc
import random
import sys
import tempfile
import time

from ulid import ULID

from bench.overhead import disk, payload
from bench.report import Row, Watch, percentile, resident_mb
from bench.stage import FixedPlanner, Tools, begin, hosted
from phaseloop.core.plan import Call, Plan, Step
from phaseloop.core.run_events import Who
from phaseloop.core.state import open_gates
from phaseloop.core.tools import EffectClass, ToolSpec
from phaseloop.core.words import Answered
from phaseloop.roles.protocols import Roles

RUNS, AT_ONCE, WARM, WOKEN, IDLE_SECONDS, SEED = 10_000, 100, 100, 300, 10.0, 7
ASKS = ToolSpec("send", effect=EffectClass.WRITE, approval=True, repeatable=True)
"""A write that always asks: its run parks at the gate, and the tool is the first thing that an answer starts."""
PLAN = Plan("measure", (Step("1", "send the letter", call=Call("send", {"text": "hello"})),))


def _trim():
    """Give free memory back, so that what is counted is what is held."""
    gc.collect()
    if sys.platform == "linux":
        ctypes.CDLL("libc.so.6").malloc_trim(0)


async def _park(host, start, runs):
    """The ids of new runs that wait at their gate."""
    ids = [str(ULID()) for _ in range(runs)]
    left = iter(ids)

    async def worker():
        for run_id in left:
            state = await host.drive(run_id, start)
            assert open_gates(state), state.status

    await asyncio.gather(*(worker() for _ in range(AT_ONCE)))
    return ids


async def _wake(host, called, run_id):
    """Seconds from the moment a person answers until the tool of the step that waited is called."""
    said = time.perf_counter()
    await host.receive(run_id, Answered("g1", 1, "approve", Who("ann", "cli"), key=f"{run_id}/g1"))
    state = await host.resume(run_id)
    assert state.status == "completed", state.failure
    return called.pop() - said


async def _measure(folder, runs, woken, idle):
    called = []

    async def act(tool, args):
        called.append(time.perf_counter())
        return "sent"

    figures = {}
    roles, tools, start = Roles(FixedPlanner(PLAN), None, None), Tools((ASKS,), act), begin((ASKS,))
    async with hosted(folder, roles, tools):
        pass
    files = disk(folder)
    async with hosted(folder, roles, tools) as (host, store):
        ids = await _park(host, start, WARM)
        _trim()
        memory = resident_mb()
        with Watch() as parking:
            ids += await _park(host, start, runs)
        _trim()
        figures["parked runs/s"] = runs / parking.wall
        figures["RSS grown by, MB"] = resident_mb() - memory
        carried = payload(await store.read(ids[-1]))
    figures["disk a run beyond its payload, kB"] = ((disk(folder) - files) / len(ids) - carried) / 1e3
    async with hosted(folder, roles, tools) as (host, _):
        for run_id in ids[:WARM]:
            await _wake(host, called, run_id)
        with Watch() as resting:
            await asyncio.sleep(idle)
        figures["CPU while idle, %"] = resting.cpu / resting.wall * 100
        figures["tasks while idle"] = len(asyncio.all_tasks()) - 1
        waits = [await _wake(host, called, run_id) for run_id in random.Random(SEED).sample(ids[WARM:], woken)]
        figures["wake p50, ms"] = percentile(waits, 0.5) * 1e3
        figures["wake p95, ms"] = percentile(waits, 0.95) * 1e3
    return figures


def parked_row(runs=RUNS, woken=WOKEN, idle=IDLE_SECONDS):
    """Runs parked at a tool-approval gate in one process, on a synced file."""
    with Watch() as watch, tempfile.TemporaryDirectory() as folder:
        figures = asyncio.run(_measure(folder, runs, woken, idle))
    return Row(
        "parked",
        "runs parked at a gate",
        runs,
        figures,
        {
            "RSS grown by, MB": "<= 10",
            "disk a run beyond its payload, kB": "<= 2",
            "CPU while idle, %": "<= 1",
            "wake p95, ms": "<= 20",
        },
        seed=SEED,
        wall=watch.wall,
        cpu=watch.cpu,
        notes=f"{woken} woken, idle for {idle:g} s",
    )


def rows():
    """Everything of `python -m bench parked`."""
    yield parked_row()
