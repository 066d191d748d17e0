"""The driver: mailbox, order, conflict, fence, parking."""

import asyncio

import pytest

from phaseloop.core.answers import ModelReplied, ToolReturned
from phaseloop.core.asks import ModelCallWanted, ToolCallWanted
from phaseloop.core.call_events import ToolCallStarted
from phaseloop.core.errors import Fenced, LogBroken, RecordUnreadable, Stuck
from phaseloop.core.plan import Call, Step
from phaseloop.core.process import Activity, ActivityType, Definition, GateConfig, NoMatchPolicy, Phase
from phaseloop.core.run_events import DriveStarted, NoteAdded
from phaseloop.core.statuses import RunStatus
from phaseloop.core.words import AddNote, Cancel, Pause, Resume
from phaseloop.engine.driver import Driver
from phaseloop.engine.ports import Returned
from tests.core.player import plan, read, think, write
from tests.engine.stage import ANN, ASKED, Executor, Planner, Tools, play

PAY = plan(Step("a", "Pay", call=Call("pay", {"n": 1})))


def gated(**config):
    gate = Activity("ok", ActivityType.HUMAN, gate=GateConfig(**config))
    return Definition("one", phases=(Phase("p1", exit_human_activity_id="ok"),), activities=(gate,))


def test_a_run_ends_and_leaves_no_task():
    async def scene(stage):
        state = await stage.run()
        assert state.status is RunStatus.COMPLETED
        assert (await stage.names())[:3] == ["RunStarted", "SnapshotTaken", "DriveStarted"]

    play(scene)


def test_a_parked_run_leaves_no_task_and_an_answer_goes_on_with_a_new_drive():
    async def scene(stage):
        state = await stage.run()
        assert state.status is RunStatus.RUNNING
        assert not stage.host.drives("r1")
        await stage.answer("approve")
        state = await stage.host.drive("r1")
        assert state.status is RunStatus.COMPLETED
        assert [e.drive for e in await stage.events(DriveStarted)] == [1, 2]
        assert [tool for tool, _ in stage.tools.sent] == ["pay"]

    play(scene, planner=Planner(PAY))


def test_an_answer_wakes_a_driver_that_has_other_work():
    gate = asyncio.Event()

    async def work(request, desk):
        await gate.wait()
        return "late"

    async def scene(stage):
        driving = asyncio.ensure_future(stage.run())
        await stage.until("GateOpened")
        await stage.answer("approve")
        await stage.until("ToolCallFinished")
        gate.set()
        assert (await driving).status is RunStatus.COMPLETED
        assert len(await stage.events(DriveStarted)) == 1

    two = plan(*PAY.steps, think("b"))
    play(scene, planner=Planner(two), executor=Executor(work))


def test_a_conflict_from_outside_decides_the_same_batch_again():
    async def scene(stage):
        async def work(request, desk):
            await stage.another_host("w2").receive("r1", AddNote(ANN, "hello"))
            return "done"

        stage.executor.work = work
        assert (await stage.run()).status is RunStatus.COMPLETED
        assert len(await stage.events(NoteAdded)) == 1
        assert len(await stage.events(DriveStarted)) == 1

    play(scene)


def test_a_newer_drive_fences_the_older_which_appends_nothing_more():
    async def scene(stage):
        hold = asyncio.Event()

        async def work(request, desk):
            if not hold.is_set():
                await hold.wait()
            return "done"

        stage.executor.work = work
        first = asyncio.ensure_future(stage.run())
        await stage.until("ActivityStarted")
        second = stage.another_host("w2")
        taken = asyncio.ensure_future(second.drive("r1"))
        await stage.until("DriveStarted", times=2)
        before = len(await stage.names())
        hold.set()
        with pytest.raises(Fenced):
            await first
        assert (await taken).status is RunStatus.COMPLETED
        names = await stage.names()
        assert names.count("ActivityCompleted") == 1
        assert before < len(names)
        await second.close()

    play(scene)


def test_a_performer_that_raises_a_machinery_error_aborts_the_drive_and_nothing_is_recorded_as_a_failure():
    async def work(request, desk):
        raise RecordUnreadable("reply 1", "cut")

    async def scene(stage):
        with pytest.raises(RecordUnreadable):
            await stage.run()
        assert "ActivityFailed" not in await stage.names()
        stage.executor.work = "done"
        assert (await stage.host.drive("r1")).status is RunStatus.COMPLETED

    play(scene, executor=Executor(work))


def test_cancel_stops_what_is_under_way():
    async def work(request, desk):
        await asyncio.Event().wait()

    async def scene(stage):
        driving = asyncio.ensure_future(stage.run())
        await stage.until("ActivityStarted")
        await stage.host.receive("r1", Cancel(ANN, "enough"))
        assert (await driving).status is RunStatus.CANCELLED

    play(scene, executor=Executor(work))


def test_a_call_in_flight_ends_and_is_recorded_while_paused_and_nothing_new_starts():
    async def scene(stage):
        hold = asyncio.Event()

        async def slow(args):
            await hold.wait()
            return "slow"

        stage.tools.calls["look"] = slow
        driving = asyncio.ensure_future(stage.run())
        await stage.until("ToolCallStarted")
        await stage.host.receive("r1", Pause(ANN))
        hold.set()
        state = await driving
        assert state.status is RunStatus.PAUSED
        names = await stage.names()
        assert names[names.index("RunPaused") :] == ["RunPaused", "ToolCallFinished"]
        await stage.host.receive("r1", Resume(ANN))
        assert (await stage.host.drive("r1")).status is RunStatus.COMPLETED
        assert len(stage.tools.sent) == 2

    play(scene, planner=Planner(plan(read("a"), think("b", "a"), read("c", "b", x=1))))


def test_a_step_that_returns_while_paused_is_recorded_and_goes_on_after_the_pause():
    async def scene(stage):
        hold = asyncio.Event()

        async def work(request, desk):
            if request.attempt == 1:
                await hold.wait()
                return "bad" if request.step.id == "s1" else "good"
            return "good"

        stage.executor.work = work
        driving = asyncio.ensure_future(stage.run())
        await stage.until("ActivityStarted", times=2)
        await stage.host.receive("r1", Pause(ANN))
        hold.set()
        assert (await driving).status is RunStatus.PAUSED
        await stage.host.receive("r1", Resume(ANN))
        assert (await stage.host.drive("r1")).status is RunStatus.COMPLETED

    play(scene, planner=Planner(plan(think("a"), think("b"))))


def test_a_deadline_of_a_gate_fires_while_the_run_is_driven_or_when_a_host_looks():
    async def scene(stage):
        definition = gated(timeout_seconds=60, no_match_policy=NoMatchPolicy.CANCEL)
        assert (await stage.run(definition=definition)).status is RunStatus.RUNNING
        assert await stage.host.fire_due() == []
        stage.now += 61_000
        assert await stage.host.fire_due() == ["r1"]
        assert (await stage.state()).status is RunStatus.CANCELLED

    play(scene)


def test_an_equal_call_asked_twice_for_one_place_leaves_once():
    async def scene(stage):
        async def work(request, desk):
            both = await asyncio.gather(*(desk.call("book", {"room": "1"}, i=0) for _ in range(2)))
            return [r.value for r in both]

        async def slow(args):
            await asyncio.sleep(0)
            return "booked"

        stage.executor.work = work
        stage.tools.calls["book"] = slow
        assert (await stage.run()).status is RunStatus.COMPLETED
        assert len(stage.tools.sent) == 1

    play(scene, planner=Planner(plan(think("a", tool_hint="book"))))


def test_two_equal_writes_of_one_step_leave_once_and_the_second_is_answered_from_the_ledger():
    async def scene(stage):
        async def work(request, desk):
            both = await asyncio.gather(desk.call("book", {"room": "1"}), desk.call("book", {"room": "1"}))
            return [r.value for r in both]

        stage.executor.work = work
        state = await stage.run()
        assert state.status is RunStatus.COMPLETED
        assert len(stage.tools.sent) == 1
        assert (await stage.names()).count("ToolCallReused") == 1

    play(scene, planner=Planner(plan(think("a", tool_hint="book"))))


def test_an_effect_that_ends_and_changes_nothing_is_said_to_be_our_defect():
    async def scene(stage):
        async def nothing(effect, record):
            return None

        driver = Driver("r1", stage.store, nothing, stage.clock, "w1")
        with pytest.raises(Stuck, match="50 times"):
            await driver.drive(stage.begin())

    play(scene)


def test_a_commit_that_fails_ends_the_drive():
    async def scene(stage):
        async def broken(*args):
            raise LogBroken("disk full")

        log = stage.store

        class Broken:
            read = log.read
            append = staticmethod(broken)

        driver = Driver("r1", Broken(), stage.edge("r1", None).perform, stage.clock, "w1")
        with pytest.raises(LogBroken):
            await driver.drive(stage.begin())
        assert await log.read("r1") == []

    play(scene)


def test_reports_come_before_asks_and_asks_in_plan_order():
    """An ask decided before the report of its own batch would sleep for ever (a lost wake-up)."""

    async def scene(stage):
        appended = []

        class Log:
            read = stage.store.read

            async def append(self, run_id, seq, at, events, tables):
                appended.append([type(e).__name__ for e in events])
                await stage.store.append(run_id, seq, at, events, tables)

        started = asyncio.Event()

        async def perform(effect, record):
            if not effect.id.startswith("step/"):
                await stage.edge("r1", None).perform(effect, record)
                return
            sid = effect.step.id
            if sid == "s1":
                await started.wait()
            else:
                started.set()
            await record.ask(ToolCallWanted(sid, 1, 0, 0, "look", {"of": sid}))
            await asyncio.Event().wait()

        driver = Driver("r1", Log(), perform, stage.clock, "w1")
        driving = asyncio.ensure_future(driver.drive(stage.begin()))
        await stage.until("ToolCallStarted", times=2)
        asks = [ToolCallWanted(s, 1, 0, 1, "look", {"again": s}) for s in ("s2", "s1")]
        waiting = [asyncio.ensure_future(driver.ask(ask)) for ask in asks]
        report = asyncio.ensure_future(driver.tell(ToolReturned("c1", "ok", 1)))
        await asyncio.gather(report, *waiting)
        assert appended[-1] == ["ToolCallFinished", "ToolCallStarted", "ToolCallStarted"]
        assert [e.step_id for e in (await stage.events(ToolCallStarted))[-2:]] == ["s1", "s2"]
        driving.cancel()
        await asyncio.gather(driving, return_exceptions=True)

    play(scene, planner=Planner(plan(think("a"), think("b"))))


def test_nothing_is_let_go_before_its_fact_is_durable():
    async def scene(stage):
        hold = asyncio.Event()

        class Log:
            read = stage.store.read

            async def append(self, run_id, seq, at, events, tables):
                if any(isinstance(e, ToolCallStarted) for e in events):
                    assert stage.tools.sent == []
                    await hold.wait()
                await stage.store.append(run_id, seq, at, events, tables)

        driver = Driver("r1", Log(), stage.edge("r1", None).perform, stage.clock, "w1")
        driving = asyncio.ensure_future(driver.drive(stage.begin()))
        for _ in range(200):
            await asyncio.sleep(0)
        assert stage.tools.sent == []
        hold.set()
        assert (await driving).status is RunStatus.COMPLETED

    play(scene, planner=Planner(plan(write("a", room="1"))))


def test_a_model_call_that_is_out_keeps_the_run_from_parking():
    async def scene(stage):
        hold = asyncio.Event()

        async def perform(effect, record):
            if not effect.id.startswith("step/s2"):
                await stage.edge("r1", None).perform(effect, record)
                return
            await record.ask(ModelCallWanted(effect.id, 1, "executor", "m", step_id="s2"))
            await hold.wait()
            await record.tell(ModelReplied(effect.id, 1, {}))
            await asyncio.Event().wait()

        driver = Driver("r1", stage.store, perform, stage.clock, "w1")
        driving = asyncio.ensure_future(driver.drive(stage.begin()))
        await stage.until("GateOpened")
        await stage.until("ModelCallStarted")
        assert not driving.done()
        hold.set()
        await stage.until("ModelCallFinished")
        driving.cancel()
        await asyncio.gather(driving, return_exceptions=True)

    assert ASKED.approval
    play(scene, planner=Planner(plan(*PAY.steps, think("b"))))


def test_a_write_whose_step_timed_out_is_in_doubt_and_a_person_is_asked():
    async def scene(stage):
        async def hangs(args):
            await asyncio.Event().wait()

        async def work(request, desk):
            async with asyncio.timeout(0.5):
                await desk.call("book", {"room": "1"})

        stage.executor.work = work
        stage.tools.calls["book"] = hangs
        state = await stage.run()
        assert state.status is RunStatus.RUNNING
        assert {"ToolCallDoubted", "GateOpened"} <= set(await stage.names())

    play(scene, planner=Planner(plan(think("a", tool_hint="book"))))


def test_an_unsure_write_asks_and_run_it_sends_it_once_more():
    async def scene(stage):
        async def unsure(args):
            return Returned("unsure", error="cut") if len(stage.tools.sent) == 1 else "booked"

        stage.tools.calls["book"] = unsure
        await stage.run()
        await stage.answer("run_it")
        assert (await stage.host.drive("r1")).status is RunStatus.COMPLETED
        assert len(stage.tools.sent) == 2

    play(scene, planner=Planner(plan(write("a", room="1"))), tools=Tools())


def test_a_call_in_flight_keeps_a_step_from_parking_at_its_other_call():
    async def scene(stage):
        hold = asyncio.Event()

        async def slow(args):
            await hold.wait()
            return "slow"

        async def work(request, desk):
            both = await asyncio.gather(desk.call("look", {}), desk.call("pay", {}))
            return [r.value for r in both]

        stage.executor.work, stage.tools.calls["look"] = work, slow
        driving = asyncio.ensure_future(stage.run())
        await stage.until("GateOpened")
        await asyncio.sleep(0.1)  # the commit is in the store's thread: time for the driver to park, if it would
        assert not driving.done()
        hold.set()
        assert (await driving).status is RunStatus.RUNNING
        await stage.answer("approve")
        assert (await stage.host.drive("r1")).status is RunStatus.COMPLETED
        assert [tool for tool, _ in stage.tools.sent] == ["look", "pay"]

    play(scene)


def test_an_equal_read_asked_twice_for_one_place_leaves_once():
    async def scene(stage):
        async def work(request, desk):
            both = await asyncio.gather(*(desk.call("look", {}, i=0) for _ in range(2)))
            return [r.value for r in both]

        async def slow(args):
            await asyncio.sleep(0.01)
            return "seen"

        stage.executor.work, stage.tools.calls["look"] = work, slow
        assert (await stage.run()).steps["s1"].output == ["seen", "seen"]
        assert len(stage.tools.sent) == 1

    play(scene)
