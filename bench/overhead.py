"""What the machine costs: bound steps under load, open steps above the model library, fold, bytes."""

import asyncio
import gc
import statistics
import tempfile
import time
from pathlib import Path

from pydantic_ai import Agent, Tool
from ulid import ULID

from bench.report import Row, Watch
from bench.stage import READ, FixedPlanner, Tools, begin, chain_plan, echo, hosted
from phaseloop.adapters.model_roles import ModelExecutor
from phaseloop.adapters.scripted_model import Rule, ScriptedModel
from phaseloop.adapters.sqlite_log import open_store
from phaseloop.core.events import BODIES
from phaseloop.core.machine import fold
from phaseloop.core.plan import Plan, Step
from phaseloop.core.plan_events import PlanUpdated
from phaseloop.core.run_events import RunStarted
from phaseloop.core.tools import EffectClass, ToolSpec
from phaseloop.core.values import digest, size
from phaseloop.roles.protocols import ModelReply, Roles

AT_ONCE = 200


async def gathered(host, start, runs, at_once):
    """Drive `runs` runs, `at_once` at any moment, and return the id of the last."""
    ids = [str(ULID()) for _ in range(runs)]
    left = iter(ids)

    async def worker():
        for run_id in left:
            state = await host.drive(run_id, start)
            assert state.status == "completed", state.failure

    await asyncio.gather(*(worker() for _ in range(at_once)))
    return ids[-1]


def disk(folder):
    """Bytes of all files of a store."""
    return sum(file.stat().st_size for file in Path(folder).iterdir())


# ---- bound steps


async def _bound(folder, runs, at_once, rounds):
    roles = Roles(FixedPlanner(chain_plan(3)), None, None)
    start = begin((READ,))
    best = None
    async with hosted(folder, roles, Tools((READ,), echo)) as (host, store):
        events = len(await store.read(await gathered(host, start, at_once, at_once)))
        for _ in range(rounds):
            gc.collect()
            with Watch() as watch:
                await gathered(host, start, runs, at_once)
            best = watch if best is None or watch.wall < best.wall else best
    return events, best


def bound_row(runs=3000, at_once=AT_ONCE, rounds=3):
    """Runs of three bound read steps, each of which needs the one before; tools without work; synchronous=FULL."""
    with tempfile.TemporaryDirectory() as folder:
        events, watch = asyncio.run(_bound(folder, runs, at_once, rounds))
        size_on_disk = disk(folder) / (runs * rounds + at_once)
    cpu = watch.cpu / runs * 1e3
    loaded = at_once > 1
    return Row(
        "overhead",
        f"three bound reads a run, {at_once} at once, synchronous=FULL",
        runs,
        {
            "events/s": runs * events / watch.wall,
            "runs/s": runs / watch.wall,
            "CPU ms a run": cpu,
            "CPU ms a bound step": cpu / 3,
            "events a run": events,
            "kB a run on disk": size_on_disk / 1e3,
        },
        {"events/s": ">= 15000", "runs/s": ">= 1000", "CPU ms a bound step": "<= 0.3"} if loaded else {},
        wall=watch.wall,
        cpu=watch.cpu,
        notes=f"best of {rounds}",
    )


# ---- open steps

LOOK = ToolSpec(
    "look",
    "Looks a word up.",
    effect=EffectClass.READ,
    input_schema={"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]},
)
CALLS = 7  # four model calls and three tool calls


def script(turns=3, result_bytes=0):
    """A model that looks up `turns` words, one a reply, and then answers."""
    calls = tuple({"tool": "look", "args": {"q": f"word {n}"}} for n in range(turns))
    return ScriptedModel([Rule(".", (*calls, "all words were found"), tokens=(100, 20))])


def open_plan():
    return Plan("measure", (Step("1", "Look three words up and say what they mean", "look"),))


async def _plain(runs, at_once):
    async def look(q: str) -> dict:
        """Looks a word up."""
        return {"v": q}

    agent = Agent(script(), output_type=str, tools=[Tool(look)])
    left = iter(range(runs))

    async def worker():
        for _ in left:
            ended = await agent.run("Look three words up and say what they mean")
            assert ended.output == "all words were found"

    await asyncio.gather(*(worker() for _ in range(at_once)))


async def _open(folder, runs, at_once, rounds):
    """CPU seconds a run, ours and the library's alone, measured in turns."""
    roles = Roles(FixedPlanner(open_plan()), ModelExecutor(script()), None)
    start = begin((LOOK,))
    own, plain = [], []
    async with hosted(folder, roles, Tools((LOOK,), echo)) as (host, _):
        await gathered(host, start, at_once, at_once)
        await _plain(at_once, at_once)
        for _ in range(rounds):
            gc.collect()
            with Watch() as watch:
                await gathered(host, start, runs, at_once)
            own.append(watch.cpu / runs)
            gc.collect()
            with Watch() as watch:
                await _plain(runs, at_once)
            plain.append(watch.cpu / runs)
    return own, plain


def open_row(runs=200, at_once=50, rounds=5):
    """An open step of four model replies and three tool calls, beside the model library on the same script."""
    with Watch() as watch, tempfile.TemporaryDirectory() as folder:
        own, plain = asyncio.run(_open(folder, runs, at_once, rounds))
    return Row(
        "overhead",
        f"open step, 4 model and 3 tool calls, {at_once} at once",
        runs * rounds,
        {
            "CPU ms a run": min(own) * 1e3,
            "CPU ms a run, the model library alone": min(plain) * 1e3,
            "CPU ms a call above the library": (min(own) - min(plain)) / CALLS * 1e3,
        },
        {"CPU ms a call above the library": "<= 0.6"},
        wall=watch.wall,
        cpu=watch.cpu,
        notes=f"least of {rounds} turns",
    )


# ---- fold

TURNS, STEPS = 25, 50


class Talker:
    """An executor that asks a model and calls a tool, many times; no library is in it."""

    async def run(self, request, desk):
        for n in range(TURNS):
            args = {"q": f"{request.step.id} word {n}"}
            reply = {"parts": [{"part_kind": "tool-call", "tool_name": "look", "args": args}]}

            async def send(reply=reply, args=args):
                return ModelReply(reply, (digest("look", args),))

            await desk.model("executor", "none", f"f{n}", send, prompt="look" if n == 0 else None)
            await desk.call("look", args, i=0)
        return "done"


async def _history(folder):
    plan = Plan("measure", tuple(Step(str(n), f"think {n}", "look") for n in range(STEPS)))
    roles = Roles(FixedPlanner(plan), Talker(), None)
    async with hosted(folder, roles, Tools((LOOK,), echo)) as (host, _):
        state = await host.drive("long", begin((LOOK,), plan_steps=STEPS, equal_reads=TURNS + 1))
        assert state.status == "completed", state.failure


def fold_row(rounds=20):
    """A run of about 5,000 events, read from its file, decoded and folded."""
    with Watch() as watch, tempfile.TemporaryDirectory() as folder:
        asyncio.run(_history(folder))
        store = open_store(str(Path(folder) / "runs.db"))
        times = []
        for _ in range(rounds):
            start = time.process_time()
            history = asyncio.run(store.read("long"))
            state = fold(history)
            times.append(time.process_time() - start)
        store.close()
    assert state.over
    scale = 5000 / len(history)
    return Row(
        "overhead",
        f"read, decode and fold {len(history)} events",
        rounds,
        {
            "ms for 5,000 events, least": min(times) * scale * 1e3,
            "ms for 5,000 events, median": statistics.median(times) * scale * 1e3,
        },
        {"ms for 5,000 events, least": "<= 60"},
        wall=watch.wall,
        cpu=watch.cpu,
    )


# ---- bytes


async def _wordy(folder, calls):
    async def act(tool, args):
        return args["q"] + " " + "x" * 2000

    roles = Roles(FixedPlanner(open_plan()), ModelExecutor(script(calls)), None)
    async with hosted(folder, roles, Tools((LOOK,), act)) as (host, store):
        state = await host.drive("wordy", begin((LOOK,), rounds=calls + 1))
        assert state.status == "completed", state.failure
        return await store.read("wordy")


def payload(history):
    """Bytes of arguments, results, prompts and replies, the goal and the plan among them."""
    carried = []
    for one in history:
        carried += [getattr(one.event, name, None) for name in BODIES]
        match one.event:
            case RunStarted():
                carried.append(one.event.goal)
            case PlanUpdated():
                carried += [[step.action, step.call and dict(step.call.args)] for step in one.event.steps]
    return sum(size(body) for body in carried if body not in (None, "", {}, []))


def _bytes(calls):
    with tempfile.TemporaryDirectory() as folder:
        open_store(str(Path(folder) / "runs.db")).close()
        empty = disk(folder)
        history = asyncio.run(_wordy(folder, calls))
        return len(history), payload(history), disk(folder) - empty


def bytes_row():
    """Twenty calls of 2 kB each through the model loop, and forty: what the file grows by."""
    with Watch() as watch:
        events, carried, grown = _bytes(20)
        _, _, doubled = _bytes(40)
    return Row(
        "overhead",
        "log of 20 calls of 2 kB",
        1,
        {
            "events": events,
            "payload kB": carried / 1e3,
            "log kB": grown / 1e3,
            "log over 1.5 x payload + 300 B an event": grown / (1.5 * carried + 300 * events),
            "40 calls over 20 calls": doubled / grown,
        },
        {"log over 1.5 x payload + 300 B an event": "<= 1", "40 calls over 20 calls": "<= 2.1"},
        wall=watch.wall,
        cpu=watch.cpu,
    )


def rows():
    """Everything of `python -m bench overhead` but the peers."""
    yield bound_row()
    yield bound_row(runs=300, at_once=1, rounds=1)
    yield open_row()
    yield fold_row()
    yield bytes_row()
