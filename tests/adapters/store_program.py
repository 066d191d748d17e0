"""A second process for the tests of the store: `python store_program.py ACT STORE ...`."""

import asyncio
import json
import os
import resource
import signal
import sqlite3
import sys
import time

from phaseloop.adapters.sqlite_log import open_store
from phaseloop.core.call_events import ToolCallFinished
from phaseloop.core.errors import LogBroken, LogConflict
from phaseloop.core.run_events import NoteAdded, Who


def note(text):
    return NoteAdded(text, Who("me"))


async def append(store, run_id, count, name):
    """Write `count` notes into a run that others write too: fold the tail and try again on a conflict."""
    seq, conflicts = 0, 0
    for n in range(int(count)):
        while True:
            try:
                await store.append(run_id, seq, 1, [note(f"{name}{n}")], None)
                seq += 1
                break
            except LogConflict:
                conflicts += 1
                seq += len(await store.read(run_id, seq))
    print(json.dumps({"conflicts": conflicts}))


async def hold(store, key, times, diary):
    """Take the lock again and again and write into the diary when it was held, in nanoseconds."""
    file = os.open(diary, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    for _ in range(int(times)):
        async with store.locks.hold(key, f"w{os.getpid()}"):
            start = time.monotonic_ns()
            await asyncio.sleep(0.002)
            os.write(file, f"{start} {time.monotonic_ns()}\n".encode())


async def keep(store, key):
    """Take the lock and never give it back."""
    await store.leases.take("r", "doomed")
    async with store.locks.hold(key, "doomed"):
        print("held", flush=True)
        await asyncio.Event().wait()


async def follow(store, run_id, count):
    """Print the sequence numbers of a run as they come."""
    print("following", flush=True)
    async for recorded in store.follow(run_id):
        print(recorded.seq, time.monotonic_ns(), flush=True)
        if recorded.seq == int(count):
            return


async def fill(store, limit):
    """Write until the file may not grow any more, make room, and write on."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), hard))
    seq, reason = 0, ""
    while not reason:
        try:
            await store.append("r", seq, 1, [ToolCallFinished("c", result="x" * 100_000)], None)
            seq += 1
        except LogBroken as error:
            reason = error.reason
    written = len(await store.read("r"))
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    await store.append("r", written, 1, [note("after")], None)
    print(json.dumps({"taken": seq, "written": written, "reason": reason, "after": len(await store.read("r"))}))


async def die(store):
    """Append until the fault hook kills this process; tells each append that was durable."""
    for seq in range(100):
        await store.append("r", seq, 1, [note(str(seq))], None)
        print(seq + 1, flush=True)


def killer(moment, nth):
    """A hook that ends the process, without a word, at the n-th `moment`."""
    left = [int(nth)]

    def fault(now):
        left[0] -= now == moment
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    return fault


def main(act, url, *values):
    if act == "lock-file":
        db = sqlite3.connect(url, isolation_level=None)
        db.execute("BEGIN EXCLUSIVE")
        print("locked", flush=True)
        sys.stdin.read()
        return
    if act == "die":
        store, values = open_store(url, fault=killer(*values)), ()
    else:
        store = open_store(url)
    try:
        asyncio.run(globals()[act](store, *values))
    finally:
        store.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
