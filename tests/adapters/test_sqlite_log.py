"""The SQLite store keeps the contract, on file and in memory; failing commits; many loops."""

import asyncio
import sqlite3
import threading
import time

import pytest

from phaseloop.adapters.sqlite_log import open_store
from phaseloop.core.errors import LogBroken, LogConflict, RecordUnreadable, StoreUnusable, WrongUse
from phaseloop.core.tables import Tables
from tests.adapters.lease_contract import LeaseContract
from tests.adapters.log_contract import START, Clock, LogContract, first, note, row


class TestOnFile(LogContract, LeaseContract):
    def open(self, clock=None):
        return open_store(f"sqlite:///{self.folder}/deep/er/store.db", clock=clock)


class TestInMemory(LogContract, LeaseContract):
    def open(self, clock=None):
        return open_store("memory:", clock=clock)


def failing(moment, nth):
    left = [nth]

    def fault(now):
        left[0] -= now == moment
        if left[0] == 0 and now == moment:
            raise sqlite3.OperationalError("database or disk is full")

    return fault


@pytest.mark.parametrize(("moment", "written"), [("before", 0), ("after", 10)])
def test_a_failed_commit_is_unknown_to_every_append_in_it(open_stores, moment, written):
    held = threading.Event()
    fail = failing(moment, 2)

    def fault(now):
        if not held.is_set() and now == "before":
            held.wait(10)  # until all ten wait in one batch behind this commit
        fail(now)

    store = open_stores(fault=fault)

    async def main():
        opening = asyncio.create_task(store.append("first", 0, 1, [START], None))
        await asyncio.sleep(0.05)
        calls = [asyncio.create_task(store.append(f"r{n}", 0, 1, [START], Tables(row(f"r{n}")))) for n in range(10)]
        await asyncio.sleep(0)
        held.set()
        await opening
        ends = await asyncio.gather(*calls, return_exceptions=True)
        assert all(isinstance(end, LogBroken) for end in ends)
        assert "database or disk is full" in str(ends[0])
        found = [x.run_id for x in await store.runs.list_runs()]
        assert len(found) == written
        again = await asyncio.gather(
            *(store.append(f"r{n}", 0, 1, [START], None) for n in range(10)), return_exceptions=True
        )
        assert sum(isinstance(end, LogConflict) for end in again) == written
        return [len(await store.read(f"r{n}")) for n in range(10)]

    assert asyncio.run(main()) == [1] * 10


def test_a_job_that_fails_in_an_unforeseen_way_fails_alone(open_stores):
    store = open_stores()

    async def main():
        good = [store.append(f"r{n}", 0, 1, [START], None) for n in range(5)]
        return await asyncio.gather(*good, store.append("\ud800", 0, 1, [START], None), return_exceptions=True)

    *good, bad = asyncio.run(main())
    assert good == [None] * 5
    assert isinstance(bad, LogBroken)
    assert "surrogates not allowed" in str(bad)


def test_broken_unicode_is_a_key_like_any_other_and_no_run(open_stores):
    store = open_stores()

    async def main():
        async with store.locks.hold("calendar:\ud800", "w"):
            with pytest.raises(WrongUse, match="broken Unicode"):
                await store.read("\ud800")
        return True

    assert asyncio.run(main())


def test_of_those_who_see_a_lock_free_at_the_same_moment_one_gets_it(open_stores):
    stores = [open_stores() for _ in range(4)]
    inside = []

    async def one(store):
        for _ in range(5):
            async with store.locks.hold("k", "w"):
                inside.append(store)
                assert len(inside) == 1
                await store.leases.beat("w")  # as long as a commit: time for a second one to come in
                await store.leases.beat("w")
                inside.remove(store)

    async def main():
        await asyncio.gather(*(one(store) for store in stores))

    asyncio.run(asyncio.wait_for(main(), 30))


def test_a_lock_whose_release_was_lost_is_free_again(open_stores):
    store = open_stores(fault=failing("before", 2))

    async def main():
        async with store.locks.hold("k", "w"):  # commit 1; its release is commit 2, which fails
            pass
        async with store.locks.hold("k", "w"):
            return True

    assert asyncio.run(asyncio.wait_for(main(), 10))


def test_a_heartbeat_sweeps_a_lock_whose_release_was_lost(open_stores):
    clock = Clock()
    store, other = open_stores(clock=clock, fault=failing("before", 2)), open_stores(clock=clock)

    async def main():
        async with store.locks.hold("k", "w"):
            pass
        await store.leases.beat("w")
        async with other.locks.hold("k", "other"):
            return True

    assert asyncio.run(asyncio.wait_for(main(), 10))


def test_appends_of_many_runs_share_commits(open_stores):
    store = open_stores(slow_ms=5)

    async def run(n):
        for seq in range(5):
            await store.append(f"r{n}", seq, 1, [note("x")], None)

    async def main():
        await asyncio.gather(*(run(n) for n in range(50)))
        return [len(await store.read(f"r{n}")) for n in range(50)]

    assert asyncio.run(main()) == [5] * 50
    assert store.commits <= 15


def test_several_event_loops_may_use_one_store(open_stores):
    store = open_stores()
    heard = []

    def listen():
        heard.extend(asyncio.run(asyncio.wait_for(first(3, store.follow("r")), 10)))

    async def write(n):
        await store.append(f"own{n}", 0, 1, [START], None)

    listener = threading.Thread(target=listen)
    writers = [threading.Thread(target=lambda n=n: asyncio.run(write(n))) for n in range(4)]
    for thread in [listener, *writers]:
        thread.start()
    asyncio.run(store.append("r", 0, 1, [note("a"), note("b"), note("c")], None))
    for thread in [listener, *writers]:
        thread.join(10)
    assert [x.seq for x in heard] == [1, 2, 3]
    assert asyncio.run(store.run_ids()) == ["own0", "own1", "own2", "own3", "r"]


def test_idle_followers_cost_next_to_nothing(open_stores):
    store = open_stores()

    async def main():
        followers = [asyncio.create_task(first(1, store.follow(f"r{n}"))) for n in range(50)]
        await asyncio.sleep(0.05)
        before = time.process_time()
        await asyncio.sleep(0.5)
        used = time.process_time() - before
        for follower in followers:
            follower.cancel()
        await asyncio.gather(*followers, return_exceptions=True)
        return used

    assert asyncio.run(main()) < 0.1
    assert not store._writer.bell.has_ears


def test_what_was_queued_is_written_before_the_store_closes(store_path):
    store = open_store(store_path, slow_ms=20)

    async def main():
        tasks = [asyncio.create_task(store.append(f"r{n}", 0, 1, [START], None)) for n in range(5)]
        await asyncio.sleep(0)
        store.close()
        await asyncio.gather(*tasks)
        with pytest.raises(StoreUnusable, match="it was closed: open it again"):
            await store.append("r9", 0, 1, [START], None)

    asyncio.run(main())
    store.close()
    again = open_store(store_path)
    assert len(asyncio.run(again.run_ids())) == 5
    again.close()


def test_a_spoiled_row_names_its_place(store_path, open_stores):
    store = open_stores()
    asyncio.run(store.append("r", 0, 1, [START], None))
    db = sqlite3.connect(store_path)
    db.execute("UPDATE events SET body = '{' WHERE run_id = 'r'")
    db.commit()
    db.close()
    with pytest.raises(RecordUnreadable, match="event run_started at 1 of run r cannot be read"):
        asyncio.run(store.read("r"))
