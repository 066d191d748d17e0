"""Who drives which run when: other processes, timers, and what a run at rest costs."""

import asyncio
import subprocess
import sys

from phaseloop.core.run_events import Who
from phaseloop.engine.surroundings import worker_name
from tests.app_world import app, gate_process, only_gate, until


def test_a_run_at_rest_keeps_nothing_in_memory(tmp_path):
    async def work():
        async with app(tmp_path / "runs.db") as made:
            for _ in range(3):
                run = await made.start("a, b", process=gate_process())
                await made.result(run.id)
            await asyncio.sleep(0)
            return dict(made.drives._tasks), len(made.drives._mine)

    tasks, mine = asyncio.run(work())
    assert tasks == {}
    assert mine == 3


def test_a_run_that_another_live_worker_drives_is_waited_for(tmp_path):
    async def work():
        async with app(tmp_path / "runs.db") as made:
            run_id = made.new_id()
            await made.host.begin(run_id, made.begin("a, b"))
            other = worker_name()
            await made.store.leases.take(run_id, other)
            task = made.drives.drive(run_id)
            await asyncio.sleep(0.3)
            assert not task.done()
            assert len(await made.store.read(run_id)) == 2, "it was driven beside the other"
            await made.store.leases.leave(run_id, other)
            return (await task).status

    assert asyncio.run(work()) == "completed"


def test_nobody_waits_for_a_process_that_is_gone(tmp_path):
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()

    async def work():
        async with app(tmp_path / "runs.db") as made:
            run_id = made.new_id()
            await made.host.begin(run_id, made.begin("a, b"))
            place = worker_name().rpartition("/")[0]
            await made.store.leases.take(run_id, f"{place}/{ended.pid}-abc")
            async with asyncio.timeout(4):  # a lease lives for five seconds
                return (await made.drives.drive(run_id)).status

    assert asyncio.run(work()) == "completed"


def test_an_answer_that_only_was_recorded_elsewhere_is_picked_up_by_who_began_the_run(tmp_path):
    store = tmp_path / "runs.db"

    async def work():
        first, second = app(store), app(store)
        async with first, second:
            run = await first.start("a, b", process=gate_process())
            gate = only_gate(await first.result(run.id))
            await second.answer(run.id, gate, "approve", by=Who("ann", "cli"), drive=False)

            async def over():
                return (await first.store.runs.run_row(run.id)).state == "completed"

            await until(over)

    asyncio.run(work())
