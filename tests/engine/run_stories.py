"""Runs with one thing each that can happen to a run; every one returns the rig with its log filled."""

import asyncio
from dataclasses import replace

from phaseloop.core.answers import Verdict
from phaseloop.core.plan import ActivityType, Call, Plan, Step
from phaseloop.core.process import Activity, Definition, GateConfig, GateMode, NoMatchPolicy, Option, Phase
from phaseloop.core.tools import EffectClass, Risk, ToolSpec
from phaseloop.core.words import AddNote, Cancel, CatalogueMoved, Pause, RaiseLimit, Reopen, Resume
from phaseloop.engine.ports import Returned
from phaseloop.roles.protocols import Roles
from phaseloop.roles.scripted import Attempts, ScriptedCritic, ScriptedExecutor, ScriptedPlanner
from tests.engine.run_rig import ANN, QUICK, FakeTools, Rig, model_turn, read, until, write


def roles(plans, outputs=(), verdicts=()):
    return Roles(ScriptedPlanner(plans), ScriptedExecutor(outputs), ScriptedCritic(verdicts or {}))


def bound(name, tool, args, needs=(), **more):
    return Step(name, f"{tool} for {name}", depends_on=needs, call=Call(tool, args), **more)


def ref(step, path):
    return {"$ref": step, "path": path}


class Held:
    """A tool that holds until it is let go; `entered` says that a call is out."""

    def __init__(self):
        self.entered = 0
        self.free = asyncio.Event()

    async def __call__(self, args, key, n):
        self.entered += 1
        await self.free.wait()
        return Returned("ok", dict(args))


async def parallel_reads():
    steps = (
        bound("a", "look", {"q": "x"}),
        bound("b", "look", {"q": "y"}),
        bound("c", "join", {"left": ref("a", "q"), "text": {"$tmpl": "{a:q} and {b:q}"}}, ("a", "b")),
    )
    rig = Rig(roles([Plan("look at x and y", steps, result=ref("c", "text"))]), FakeTools([read("look"), read("join")]))
    await rig.drive("look at x and y")
    return rig


async def retried_step():
    schema = {"type": "object", "required": ["n"]}
    step = Step("a", "count the words", output_schema=schema)
    rig = Rig(roles([Plan("count", (step,))], {"s1": Attempts({"x": 1}, {"n": 1})}), FakeTools([]))
    await rig.drive("count the words")
    return rig


async def best_of_attempts():
    """Every attempt is too short; the best one is kept with a warning."""
    limits = replace(QUICK, step_retries=1, replans=0, min_result_chars=30)
    outputs = {"s1": Attempts("a little longer", "short", "short")}
    rig = Rig(roles([Plan("write", (Step("a", "write a page"),))], outputs), FakeTools([]), limits=limits)
    await rig.drive("write a page")
    return rig


async def replanned():
    """One step fails for good; what is finished stays, the rest is planned anew."""
    first = (bound("a", "look", {"q": "x"}), bound("b", "broken", {"q": "z"}), Step("c", "sum up", depends_on=("b",)))
    second = (bound("d", "look", {"q": "z"}, ("s1",)), Step("e", "sum up", depends_on=("d", "s1")))
    tools = FakeTools([read("look"), read("broken")], {"broken": lambda a, k, n: Returned("failed", error="no page")})
    rig = Rig(roles([Plan("x and z", first), Plan("x and z", second)], {"sum up": "all seen"}), tools)
    await rig.drive("look at x and z, then sum up")
    return rig


async def refused_plan():
    """A plan with a step that depends on nothing known is refused; the second one is taken."""
    bad = Plan("x", (Step("a", "think", depends_on=("nowhere",)),))
    planner = ScriptedPlanner([Attempts(bad, Plan("x", (Step("a", "think"),)))])
    rig = Rig(Roles(planner, ScriptedExecutor({"s1": "thought"}), ScriptedCritic({})), FakeTools([]))
    await rig.drive("think")
    return rig


async def planner_that_raises():
    planner = ScriptedPlanner([Attempts(RuntimeError("no idea"), RuntimeError("still none"))])
    rig = Rig(Roles(planner, ScriptedExecutor([]), ScriptedCritic({})), FakeTools([]))
    await rig.drive("think")
    return rig


async def judged_and_planned_again():
    """A critic finds the whole wanting; then it is content."""
    plans = [Plan("write", (Step("a", "write a page"),)), Plan("write", (Step("b", "write it better"),))]
    verdicts = [Verdict(3.0, False, ("too thin",), "say more", "model"), Verdict(6.5, True, ("still thin",))]
    rig = Rig(roles(plans, {"s1": "thin", "s2": "thicker"}, verdicts), FakeTools([]))
    await rig.drive("write a page")
    return rig


async def hopeless():
    """Every plan fails; the run fails, is reopened by a person with more room, and succeeds."""
    steps = (Step("a", "think"),)
    outputs = {"s1": RuntimeError("no"), "s2": RuntimeError("no"), "s3": RuntimeError("no"), "s4": "yes"}
    rig = Rig(roles([Plan("think", steps)] * 4, outputs), FakeTools([]))
    assert (await rig.drive("think")).status == "failed"
    await rig.say(Reopen(ANN, "try it once more", {"task_replans": 1}))
    await rig.drive()
    return rig


async def deep_reflection():
    limits = replace(QUICK, deep_reflection=True)
    verdicts = {"deep": Verdict(3.0, False, ("the tool is away",), "use the other one", "model")}
    outputs = {"s1": RuntimeError("no answer"), "s2": "done"}
    plans = [Plan("think", (Step("a", "think"),)), Plan("think", (Step("b", "think harder"),))]
    rig = Rig(roles(plans, outputs, verdicts), FakeTools([]), limits=limits)
    await rig.drive("think")
    return rig


GATED = Definition(
    "two-phases",
    phases=(
        Phase("draft", "Draft", 1, exit_human_activity_id="confirm", produced_outputs=("text",)),
        Phase("ship", "Ship", 2, entry_condition="text != null", auto_advance=True),
    ),
    activities=(
        Activity("confirm", ActivityType.HUMAN, "draft", "Is it right?", gate=GateConfig(GateMode.CONFIRM)),
        Activity("send", ActivityType.LLM, "ship", "Send it"),
    ),
)


async def revised_gate():
    """An exit gate: once revised with a comment, then confirmed; the next phase starts on its artefact."""
    plans = {
        "draft": [
            Plan("text", (Step("a", "write"),)),
            Plan("text", (Step("s1", "write", produces="text"), Step("b", "write it shorter", produces="text"))),
        ],
        "ship": [Plan("send", (Step("c", "send it", activity_id="send"),))],
    }
    outputs = {"write": {"t": "long"}, "write it shorter": {"t": "short"}, "send": "sent"}
    rig = Rig(roles(plans, outputs), FakeTools([]), GATED)
    await rig.drive("write a text and send it")
    await rig.answer("revise", comment="shorter please")
    await rig.drive()
    await rig.answer("confirm", {"t": "shortest"})
    await rig.drive()
    return rig


async def returned_to_an_earlier_phase():
    gate = GateConfig(GateMode.APPROVE)
    ship = replace(GATED.phases[1], exit_human_activity_id="approve", auto_advance=False)
    approve = Activity("approve", ActivityType.HUMAN, "ship", "Ship it?", gate=gate)
    definition = replace(GATED, phases=(GATED.phases[0], ship), activities=(*GATED.activities, approve))
    plans = {
        "draft": [Plan("text", (Step("a", "write"),))] * 2,
        "ship": [Plan("send", (Step("c", "send it", activity_id="send"),))] * 2,
    }
    rig = Rig(roles(plans, {"write": {"t": "a"}, "send": "sent"}), FakeTools([]), definition)
    await rig.drive("write a text and send it")
    for outcome, value in (("confirm", None), ("return_to", "draft"), ("confirm", None), ("approve", None)):
        await rig.answer(outcome, value, "again" if outcome == "return_to" else "")
        await rig.drive()
    return rig


async def blocked_phase():
    """An entry condition that stays false waits for a person, who overrides it."""
    phases = (Phase("one", "One", 1, auto_advance=True), Phase("two", "Two", 2, entry_condition="1 > 2"))
    definition = Definition("blocked", phases=(phases[0], replace(phases[1], auto_advance=True)))
    plan = Plan("think", (Step("a", "think"),))
    rig = Rig(roles({"one": [plan], "two": [plan]}, {"think": "thought"}), FakeTools([]), definition)
    await rig.drive("think")
    await rig.answer("override")
    await rig.drive()
    return rig


async def gates_of_all_modes():
    """A start gate that selects, an activity that fills a form, an advance gate, one that passes by itself."""
    options = (Option("fast", "Fast", recommended=True), Option("good", "Good"))
    schema = {"type": "object", "properties": {"name": {"type": "string", "default": "x"}}, "required": ["name"]}
    definition = Definition(
        "modes",
        phases=(Phase("one", "One", 1, start_activity_id="pick"), Phase("two", "Two", 2, auto_advance=True)),
        activities=(
            Activity("pick", ActivityType.HUMAN, "one", gate=GateConfig(GateMode.SELECT, options=options)),
            Activity("name", ActivityType.HUMAN, "one", gate=GateConfig(GateMode.FORM, schema=schema), produces="form"),
            Activity("pass", ActivityType.HUMAN, "two", gate=GateConfig(auto_pass_when="1 < 2")),
        ),
    )
    plan = Plan("think", (Step("a", "think"),))
    rig = Rig(roles({"one": [plan], "two": [plan]}, {"think": "thought"}), FakeTools([]), definition)
    await rig.drive("think")
    for outcome, value in (("select", ["good"]), ("submit", {"name": "y"}), ("advance", None)):
        await rig.answer(outcome, value)
        await rig.drive()
    return rig


async def gate_that_times_out():
    """A deadline passes twice: once it asks again, then the gate's policy decides."""
    config = GateConfig(timeout_seconds=0.001, no_match_policy=NoMatchPolicy.ASK_AGAIN, max_asks=2)
    activity = Activity("confirm", ActivityType.HUMAN, "one", "Fine?", gate=config)
    phase = Phase("one", "One", 1, exit_human_activity_id="confirm")
    definition = Definition("timed", phases=(phase,), activities=(activity,))
    plans = {"one": [Plan("think", (Step("a", "think"),))] * 9}
    rig = Rig(roles(plans, {"think": "thought"}), FakeTools([]), definition)
    await rig.drive("think")
    for _ in range(4):
        rig.now += 5
        await rig.host.fire_due()
        await rig.drive()
    await rig.say(Cancel(ANN, "enough"))
    return rig


def ask_and_look(request, desk):
    """An open step of three replies: two reads side by side, a write, a repeated write."""

    async def go():
        first = [("look", {"q": "a"}), ("look", {"q": "b"})]
        await model_turn(desk, "look at both", first, {"system": "you work", "user": request.step.action})
        await asyncio.gather(*(desk.call(tool, args, i=i) for i, (tool, args) in enumerate(first)))
        await model_turn(desk, "send it", [("send", {"to": "ann"})])
        await desk.call("send", {"to": "ann"}, i=0)
        await model_turn(desk, "send it again", [("send", {"to": "ann"})])
        again = await desk.call("send", {"to": "ann"}, i=0)
        return {"said": await model_turn(desk, "all is sent"), "again": again.value}

    return go()


def open_rig(behaviours=None, outputs=ask_and_look, **specs):
    tools = FakeTools([read("look"), write("send", identity=("to",), **specs)], behaviours or {})
    step = Step("a", "tell ann", tool_hint="send")
    return Rig(roles([Plan("tell ann", (step,))], {"tell ann": outputs}), tools)


async def open_step():
    rig = open_rig()
    await rig.drive("tell ann about a and b")
    return rig


async def crash_in_a_read():
    """The process dies while one of two reads is out; the record is served, the read is sent again."""
    held = Held()

    async def look(args, key, n):
        return await held(args, key, n) if args["q"] == "b" and n <= 2 else Returned("ok", dict(args))

    rig = open_rig({"look": look})
    await rig.crash_when(lambda: held.entered, "tell ann about a and b")
    await rig.drive()
    return rig


async def crash_in_a_write(outcome="happened"):
    """The process dies while a write is out; a person is asked whether it happened."""
    held = Held()

    async def send(args, key, n):
        return await held(args, key, n) if n == 1 else Returned("ok", dict(args))

    rig = open_rig({"send": send})
    await rig.crash_when(lambda: held.entered, "tell ann about a and b")
    assert (await rig.drive()).status == "running"
    await rig.answer(outcome, {"to": "ann"} if outcome == "happened" else None)
    await rig.drive()
    return rig


async def verified_write(word=(True, {"to": "ann"})):
    """The process dies while a write with a hook is out; the hook knows, and nobody is asked."""
    held = Held()

    async def send(args, key, n):
        return await held(args, key, n) if n == 1 else Returned("ok", dict(args))

    rig = open_rig({"send": send}, verify=True)
    rig.tools.verified["send"] = word
    await rig.crash_when(lambda: held.entered, "tell ann about a and b")
    await rig.drive()
    return rig


async def unsure_write():
    """A write times out after it was sent; a person says that it did not happen."""
    rig = open_rig({"send": lambda a, k, n: Returned("unsure", error="timeout") if n == 1 else Returned("ok", a)})
    await rig.drive("tell ann about a and b")
    await rig.answer("run_it")
    await rig.drive()
    return rig


async def unsure_write_with_a_hook(happened=False):
    """Two writes under one lock at once; the first times out, its hook knows, the second waits its turn."""

    async def pay_both(request, desk):
        calls = [("pay", {"to": "ann"}), ("pay", {"to": "bob"})]
        await model_turn(desk, "pay both", calls)
        done = await asyncio.gather(*(desk.call(tool, args, i=i) for i, (tool, args) in enumerate(calls)))
        return [one.value for one in done]

    def pay(args, key, n):
        return Returned("unsure", error="timeout") if n == 1 else Returned("ok", dict(args))

    known = (happened, {"to": "ann"} if happened else None)
    tools = FakeTools([write("pay", verify=True)], {"pay": pay}, {"pay": known})
    rig = Rig(roles([Plan("pay", (Step("a", "pay both", tool_hint="pay"),))], {"pay both": pay_both}), tools)
    await rig.drive("pay ann and bob")
    return rig


async def unsure_read():
    rig = open_rig({"look": lambda a, k, n: Returned("unsure", error="timeout") if n == 1 else Returned("ok", a)})
    await rig.drive("tell ann about a and b")
    return rig


async def approved_call(outcome="approve", value=None):
    """A write that always asks: approved as it is, with other arguments, or refused."""
    rig = open_rig(approval=True)
    await rig.drive("tell ann about a and b")
    await rig.answer(outcome, value, "not to her" if outcome == "reject" else "")
    if not (await rig.drive()).over:
        await rig.answer("approve")
        await rig.drive()
    return rig


async def two_open_questions():
    """Two writes that ask, in parallel steps; answered one by one from outside."""
    tools = FakeTools([write("pay", approval=True, conflict_key="bank:{to}")])
    plan = Plan("pay", (bound("a", "pay", {"to": "ann"}), bound("b", "pay", {"to": "bob"})))
    again = Plan("pay", (Step("c", "pay bob by hand"),))
    rig = Rig(roles([plan, again], {"s3": "paid by hand"}), tools)
    await rig.drive("pay ann and bob")
    await rig.answer("approve")
    await rig.answer("reject", comment="not bob")
    await rig.drive()
    return rig


async def transient_failures():
    """A read fails twice in passing, a write once before it was sent; a third tool hands over to its fallback."""
    away = Returned("failed", error="busy", transient=True, unsent=True)
    tools = FakeTools(
        [read("look"), write("send"), read("first", fallback="second"), read("second")],
        {
            "look": lambda a, k, n: away if n <= 2 else Returned("ok", a),
            "send": lambda a, k, n: away if n == 1 else Returned("ok", a),
            "first": lambda a, k, n: Returned("failed", error="gone"),
        },
    )
    steps = (
        bound("a", "look", {"q": "x"}),
        bound("b", "send", {"to": "x"}, ("a",)),
        bound("c", "first", {"q": "x"}, ("b",)),
    )
    rig = Rig(roles([Plan("x", steps)]), tools)
    await rig.drive("look at x and send it to x")
    return rig


async def broken_tool():
    """A tool fails until its breaker opens; what comes later is refused unsent, or goes to its fallback."""
    tools = FakeTools(
        [read("look", fallback="search"), read("search")], {"look": lambda a, k, n: Returned("failed", error="down")}
    )
    steps = tuple(bound(f"a{n}", "look", {"q": str(n)}, (f"a{n - 1}",) if n > 1 else ()) for n in range(1, 8))
    rig = Rig(roles([Plan("look at 1 2 3 4 5 6 7", steps)]), tools)
    await rig.drive("look at 1 2 3 4 5 6 7")
    return rig


async def each_and_only_if():
    """A read repeated for every element of a list; steps that are skipped; a checked output."""
    tools = FakeTools(
        [read("list"), read("look")], {"list": lambda a, k, n: Returned("ok", {"ids": ["a", "b", "c"], "n": 3})}
    )
    steps = (
        bound("a", "list", {}, output_schema={"type": "object", "required": ["n"]}),
        bound("b", "look", {"id": {"$ref": "item"}}, ("a",), each=ref("a", "ids")),
        bound("c", "look", {"id": "none"}, ("a",), only_if="a.n > 5"),
        bound("d", "look", {"id": "three"}, ("a",), only_if="a.n == 3"),
    )
    rig = Rig(roles([Plan("look at none or three", steps)]), tools)
    await rig.drive("look at none or three, and at all")
    return rig


async def checked_output_fails():
    """A bound read whose output breaks its schema: judged, retried, planned again."""
    schema = {"type": "object", "required": ["n"]}
    tools = FakeTools([read("list")], {"list": lambda a, k, n: Returned("ok", {"m": 1} if n < 5 else {"n": 1})})
    plan = Plan("list", (bound("a", "list", {}, output_schema=schema),))
    rig = Rig(roles([plan, plan, plan]), tools)
    await rig.drive("list all")
    return rig


CHILD = Definition("child", phases=(Phase("only", "Only", 1, auto_advance=True, produced_outputs=("answer",)),))
PARENT = Definition(
    "parent",
    phases=(Phase("main", "Main", 1, auto_advance=True),),
    activities=(
        Activity("sub", ActivityType.SUBPROCESS, "main", config={"definitionId": "child", "outputs": {"a": "answer"}}),
    ),
)


def parent_rig(child=CHILD):
    plans = {
        "main": [Plan("ask", (Step("a", "ask the child", activity_id="sub"),))] * 3,
        "only": [Plan("answer", (Step("a", "answer"),))],
    }
    return Rig(roles(plans, {"answer": {"n": 42}}), FakeTools([]), PARENT, children={"child": child})


async def child_run():
    rig = parent_rig()
    await rig.drive("ask")
    return rig


async def child_that_waits():
    """The child asks a person; parent and child rest, the answer wakes both."""
    phase = replace(CHILD.phases[0], exit_human_activity_id="ok")
    rig = parent_rig(replace(CHILD, phases=(phase,), activities=(Activity("ok", ActivityType.HUMAN, "only"),)))
    await rig.drive("ask")
    await rig.answer("confirm", run_id="child-1")
    await rig.drive(run_id="child-1")
    await rig.drive()
    return rig


async def child_that_fails():
    rig = parent_rig()
    rig.roles = replace(rig.roles, executor=ScriptedExecutor({"answer": RuntimeError("no"), "ask the child": "-"}))
    await rig.drive("ask")
    return rig


async def cancelled_in_a_write():
    """Cancelled from outside while a write is out and another step asks a person."""
    held = Held()
    tools = FakeTools([write("send"), write("pay", approval=True)], {"send": held})
    rig = Rig(roles([Plan("x", (bound("a", "send", {"to": "x"}), bound("b", "pay", {"to": "x"})))]), tools)
    task = asyncio.ensure_future(rig.drive("send and pay x"))
    await until(lambda: held.entered)
    await rig.until_a_gate_is_open()
    await rig.say(Cancel(ANN, "changed my mind"))
    await task
    return rig


async def paused_and_resumed():
    """Paused while a read is out: it ends and is recorded, nothing new starts; then it goes on."""
    held = Held()
    tools = FakeTools([read("slow"), read("look")], {"slow": held})
    rig = Rig(roles([Plan("x", (bound("a", "slow", {"q": "x"}), bound("b", "look", {"q": "x"}, ("a",))))]), tools)
    task = asyncio.ensure_future(rig.drive("look at x"))
    await until(lambda: held.entered)
    await rig.say(Pause(ANN, "lunch"))
    await rig.say(AddNote(ANN, "back at one"))
    held.free.set()
    await task
    await rig.say(Resume(ANN))
    await rig.drive()
    return rig


async def words_of_all_kinds():
    """A note, a raised limit and a changed catalogue come while the run waits at a gate."""
    rig = open_rig(approval=True)
    await rig.drive("tell ann about a and b")
    await rig.say(AddNote(ANN, "ann is on leave"))
    await rig.say(RaiseLimit(ANN, "task_replans", 1))
    await rig.say(CatalogueMoved((*rig.tools.specs, read("extra"))))
    await rig.answer("approve", {"to": "bob"})
    await rig.drive()
    await rig.answer("approve")
    await rig.drive()
    return rig


async def answered_while_driven():
    """An answer from outside while another step still runs."""
    held = Held()
    tools = FakeTools([read("slow"), write("pay", approval=True)], {"slow": held})
    rig = Rig(roles([Plan("x", (bound("a", "slow", {"q": "x"}), bound("b", "pay", {"to": "x"})))]), tools)
    task = asyncio.ensure_future(rig.drive("look at x and pay x"))
    await until(lambda: held.entered)
    await rig.until_a_gate_is_open()
    await rig.answer("approve")
    await until(lambda: rig.tools.calls["pay"])
    held.free.set()
    await task
    return rig


def diverging(first, then):
    """An executor that does `first` on its first entry and `then` on every later one."""
    entries = []

    def go(request, desk):
        entries.append(1)
        return (first if len(entries) == 1 else then)(request, desk)

    return go


async def other_question():
    """After a crash the executor asks something else than it did; the record wins."""

    async def changed(request, desk):
        async def send():
            raise AssertionError("the record has this reply")

        await desk.model("executor", "scripted", "another question", send)
        return await ask_and_look_rest(desk)

    async def ask_and_look_rest(desk):
        await desk.call("look", {"q": "other"}, i=5)
        return "done"

    held = Held()

    async def look(args, key, n):
        return await held(args, key, n) if args["q"] == "b" and n <= 2 else Returned("ok", dict(args))

    rig = open_rig({"look": look}, diverging(ask_and_look, changed))
    await rig.crash_when(lambda: held.entered, "tell ann about a and b")
    await rig.drive()
    return rig


async def ended_early():
    """After a crash the executor ends before its record does."""

    async def early(request, desk):
        return "done at once"

    held = Held()

    async def send(args, key, n):
        return await held(args, key, n)

    rig = open_rig({"send": send}, diverging(ask_and_look, early), verify=True)
    rig.tools.verified["send"] = (True, {"to": "ann"})
    await rig.crash_when(lambda: held.entered, "tell ann about a and b")
    await rig.drive()
    return rig


async def call_beside_the_record():
    """After a crash the executor makes a call that is not in its record, and another one at a known place."""

    async def other(request, desk):
        first = [("look", {"q": "a"}), ("look", {"q": "b"})]
        await model_turn(desk, "look at both", first)
        await desk.call("look", {"q": "zzz"}, i=0)
        await desk.call("look", {"q": "more"}, i=9)
        await model_turn(desk, "send it", [("send", {"to": "ann"})])
        await desk.call("send", {"to": "ann"}, i=0)
        return "done"

    held = Held()

    async def send(args, key, n):
        return await held(args, key, n) if n == 1 else Returned("ok", dict(args))

    rig = open_rig({"send": send}, diverging(ask_and_look, other), verify=True)
    rig.tools.verified["send"] = (False, None)
    await rig.crash_when(lambda: held.entered, "tell ann about a and b")
    await rig.drive()
    return rig


async def poisoned():
    """Drives that die one after another without a fact of their own: the run waits for a person."""
    held = Held()
    rig = Rig(roles([Plan("x", (bound("a", "slow", {"q": "x"}),))]), FakeTools([read("slow")], {"slow": held}))
    await rig.crash_when(lambda: held.entered, "look at x")
    for _ in range(8):
        before, task = held.entered, asyncio.ensure_future(rig.drive())
        await until(lambda before=before, task=task: held.entered > before or task.done())
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await rig.host.close()
        rig.new_host()
    held.free.set()
    assert (await rig.state()).status == "paused"
    await rig.say(Resume(ANN))
    await rig.drive()
    return rig


async def rule_and_judged_steps():
    """A RULE activity, and an LLM activity whose declaration asks for a critic; the critic sends it back once."""
    definition = Definition(
        "declared",
        phases=(Phase("one", "One", 1, auto_advance=True),),
        activities=(
            Activity("check", ActivityType.RULE, "one", config={"check": "1 < 2"}),
            Activity("write", ActivityType.LLM, "one", config={"judge": True}),
        ),
    )
    steps = (Step("a", "check", activity_id="check"), Step("b", "write", depends_on=("a",), activity_id="write"))
    verdicts = {"write": Attempts(Verdict(5.0, False, ("dull",), "be lively", "model"), Verdict(9.0, by="model"))}
    rig = Rig(roles({"one": [Plan("w", steps)]}, {"write": "words"}, verdicts), FakeTools([]), definition)
    await rig.drive("write")
    return rig


async def given_plan():
    """The second phase carries out the plan that the first one made and a person approved."""
    definition = Definition(
        "given",
        phases=(
            Phase("plan", "Plan", 1, exit_human_activity_id="approve", produced_outputs=("approvedPlan",)),
            Phase("do", "Do", 2, plan_from="approvedPlan", auto_advance=True),
        ),
        activities=(Activity("approve", ActivityType.HUMAN, "plan", gate=GateConfig(GateMode.APPROVE)),),
    )
    made = {
        "goal": "look at x",
        "steps": [
            {"id": "1", "action": "look", "call": {"tool": "look", "args": {"q": "x"}}},
            {"id": "2", "action": "say", "depends_on": ["1"]},
        ],
    }
    plans = {"plan": [Plan("make a plan", (Step("a", "make a plan"),))]}
    rig = Rig(roles(plans, {"make a plan": made, "say": "said"}), FakeTools([read("look")]), definition)
    await rig.drive("look at x and say it")
    await rig.answer("approve")
    await rig.drive()
    return rig


async def too_many_reads():
    """The same read over and over in one attempt is answered from the record."""

    async def again_and_again(request, desk):
        for _ in range(5):
            await model_turn(desk, "look", [("look", {"q": "a"})])
            await desk.call("look", {"q": "a"}, i=0)
        return "seen"

    rig = open_rig(outputs=again_and_again)
    await rig.drive("tell ann about a and b")
    return rig


async def idempotent_and_high_risk():
    """An idempotent write is sent again with its key after a crash; a high risk asks."""
    held = Held()

    async def put(args, key, n):
        return await held(args, key, n) if n == 1 else Returned("ok", dict(args))

    specs = [ToolSpec("put", effect=EffectClass.IDEMPOTENT), write("wipe", risk=Risk.HIGH)]
    plan = Plan("x", (bound("a", "put", {"id": "x"}), bound("b", "wipe", {"id": "x"}, ("a",))))
    rig = Rig(roles([plan]), FakeTools(specs, {"put": put}))
    await rig.crash_when(lambda: held.entered, "put x and wipe x")
    await rig.drive()
    await rig.answer("approve")
    await rig.drive()
    return rig


STORIES = {
    "parallel-reads": parallel_reads,
    "retried-step": retried_step,
    "best-of-attempts": best_of_attempts,
    "replanned": replanned,
    "refused-plan": refused_plan,
    "planner-that-raises": planner_that_raises,
    "judged-and-planned-again": judged_and_planned_again,
    "hopeless-and-reopened": hopeless,
    "deep-reflection": deep_reflection,
    "revised-gate": revised_gate,
    "returned-to-an-earlier-phase": returned_to_an_earlier_phase,
    "blocked-phase": blocked_phase,
    "gates-of-all-modes": gates_of_all_modes,
    "gate-that-times-out": gate_that_times_out,
    "open-step": open_step,
    "crash-in-a-read": crash_in_a_read,
    "crash-in-a-write-that-happened": crash_in_a_write,
    "crash-in-a-write-that-did-not": lambda: crash_in_a_write("run_it"),
    "crash-in-a-write-abandoned": lambda: crash_in_a_write("abandon"),
    "verified-write": verified_write,
    "verified-write-that-did-not": lambda: verified_write((False, None)),
    "unsure-write": unsure_write,
    "unsure-write-with-a-hook": unsure_write_with_a_hook,
    "unsure-write-that-its-hook-saw": lambda: unsure_write_with_a_hook(True),
    "unsure-read": unsure_read,
    "approved-call": approved_call,
    "approved-with-other-arguments": lambda: approved_call("approve", {"to": "bob"}),
    "refused-call": lambda: approved_call("reject"),
    "two-open-questions": two_open_questions,
    "transient-failures": transient_failures,
    "broken-tool": broken_tool,
    "each-and-only-if": each_and_only_if,
    "checked-output-fails": checked_output_fails,
    "child-run": child_run,
    "child-that-waits": child_that_waits,
    "child-that-fails": child_that_fails,
    "cancelled-in-a-write": cancelled_in_a_write,
    "paused-and-resumed": paused_and_resumed,
    "words-of-all-kinds": words_of_all_kinds,
    "answered-while-driven": answered_while_driven,
    "other-question": other_question,
    "ended-early": ended_early,
    "call-beside-the-record": call_beside_the_record,
    "poisoned": poisoned,
    "rule-and-judged-steps": rule_and_judged_steps,
    "given-plan": given_plan,
    "too-many-reads": too_many_reads,
    "idempotent-and-high-risk": idempotent_and_high_risk,
}
