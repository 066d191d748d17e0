"""What every store promises; a test class of an adapter inherits it and says how to open one."""

import asyncio
from contextlib import aclosing
from dataclasses import replace

import pytest

from phaseloop.core.call_events import ToolCallFinished
from phaseloop.core.errors import LogConflict, RecordUnreadable, WrongUse
from phaseloop.core.limits import Limits
from phaseloop.core.process import FLAT
from phaseloop.core.run_events import DriveStarted, NoteAdded, RunStarted, SnapshotTaken, Who
from phaseloop.core.tables import GateRow, RunRow, Tables, TimerRow

START = RunStarted("find the order")


def note(text):
    return NoteAdded(text, Who("me"))


def row(run_id, state="running", started_at=1, **more):
    return RunRow(run_id, "title", "flat", state, started_at=started_at, **more)


class Clock:
    """A time that stands still until it is moved."""

    def __init__(self, now=1_000_000):
        self.now = now

    def __call__(self):
        return self.now


async def first(count, history):
    found = []
    async with aclosing(history):
        async for recorded in history:
            found.append(recorded)
            if len(found) == count:
                break
    return found


class LogContract:
    """Inherit and give `open(clock)`, which returns a fresh store."""

    def open(self, clock=None):
        raise NotImplementedError

    @pytest.fixture(autouse=True)
    def _place(self, tmp_path):
        self.folder = tmp_path
        self.clock = Clock()
        self.store = self.open(self.clock)
        yield
        self.store.close()

    # ---- append and read

    def test_what_was_appended_is_read_in_order_from_one(self):
        async def main():
            await self.store.append("r", 0, 5, [START, DriveStarted(1, "w")], None)
            await self.store.append("r", 2, 6, [note("a")], None)
            return await self.store.read("r"), await self.store.read("r", 2), await self.store.read("other")

        whole, tail, nothing = asyncio.run(main())
        assert [(x.run_id, x.seq, x.at, x.event) for x in whole] == [
            ("r", 1, 5, START),
            ("r", 2, 5, DriveStarted(1, "w")),
            ("r", 3, 6, note("a")),
        ]
        assert tail == whole[2:]
        assert nothing == []

    def test_large_bodies_and_snapshots_come_back_whole(self):
        events = [SnapshotTaken(FLAT, Limits()), ToolCallFinished("c1", result=["x" * 20_000])]

        async def main():
            await self.store.append("r", 0, 1, events, None)
            return [x.event for x in await self.store.read("r")]

        assert asyncio.run(main()) == events

    def test_a_reference_of_the_envelope_is_found_in_the_store(self):
        async def main():
            await self.store.append("r", 0, 1, [ToolCallFinished("c1", result="x" * 9000)], None)
            return (await self.store.read("r"))[0]

        wire = self.store.codec.envelope(asyncio.run(main()))
        assert self.store.blob(wire["result_ref"]) == b'"' + b"x" * 9000 + b'"'
        with pytest.raises(RecordUnreadable, match="the store does not have it"):
            self.store.blob("0" * 64)

    @pytest.mark.parametrize("expected", [0, 1, 2])
    def test_a_taken_place_is_refused_even_for_an_equal_event(self, expected):
        async def main():
            await self.store.append("r", 0, 1, [note("a"), note("b"), note("c")], None)
            with pytest.raises(LogConflict) as conflict:
                await self.store.append("r", expected, 1, [note("abc"[expected]), note("d"), note("e")], None)
            assert (conflict.value.run_id, conflict.value.seq) == ("r", expected + 1)
            return len(await self.store.read("r"))

        assert asyncio.run(main()) == 3

    def test_a_gap_is_refused(self):
        async def main():
            with pytest.raises(WrongUse, match="run r ends at 0: an append after 1 would leave a gap"):
                await self.store.append("r", 1, 1, [note("a")], None)
            return await self.store.read("r")

        assert asyncio.run(main()) == []

    def test_a_conflict_spoils_nobody_else_and_only_one_of_equals_wins(self):
        async def main():
            calls = [
                self.store.append(f"r{run}", 0, 1, [START, note(str(rival))], None)
                for run in range(40)
                for rival in range(3)
            ]
            ends = await asyncio.gather(*calls, return_exceptions=True)
            histories = [await self.store.read(f"r{run}") for run in range(40)]
            return ends, histories

        ends, histories = asyncio.run(main())
        assert ends.count(None) == 40
        assert sum(isinstance(end, LogConflict) for end in ends) == 80
        assert {len(history) for history in histories} == {2}

    def test_a_refused_append_leaves_no_tables_behind(self):
        async def main():
            await self.store.append("r", 0, 1, [START], Tables(row("r", "running")))
            with pytest.raises(LogConflict):
                await self.store.append("r", 0, 1, [START], Tables(row("r", "failed")))
            return await self.store.runs.run_row("r")

        assert asyncio.run(main()) == row("r", "running")

    def test_an_append_that_nobody_waits_for_any_more_is_still_written(self):
        async def main():
            task = asyncio.create_task(self.store.append("r", 0, 1, [START], None))
            await asyncio.sleep(0)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            with pytest.raises(LogConflict):
                await self.store.append("r", 0, 1, [note("b")], None)
            return await self.store.read("r")

        assert [x.event for x in asyncio.run(main())] == [START]

    # ---- derived tables

    def test_derived_rows_of_a_run_are_replaced_as_a_whole(self):
        gate = GateRow("g1", 1, "exit", "confirm", "a1", "Sure?", opened_at=3, timeout_at=9)
        other = GateRow("g2", 1, "exit", "confirm", "a2", "Sure?", opened_at=2)

        async def main():
            runs = self.store.runs
            tables = Tables(row("r"), (gate, other), (TimerRow("t1", 7), TimerRow("t2", 5)))
            await self.store.append("r", 0, 1, [START], tables)
            before = await runs.open_gates(), await runs.open_gates("r"), await runs.timers_due(7)
            second = Tables(row("r", "waiting", tokens=5, cost_usd=0.25, ended_at=8), (replace(gate, version=2),))
            await self.store.append("r", 1, 1, [note("a")], second)
            await self.store.append("r", 2, 1, [note("unchanged")], None)
            return before, (await runs.open_gates(), await runs.timers_due(99), await runs.run_row("r"))

        before, after = asyncio.run(main())
        assert before == ([("r", other), ("r", gate)],) * 2 + ([("r", TimerRow("t2", 5)), ("r", TimerRow("t1", 7))],)
        assert after == (
            [("r", replace(gate, version=2))],
            [],
            row("r", "waiting", tokens=5, cost_usd=0.25, ended_at=8),
        )

    def test_timers_are_due_from_their_moment_on(self):
        async def main():
            await self.store.append("r", 0, 1, [START], Tables(row("r"), (), (TimerRow("t", 5),)))
            return [await self.store.runs.timers_due(now) for now in (4, 5)]

        assert asyncio.run(main()) == [[], [("r", TimerRow("t", 5))]]

    def test_the_run_list_has_the_newest_first_and_may_be_narrowed(self):
        async def main():
            for n, state in enumerate(["running", "failed", "running"]):
                await self.store.append(f"r{n}", 0, n, [START], Tables(row(f"r{n}", state, started_at=n)))
            runs = self.store.runs
            lists = await runs.list_runs(), await runs.list_runs("running"), await runs.list_runs(limit=1)
            return [[x.run_id for x in rows] for rows in lists], await runs.run_row("none")

        assert asyncio.run(main()) == ([["r2", "r1", "r0"], ["r2", "r0"], ["r2"]], None)

    def test_gates_of_one_run_are_told_apart(self):
        gate = GateRow("g1", 1, "exit", "confirm", "a1", "Sure?")

        async def main():
            await self.store.append("r1", 0, 1, [START], Tables(row("r1"), (gate,)))
            await self.store.append("r2", 0, 1, [START], Tables(row("r2"), (gate,)))
            return await self.store.runs.open_gates("r2"), await self.store.runs.open_gates()

        assert asyncio.run(main()) == ([("r2", gate)], [("r1", gate), ("r2", gate)])

    def test_derived_tables_can_be_rebuilt_from_the_events(self):
        async def main():
            store = self.store
            await store.append("r1", 0, 1, [START], Tables(row("r1", "wrong"), (), (TimerRow("t", 1),)))
            await store.append("r2", 0, 1, [START], None)
            await store.append("ghost", 0, 1, [], Tables(row("ghost")))
            moved = []

            async def fold(run_id):
                if run_id == "r2" and not moved:  # somebody appends while the run is folded
                    moved.append(run_id)
                    await store.append("r2", 1, 1, [note("a")], None)
                    return Tables(row("r2", "outdated"))
                return Tables(row(run_id, f"{len(await store.read(run_id))} events"))

            count = await store.rebuild(fold)
            return count, await store.run_ids(), await store.runs.list_runs(), await store.runs.timers_due(9)

        count, run_ids, rows, timers = asyncio.run(main())
        assert (count, run_ids, timers) == (2, ["r1", "r2"], [])
        assert [(x.run_id, x.state) for x in rows] == [("r2", "2 events"), ("r1", "1 events")]

    # ---- follow

    def test_a_follower_gets_the_past_and_all_that_comes_without_gap(self):
        async def main():
            await self.store.append("r", 0, 1, [note("0"), note("1")], None)
            followers = [asyncio.create_task(first(200, self.store.follow("r"))) for _ in range(3)]
            late = asyncio.create_task(first(150, self.store.follow("r", 50)))
            for seq in range(2, 200):
                await self.store.append("r", seq, 1, [note(str(seq))], None)
                if seq % 7 == 0:
                    await asyncio.sleep(0)
            return await asyncio.wait_for(asyncio.gather(*followers, late), 10)

        *whole, late = asyncio.run(main())
        for found in whole:
            assert [x.seq for x in found] == list(range(1, 201))
            assert [x.event.text for x in found] == [str(n) for n in range(200)]
        assert [x.seq for x in late] == list(range(51, 201))

    def test_a_follower_hears_of_its_own_run_and_of_one_that_starts_later(self):
        async def main():
            follower = asyncio.create_task(first(1, self.store.follow("later")))
            await asyncio.sleep(0)
            await self.store.append("other", 0, 1, [START], None)
            await self.store.append("later", 0, 1, [note("x")], None)
            return await asyncio.wait_for(follower, 10)

        assert [x.event for x in asyncio.run(main())] == [note("x")]
