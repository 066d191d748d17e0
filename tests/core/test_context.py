"""The named parts of the context, and who may see which."""

from phaseloop.core.context import (
    checks_of,
    condition_names,
    evidence,
    finished_steps,
    instruction_of,
    step_context,
)
from phaseloop.core.plan import Step
from phaseloop.core.process import Activity, ActivityType, Definition, Phase
from tests.core.player import Player, World, plan, read, think, write

WORK = Activity(
    "work", ActivityType.LLM, config={"instruction": {"en": "Write", "zh": "写"}, "check": "size(output) > 3"}
)
TWO = Definition(
    "two",
    phases=(
        Phase("p1", produced_outputs=("intent",), auto_advance=True),
        Phase("p2", order=2, produced_outputs=("page",), auto_advance=True, instruction="Be short"),
    ),
    activities=(Activity("work", ActivityType.LLM, phase_ref="p2", config=WORK.config),),
    artifacts={"intent": {}, "page": {"type": "string"}},
)


def in_second_phase():
    """A run that stands in its second phase: one step done, one under way, one to come."""
    steps = (write("x", room="1"), Step("y", "Work", depends_on=("x",), activity_id="work"), think("z", "y"))
    world = World(
        plan=lambda r: plan(think("a")) if r.phase_id == "p1" else plan(*steps), step=lambda e: f"out {e.step.id}"
    )
    player = Player(world, TWO, goal="Make a page", inputs={"tone": "dry"})
    player.hold = {"step/s3/1"}
    player.drive()
    for _ in range(40):
        player.reconcile()
        if not player.ready():
            break
        player.turn(player.ready())
    assert player.state.steps["s3"].status == "running"
    return player.state


def test_a_step_sees_the_request_its_inputs_and_what_it_depends_on_and_never_the_history():
    state = in_second_phase()
    seen = step_context(state, state.steps["s3"])
    assert list(seen) == ["USER_INPUT", "PHASE", "INPUTS", "ARTIFACT_intent", "STEP_2_RESULT"]
    assert seen["STEP_2_RESULT"] == {"of": "book"}
    assert seen["ARTIFACT_intent"] == "out s1"
    assert (seen["USER_INPUT"], seen["PHASE"], seen["INPUTS"]) == ("Make a page", "Be short", {"tone": "dry"})
    assert "STEP_2_RESULT" not in step_context(state, state.steps["s4"])


def test_a_condition_may_name_everything_declared_and_what_is_missing_is_null():
    names = condition_names(in_second_phase())
    assert (names["intent"], names["page"], names["tone"], names["mode"]) == ("out s1", None, "dry", "normal")
    assert (names["s2"], names["s3"], names["s4"]) == ({"of": "book"}, None, None)
    assert "s1" not in names, "steps of another phase have no names here"
    assert names["artifact"]["intent"] == "out s1"
    assert names["input"] == {"tone": "dry"}
    assert condition_names(Player(definition=TWO).state)["intent"] is None


def test_a_declared_activity_brings_its_instruction_and_its_check():
    state = in_second_phase()
    assert instruction_of(state, state.steps["s3"]) == "Write"
    assert instruction_of(state, state.steps["s2"]) == ""
    assert [c.expression for c in checks_of(state, state.steps["s3"]) if c.expression] == ["size(output) > 3"]


def test_the_critic_gets_the_finished_writes_in_order():
    state = in_second_phase()
    assert evidence(state) == ({"tool": "book", "step": "s2", "outcome": "ok", "result": {"of": "book"}},)
    assert evidence(state, "s3") == ()
    assert [(s.id, s.output) for s in finished_steps(state)] == [("s2", {"of": "book"})]
    assert read("a").bound
