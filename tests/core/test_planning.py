"""Adopting plans: the diff over the old one, ids, what is locked (contract section 5)."""

from phaseloop.core.answers import Planned, PlanningFailed
from phaseloop.core.effects import MakePlan
from phaseloop.core.limits import Limits
from phaseloop.core.plan import Plan, Step
from phaseloop.core.plan_events import PlanRefused, PlanRepaired, PlanUpdated
from phaseloop.core.planning import plan_scope
from phaseloop.core.process import Activity, ActivityType, Definition, GateConfig, Phase
from phaseloop.core.run_events import RunFailed
from phaseloop.core.state import ActivityStatus, RunStatus
from tests.core.player import Failed, Player, World, plan, read, think


def plans(*made, seen=None, **world):
    """A run whose planner gives `made` in order of asking; `seen` gets the requests."""
    left = list(made)

    def planner(request: MakePlan):
        if seen is not None:
            seen.append(request)
        answer = left.pop(0)
        return answer(request) if callable(answer) else answer

    begin = {name: world.pop(name) for name in ("definition", "limits", "tools") if name in world}
    player = Player(World(plan=planner, **world), **begin)
    player.run()
    return player


def broken(effect_key="broken"):
    """A tool that fails wherever an argument says so."""
    return lambda tool, args, key: Failed("no") if args.get(effect_key) else {"of": tool}


def test_a_planners_labels_become_step_ids_that_count_through_the_run():
    player = plans(plan(think("x"), think("y", "x"), result={"$ref": "y", "path": ""}))
    updated = player.of(PlanUpdated)[0]
    assert [(s.id, s.depends_on) for s in updated.steps] == [("s1", ()), ("s2", ("s1",))]
    assert updated.result == {"$ref": "s2", "path": ""}
    assert updated.added == ("s1", "s2")
    assert player.state.next_step == 3


def test_a_replan_is_a_diff_finished_is_locked_failed_is_replaced_pending_may_change_or_go():
    first = plan(
        read("a", n=1), read("b", broken=True), think("c", "b"), think("d", "b"), think("e", "b"), think("z", "a", "e")
    )
    seen = []

    def second(request):
        assert [s.id for s in request.finished] == ["s1"]
        assert [s.id for s in request.pending] == ["s3", "s4", "s5", "s6"]
        keep, change = request.pending[0], request.pending[1]
        return Plan(
            "g", (read("b", n=2), Step(keep.id, keep.action, depends_on=("b",)), Step(change.id, "Other"), think("c"))
        )

    player = plans(first, second, seen=seen, tool=broken())
    updated = player.of(PlanUpdated)[-1]
    assert updated.reason == "replan"
    assert "no" in updated.trigger
    assert [s.id for s in updated.steps] == ["s1", "s7", "s3", "s4", "s8"]
    assert updated.kept == ("s1",)
    assert updated.added == ("s7", "s8")
    assert updated.changed == ("s3", "s4")
    assert updated.dropped == ("s2", "s5", "s6")
    assert player.state.steps["s2"].status is ActivityStatus.SKIPPED
    assert player.state.status is RunStatus.COMPLETED
    assert seen[-1].reason == "replan"


def test_a_label_of_a_failed_step_is_never_used_for_another():
    player = plans(
        plan(read("a", broken=True)), lambda r: plan(Step("s1", "Look", call=read("a", n=2).call)), tool=broken()
    )
    assert [s.id for s in player.of(PlanUpdated)[-1].steps] == ["s2"]
    assert player.of(PlanRepaired)


def test_a_finished_step_that_a_planner_changes_refuses_the_plan():
    player = plans(
        plan(read("a", n=1), read("b", broken=True), think("z", "a", "b")),
        plan(Step("s1", "Something else"), think("c")),
        plan(think("c")),
        tool=broken(),
        limits=Limits(lint_reasks=1),
    )
    assert "finished-changed" in {f.code for e in player.of(PlanRefused) for f in e.findings}
    assert player.state.steps["s1"].spec.action == "Look a"


def test_a_refused_plan_is_asked_for_once_more_with_the_findings_and_then_the_run_fails():
    bad = plan(think("a", "nowhere"))
    seen = []
    player = plans(bad, bad, seen=seen)
    assert [(e.attempt, e.findings[0].code) for e in player.of(PlanRefused)] == [
        (n, "unknown-dependency") for n in (1, 2)
    ]
    assert [(r.attempt, len(r.findings)) for r in seen] == [(1, 0), (2, 1)]
    assert player.of(RunFailed)[0].code == "plan_refused"


def test_a_planner_that_raises_is_asked_once_more():
    player = plans(Exception("no words"), plan(think("a")))
    assert player.of(PlanRefused)[0].findings[0].message == "no words"
    assert player.state.status is RunStatus.COMPLETED


def test_a_question_of_the_linter_is_asked_once_and_then_let_pass():
    unused = plan(read("a"), read("b"))
    player = plans(unused, unused)
    assert [f.code for f in player.of(PlanRefused)[0].findings] == ["unused-read"]
    assert player.state.status is RunStatus.COMPLETED


def test_beyond_eight_steps_the_planner_is_asked_once_and_then_neighbours_are_merged():
    long = plan(*(think(f"n{i}") for i in range(10)))
    player = plans(long, long)
    assert "too-many-steps" in {f.code for f in player.of(PlanRefused)[0].findings}
    assert len(player.of(PlanUpdated)[0].steps) == 8
    assert {r.code for r in player.of(PlanRepaired)[0].rules} == {"merged"}


def test_a_plan_that_comes_late_is_nobodys():
    player = plans(plan(think("a")))
    before = len(player.log)
    for late in (Planned("phase_default", 1, 1, plan(think("x"))), PlanningFailed("phase_default", 1, 1, "no")):
        player.post(late)
    assert len(player.log) == before
    fresh = Player(World())
    fresh.drive()
    for late in (Planned("phase_default", 1, 2, plan(think("x"))), Planned("other", 1, 1, plan(think("x")))):
        assert fresh.post(late) == ()
    assert fresh.post(PlanningFailed("phase_default", 2, 1, "no")) == ()


DECLARED = Definition(
    "d",
    phases=(Phase("p1", auto_advance=True, produced_outputs=("page",)),),
    activities=(
        Activity("check", ActivityType.RULE, config={"check": "true", "output_schema": {"type": "object"}}),
        Activity("fetch", ActivityType.TOOL, config={"tool": "look", "args": {"n": 1}, "only_if": "true"}),
        Activity("write", ActivityType.LLM, produces="page"),
    ),
)


def test_declared_activities_bring_their_own_type_call_schema_condition_and_product():
    steps = [Step(n, f"Do {n}", activity_id=n) for n in ("check", "fetch", "write")]
    player = plans(plan(*steps), plan(*steps), definition=DECLARED)
    check, fetch, write = player.of(PlanUpdated)[0].steps
    assert (check.type, check.output_schema) == (ActivityType.RULE, {"type": "object"})
    assert (fetch.type, fetch.call.tool, fetch.call.args, fetch.only_if) == (
        ActivityType.TOOL,
        "look",
        {"n": 1},
        "true",
    )
    assert write.produces == "page"
    assert player.state.steps["s2"].activity_id == "fetch"


def test_a_declared_activity_that_is_left_out_refuses_the_plan():
    player = plans(plan(think("a")), plan(think("a")), definition=DECLARED)
    assert "missing-activity" in {f.code for f in player.of(PlanRefused)[0].findings}


def test_the_scope_of_a_plan_knows_the_phase_and_nothing_of_the_next_ones():
    gate = Activity("ok", ActivityType.HUMAN, gate=GateConfig(), phase_ref="p1")
    later = Activity("publish", ActivityType.LLM, phase_ref="p2")
    phases = (Phase("p1", exit_human_activity_id="ok", tools=("look",), produced_outputs=("x",)), Phase("p2", order=2))
    seen = []
    player = plans(plan(think("a")), seen=seen, definition=Definition("d", phases=phases, activities=(gate, later)))
    scope = plan_scope(player.state)
    assert [t.name for t in scope.tools] == ["look"]
    assert scope.all_tools == {"look", "book", "put"}
    assert scope.other_activities == {"publish"}
    assert not scope.whole_request
    assert (seen[0].later_phases, seen[0].outputs, seen[0].activities) == (("p2",), ("x",), ())
