"""Failures that users of other systems reproduced, as scenarios of this one; real side effects are counted.

R1 to R3, R5: work before a gate runs again, "replay" executes, questions come one by one, gates are bypassed.
R4: a refused call is executed after all. R7: a step starts after a failed dependency, ids collide.
"""

import asyncio
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from phaseloop import App, NothingSent, tool
from phaseloop.core.errors import AnswerRefused
from phaseloop.core.machine import fold
from phaseloop.core.plan_events import ActivityStarted, PlanUpdated
from phaseloop.engine.replay import replay
from tests.app_world import QUICK, World, app, bound, history, only_gate, opened, plan

ROOT = Path(__file__).parents[1]
RESULT = "a result that is long enough"


@pytest.fixture
def store(tmp_path):
    return tmp_path / "runs.db"


async def answered(store, make, run_id, outcome, **more):
    """Answer the one open gate in an application of its own, as the next process would, and drive on."""
    async with make() as made:
        gate = only_gate(await made.result(run_id))
        await made.answer(run_id, gate, outcome, **more)
        return await made.result(run_id)


# ---- R1: nothing before a gate runs again because of it


@pytest.mark.parametrize("fresh", [False, True], ids=["one app", "a new app per answer"])
def test_r1_work_before_and_between_two_gates_of_one_step_happens_once(store, fresh):
    world = World()

    async def body(request, desk):
        first = await desk.call("pay", {"to": "before"})
        await desk.call("wipe", {"what": "one"})
        second = await desk.call("pay", {"to": "between"})
        await desk.call("wipe", {"what": "two"})
        return [first.value, second.value]

    def make():
        step = plan(opened("a", hint="pay"))
        return app(store, [step], {"do a": body}, tools=world.tools())

    async def work():
        async with make() as made:
            run = await made.start("pay before and between")
            result = await made.result(run.id)
            for _ in range(2):
                if fresh:
                    await made.close()
                    result = await answered(store, make, run.id, "approve")
                else:
                    await made.answer(run.id, only_gate(result), "approve")
                    result = await made.result(run.id)
            return result

    result = asyncio.run(work())
    assert result.status == "completed"
    assert result.value == ["paid before 1", "paid between 1"]
    assert world.done == ["pay before 1", "wipe one", "pay between 1", "wipe two"]


# ---- R2: a replay executes nothing


def test_r2_replay_and_resume_of_a_finished_run_call_nothing(store):
    world = World()
    steps = plan(bound("a", "pay", {"to": "ann"}), bound("b", "pay", {"to": "bob"}, ["a"]))

    async def work():
        async with app(store, [steps], tools=world.tools()) as made:
            run = await made.start("pay ann and bob")
            first = await made.result(run.id)
            recorded = await made.store.read(run.id)
            replayed = replay(recorded)
            again = await made.resume(run.id)
            return first, again, replayed, fold(recorded), len(recorded), len(await made.store.read(run.id))

    first, again, replayed, state, before, after = asyncio.run(work())
    assert replayed.difference is None
    assert (replayed.events, before) == (before, after)
    assert state.status == "completed"
    assert first == again
    assert world.counts == {"pay ann 1": 1, "pay bob 1": 1}


# ---- R3: all questions at once, no body has run


@pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=["first asked first", "last asked first"])
def test_r3_two_calls_of_one_reply_ask_at_once_and_are_answered_in_any_order(store, order):
    world = World()

    async def body(request, desk):
        calls = (desk.call("wipe", {"what": what}, i=i) for i, what in enumerate(("left", "right")))
        return [result.value for result in await asyncio.gather(*calls)]

    async def work():
        async with app(store, [plan(opened("a", hint="wipe"))], {"do a": body}, tools=world.tools()) as made:
            run = await made.start("wipe left and right")
            asked = (await made.result(run.id)).waiting_for
            assert len(asked) == 2, "the questions come one by one"
            assert [gate.payload["args"]["what"] for gate in asked] == ["left", "right"]
            assert world.done == [], "a body ran before its question was answered"
            await made.answer(run.id, asked[order[0]].gate_id, "approve")
            middle = await made.result(run.id)
            assert [gate.gate_id for gate in middle.waiting_for] == [asked[order[1]].gate_id]
            await made.answer(run.id, asked[order[1]].gate_id, "approve")
            return await made.result(run.id)

    assert asyncio.run(work()).value == ["wiped left", "wiped right"]
    assert world.counts == {"wipe left": 1, "wipe right": 1}


def test_r3_one_refusal_does_not_throw_the_approved_calls_away(store):
    world = World()

    async def body(request, desk):
        calls = (desk.call("wipe", {"what": what}, i=i) for i, what in enumerate(("left", "right")))
        return [result.outcome for result in await asyncio.gather(*calls)]

    async def work():
        async with app(store, [plan(opened("a", hint="wipe"))], {"do a": body}, tools=world.tools()) as made:
            run = await made.start("wipe left and right")
            left, right = (await made.result(run.id)).waiting_for
            await made.answer(run.id, left.gate_id, "reject", comment="keep it")
            await made.answer(run.id, right.gate_id, "approve")
            return await made.result(run.id)

    assert asyncio.run(work()).value == ["failed", "ok"]
    assert world.done == ["wipe right"]


# ---- R4: what was refused is unreachable


def no_wipe(world):
    return [what for what in world.done if what.startswith("wipe")]


def test_r4_a_refused_call_is_not_made_by_a_retry_of_its_step(store):
    world = World()
    seen = []

    async def body(request, desk):
        result = await desk.call("wipe", {"what": "disk"})
        seen.append((request.attempt, result.outcome, str(result.value)))
        return "short" if request.attempt < 2 else RESULT

    async def work():
        limits = replace(QUICK, min_result_chars=10)
        steps = plan(opened("a", hint="wipe"))
        async with app(store, [steps], {"do a": body}, tools=world.tools(), limits=limits) as made:
            run = await made.start("wipe the disk")
            await made.answer(run.id, only_gate(await made.result(run.id)), "reject", comment="never")
            return await made.result(run.id)

    result = asyncio.run(work())
    assert no_wipe(world) == []
    assert result.waiting_for == (), "the same question was asked again"
    assert {attempt for attempt, _, _ in seen} == {1, 2}, "the scenario did not try again"
    assert {outcome for _, outcome, _ in seen} == {"failed"}
    assert all("never" in said for _, _, said in seen)


def test_r4_a_refused_call_stays_unreachable_in_another_attempt_plan_version_and_app(store):
    """A step that gives too little is tried again, then planned again, then left to a new application."""
    world = World()
    attempts = []

    async def body(request, desk):
        result = await desk.call("wipe", {"what": "disk"})
        attempts.append((request.step.id, request.attempt, result.outcome))
        return "" if len(attempts) < 4 else RESULT

    plans = [plan(opened("a", hint="wipe")), plan(opened("a", hint="wipe")), plan(opened("a", hint="wipe"))]

    def make():
        return app(store, plans, {"do a": body}, tools=world.tools())

    async def first():
        async with make() as made:
            run = await made.start("wipe the disk")
            gate = only_gate(await made.result(run.id))
            await made.answer(run.id, gate, "reject", comment="never", drive=False)
            return run.id, gate

    async def second(run_id, gate):
        async with make() as made:
            with pytest.raises(AnswerRefused):
                await made.answer(run_id, gate, "approve")
            result = await made.resume(run_id)
            return result, await history(made, run_id)

    run_id, gate = asyncio.run(first())
    result, events = asyncio.run(second(run_id, gate))
    assert no_wipe(world) == []
    assert result.waiting_for == ()
    assert {outcome for _, _, outcome in attempts} == {"failed"}
    assert len({(step, attempt) for step, attempt, _ in attempts}) >= 3, "the scenario did not try again"
    assert len([event for event in events if type(event).__name__ == "GateOpened"]) == 1


def test_r4_a_refused_bound_call_is_not_made_by_the_plans_that_follow(store):
    world = World()
    same = plan(bound("a", "wipe", {"what": "disk"}))

    async def work():
        async with app(store, [same, same, same], tools=world.tools()) as made:
            run = await made.start("wipe the disk")
            await made.answer(run.id, only_gate(await made.result(run.id)), "reject", comment="never")
            result = await made.result(run.id)
            with_more = await made.reopen(run.id, "try again") if result.status == "failed" else result
            return result, with_more, await history(made, run.id)

    result, with_more, events = asyncio.run(work())
    assert no_wipe(world) == []
    assert (result.status, with_more.status) == ("failed", "failed")
    assert len([event for event in events if isinstance(event, PlanUpdated)]) >= 2


def test_r4_a_refusal_does_not_lead_to_the_fallback(store):
    world = World()

    @tool(effect="write", approval=True, fallback="shred")
    async def erase(what: str) -> str:
        """Erase."""
        await world.effect(f"wipe {what}")
        return "erased"

    @tool(effect="write")
    async def shred(what: str) -> str:
        """Shred."""
        await world.effect(f"wipe {what}")
        return "shredded"

    same = plan(bound("a", "erase", {"what": "disk"}))

    async def work():
        async with app(store, [same, same, same], tools=[erase, shred]) as made:
            run = await made.start("erase the disk")
            await made.answer(run.id, only_gate(await made.result(run.id)), "reject", comment="never")
            return await made.result(run.id)

    assert asyncio.run(work()).status == "failed"
    assert no_wipe(world) == []


def test_r4_a_call_that_another_tool_falls_back_to_asks_as_it_would_by_itself(store):
    """A fallback is no way around a gate."""
    world = World()

    @tool(effect="read", fallback="wipe")
    async def tidy(what: str) -> str:
        """Tidy up."""
        raise ConnectionError("down")

    same = plan(bound("a", "tidy", {"what": "disk"}))

    async def work():
        async with app(store, [same, same, same], tools=[tidy, *world.tools()]) as made:
            run = await made.start("tidy the disk")
            result = await made.result(run.id)
            gate = only_gate(result)
            assert result.waiting_for[0].payload["tool"] == "wipe"
            await made.answer(run.id, gate, "reject", comment="never")
            return await made.result(run.id)

    assert asyncio.run(work()).status == "failed"
    assert no_wipe(world) == []


def test_a_fallback_that_did_its_work_before_is_answered_from_the_ledger(store):
    """Field 41 and 42: a retried or rerouted write is the way payments are made twice."""
    world = World()

    @tool(effect="write", fallback="pay")
    async def transfer(to: str, amount: int = 1) -> str:
        """Transfer."""
        raise NothingSent("the bank is closed")

    steps = plan(bound("a", "pay", {"to": "ann"}), bound("b", "transfer", {"to": "ann"}, ["a"]))

    async def work():
        async with app(store, [steps], tools=[transfer, *world.tools()]) as made:
            run = await made.start("pay ann")
            return await made.result(run.id)

    result = asyncio.run(work())
    assert (result.status, result.value) == ("completed", "paid ann 1")
    assert world.counts == {"pay ann 1": 1}


PROGRAM = """
import asyncio, sys
sys.path.insert(0, {root!r})
from tests.app_world import World, app, bound, plan

class Noted(World):
    async def effect(self, what):
        with open({ledger!r}, "a") as file:
            file.write(what + chr(10))

async def work(store, run_id):
    same = plan(bound("a", "wipe", {{"what": "disk"}}))
    async with app(store, [same] * 4, tools=Noted().tools()) as made:
        if run_id == "new":
            run = await made.start("wipe the disk")
            result = await made.result(run.id)
            await made.answer(run.id, result.waiting_for[0].gate_id, "reject", comment="never", drive=False)
            print(run.id)
        else:
            print((await made.resume(run_id)).status)

asyncio.run(work(*sys.argv[1:]))
"""


def test_r4_a_refused_call_is_not_made_by_a_new_process(store, tmp_path):
    ledger = tmp_path / "effects.txt"
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.format(root=str(ROOT), ledger=str(ledger)), encoding="utf-8")

    def process(run_id):
        command = [sys.executable, str(program), str(store), run_id]
        return subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout.strip()

    assert process(process("new")) == "failed"
    assert not ledger.exists(), ledger.read_text(encoding="utf-8")


# ---- R5: no gate is bypassed, however deep or parallel


def test_r5_a_call_that_asks_stops_in_a_parallel_plan_and_its_siblings_go_on(store):
    world = World()
    steps = plan(
        bound("a", "wipe", {"what": "one"}),
        bound("b", "wipe", {"what": "two"}),
        bound("c", "look", {"what": "three"}),
        opened("d", ["a", "b", "c"]),
    )

    async def work():
        async with app(store, [steps], {"do d": RESULT}, tools=world.tools()) as made:
            run = await made.start("wipe one and two, look three")
            result = await made.result(run.id)
            assert (result.status, world.done) == ("waiting", ["look three"])
            assert len(result.waiting_for) == 2
            for gate in result.waiting_for:
                await made.answer(run.id, gate.gate_id, "approve")
            return await made.result(run.id)

    assert asyncio.run(work()).status == "completed"
    assert world.counts == {"look three": 1, "wipe one": 1, "wipe two": 1}


def test_r5_a_call_that_asks_stops_in_a_sub_process(store):
    world = World()
    child = {
        "definitionId": "child",
        "phases": [
            {"phaseId": "c", "order": 1, "startActivityId": "go", "autoAdvance": True, "producedOutputs": ["piece"]}
        ],
        "activities": [
            {
                "activityId": "go",
                "type": "TOOL",
                "phaseRef": "c",
                "produces": "piece",
                "config": {"tool": "wipe", "args": {"what": "below"}},
            }
        ],
    }
    parent = {
        "definitionId": "parent",
        "phases": [
            {"phaseId": "p", "order": 1, "startActivityId": "sub", "autoAdvance": True, "producedOutputs": ["part"]}
        ],
        "activities": [
            {
                "activityId": "sub",
                "type": "SUBPROCESS",
                "phaseRef": "p",
                "produces": "part",
                "config": {"definitionId": "child", "inputs": {}, "outputs": {"part": "piece"}},
            }
        ],
    }

    async def work():
        below = App(store="memory:").process(child)
        async with App(store=str(store), tools=world.tools(), processes=[below], limits=QUICK) as made:
            run = await made.start("wipe below", process=parent)
            result = await made.result(run.id)
            assert (result.status, world.done) == ("waiting", [])
            (gate,) = result.waiting_for
            await made.answer(gate.run_id, gate.gate_id, "approve")
            return await made.result(run.id)

    result = asyncio.run(work())
    assert (result.status, result.value) == ("completed", "wiped below")
    assert world.done == ["wipe below"]


# ---- R7: a failed dependency frees nobody, ids are never used again


def test_r7_a_step_never_starts_after_its_dependency_failed(store):
    world = World()

    @tool(effect="read")
    async def find() -> str:
        """Find it."""
        raise LookupError("nothing there")

    steps = plan(bound("1", "find", {}), bound("2", "pay", {"to": "ann"}, ["1"]), bound("3", "look", {}))

    async def work():
        async with app(store, [steps] * 3, tools=[find, *world.tools()]) as made:
            run = await made.start("find it and pay ann, look it")
            return await made.result(run.id), await history(made, run.id)

    result, events = asyncio.run(work())
    assert result.status == "failed"
    assert "pay ann 1" not in world.done
    started = {event.step_id for event in events if isinstance(event, ActivityStarted)}
    plans = [event for event in events if isinstance(event, PlanUpdated)]
    paying = {step.id for made in plans for step in made.steps if step.tool_hint == "pay"}
    assert paying
    assert not paying & started


def test_r7_a_new_plan_numbered_from_one_gets_new_ids_and_finished_steps_stay_finished(store):
    world = World()
    failing = iter([True, False])

    @tool(effect="read")
    async def find(what: str) -> str:
        """Find it."""
        if next(failing):
            raise LookupError("nothing there")
        return "found"

    first = plan(
        bound("1", "look", {"what": "first"}),
        bound("2", "find", {"what": "x"}),
        bound("3", "pay", {"to": "ann"}, ["2"]),
    )
    second = plan(bound("1", "find", {"what": "y"}), bound("2", "pay", {"to": "ann"}, ["1"]))

    async def work():
        async with app(store, [first, second], tools=[find, *world.tools()]) as made:
            run = await made.start("look first, find x or y, pay ann")
            return await made.result(run.id), await history(made, run.id), await made.store.read(run.id)

    result, events, recorded = asyncio.run(work())
    assert result.status == "completed"
    plans = [event for event in events if isinstance(event, PlanUpdated)]
    known = {step.id: step.action for step in plans[0].steps}
    fresh = {step.id: step.action for step in plans[1].steps if step.id not in known}
    assert len(fresh) == 2, "a label of the new plan took the id of an old step"
    assert {step.id for step in plans[1].steps} & known.keys() == {"s1"}, "the finished step is kept, and only it"
    starts = [event.step_id for event in events if isinstance(event, ActivityStarted) and event.step_id]
    assert len(starts) == len(set(starts)), "a step that was done became ready again"
    assert world.counts == {"look first": 1, "pay ann 1": 1}
    assert replay(recorded).difference is None
