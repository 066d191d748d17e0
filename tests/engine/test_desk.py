"""The desk: one door to models and tools."""

import asyncio

import pytest

from phaseloop.core.asks import Go, Lock, Rest, Serve
from phaseloop.core.errors import ModelFailed, RecordUnreadable
from phaseloop.core.plan import Call, Step
from phaseloop.core.state import RunStatus
from phaseloop.engine.desk import Desk, ToolLayer
from phaseloop.engine.ports import Returned
from phaseloop.roles.protocols import ModelReply
from tests.core.player import plan, read, think
from tests.engine.fake_breakers import Breakers
from tests.engine.stage import TOOLS, NoBreakers, Planner, Tools, play


class Locks:
    def __init__(self):
        self.log = []

    def hold(self, key, owner):
        return _Held(self.log, key)


class _Held:
    def __init__(self, log, key):
        self.log, self.key = log, key

    async def __aenter__(self):
        self.log.append(f"+{self.key}")

    async def __aexit__(self, *raised):
        self.log.append(f"-{self.key}")


class Record:
    """A driver that rules by a list."""

    def __init__(self, *rulings):
        self.rulings = list(rulings)
        self.asked, self.told, self.noted = [], [], []

    async def ask(self, ask):
        self.asked.append(ask)
        return self.rulings.pop(0)

    async def tell(self, report):
        self.told.append(report)

    def note(self, report):
        self.noted.append(report)


def desk(record, tools=None, breakers=None):
    locks = Locks()
    layer = ToolLayer(tools or Tools(), locks, breakers or NoBreakers(), "w1", "r1")
    return Desk(record, layer, "step/s1/1", "s1", 1, TOOLS), locks


def go(tool="book", call_id="c1", key="k"):
    return Go(key, call_id, tool, {"room": "1"})


def test_a_call_locks_acts_reports_and_lets_go():
    async def main():
        record = Record(Lock("room:1"), go())
        door, locks = desk(record)
        assert (await door.call("book", {"room": "1"})).value == {"of": "book"}
        assert locks.log == ["+room:1", "-room:1"]
        assert [a.locked for a in record.asked] == ["", "room:1"]
        assert [(r.call_id, r.outcome) for r in record.told] == [("c1", "ok")]

    asyncio.run(main())


def test_the_key_that_leaves_is_unique_across_runs():
    async def main():
        tools = Tools()
        door, _ = desk(Record(go()), tools)
        await door.call("book", {})
        assert tools.sent == [("book", "r1:k")]

    asyncio.run(main())


def test_a_served_call_sends_nothing():
    async def main():
        tools = Tools()
        door, _ = desk(Record(Serve("failed", "no")), tools)
        result = await door.call("book", {})
        assert (result.outcome, result.value, tools.sent) == ("failed", "no", [])

    asyncio.run(main())


def test_back_off_and_doubt_are_waited_for_without_the_lock():
    async def main():
        async def cut(args):
            return Returned("unsure", error="cut")

        record = Record(Lock("room:1"), go(), Rest(0.0, 1), Lock("room:1"), go(), Serve("ok", "x"))
        door, locks = desk(record, Tools(book=cut))
        await door.call("book", {})
        assert locks.log == ["+room:1", "-room:1", "+room:1", "-room:1"]
        assert [(a.locked, a.rested) for a in record.asked] == [
            ("", 0),
            ("room:1", 0),
            ("", 0),
            ("", 1),
            ("room:1", 1),
            ("", 1),
        ]

    asyncio.run(main())


def test_places_count_within_a_reply_and_may_be_given():
    async def main():
        record = Record(*[Serve("ok", 1)] * 4)
        door, _ = desk(record)
        for i in (None, None, 5, None):
            await door.call("look", {}, i=i)
        assert [a.i for a in record.asked] == [0, 1, 5, 6]

    asyncio.run(main())


def test_a_tool_that_the_step_may_not_use_is_never_asked_for():
    async def main():
        record = Record()
        door, _ = desk(record)
        result = await door.call("fly", {})
        assert result.value == "fly is not a tool of this step; it may use: look, book, pay"
        assert record.asked == []

    asyncio.run(main())


def test_a_call_that_is_cut_short_is_noted_as_unsure():
    async def main():
        async def hangs(args):
            await asyncio.Event().wait()

        record = Record(go())
        door, _ = desk(record, Tools(book=hangs))
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await door.call("book", {})
        assert [r.call_id for r in record.noted] == ["c1"]

    asyncio.run(main())


def test_a_breaker_is_looked_at_once_a_call_and_counts_the_call_after_its_retries():
    async def main():
        breakers = Breakers()

        async def down(args):
            return Returned("failed", error="down")

        record = Record(Lock("room:1"), go(), Rest(0.0, 1), go(), Serve("failed", "down"))
        door, _ = desk(record, Tools(book=down), breakers)
        await door.call("book", {})
        assert breakers.looked == ["book"]
        assert breakers.counted == [("book", False)]
        assert record.asked[0].unavailable == ""
        breakers.until = 99
        record.rulings = [Serve("failed", "off")]
        await door.call("book", {})
        assert record.asked[-1].unavailable == "circuit breaker open until 99"
        assert breakers.counted == [("book", False)], "what was not sent is not counted"

    asyncio.run(main())


def test_a_breaker_that_moves_is_told_and_a_fallback_counts_for_itself():
    async def main():
        breakers = Breakers(moves=True)

        async def down(args):
            return Returned("failed", error="down")

        record = Record(go("book"), go("look", "c2"))
        door, _ = desk(record, Tools(book=down), breakers)
        assert (await door.call("book", {})).outcome == "ok"
        assert breakers.counted == [("book", False), ("look", True)]
        assert [type(r).__name__ for r in record.told] == [
            "ToolReturned",
            "BreakerMoved",
            "ToolReturned",
            "BreakerMoved",
        ]

    asyncio.run(main())


def test_a_model_reply_is_live_or_served_and_numbers_count():
    async def main():
        async def send():
            return ModelReply({"r": 1})

        record = Record(Go("k", "c1"), Serve("ok", {"r": 2}))
        door, _ = desk(record)
        assert await door.model("executor", "m", "f", send, {"p": 1}) == {"r": 1}
        assert await door.model("executor", "m", "f", send, {"p": 2}) == {"r": 2}
        assert [(a.n, a.prompt) for a in record.asked] == [(1, {"p": 1}), (2, None)]
        assert door.replies == 2

    asyncio.run(main())


def test_a_failed_request_counts_too_and_another_may_follow():
    async def main():
        async def bad():
            raise RuntimeError("rate limit")

        record = Record(Go("k", "c1"), Serve("failed", "before"), Serve("ok", 3))
        door, _ = desk(record)
        with pytest.raises(ModelFailed, match="rate limit"):
            await door.model("executor", "m", "f", bad)
        with pytest.raises(ModelFailed, match="before"):
            await door.model("executor", "m", "f", bad)
        assert await door.model("executor", "m", "f", bad) == 3
        assert [a.n for a in record.asked] == [1, 2, 3]
        assert [(r.ok, r.error) for r in record.told] == [(False, "rate limit")]

    asyncio.run(main())


def test_a_reply_that_cannot_be_read_is_our_fault():
    async def main():
        async def bad():
            raise RecordUnreadable("reply 1", "cut")

        record = Record(Go("k", "c1"))
        door, _ = desk(record)
        with pytest.raises(RecordUnreadable):
            await door.model("executor", "m", "f", bad)
        assert record.told == []

    asyncio.run(main())


def test_the_clock_of_a_step_stands_while_any_of_its_calls_waits():
    async def main():
        waiting = asyncio.Event()

        class Slow(Record):
            async def ask(self, ask):
                if ask.i == 1:
                    await waiting.wait()
                return Serve("ok", ask.i)

        door, _ = desk(Slow())
        async with asyncio.timeout(0.02) as door.clock:
            both = asyncio.gather(door.call("look", {}), door.call("look", {}))
            await asyncio.sleep(0.05)
            waiting.set()
            await both
            assert door.clock.when() is not None

    asyncio.run(main())


def test_a_person_may_think_longer_than_the_step_may_take():
    async def scene(stage):
        state = await stage.run()
        assert state.status is RunStatus.RUNNING
        await stage.answer("approve")
        assert (await stage.host.drive("r1")).status is RunStatus.COMPLETED

    play(scene, planner=Planner(plan(Step("a", "Pay", call=Call("pay", {})), read("b", n=1), think("c", "b"))))


def test_whoever_waits_for_a_person_about_a_call_holds_no_lock():
    async def main():
        async def cut(args):
            return Returned("unsure", error="cut")

        held = []

        class Seeing(Record):
            async def ask(self, ask):
                held.append(list(locks.log))
                return await super().ask(ask)

        door, locks = desk(Seeing(Lock("room:1"), go(), Serve("ok", "was")), Tools(book=cut))
        await door.call("book", {})
        assert held[-1] == ["+room:1", "-room:1"]

    asyncio.run(main())
