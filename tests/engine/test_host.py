"""The host: drive, wake, receive words, fire timers, run children."""

import asyncio

import pytest

from phaseloop.core.answers import Begin
from phaseloop.core.errors import AnswerRefused, LogBroken, RunUnknown
from phaseloop.core.limits import Limits
from phaseloop.core.plan import Call, Step
from phaseloop.core.process import Activity, ActivityType, Definition, GateConfig, Phase
from phaseloop.core.run_events import DriveStarted
from phaseloop.core.state import RunStatus
from phaseloop.core.words import AddNote, Cancel, Pause
from phaseloop.engine.perform import ChildOutcome
from tests.core.player import plan, think
from tests.engine.stage import ANN, TOOLS, Executor, Planner, play

PAY = plan(Step("a", "Pay", call=Call("pay", {"n": 1})))
SUB = Definition(
    "parent",
    phases=(Phase("p1", auto_advance=True),),
    activities=(Activity("sub", ActivityType.SUBPROCESS, config={"definitionId": "child"}),),
)
GATED = Definition(
    "child",
    phases=(Phase("p1", exit_human_activity_id="ok"),),
    activities=(Activity("ok", ActivityType.HUMAN, gate=GateConfig()),),
)


def test_a_run_that_is_not_there_is_unknown():
    async def scene(stage):
        for call in (stage.host.load("r9"), stage.host.resume("r9"), stage.host.receive("r9", AddNote(ANN, "x"))):
            with pytest.raises(RunUnknown):
                await call

    play(scene)


def test_a_run_begins_without_a_drive_and_resumes_to_its_end():
    async def scene(stage):
        await stage.host.begin("r1", stage.begin())
        assert await stage.names() == ["RunStarted", "SnapshotTaken"]
        assert (await stage.host.resume("r1")).status is RunStatus.COMPLETED
        before = await stage.names()
        assert (await stage.host.resume("r1")).status is RunStatus.COMPLETED
        assert await stage.names() == before, "a run that is over is not driven"

    play(scene)


def test_one_process_drives_a_run_once_however_often_it_is_asked_to():
    async def scene(stage):
        await stage.host.begin("r1", stage.begin())
        states = await asyncio.gather(*(stage.host.drive("r1") for _ in range(3)))
        assert states[0].status is RunStatus.COMPLETED
        assert len(await stage.events(DriveStarted)) == 1
        assert not stage.host.drives("r1")

    play(scene)


def test_a_lease_is_held_while_a_run_is_driven_and_left_after():
    async def scene(stage):
        hold = asyncio.Event()

        async def work(request, desk):
            await hold.wait()
            return "done"

        stage.executor.work = work
        driving = asyncio.ensure_future(stage.run())
        await stage.until("ActivityStarted")
        assert await stage.store.leases.holder("r1") == "w1"
        assert await stage.host.fire_due() == []
        hold.set()
        await driving
        assert await stage.store.leases.holder("r1") is None

    play(scene)


def test_an_answer_that_comes_while_the_driver_parks_is_not_lost():
    async def scene(stage):
        leave = stage.store.leases.leave
        answered = []

        class Leases:
            take, holder, beat = stage.store.leases.take, stage.store.leases.holder, stage.store.leases.beat

            async def leave(self, run_id, worker):
                if not answered:
                    answered.append(1)
                    assert stage.host.drives("r1")
                    await stage.answer("approve")
                await leave(run_id, worker)

        stage.host.leases = Leases()
        assert (await stage.run()).status is RunStatus.COMPLETED

    play(scene, planner=Planner(PAY))


def test_a_commit_that_fails_is_folded_again_and_the_run_goes_on():
    async def scene(stage):
        append = stage.store.append
        faults = {3: "before", 6: "after"}
        count = [0]

        class Log:
            read = stage.store.read

            async def append(self, *args):
                count[0] += 1
                fault = faults.pop(count[0], "")
                if fault != "before":
                    await append(*args)
                if fault:
                    raise LogBroken("disk full")

        stage.host.log = Log()
        assert (await stage.run()).status is RunStatus.COMPLETED
        assert faults == {}
        assert [tool for tool, _ in stage.tools.sent] == ["book"]

    book = plan(Step("a", "Book", call=Call("book", {"room": "1"})), think("b", "a"))
    play(scene, planner=Planner(book))


def test_a_store_that_stays_broken_is_told_to_the_caller():
    async def scene(stage):
        class Log:
            read = stage.store.read

            async def append(self, *args):
                raise LogBroken("disk full")

        stage.host.log = Log()
        with pytest.raises(LogBroken):
            await stage.run()
        assert not stage.host.drives("r1")

    play(scene)


def test_the_heartbeat_finds_what_another_process_appended_and_survives_a_broken_store():
    async def scene(stage):
        hold = asyncio.Event()
        read = stage.store.read
        broken = [True, True]

        class Log:
            append = stage.store.append

            async def read(self, run_id, after=0):
                if after and broken:
                    broken.pop()
                    raise LogBroken("busy")
                return await read(run_id, after)

        async def work(request, desk):
            await hold.wait()

        stage.executor.work = work
        driving = asyncio.ensure_future(stage.run())
        await stage.until("ActivityStarted")
        stage.host.log = Log()
        await stage.another_host("w2").receive("r1", Cancel(ANN))
        assert (await driving).status is RunStatus.CANCELLED

    play(scene)


def test_of_two_answers_at_once_one_wins_and_the_other_hears_who():
    async def scene(stage):
        await stage.run()
        hosts = [stage.host, stage.another_host("w2")]
        said = await asyncio.gather(*(stage.answer("approve", host=host) for host in hosts), return_exceptions=True)
        refused = [s for s in said if isinstance(s, AnswerRefused)]
        assert len(refused) == 1
        assert refused[0].status == 409

    play(scene, planner=Planner(PAY))


def test_a_word_on_a_run_that_rests_is_taken_and_shows_in_the_list():
    async def scene(stage):
        await stage.run()
        assert (await stage.store.runs.run_row("r1")).state == "waiting"
        await stage.host.receive("r1", Pause(ANN))
        assert (await stage.store.runs.run_row("r1")).state == "paused"
        await stage.host.receive("r1", Cancel(ANN))
        assert (await stage.store.runs.run_row("r1")).state == "cancelled"
        assert await stage.store.runs.open_gates() == []

    play(scene, planner=Planner(PAY))


class Children:
    """Child runs on the same host."""

    def __init__(self, stage):
        self.stage = stage
        self.ids = iter(("kid1", "kid2"))

    def new_id(self):
        return next(self.ids)

    async def drive(self, run_id, effect, parent_run_id):
        host = self.stage.host
        if not await self.stage.store.read(run_id):
            begin = Begin(
                effect.goal, GATED, Limits(), TOOLS, parent_run_id=parent_run_id, parent_step_id=effect.step.id
            )
            await host.begin(run_id, begin)
        state = await host.resume(run_id)
        return ChildOutcome(str(state.status) if state.over else "waiting", {}, "from child")


def test_a_child_that_waits_parks_its_parent_and_wakes_it_when_it_is_over():
    async def scene(stage):
        stage.children = Children(stage)
        woken = []
        stage.host.wake = woken.append
        assert (await stage.run(definition=SUB)).status is RunStatus.RUNNING
        await stage.answer("confirm", run_id="kid1")
        assert (await stage.host.resume("kid1")).status is RunStatus.COMPLETED
        assert woken == ["r1"]
        state = await stage.host.resume("r1")
        assert state.status is RunStatus.COMPLETED
        assert state.steps["s1"].output == "from child"
        assert (await stage.store.runs.run_row("kid1")).parent_run_id == "r1"

    sub = plan(Step("a", "Sub", activity_id="sub"))
    play(scene, planner=Sub(sub))


def test_a_parent_that_has_other_work_hears_of_its_child_at_once():
    async def scene(stage):
        stage.children = Children(stage)
        hold = asyncio.Event()

        async def work(request, desk):
            if request.goal == "Do it" and request.step.id == "s2":
                await hold.wait()
            return "done"

        stage.executor.work = work
        parent = asyncio.ensure_future(stage.run(definition=SUB))
        await stage.until("GateOpened", run_id="kid1")
        await stage.until("ActivityStarted", times=2)
        await stage.answer("confirm", run_id="kid1")
        await stage.host.resume("kid1")
        await stage.until("SubprocessCompleted")
        assert not parent.done()
        hold.set()
        assert (await parent).status is RunStatus.COMPLETED

    sub = plan(Step("a", "Sub", activity_id="sub"), think("b"))
    play(scene, planner=Sub(sub), executor=Executor())


class Sub(Planner):
    """The parent's plan for the parent, one step for its child."""

    async def plan(self, request, desk):
        return self.plans[0] if request.activities else plan(think("x"))
