"""Which writes run without a question (contract section 8)."""

import pytest

from phaseloop.core.gate_events import GateOpened
from phaseloop.core.plan import Call, Step
from phaseloop.core.process import Activity, ActivityType, Definition, GateConfig, Phase
from phaseloop.core.statuses import RunStatus
from phaseloop.core.tools import EffectClass, Risk, ToolSpec
from tests.core.player import Player, World, plan, read, think, write

READ = ToolSpec("look", effect=EffectClass.READ)
BAD = ToolSpec("web", effect=EffectClass.READ, untrusted=True)
MAIL = ToolSpec("mail", identity=("to",))


def asked(*steps, tools=(MAIL,), goal="Mail ann@x.org", step=None, tool=None, **begin):
    """Why the run asked, or nothing when it ran without a question."""
    world = World(plan=lambda r: plan(*steps))
    if step is not None:
        world.step = step
    if tool is not None:
        world.tool = tool
    player = Player(
        world,
        begin.pop("definition", Definition("flat", phases=(Phase("p1", auto_advance=True),))),
        (READ, BAD, *tools),
        goal=goal,
        **begin,
    )
    player.run()
    gates = player.of(GateOpened)
    assert bool(gates) != (player.state.status is RunStatus.COMPLETED)
    assert not gates or player.state.steps[gates[-1].step_id].status == "paused"
    return gates[-1].prompt if gates else ""


def mail(to, *after, label="m"):
    return write(label, *after, tool="mail", to=to)


def ref(source, path=""):
    return {"$ref": source, "path": path}


@pytest.mark.parametrize(
    ("tool", "why"),
    [
        (ToolSpec("act", approval=True), "act always asks"),
        (ToolSpec("act", effect=EffectClass.READ, approval=True), "act always asks"),
        (ToolSpec("act", risk=Risk.HIGH), "act is a high risk"),
        (ToolSpec("act", effect=EffectClass.IDEMPOTENT, risk=Risk.HIGH), "act is a high risk"),
        (ToolSpec("act", effect=EffectClass.READ, risk=Risk.HIGH), ""),
        (ToolSpec("act", effect=EffectClass.IDEMPOTENT), ""),
        (ToolSpec("act"), ""),
    ],
)
def test_a_call_in_the_plan_asks_by_the_rules_of_its_tool(tool, why):
    assert asked(write("a", tool="act"), tools=(tool,)) == why


@pytest.mark.parametrize(
    ("hint", "why"),
    [
        ("mail", ""),
        (None, "mail is a write that the plan does not name"),
        ("look", "mail is a write that the plan does not name"),
    ],
)
def test_a_write_of_an_open_step_must_be_named_in_the_plan(hint, why):
    def step(effect):
        yield ("call", "mail", {"to": "ann@x.org"})
        return "sent"

    assert asked(think("a", tool_hint=hint), step=step) == why


@pytest.mark.parametrize("to", ["ann@x.org", "ANN@X.ORG", ["ann@x.org"], None, ""])
def test_an_identity_argument_from_the_request_is_known(to):
    assert asked(mail(to)) == ""


@pytest.mark.parametrize("to", ["eve@x.org", "nn@x.org", ["ann@x.org", "eve@x.org"], 7])
def test_an_identity_argument_from_nowhere_asks(to):
    def step(effect):
        yield ("call", "mail", {"to": to})
        return "sent"

    assert "comes neither from the request nor from a trusted source" in asked(think("a", tool_hint="mail"), step=step)


@pytest.mark.parametrize(("amount", "known"), [(249.5, True), ("249.50", True), (249, False), (9.5, False)])
def test_an_amount_is_known_by_its_value(amount, known):
    pay = ToolSpec("pay", identity=("amount",))

    def step(effect):
        yield ("call", "pay", {"amount": amount})
        return "paid"

    why = asked(think("a", tool_hint="pay"), tools=(pay,), step=step, goal="Pay 249.50 to Ann")
    assert (why == "") is known


def test_what_a_trusted_read_returned_is_known_and_what_an_untrusted_one_returned_is_not():
    def tool(name, args, key):
        return {"to": "bob@x.org"}

    trusted = (read("a"), mail(ref("a", "to"), "a"))
    assert asked(*trusted, tool=tool) == ""
    untrusted = (read("a", tool="web"), mail(ref("a", "to"), "a"))
    assert "trusted source" in asked(*untrusted, tool=tool)


def test_taint_flows_on_through_the_steps_that_depend_on_it():
    def tool(name, args, key):
        return {"to": "bob@x.org"}

    steps = (read("a", tool="web"), think("b", "a"), mail(ref("b", "to"), "b"))
    assert "trusted source" in asked(*steps, tool=tool, step=lambda e: {"to": "bob@x.org"})


def test_an_input_of_the_run_is_known():
    assert asked(mail(ref("input.to")), inputs={"to": "bob@x.org"}) == ""


def test_what_a_person_said_at_a_gate_is_known():
    gate = Activity("start", ActivityType.HUMAN, gate=GateConfig(human_mode="form", schema={"type": "object"}))
    phase = Phase("p1", auto_advance=True, start_activity_id="start")

    def step(effect):
        yield ("call", "mail", {"to": "bob@x.org"})
        return "sent"

    definition = Definition("d", phases=(phase,), activities=(gate,))
    world = World(plan=lambda r: plan(think("a", tool_hint="mail")), step=step)
    player = Player(world, definition, (MAIL,))
    player.run()
    player.answer("submit", {"who": "bob@x.org"})
    assert player.run().status is RunStatus.COMPLETED


def approved(plan_value, step):
    """A run whose second phase carries out the plan that a person approved in the first."""
    gate = Activity("ok", ActivityType.HUMAN, gate=GateConfig(human_mode="approve"), phase_ref="p1")
    phases = (
        Phase("p1", produced_outputs=("approvedPlan",), exit_human_activity_id="ok"),
        Phase("p2", order=2, plan_from="approvedPlan", auto_advance=True),
    )
    definition = Definition("d", phases=phases, activities=(gate,))
    outputs = {"p1": plan_value}
    world = World(
        plan=lambda r: plan(think("a")),
        step=lambda e: outputs.pop("p1") if outputs else step(e),
    )
    player = Player(world, definition, (MAIL, READ), goal="Mail ann@x.org")
    player.run()
    player.answer("approve")
    player.run()
    return player


def test_a_write_beyond_the_plan_that_a_person_approved_asks():
    def step(effect):
        yield ("call", "mail", {"to": "ann@x.org"})
        return "sent"

    value = {"goal": "g", "steps": [{"id": "x", "action": "Look at it", "tool_hint": "look", "depends_on": []}]}
    player = approved(value, step)
    assert player.gate()[1].asked.prompt == "mail is not in the plan that ann approved"
    value = {"goal": "g", "steps": [{"id": "x", "action": "Mail Ann", "tool_hint": "mail", "depends_on": []}]}
    assert approved(value, step).state.status is RunStatus.COMPLETED


def test_the_question_shows_the_call_that_was_never_sent():
    player = Player(
        World(plan=lambda r: plan(Step("a", "Act", call=Call("act", {"n": 1})))),
        tools=(ToolSpec("act", approval=True, input_schema={"type": "object"}),),
    )
    player.run()
    asked_gate = player.gate()[1].asked
    assert asked_gate.outcomes == ("approve", "reject", "cancel")
    assert asked_gate.payload["args"] == {"n": 1}
    assert asked_gate.payload["schema"] == {"type": "object"}
    assert (asked_gate.call_id, player.world.sent) == ("c1", [])
    player.answer("approve", {"n": 2})
    player.run()
    assert player.state.steps["s1"].output == {"of": "act"}
