"""Several processes on one SQLite store: nothing lost, nobody missed, one holder a lock; kills and full disks."""

import asyncio
import json
import time

import pytest

from phaseloop.adapters.sqlite_log import open_store
from phaseloop.core.errors import LogBroken, StoreUnusable
from tests.adapters.log_contract import START, Clock, note


def told(process):
    """What the process printed, once it has ended well."""
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    return out


def test_processes_that_write_into_one_run_lose_nothing(store_path, open_stores, second_process):
    store = open_stores()
    writers = [second_process("append", store_path, "r", 60, name) for name in "abc"]
    conflicts = sum(json.loads(told(writer))["conflicts"] for writer in writers)
    history = asyncio.run(store.read("r"))
    assert [x.seq for x in history] == list(range(1, 181))
    for name in "abc":
        assert [x.event.text for x in history if x.event.text[0] == name] == [f"{name}{n}" for n in range(60)]
    assert conflicts > 0, "the writers never met: the test shows nothing"


def test_a_store_may_be_created_by_several_processes_at_once(store_path, second_process):
    writers = [second_process("append", store_path, f"r{n}", 1, "x") for n in range(4)]
    for writer in writers:
        told(writer)
    store = open_store(store_path)
    assert asyncio.run(store.run_ids()) == ["r0", "r1", "r2", "r3"]
    store.close()


def test_a_follower_in_another_process_hears_within_a_moment(store_path, open_stores, second_process):
    store = open_stores()

    async def main():
        follower = second_process("follow", store_path, "r", 100)
        assert follower.stdout.readline() == "following\n"
        sent = []
        for seq in range(100):
            await store.append("r", seq, 1, [note("x")], None)
            sent.append(time.monotonic_ns())
            if seq % 10 == 0:
                await asyncio.sleep(0.03)
        return sent, told(follower).splitlines()

    sent, lines = asyncio.run(main())
    heard = [tuple(map(int, line.split())) for line in lines]
    assert [seq for seq, _ in heard] == list(range(1, 101))
    waits = sorted(at - sent[seq - 1] for seq, at in heard)
    assert waits[50] < 500e6


def test_a_lock_has_one_holder_over_all_processes(store_path, open_stores, second_process, tmp_path):
    open_stores()
    diary = tmp_path / "diary"
    for process in [second_process("hold", store_path, "calendar:a", 15, diary) for _ in range(3)]:
        told(process)
    spans = sorted(tuple(map(int, line.split())) for line in diary.read_text().splitlines())
    assert len(spans) == 45
    assert all(end < begin for (_, end), (begin, _) in zip(spans, spans[1:], strict=False))


def test_the_lock_and_the_lease_of_a_killed_process_are_free_five_seconds_later(
    store_path, open_stores, second_process
):
    clock = Clock()
    store = open_stores(clock=clock)
    doomed = second_process("keep", store_path, "k")
    assert doomed.stdout.readline() == "held\n"
    doomed.kill()
    doomed.wait()
    clock.now = time.time_ns() // 1_000_000

    async def main():
        assert await store.leases.holder("r") == "doomed"

        async def take():
            async with store.locks.hold("k", "heir"):
                return True

        waiting = asyncio.create_task(take())
        await asyncio.sleep(0.1)
        assert not waiting.done()
        clock.now += 6000
        assert await store.leases.holder("r") is None
        return await asyncio.wait_for(waiting, 5)

    assert asyncio.run(main())


def test_a_living_holder_keeps_its_lock_by_its_heartbeat(store_path, open_stores):
    clock = Clock()
    mine, other = open_stores(clock=clock), open_stores(clock=clock)

    async def main():
        async def take():
            async with other.locks.hold("k", "other"):
                return True

        async with mine.locks.hold("k", "me"):
            waiting = asyncio.create_task(take())
            for _ in range(3):
                clock.now += 4000
                await mine.leases.beat("me")
                await asyncio.sleep(0.03)
                assert not waiting.done()
        return await asyncio.wait_for(waiting, 5)

    assert asyncio.run(main())


@pytest.mark.parametrize("nth", [1, 2, 5])
@pytest.mark.parametrize(("moment", "more"), [("before", 0), ("after", 1)])
def test_a_kill_around_a_commit_leaves_whole_appends_only(store_path, second_process, moment, more, nth):
    doomed = second_process("die", store_path, moment, nth)
    out, _ = doomed.communicate(timeout=60)
    assert doomed.returncode == -9
    confirmed = [int(line) for line in out.split()]
    assert confirmed == list(range(1, nth))
    store = open_store(store_path)
    history = asyncio.run(store.read("r"))
    assert [x.seq for x in history] == list(range(1, nth + more))
    asyncio.run(store.append("r", len(history), 1, [note("goes on")], None))
    store.close()


def test_a_full_disk_breaks_the_append_and_loses_nothing(store_path, second_process):
    said = json.loads(told(second_process("fill", store_path, 1_500_000)))
    assert said["taken"] == said["written"] > 3
    assert said["after"] == said["written"] + 1
    assert "disk" in said["reason"]


def test_a_locked_database_is_told_when_opening_and_when_writing(store_path, second_process):
    store = open_store(store_path, busy_seconds=0.1)
    blocker = second_process("lock-file", store_path)
    assert blocker.stdout.readline() == "locked\n"
    with pytest.raises(StoreUnusable, match="database is locked; another process holds it"):
        open_store(store_path, busy_seconds=0.1)
    with pytest.raises(LogBroken, match="database is locked; another process holds it"):
        asyncio.run(store.append("r", 0, 1, [START], None))
    blocker.communicate(timeout=10)
    asyncio.run(store.append("r", 0, 1, [START], None))
    store.close()
