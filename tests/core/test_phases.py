"""From phase to phase: entry, contract, boundary, end (behaviours 2.9)."""

import pytest

from phaseloop.core.call_events import ToolCallStarted
from phaseloop.core.gate_events import GateOpened
from phaseloop.core.limits import Band, Limits
from phaseloop.core.plan import Finding, Plan, Step
from phaseloop.core.plan_events import PlanUpdated, ResultJudged
from phaseloop.core.process import Activity, ActivityType, Definition, GateConfig, GateMode, Phase
from phaseloop.core.run_events import (
    ArtifactDrafted,
    ArtifactFinalized,
    PhaseAdvanced,
    PhaseBlocked,
    PhaseCompleted,
    PhaseExitReached,
    PhaseFailed,
    PhaseReopened,
    PhaseStarted,
    RunCompleted,
    RunFailed,
)
from phaseloop.core.statuses import PhaseStatus, RunStatus
from tests.core.player import Player, World, plan, read, think

OK = Activity("ok", ActivityType.HUMAN, gate=GateConfig(), phase_ref="p1")
ONE = Phase("p1", order=1, produced_outputs=("intent",), exit_human_activity_id="ok")
TWO = Phase("p2", order=2, entry_condition="intent != null", auto_advance=True)


def make(*phases, activities=(OK,), **world):
    made = {"plan": lambda r: plan(think("a", produces=(r.outputs or (None,))[0])), **world}
    player = Player(World(**made), Definition("d", phases=phases or (ONE, TWO), activities=activities))
    player.run()
    return player


def test_the_events_at_a_boundary_come_in_the_order_of_the_contract():
    player = make()
    player.answer("confirm")
    player.run()
    names = player.names()
    names = names[names.index("GateResolved") :]
    wanted = ["GateResolved", "ActivityCompleted", "ArtifactFinalized", "PhaseCompleted", "PhaseAdvanced"]
    wanted += ["PhaseStarted", "PlanUpdated", "ActivityStarted"]
    places = [names.index(name) for name in wanted]
    assert places == sorted(places)
    assert names[-2:] == ["PhaseCompleted", "RunCompleted"]
    assert len(player.of(PhaseAdvanced)) == 1, "the last phase advances to nothing"


def test_a_draft_becomes_final_when_a_person_says_yes_and_carries_who():
    player = make(step=lambda e: {"title": "x"})
    assert not player.state.artifacts["intent"].final
    player.answer("confirm", {"title": "edited"})
    player.run()
    final = player.of(ArtifactFinalized)[0]
    assert (final.confirmed_by, final.approved_by) == ("ann", "")
    assert player.state.artifacts["intent"].value == {"title": "edited", "confirmedBy": "ann"}


@pytest.mark.parametrize("value", [False, None])
def test_an_entry_condition_that_does_not_hold_blocks_and_is_asked_about_never_silently(value):
    player = make(condition=lambda *a: value)
    player.answer("confirm")
    player.run()
    assert player.of(PhaseBlocked)[0].condition == "intent != null"
    assert player.gate("blocked")[1].asked.outcomes == ("override", "return_to", "cancel")
    assert not player.of(PhaseAdvanced)
    player.answer("override")
    assert player.run().status is RunStatus.COMPLETED
    assert player.of(PhaseAdvanced)[0].by == "user"


def test_a_blocked_phase_can_be_answered_by_going_back():
    held = [False, True]
    player = make(condition=lambda *a: held.pop(0))
    player.answer("confirm")
    player.run()
    player.answer("return_to", "p1", comment="once more")
    player.run()
    assert player.of(PhaseReopened)[0].superseded == ("intent",)
    player.answer("confirm")
    assert player.run().status is RunStatus.COMPLETED
    assert [e.version for e in player.of(ArtifactDrafted)] == [1, 2]


def test_an_unmet_contract_is_planned_again_once_with_the_missing_names_and_then_fails():
    two = Phase("p1", produced_outputs=("x", "y"), auto_advance=True)
    asked = []

    def plans(request):
        asked.append(request.failure)
        made = [read(n, q=n) for n in "ab"] if request.version == 1 else [read("c", q="c")]
        return Plan(
            "g",
            tuple(Step(s.id, s.action, call=s.call, produces=p) for s, p in zip(made, request.outputs, strict=False)),
        )

    bad = World(plan=plans, checks=lambda c, o: (Finding("schema", "no title"),))
    schemas = {"x": {"type": "object"}, "y": {"type": "object"}}
    player = Player(bad, Definition("d", phases=(two,), artifacts=schemas), limits=Limits(read=Band(0, 0)))
    player.run()
    contract = [e for e in player.of(ResultJudged) if e.by == "contract"]
    assert len(contract) == 1
    assert "x was not produced validly: no title" in contract[0].issues
    assert player.of(RunFailed)[0].code == "contract_unmet"
    assert player.of(PhaseFailed)[0].error_kind == "contract_unmet"
    assert player.state.replans == 1


def test_a_phase_with_one_output_and_no_maker_takes_its_last_step():
    player = make(
        Phase("p1", produced_outputs=("page",), auto_advance=True),
        activities=(),
        plan=lambda r: plan(think("a"), think("b", "a")),
    )
    assert player.of(ArtifactDrafted)[0].value_of == "s2"
    assert player.of(RunCompleted)[0].result == "done s2"


def test_a_form_at_the_exit_makes_the_only_output():
    form = Activity(
        "ok", ActivityType.HUMAN, gate=GateConfig(human_mode=GateMode.FORM, schema={"type": "object"}), phase_ref="p1"
    )
    player = make(ONE, TWO, activities=(form,))
    assert not player.of(ToolCallStarted)
    player.answer("submit", {"n": 1})
    player.run()
    assert player.state.artifacts["intent"].value == {"n": 1, "confirmedBy": "ann"}


def test_return_to_makes_everything_after_count_no_more_and_ids_are_never_used_again():
    last = Activity("end", ActivityType.HUMAN, gate=GateConfig(human_mode=GateMode.APPROVE), phase_ref="p2")
    two = Phase("p2", order=2, exit_human_activity_id="end", produced_outputs=("page",))
    player = make(ONE, two, activities=(OK, last))
    player.answer("confirm")
    player.run()
    player.answer("return_to", "p1", comment="other intent")
    assert [p.status for p in player.state.phases] == [PhaseStatus.PENDING] * 2
    assert not any(a.final for a in player.state.artifacts.values())
    player.run()
    assert [s.id for e in player.of(PlanUpdated) for s in e.steps] == ["s1", "s2", "s3"]
    assert [e.plan_version for e in player.of(PlanUpdated)] == [1, 1, 2]
    assert player.of(PlanUpdated)[-1].trigger == "other intent"


def test_a_given_plan_is_given_again_after_going_back():
    gate = Activity("ok", ActivityType.HUMAN, gate=GateConfig(human_mode=GateMode.APPROVE), phase_ref="p1")
    last = Activity("end", ActivityType.HUMAN, gate=GateConfig(human_mode=GateMode.APPROVE), phase_ref="p2")
    one = Phase("p1", produced_outputs=("thePlan",), exit_human_activity_id="ok")
    two = Phase("p2", order=2, plan_from="thePlan", exit_human_activity_id="end")
    value = {"goal": "g", "steps": [{"id": "x", "action": "Do x", "tool_hint": None, "depends_on": []}]}
    player = make(one, two, activities=(gate, last), step=lambda e: value if e.step.produces else "x")
    for outcome, target in (("approve", None), ("return_to", "p1"), ("approve", None)):
        player.answer(outcome, target, comment="again")
        player.run()
    assert [e.reason for e in player.of(PlanUpdated)] == ["initial", "given", "human", "given"]
    assert [e.approved_by for e in player.of(PlanUpdated)] == ["", "ann", "", "ann"]


def test_a_given_plan_that_is_none_goes_to_the_planner_and_counts_as_nobodys_approval():
    gate = Activity("ok", ActivityType.HUMAN, gate=GateConfig(human_mode=GateMode.APPROVE), phase_ref="p1")
    one = Phase("p1", produced_outputs=("thePlan",), exit_human_activity_id="ok")
    two = Phase("p2", order=2, plan_from="thePlan", auto_advance=True)
    player = make(one, two, activities=(gate,), step=lambda e: {"no": "plan"})
    player.answer("approve")
    assert player.run().status is RunStatus.COMPLETED
    assert [(e.reason, e.approved_by) for e in player.of(PlanUpdated)] == [("initial", ""), ("initial", "")]


def test_the_exit_says_whom_it_waits_for():
    assert make().of(PhaseExitReached)[0].waiting_for == "human"
    assert make(Phase("p1"), activities=()).of(PhaseExitReached)[0].waiting_for == "advance"
    assert make(Phase("p1", auto_advance=True), activities=()).of(PhaseExitReached)[0].waiting_for == "none"


def test_the_result_is_the_plans_own_else_the_artefact_else_the_last_output():
    flat = Phase("p1", auto_advance=True)
    one = make(flat, activities=(), plan=lambda r: plan(read("a"), result={"said": {"$ref": "a", "path": "of"}}))
    assert one.of(RunCompleted)[0].result == {"said": "look"}
    assert one.of(PhaseStarted)[0].phase_id == "p1"
    skipped = plan(
        read("a"), Step("b", "Look", call=read("b").call, only_if="false"), result={"$ref": "b", "path": "of"}
    )
    two = make(flat, activities=(), plan=lambda r: skipped, condition=lambda *a: False)
    assert two.of(RunCompleted)[0].result == {"of": "look"}


def test_a_failed_run_keeps_its_best_result_and_explains():
    outputs = iter(["fine", Exception("no")])
    player = make(
        Phase("p1", auto_advance=True),
        activities=(),
        plan=lambda r: plan(think("a"), think("b", "a")) if r.version == 1 else Exception("none"),
        step=lambda e: next(outputs),
    )
    failed = player.of(RunFailed)[0]
    assert (failed.code, failed.best_result) == ("plan_refused", "fine")
    assert "1 finished steps are kept" in failed.explanation


def test_a_gate_opens_once_for_a_phase_that_waits():
    player = make()
    player.drive()
    assert len(player.of(GateOpened)) == 1
    assert player.of(PhaseCompleted) == []
