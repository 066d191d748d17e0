"""Figures of the store alone, codec and log: `python -m bench.store`."""

import asyncio
import os
import platform
import sqlite3
import statistics
import tempfile
import time
import timeit
from pathlib import Path

import msgspec

from phaseloop.adapters.codec import Codec
from phaseloop.adapters.sqlite_log import open_store
from phaseloop.core.call_events import ModelCallFinished, ToolCallFinished, ToolCallStarted, Usage
from phaseloop.core.limits import Limits
from phaseloop.core.process import FLAT
from phaseloop.core.run_events import RunStarted, SnapshotTaken
from phaseloop.core.tables import RunRow, Tables
from phaseloop.core.tools import ToolSpec

ROUND = (
    ToolCallStarted("c12", "orders.find", "01RUN:orders.find:9f2c31aa04be77d1:0", {"id": "A-1017"}, "s3", "s3"),
    ToolCallFinished("c12", result={"order": "A-1017", "total": 129.5, "open": True}, duration_ms=42),
)
SMALL = {
    "tool_call_started": ROUND[0],
    "tool_call_finished": ROUND[1],
    "model_call_finished": ModelCallFinished("c1", "step/s1/1", 1, {"parts": [{"text": "ok"}]}, usage=Usage(312, 44)),
}
SNAPSHOT = SnapshotTaken(
    FLAT, Limits(), tuple(ToolSpec(f"tool{n}", "does " * 40) for n in range(30)), {"p": "x" * 4000}
)


def best(act, number=200, rounds=200):
    """Microseconds a call, the best of many rounds: other load only makes it slower."""
    return min(timeit.repeat(act, number=number, repeat=rounds)) / number * 1e6


def codec():
    print("codec, microseconds an event (best of 200 rounds)")
    kit = Codec()
    for name, event in [*SMALL.items(), ("snapshot_taken (shared)", SNAPSHOT)]:
        row = kit.encode(event)
        blob = dict(row.blobs).__getitem__
        encode = best(lambda event=event: kit.encode(event))
        decode = best(lambda row=row, blob=blob: kit.decode(row.name, row.version, row.body, blob))
        print(f"  {name:<26} {len(row.body):>5} B   encode {encode:5.2f}   decode {decode:5.2f}")


async def one_run(store, run_id, appends, tables, waits):
    events = [RunStarted("find the order"), SNAPSHOT]
    seq = 0
    for n in range(appends):
        row = RunRow(run_id, "find the order", "flat", "running", started_at=1, tokens=n)
        start = time.perf_counter()
        await store.append(run_id, seq, 1_764_547_200_000 + n, events, Tables(row) if tables else None)
        waits.append(time.perf_counter() - start)
        seq += len(events)
        events = list(ROUND)
    return seq


async def load(store, runs, appends, tables):
    waits = []
    start, cpu = time.perf_counter(), time.process_time()
    counts = await asyncio.gather(*(one_run(store, f"01RUN{n:021}", appends, tables, waits) for n in range(runs)))
    wall, used, total = time.perf_counter() - start, time.process_time() - cpu, sum(counts)
    cuts = statistics.quantiles(waits, n=100)
    print(
        f"  {runs:>4} runs, {'with' if tables else 'no  '} tables: {total / wall:>8,.0f} events/s"
        f"   {used / total * 1e6:5.1f} us CPU an event   {runs * appends / store.commits:6.1f} appends a commit"
        f"   append p50 {cuts[49] * 1e3:.2f} p99 {cuts[98] * 1e3:.2f} ms"
    )
    return total


def log(slow_ms):
    print(f"log on a file, synchronous=FULL, +{slow_ms} ms a commit")
    for runs, appends in ((1, 400), (50, 100), (200, 50)):
        for tables in (False, True):
            with tempfile.TemporaryDirectory() as folder:
                store = open_store(str(Path(folder) / "store.db"), slow_ms=slow_ms)
                total = asyncio.run(load(store, runs, appends, tables))
                start = time.perf_counter()
                run_ids = asyncio.run(store.run_ids())
                read = sum(len(asyncio.run(store.read(run_id))) for run_id in run_ids)
                took = time.perf_counter() - start
                assert read == total
                store.close()
                size = sum(file.stat().st_size for file in Path(folder).iterdir())
    print(f"  read back and decoded: {read / took:,.0f} events/s; {size / read:.0f} B an event on disk")


def main():
    print(
        f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}, msgspec {msgspec.__version__},"
        f" {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    )
    codec()
    log(0)
    log(3)


if __name__ == "__main__":
    main()
