"""When a gate passes by itself, and what it shows (contract section 9, behaviours 2.7)."""

from dataclasses import replace

import pytest

from phaseloop.core.answers import Verdict
from phaseloop.core.gate_events import GateOpened, GateResolved
from phaseloop.core.limits import CriticPower, Limits
from phaseloop.core.plan_events import PlanUpdated
from phaseloop.core.process import Activity, ActivityType, Definition, GateConfig, GateMode, Option, Phase
from phaseloop.core.statuses import RunStatus
from phaseloop.core.tools import Risk
from tests.core.player import Player, World, plan, think

AUTO = GateConfig(auto_pass=True)
FORM = {"properties": {"n": {"default": 1}}, "required": ["n"]}


def run(config, *, auto_advance=True, exit_gate=True, judge=10.0, limits=None, mode="normal", when=True, goal="Do it"):
    gate = Activity("ok", ActivityType.HUMAN, gate=config)
    phase = Phase("p1", exit_human_activity_id="ok" if exit_gate else None, auto_advance=auto_advance)
    world = World(
        plan=lambda r: plan(think("a")),
        judge=lambda e: Verdict(judge, by="model", issues=("weak",) if 6 <= judge < 7 else ()),
        condition=lambda expression, names: when,
    )
    definition = Definition("d", phases=(phase,), activities=(gate,))
    player = Player(world, definition, limits=limits, mode=mode, goal=goal)
    player.run()
    return player


def passes(config, **more):
    player = run(config, **more)
    done = [e for e in player.of(GateResolved) if e.by == "auto_pass"]
    assert bool(done) == (player.state.status is RunStatus.COMPLETED)
    assert len(player.of(GateOpened)) == 1, "the timeline shows it either way"
    return bool(done)


@pytest.mark.parametrize(
    ("config", "by_itself"),
    [
        (GateConfig(), False),
        (AUTO, True),
        (replace(AUTO, human_mode=GateMode.APPROVE), False),
        (replace(AUTO, risk_level=Risk.HIGH), False),
        (replace(AUTO, auto_pass_modes=("design",)), False),
        (replace(AUTO, auto_pass_modes=("NORMAL",)), True),
        (replace(AUTO, human_mode=GateMode.SELECT, options=(Option("x", "X"),)), True),
        (replace(AUTO, human_mode=GateMode.SELECT, options=(Option("x", "X"), Option("y", "Y"))), False),
        (replace(AUTO, human_mode=GateMode.SELECT, options=(Option("x", "X"), Option("y", "Y", "", True))), True),
        (replace(AUTO, human_mode=GateMode.FORM, schema=FORM), True),
        (replace(AUTO, human_mode=GateMode.FORM, schema={"required": ["n"]}), False),
    ],
)
def test_auto_pass_by_mode_risk_run_mode_and_whether_there_is_an_answer(config, by_itself):
    assert passes(config) is by_itself


def test_an_exit_gate_passes_by_itself_only_where_the_phase_may_go_on_by_itself():
    assert not passes(AUTO, auto_advance=False)
    assert passes(AUTO, exit_gate=False)


def test_a_phase_with_issues_or_a_veto_is_shown_to_a_person():
    assert not passes(AUTO, judge=6.5)
    assert not passes(AUTO, judge=1.0, limits=Limits(critic=CriticPower.ADVISES))


@pytest.mark.parametrize(("value", "by_itself"), [(True, True), (False, False), (None, False)])
def test_auto_pass_when_is_evaluated_once_the_gate_is_due(value, by_itself):
    config = GateConfig(auto_pass_when="confidence > 0.7")
    assert passes(config, when=value) is by_itself
    if by_itself:
        done = run(config, when=value).of(GateResolved)[0]
        assert done.rule == "autoPassWhen: confidence > 0.7"


def test_a_gate_shows_the_draft_the_score_and_what_comes_next():
    player = run(GateConfig(), judge=6.5)
    asked = player.gate()[1].asked
    assert asked.payload["artefact"] == {"name": "result", "version": 1, "value": "done s1"}
    assert (asked.payload["score"], asked.payload["issues"]) == (6.5, ["weak"])
    assert asked.consequence == "The run is complete."
    assert run(GateConfig(), goal="做事").gate()[1].asked.consequence == "运行结束。"
    assert asked.is_exit_gate


def test_a_phase_without_a_gate_that_may_not_go_on_asks_for_the_word():
    phase = Phase("p1", auto_advance=False)
    player = Player(definition=Definition("d", phases=(phase,)))
    player.run()
    gate = player.gate("advance")[1].asked
    assert gate.outcomes == ("advance", "revise", "return_to", "cancel")
    assert player.state.phase.status == "awaiting_advance"
    player.answer("revise", comment="more")
    player.run()
    assert player.of(PlanUpdated)[-1].trigger == "more"
    assert player.gate("advance")[1].asked.version == 2
    player.answer("advance")
    assert player.run().status is RunStatus.COMPLETED


def test_a_start_gate_is_asked_before_anything_is_planned_and_its_wish_reaches_the_planner():
    gate = Activity("start", ActivityType.HUMAN, gate=GateConfig())
    phase = Phase("p1", start_activity_id="start", auto_advance=True)
    asked = []
    world = World(plan=lambda r: asked.append(r.feedback) or plan(think("a")))
    player = Player(world, Definition("d", phases=(phase,), activities=(gate,)))
    player.run()
    assert not player.of(PlanUpdated)
    player.answer("revise", comment="blue")
    player.run()
    assert not player.of(PlanUpdated)
    player.answer("confirm")
    assert player.run().status is RunStatus.COMPLETED
    assert asked == ["blue"]


def test_an_inner_gate_is_asked_after_the_steps_and_a_wish_for_changes_plans_again():
    inner = Activity("look", ActivityType.HUMAN, gate=GateConfig())
    phase = Phase("p1", auto_advance=True)
    player = Player(definition=Definition("d", phases=(phase,), activities=(inner,)))
    player.run()
    assert player.gate("activity")
    player.answer("revise", comment="bigger")
    player.run()
    assert [(e.reason, e.trigger) for e in player.of(PlanUpdated)] == [("initial", ""), ("human", "bigger")]
    player.answer("confirm")
    assert player.run().status is RunStatus.COMPLETED
