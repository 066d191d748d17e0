"""The library's front door: start, follow, answer, resume, cancel, and what holds between two of them."""

import asyncio

import pytest

from phaseloop import App, Orchestrator, Plan, Process, Run, RunResult, Step, Verdict, tool
from phaseloop.adapters.definitions import load_definition
from phaseloop.core.errors import (
    AnswerRefused,
    DefinitionRefused,
    Fenced,
    RunUnknown,
    StoreUnusable,
    WrongUse,
)
from phaseloop.core.gate_events import GateAnswered
from phaseloop.core.plan_events import PlanUpdated
from phaseloop.core.run_events import DriveStarted, RunStarted, Who
from phaseloop.roles.scripted import ScriptedPlanner
from tests.app_world import (
    World,
    app,
    bound,
    events_named,
    gate_process,
    history,
    only_gate,
    opened,
    plan,
    rested,
    until,
)

GOLDEN = [
    ("调研竞品，输出对比报告，给出落地建议", ["调研竞品", "输出对比报告", "给出落地建议"]),
    ("做个年度计划。", ["做个年度计划"]),
    ("目标一，目标二。目标三", ["目标一", "目标二", "目标三"]),
    ("目标一，目标二。目标三；反思反馈：mock 不达标", ["目标一", "目标二", "目标三", "反思反馈：mock 不达标"]),
    ("做个年度计划；反思反馈：部分产出不足，建议重规划", ["做个年度计划", "反思反馈：部分产出不足", "建议重规划"]),
    ("3.14，1,000 元", ["3.14", "1", "000 元"]),
]
TEMPLATED = ["做个年度计划", "", "，。；", "a.b.c"]
ELEVEN = "一,二,三,四,五,六,七,八,九,十,十一"


@pytest.fixture(autouse=True)
def no_settings(monkeypatch):
    for name in ("PHASELOOP_MODEL", "PHASELOOP_CRITIC_MODEL", "PHASELOOP_STORE", "PHASELOOP_USER"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def store(tmp_path):
    return tmp_path / "runs.db"


# ---- behaviours 6


def actions(made, run_id):
    async def read():
        made_plans = [e for e in await history(made, run_id) if isinstance(e, PlanUpdated)]
        assert len(made_plans) == 1, "the plan was made again"
        return [step.action for step in made_plans[0].steps]

    return asyncio.run(read())


@pytest.mark.parametrize(("goal", "wanted"), GOLDEN, ids=[goal for goal, _ in GOLDEN])
def test_a_goal_is_split_as_the_article_splits_it(goal, wanted):
    made = App(store="memory:")
    result = made.run_sync(goal)
    assert (result.status, result.score) == ("completed", 10.0)
    assert actions(made, result.run_id) == wanted
    assert list(result.results) == [f"完成[{n}]: {action} -> 产出{n}" for n, action in enumerate(wanted, 1)]
    plan_lines = [task.description for task in Orchestrator().run(goal).plan]
    assert plan_lines == wanted


@pytest.mark.parametrize("goal", TEMPLATED, ids=repr)
def test_a_goal_without_a_delimiter_or_without_words_takes_the_template(goal):
    made = App(store="memory:")
    result = made.run_sync(goal)
    assert (result.status, result.score, len(result.results)) == ("completed", 10.0, 3)
    assert len(Orchestrator().run(goal).plan) == 3


def test_eleven_parts_are_merged_into_eight_steps_in_order():
    made = App(store="memory:")
    result = made.run_sync(ELEVEN)
    merged = actions(made, result.run_id)
    assert [len(action.split(" / ")) for action in merged] == [2, 2, 2, 1, 1, 1, 1, 1]
    assert " / ".join(merged).split(" / ") == ELEVEN.split(",")


# ---- start, follow, result


def test_tools_and_scripted_roles_carry_a_run_to_its_result(store):
    world = World()
    steps = plan(
        bound("a", "look", {"what": "offers"}),
        bound("b", "pay", {"to": {"$ref": "a"}}, ["a"]),
        opened("c", ["b"]),
    )

    async def work():
        async with app(store, [steps], {"do c": "all done and said"}, tools=world.tools()) as made:
            run = await made.start("look at offers and pay", title="offers")
            assert isinstance(run, Run)
            result = await made.result(run.id)
            row = await made.store.runs.run_row(run.id)
            return result, row

    result, row = asyncio.run(work())
    assert isinstance(result, RunResult)
    assert (result.status, result.value) == ("completed", "all done and said")
    assert result.results == ("seen offers", "paid seen offers 1", "all done and said")
    assert world.done == ["look offers", "pay seen offers 1"]
    assert (result.usage.tool_calls, row.state, row.title) == (2, "completed", "offers")


def test_any_object_with_the_method_is_a_role(store):
    class Mine:
        async def plan(self, request, desk):
            return Plan(request.goal, (Step("x", "think"),))

        async def run(self, request, desk):
            return {"thought": request.step.action}

        async def judge(self, request, desk):
            return Verdict(9.0)

    mine = Mine()
    made = App(store=str(store), planner=mine, executor=mine, critic=mine)
    result = made.run_sync("whatever")
    assert (result.status, result.score, result.value) == ("completed", 9.0, {"thought": "think"})


def test_a_plain_function_is_a_tool_that_writes(store):
    def note(text: str) -> str:
        """Write a note."""
        return text.upper()

    made = app(store, [plan(bound("a", "note", {"text": "hello"}))], tools=[note])
    assert made.run_sync("note hello").value == "HELLO"
    assert made.toolbox.catalogue()[0].writes


def test_follow_gives_every_event_once_and_goes_on_live(store):
    async def work():
        async with app(store, tools=()) as made:
            run = await made.start("one, two, three")
            seen = []
            async for recorded in made.follow(run.id):
                seen.append(recorded.seq)
                if type(recorded.event).__name__ == "RunCompleted":
                    break
            late = [r.seq async for r in _first(made.follow(run.id, after=3), 2)]
            return seen, late, len(await made.store.read(run.id))

    seen, late, count = asyncio.run(work())
    assert seen == list(range(1, count + 1))
    assert late == [4, 5]


async def _first(events, n):
    async for recorded in events:
        yield recorded
        n -= 1
        if not n:
            return


def test_run_sync_can_be_called_again_and_says_what_to_do_inside_a_loop():
    made = App(store="memory:")
    assert [made.run_sync(goal).status for goal in ("a, b", "c, d")] == ["completed", "completed"]

    async def inside():
        made.run_sync("a, b")

    with pytest.raises(WrongUse, match=r"await app\.start"):
        asyncio.run(inside())


def test_inputs_and_processes_are_checked_before_anything_is_stored(store):
    process = {
        "definitionId": "takes_inputs",
        "inputs": {"city": {"type": "string"}},
        "phases": [{"phaseId": "p", "order": 1, "autoAdvance": True, "producedOutputs": []}],
    }

    async def work():
        async with app(store) as made:
            for inputs, words in (
                ({"town": "x"}, "takes no input 'town'; it takes city"),
                ({"city": 3}, "input 'city' does not fit"),
                ({"city": {1, 2}}, "input 'city' is no JSON"),
            ):
                with pytest.raises(WrongUse, match=words):
                    await made.start("go", process=process, inputs=inputs)
            with pytest.raises(DefinitionRefused, match="cannot be read"):
                await made.start("go", process="nowhere.yaml")
            assert await made.store.runs.list_runs() == []
            run = await made.start("go", process=process, inputs={"city": "Beijing"})
            result = await made.result(run.id)
            (started,) = await events_named(made, run.id, "RunStarted")
            return result, started

    result, started = asyncio.run(work())
    assert result.status == "completed"
    assert isinstance(started, RunStarted)
    assert started.inputs == {"city": "Beijing"}


def test_who_acts_is_the_named_user_else_that_of_the_machine(store, monkeypatch):
    monkeypatch.setenv("PHASELOOP_USER", "kai")
    made = app(store)
    result = made.run_sync("a, b")
    (started,) = asyncio.run(events_named(made, result.run_id, "RunStarted"))
    assert started.by == Who("kai", "library")


def test_an_unknown_run_is_said(store):
    async def work():
        async with app(store) as made:
            for call in (made.result, made.resume, made.cancel, made.pause):
                with pytest.raises(RunUnknown):
                    await call("nobody")
            with pytest.raises(RunUnknown):
                await made.answer("nobody", "g1", "approve")

    asyncio.run(work())


# ---- gates


def test_a_gate_of_a_parked_run_is_answered_from_another_app(store):
    world = World()
    steps = plan(bound("a", "pay", {"to": "ann"}))

    async def work():
        first = app(store, [steps], tools=world.tools())
        second = app(store, [steps], tools=world.tools())
        async with first, second:
            run = await first.start("pay ann", process=gate_process())
            gate = only_gate(await first.result(run.id))
            await second.answer(run.id, gate, "approve", by=Who("kai", "library"))
            return await second.result(run.id), await first.result(run.id)

    here, there = asyncio.run(work())
    assert here.status == there.status == "completed"
    assert world.counts == {"pay ann 1": 1}


def test_a_gate_of_a_running_run_is_answered_from_another_app_and_the_driver_goes_on(store):
    """A step waits for approval while another one works: the answer reaches the process that drives."""
    world = World(hold=None)
    steps = plan(bound("a", "look", {"what": "slow"}), bound("b", "wipe", {"what": "disk"}))

    async def work():
        first = app(store, [steps], tools=world.tools())
        second = app(store, [steps], tools=world.tools())
        async with first, second:
            world.hold = asyncio.Event()
            run = await first.start("wipe the disk")
            await until(lambda: world.done)
            await until(lambda: second.store.runs.open_gates(run.id))
            await second.answer(run.id, "g1", "approve")
            await until(lambda: "wipe disk" in world.done)
            world.hold.set()
            result = await first.result(run.id)
            assert (await second.result(run.id)).status == "completed"
            drives = await events_named(first, run.id, "DriveStarted")
            return result, drives, first.worker

    result, drives, worker = asyncio.run(work())
    assert result.status == "completed"
    assert world.counts == {"look slow": 1, "wipe disk": 1}
    assert [event.worker for event in drives] == [worker], "the answer took the run from its driver"


def test_an_answer_that_arrives_while_the_drive_is_ending_is_not_lost(store):
    """Over and over at the worst moment: right when the gate stands in the log and the driver parks."""
    process = gate_process("confirm")

    async def work():
        first, second = app(store), app(store)
        async with first, second:
            for _ in range(20):
                run = await first.start("a, b", process=process)
                async for recorded in second.follow(run.id):
                    if type(recorded.event).__name__ == "GateOpened":
                        break
                await second.answer(run.id, "g1", "confirm")
                assert (await rested(second, run.id)).status == "completed"

    asyncio.run(work())


FORM = {"type": "object", "required": ["city"], "properties": {"city": {"type": "string", "minLength": 2}}}
WRONG_ANSWERS = [
    ("form", {"schema": FORM}, "submit", {"city": "x"}, "", "city"),
    ("form", {"schema": FORM}, "submit", None, "", "city"),
    ("form", {"schema": FORM}, "revise", None, "", "needs a comment"),
    ("approve", {}, "confirm", None, "", "no outcome here; it takes approve"),
    ("approve", {}, "reject", None, "  ", "needs a comment"),
    ("approve", {}, "return_to", "nowhere", "again", "a phase that has begun: work"),
    ("select", {"options": [{"id": "a", "label": "A"}]}, "select", ["b"], "", "is none of a"),
]


@pytest.mark.parametrize(("mode", "config", "outcome", "value", "comment", "words"), WRONG_ANSWERS)
def test_an_answer_that_cannot_be_taken_says_why_and_leaves_the_gate_open(
    store, mode, config, outcome, value, comment, words
):
    async def work():
        async with app(store) as made:
            run = await made.start("a, b", process=gate_process(mode, **config))
            gate = only_gate(await made.result(run.id))
            count = len(await made.store.read(run.id))
            with pytest.raises(AnswerRefused, match=words) as refused:
                await made.answer(run.id, gate, outcome, value=value, comment=comment)
            assert refused.value.status == 422
            assert len(await made.store.read(run.id)) == count
            assert only_gate(await made.result(run.id)) == gate
            right = {"form": ("submit", {"city": "Rome"}), "select": ("select", ["a"])}.get(mode, ("approve", None))
            await made.answer(run.id, gate, right[0], value=right[1])
            return await made.result(run.id)

    assert asyncio.run(work()).status == "completed"


def test_an_edited_artefact_must_fit_its_schema(store):
    process = gate_process("confirm", phase={"producedOutputs": ["offer"], "startActivityId": "make_offer"})
    process["artifacts"] = {"offer": {"type": "object", "required": ["price"]}}
    process["activities"].insert(
        0,
        {
            "activityId": "make_offer",
            "type": "LLM",
            "phaseRef": "work",
            "produces": "offer",
            "config": {"instruction": "offer"},
        },
    )

    async def work():
        made = App(store=str(store))
        async with made:
            run = await made.start("make an offer", process=process)
            gate = only_gate(await made.result(run.id))
            with pytest.raises(AnswerRefused, match="price"):
                await made.answer(run.id, gate, "confirm", value={"prize": 3})
            await made.answer(run.id, gate, "confirm", value={"price": 3})
            return await made.result(run.id)

    result = asyncio.run(work())
    assert result.status == "completed"
    assert result.artifacts["offer"]["price"] == 3
    assert result.artifacts["offer"]["confirmedBy"]


def test_the_first_answer_wins_a_repeat_is_harmless_and_a_late_one_learns_who_won(store):
    async def work():
        async with app(store) as made:
            run = await made.start("a, b", process=gate_process())
            gate = only_gate(await made.result(run.id))
            kai, ann = Who("kai", "page"), Who("ann", "cli")
            await made.answer(run.id, gate, "approve", by=kai, key="k1")
            await made.answer(run.id, gate, "approve", by=kai, key="k1")
            with pytest.raises(AnswerRefused, match="already answered by kai: approve") as late:
                await made.answer(run.id, gate, "reject", comment="no", by=ann)
            assert late.value.status == 409
            await made.result(run.id)
            votes = [e for e in await history(made, run.id) if isinstance(e, GateAnswered)]
            await made.answer(run.id, gate, "approve", by=kai, key="k1")
            return votes

    assert [(vote.by.id, vote.key) for vote in asyncio.run(work())] == [("kai", "k1")]


def test_an_answer_to_a_version_that_was_asked_again_is_refused(store):
    async def work():
        async with app(store, [plan(opened("a")), plan(opened("b"))], {"*": "a long enough text"}) as made:
            run = await made.start("a", process=gate_process())
            gate = only_gate(await made.result(run.id))
            await made.answer(run.id, gate, "reject", comment="shorter", version=1)
            again = await made.result(run.id)
            assert (only_gate(again), again.waiting_for[0].version) == (gate, 2)
            with pytest.raises(AnswerRefused, match="for version 1, the question is at version 2"):
                await made.answer(run.id, gate, "approve", version=1)

    asyncio.run(work())


def test_an_answer_after_a_cancel_is_refused_and_the_run_stays_cancelled(store):
    async def work():
        async with app(store) as made:
            run = await made.start("a, b", process=gate_process())
            gate = only_gate(await made.result(run.id))
            await made.cancel(run.id, "no longer needed")
            with pytest.raises(AnswerRefused, match="over") as refused:
                await made.answer(run.id, gate, "approve")
            assert refused.value.status == 410
            with pytest.raises(WrongUse, match="cancelled already"):
                await made.cancel(run.id)
            with pytest.raises(AnswerRefused, match="no such gate"):
                await made.answer(run.id, "g9", "approve")
            return await made.result(run.id)

    assert asyncio.run(work()).status == "cancelled"


def test_a_deadline_fires_while_the_app_lives_and_the_run_goes_on(store):
    process = gate_process("confirm", timeoutSeconds=1.5, noMatchPolicy="approve")

    async def work():
        async with app(store) as made:
            run = await made.start("a, b", process=process)
            assert (await made.result(run.id)).status == "waiting"
            result = await rested(made, run.id)
            (resolved,) = await events_named(made, run.id, "GateResolved")
            return result, resolved.by

    result, by = asyncio.run(work())
    assert (result.status, by) == ("completed", "timeout")


def test_an_overdue_deadline_fires_when_the_next_app_takes_the_run(store):
    process = gate_process("confirm", timeoutSeconds=0.2, noMatchPolicy="approve")

    async def first():
        async with app(store) as made:
            run = await made.start("a, b", process=process)
            await made.result(run.id)
            return run.id

    async def second(run_id):
        await asyncio.sleep(0.3)
        async with app(store) as made:
            await made.resume(run_id)
            return await rested(made, run_id)

    assert asyncio.run(second(asyncio.run(first()))).status == "completed"


# ---- pause, resume, cancel, two drivers


def test_a_paused_run_starts_nothing_new_and_goes_on_where_it_was(store):
    world = World()
    steps = plan(
        bound("a", "look", {"what": "one"}), bound("b", "look", {"what": "two"}, ["a"]), bound("c", "look", {}, ["b"])
    )

    async def work():
        async with app(store, [steps], tools=world.tools()) as made:
            world.hold = asyncio.Event()
            run = await made.start("look")
            await until(lambda: world.done == ["look one"])
            await made.pause(run.id, "lunch")
            world.hold.set()
            paused = await made.result(run.id)
            at_pause = list(world.done)
            with pytest.raises(WrongUse, match="only a running run can be paused"):
                await made.pause(run.id)
            done = await made.resume(run.id)
            return paused, at_pause, done

    paused, at_pause, done = asyncio.run(work())
    assert (paused.status, at_pause) == ("paused", ["look one"])
    assert done.status == "completed"
    assert world.counts == {"look one": 1, "look two": 1, "look it": 1}


def test_a_run_left_by_a_closed_app_goes_on_in_the_next(store):
    world = World()
    steps = plan(bound("a", "pay", {"to": "ann"}), bound("b", "look", {"what": "slow"}, ["a"]), opened("c", ["b"]))

    async def first():
        async with app(store, [steps], {"do c": "a long enough text"}, tools=world.tools()) as made:
            world.hold = asyncio.Event()
            run = await made.start("pay ann and look")
            await until(lambda: "pay ann 1" in world.done)
            world.hold.set()
            world.hold = asyncio.Event()
            await until(lambda: "look slow" in world.done)
            return run.id

    async def second(run_id):
        world.hold = None
        async with app(store, [steps], {"do c": "a long enough text"}, tools=world.tools()) as made:
            return await made.resume(run_id)

    result = asyncio.run(second(asyncio.run(first())))
    assert result.status == "completed"
    assert world.counts == {"pay ann 1": 1, "look slow": 2}, "a read runs again, a finished write never"


def test_cancel_ends_a_run_that_works_and_lists_what_may_have_happened(store):
    world = World()

    async def work():
        async with app(store, [plan(bound("a", "pay", {"to": "ann"}))], tools=world.tools()) as made:
            world.hold = asyncio.Event()
            run = await made.start("pay ann")
            await until(lambda: world.done)
            await made.cancel(run.id, "wrong person")
            result = await made.result(run.id)
            (cancelled,) = await events_named(made, run.id, "RunCancelled")
            return result, cancelled

    result, cancelled = asyncio.run(work())
    assert (result.status, result.reason) == ("cancelled", "wrong person")
    assert len(cancelled.in_doubt) == 1
    assert world.open_now == 0, "the call was not cancelled"


def test_a_second_driver_fences_the_first_and_no_write_happens_twice(store):
    world = World()
    steps = plan(
        bound("a", "look", {"what": "slow"}), bound("b", "pay", {"to": "ann"}, ["a"]), bound("c", "pay", {"to": "bob"})
    )

    async def work():
        first = app(store, [steps], tools=world.tools())
        second = app(store, [steps], tools=world.tools())
        async with first, second:
            world.hold = asyncio.Event()
            run_id = first.new_id()
            await first.host.begin(run_id, first.begin("pay ann and bob"))
            one = asyncio.ensure_future(first.host.resume(run_id))
            await until(lambda: len(world.done) == 2)
            two = asyncio.ensure_future(second.host.resume(run_id))
            with pytest.raises(Fenced):
                await one
            world.hold.set()
            state = await two
            gates = [gate.asked for gate in state.gates.values()]
            return gates, [e for e in await history(second, run_id) if isinstance(e, DriveStarted)]

    gates, drives = asyncio.run(work())
    assert len(drives) == 2
    assert world.counts["pay bob 1"] == 1, "a write whose end is unknown was sent again"
    assert [(gate.kind, gate.payload["args"]["to"]) for gate in gates] == [("in_doubt", "bob")]


def test_a_failed_run_is_reopened_with_one_more_plan(store):
    bad, good = plan(opened("a")), plan(opened("b"))
    outputs = {"do a": ValueError("the first way does not work"), "do b": "the second way works"}

    async def work():
        async with app(store, [bad, bad, bad, good], outputs) as made:
            run = await made.start("find a way")
            failed = await made.result(run.id)
            done = await made.reopen(run.id, "try the second way")
            reopened = await events_named(made, run.id, "RunReopened")
            with pytest.raises(WrongUse, match="only a failed run"):
                await made.reopen(run.id)
            return failed, done, reopened

    failed, done, reopened = asyncio.run(work())
    assert failed.status == "failed"
    assert "the first way does not work" in failed.reason
    assert (done.status, done.value) == ("completed", "the second way works")
    assert [event.reason for event in reopened] == ["try the second way"]


# ---- runs in runs, given plans


PARENT = {
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


def child_process(gate):
    phase = {
        "phaseId": "c",
        "order": 1,
        "startActivityId": "make",
        "autoAdvance": True,
        "producedOutputs": ["piece"],
    }
    acts = [
        {"activityId": "make", "type": "LLM", "phaseRef": "c", "produces": "piece", "config": {"instruction": "make"}}
    ]
    if gate:
        phase["exitHumanActivityId"] = "look_at_it"
        acts.append({"activityId": "look_at_it", "type": "HUMAN", "phaseRef": "c", "config": {"humanMode": "approve"}})
    return load_definition({"definitionId": "child", "phases": [phase], "activities": acts})


def test_a_process_runs_another_one_and_takes_what_it_made(store):
    async def work():
        async with App(store=str(store), processes=[child_process(False)]) as made:
            run = await made.start("make a part", process=PARENT, by=Who("kai", "library"), mode="design")
            result = await made.result(run.id)
            rows = await made.store.runs.list_runs()
            child = next(row for row in rows if row.parent_run_id == run.id)
            (started,) = await events_named(made, child.run_id, "RunStarted")
            return result, started

    result, started = asyncio.run(work())
    assert result.status == "completed"
    assert result.value == result.artifacts["part"]
    assert (started.by.id, started.mode, started.parent_step_id) == ("kai", "design", "s1")


def test_a_run_whose_sub_process_waits_is_waiting_and_goes_on_when_that_is_answered(store):
    async def work():
        async with App(store=str(store), processes=[child_process(True)]) as made:
            run = await made.start("make a part", process=PARENT)
            waiting = await made.result(run.id)
            (gate,) = waiting.waiting_for
            assert (waiting.status, gate.activity_id) == ("waiting", "look_at_it")
            assert gate.run_id != run.id
            child = gate.run_id
        async with App(store=str(store), processes=[child_process(True)]) as made:
            await made.answer(child, gate.gate_id, "approve")
            return await made.result(run.id), await made.result(child)

    parent, child = asyncio.run(work())
    assert (parent.status, child.status) == ("completed", "completed")


def test_cancelling_a_run_cancels_the_runs_below_it(store):
    async def work():
        async with App(store=str(store), processes=[child_process(True)]) as made:
            run = await made.start("make a part", process=PARENT)
            child = (await made.result(run.id)).waiting_for[0].run_id
            await made.cancel(run.id)
            return (await made.result(run.id)).status, (await made.result(child)).status

    assert asyncio.run(work()) == ("cancelled", "cancelled")


def test_a_plan_that_a_person_confirmed_is_carried_out_as_it_is(store):
    """`planFrom`: no planner call for the phase, and the person's edit is what runs."""
    world = World()
    phases = [
        {
            "phaseId": "plan",
            "order": 1,
            "startActivityId": "write_plan",
            "exitHumanActivityId": "ok",
            "autoAdvance": True,
            "producedOutputs": ["approvedPlan"],
        },
        {"phaseId": "do", "order": 2, "autoAdvance": True, "planFrom": "approvedPlan", "producedOutputs": []},
    ]
    acts = [
        {
            "activityId": "write_plan",
            "type": "LLM",
            "phaseRef": "plan",
            "produces": "approvedPlan",
            "config": {"instruction": "plan"},
        },
        {"activityId": "ok", "type": "HUMAN", "phaseRef": "plan", "config": {"humanMode": "approve"}},
    ]
    step = {"id": "1", "action": "pay", "tool_hint": "pay", "depends_on": []}
    shown = {"goal": "pay", "steps": [{**step, "call": {"tool": "pay", "args": {"to": "ann"}}}], "constraints": []}
    edited = {"goal": "pay", "steps": [{**step, "call": {"tool": "pay", "args": {"to": "bob"}}}], "constraints": []}
    first = plan(Step("x", "plan", activity_id="write_plan", produces="approvedPlan"))
    asked = []

    class Planner(ScriptedPlanner):
        async def plan(self, request, desk):
            asked.append(request.phase_id)
            return await super().plan(request, desk)

    async def work():
        process = {"definitionId": "two", "phases": phases, "activities": acts}
        planner = Planner({"plan": [first]})
        async with app(store, outputs={"write_plan": shown}, planner=planner, tools=world.tools()) as made:
            run = await made.start("pay ann or bob", process=process)
            gate = only_gate(await made.result(run.id))
            await made.answer(run.id, gate, "approve", value=edited)
            return await made.result(run.id)

    assert asyncio.run(work()).status == "completed"
    assert asked == ["plan"]
    assert world.done == ["pay bob 1"]


def test_the_phases_of_a_process_are_merged_for_a_light_task_when_it_asks_for_that(store):
    phases = [
        {"phaseId": f"p{n}", "order": n, "autoAdvance": True, "producedOutputs": [], "displayName": f"P{n}"}
        for n in (1, 2, 3)
    ]
    process = {"definitionId": "auto", "phaseGranularity": "auto", "phases": phases}

    async def work():
        async with App(store=str(store)) as made:
            run = await made.start("a", process=process)
            result = await made.result(run.id)
            (started,) = await events_named(made, run.id, "RunStarted")
            return result, started

    result, started = asyncio.run(work())
    assert result.status == "completed"
    assert [phase.phase_id for phase in started.phases] == ["p1"]


def test_a_store_that_cannot_be_opened_is_said_at_once(tmp_path):
    with pytest.raises(StoreUnusable, match="it is a folder"):
        App(store=str(tmp_path))
    with pytest.raises(StoreUnusable, match="sqlite:///path"):
        App(store="postgres://somewhere")


def test_two_tools_of_one_name_are_refused(store):
    @tool(effect="read")
    def look() -> int:
        """Look."""
        return 1

    with pytest.raises(WrongUse, match="two tools are named 'look'"):
        App(store=str(store), tools=[look, tool(effect="read", name="look")(lambda: 2)])


def test_a_process_can_be_given_as_a_definition(store):
    made = app(store)
    definition = made.process({"definitionId": "mine", "phases": []})
    assert isinstance(definition, Process)
    assert made.process(definition) is definition
    assert made.process("intent-dispatch").definition_id == "intent-dispatch"
    assert made.run_sync("a, b", process=definition).status == "completed"
