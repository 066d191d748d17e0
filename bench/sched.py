"""When steps run: exact arguments, makespan against the lower bound, and what the machine itself adds."""

import asyncio
import statistics
import tempfile

from bench import nestful
from bench.graphs import SETS, graphs, heads, lower_bound
from bench.report import Row, Watch, percentile
from bench.stage import FixedPlanner, Tools, begin, chain_plan, hosted
from bench.virtual import SPECS, level_barrier, makespan, plan_of
from phaseloop.core.plan import Call, Plan, Step
from phaseloop.roles.protocols import Roles

SEED = 7
BARS = {"3-8": "<= 1.02", "40": "<= 1.05"}
WORKERS = 8  # `max_parallel` as it is by default (contract section 8)


def exact_arguments():
    """Every NESTFUL graph through the real driver; a wrong argument anywhere is a miss."""
    with Watch() as watch:
        outcomes = [nestful.check(graph) for graph in nestful.load()]
    wrong = [f"{one.graph_id}: {'; '.join(one.wrong)}" for one in outcomes if one.wrong]
    results = [one.graph_id for one in outcomes if one.broken_result]
    arguments = [f"{one.graph_id} ({one.broken_argument!r})" for one in outcomes if one.broken_argument]
    return Row(
        "sched",
        "NESTFUL arguments",
        len(outcomes),
        {"calls": sum(one.calls for one in outcomes), "calls with wrong arguments": len(wrong)},
        {"calls with wrong arguments": "<= 0"},
        wall=watch.wall,
        cpu=watch.cpu,
        notes="; ".join(
            [
                *wrong,
                f"gold with a reference left as text: {', '.join(arguments)}",
                f"gold whose result names no step: {', '.join(results)}",
            ]
        ),
    )


def ratios(drawn, workers=None):
    """Makespan over lower bound of each graph in virtual time, and the most writes that ran at once."""
    found, at_once = [], 0
    for graph in drawn:
        seconds, most = makespan(graph, workers or 64)
        found.append(seconds / lower_bound(graph, workers))
        at_once = max(at_once, most)
    return found, at_once


def virtual_row(name, count=None, workers=None):
    """One set in virtual time, beside a level barrier in the scheduler's place."""
    drawn = graphs(name, SEED, count)
    with Watch() as watch:
        own, at_once = ratios(drawn, workers)
        with level_barrier():
            barrier, _ = ratios(drawn, workers)
    size = name.rpartition(" ")[2]
    return Row(
        "sched",
        f"{name} steps, virtual time" + (f", {workers} at once" if workers else ""),
        len(drawn),
        {
            "mean ratio to lower bound": statistics.mean(own),
            "p95 ratio": percentile(own, 0.95),
            "mean ratio of a level barrier": statistics.mean(barrier),
            "writes at once": at_once,
        },
        {"mean ratio to lower bound": BARS[size], "writes at once": "<= 1"},
        seed=SEED,
        wall=watch.wall,
        cpu=watch.cpu,
    )


async def _timed(host, run_id, plan_and_specs, act_log):
    start, cpu = asyncio.get_running_loop().time(), len(act_log)
    state = await host.drive(run_id, plan_and_specs)
    assert state.status == "completed", state.failure
    return asyncio.get_running_loop().time() - start, act_log[cpu:]


async def _hops(count, length, seconds):
    """Chains of sleeping reads: gaps from the end of one tool to the start of the next, and a run's whole excess."""
    log = []

    async def act(tool, args):
        began = asyncio.get_running_loop().time()
        await asyncio.sleep(seconds)
        log.append((began, asyncio.get_running_loop().time()))
        return {"v": args["q"]}

    tools = Tools(SPECS, act)
    gaps, excess = [], []
    with tempfile.TemporaryDirectory() as folder:
        async with hosted(folder, Roles(FixedPlanner(chain_plan(length)), None, None), tools) as (host, _):
            for n in range(count):
                wall, calls = await _timed(host, f"run{n}", begin(SPECS), log)
                gaps += [after[0] - before[1] for before, after in zip(calls, calls[1:], strict=False)]
                excess.append(wall - sum(end - start for start, end in calls))
    return gaps[length - 1 :], excess[1:]  # the first run warms up


def hop_row(count=60):
    """What the machine adds on the clock, one run at a time on a synced file."""
    with Watch() as watch:
        gaps, excess = asyncio.run(_hops(count, 5, 0.02))
    return Row(
        "sched",
        "chain of 5 reads of 20 ms on the clock",
        len(excess),
        {
            "excess a hop, median ms": statistics.median(gaps) * 1e3,
            "excess a hop, p95 ms": percentile(gaps, 0.95) * 1e3,
            "excess a run, median ms": statistics.median(excess) * 1e3,
        },
        {"excess a hop, median ms": "<= 1"},
        wall=watch.wall,
        cpu=watch.cpu,
    )


async def _graph_excess(drawn, scale):
    seconds = {}
    log = {}

    async def act(tool, args):
        began = asyncio.get_running_loop().time()
        await asyncio.sleep(seconds[args["name"]] * scale)
        log[args["name"]] = asyncio.get_running_loop().time() - began
        return args["name"]

    excess = []
    with tempfile.TemporaryDirectory() as folder:
        planner = FixedPlanner(None)
        async with hosted(folder, Roles(planner, None, None), Tools(SPECS, act)) as (host, _):
            for n, graph in enumerate(drawn):
                seconds = {node.name: node.seconds for node in graph}
                planner.plan_made = plan_of(graph)
                wall, _ = await _timed(host, f"run{n}", begin(SPECS, plan_steps=len(graph)), [])
                slept = [type(node)(node.name, node.waits, log[node.name], False) for node in graph]
                excess.append(wall - max(heads(slept)[node.name] + node.seconds for node in slept))
    return excess[1:]


def graph_excess_row(count=60):
    """Graphs of reads on the clock: how much longer a run takes than its longest path really slept."""
    drawn = [tuple(type(n)(n.name, n.waits, n.seconds, False) for n in g) for g in graphs("random 3-8", SEED, count)]
    with Watch() as watch:
        excess = asyncio.run(_graph_excess(drawn, 0.25))
    return Row(
        "sched",
        "random 3-8 reads of 12 to 100 ms on the clock",
        len(excess),
        {
            "excess a run, median ms": statistics.median(excess) * 1e3,
            "excess a run, p95 ms": percentile(excess, 0.95) * 1e3,
        },
        {"excess a run, median ms": "<= 5"},
        seed=SEED,
        wall=watch.wall,
        cpu=watch.cpu,
    )


async def _six(count):
    async def act(tool, args):
        await asyncio.sleep(0.5)
        return args["q"]

    steps = tuple(Step(str(n), f"read {n}", call=Call("read", {"q": n})) for n in range(6))
    plan = Plan("measure", steps, result=[{"$ref": str(n)} for n in range(6)])
    walls = []
    with tempfile.TemporaryDirectory() as folder:
        async with hosted(folder, Roles(FixedPlanner(plan), None, None), Tools(SPECS, act)) as (host, _):
            for n in range(count):
                walls.append((await _timed(host, f"run{n}", begin(SPECS), []))[0])
    return walls


def six_reads_row(count=20):
    """Six reads of half a second, together."""
    with Watch() as watch:
        walls = asyncio.run(_six(count))
    return Row(
        "sched",
        "six parallel reads of 0.5 s, the whole run",
        count,
        {"median over 0.5 s": statistics.median(walls) / 0.5, "slowest over 0.5 s": max(walls) / 0.5},
        {"median over 0.5 s": "<= 1.02"},
        wall=watch.wall,
        cpu=watch.cpu,
    )


def rows():
    """Everything of `python -m bench sched`."""
    yield exact_arguments()
    for name in SETS:
        yield virtual_row(name)
    for name in ("layered 40", "random 40"):
        yield virtual_row(name, workers=WORKERS)
    yield hop_row()
    yield graph_excess_row()
    yield six_reads_row()
