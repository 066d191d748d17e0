"""Moves that a run makes by itself."""

from phaseloop.core.answers import StepRaised
from phaseloop.core.asks import ToolCallWanted
from phaseloop.core.automatic import automatic
from phaseloop.core.gate_events import GateExpired
from phaseloop.core.limits import Limits
from phaseloop.core.plan import Finding, Step
from phaseloop.core.plan_events import PlanUpdated
from phaseloop.core.process import Activity, ActivityType, Definition, GateConfig, GateMode, Phase
from phaseloop.core.run_events import ArtifactDrafted, LimitReached, RunPaused
from phaseloop.core.state import RunStatus
from phaseloop.core.tools import ToolSpec
from phaseloop.core.words import Pause, Resume
from tests.core.player import ANN, Player, World, plan, think


def test_nothing_moves_without_a_drive_while_paused_or_when_over():
    player = Player()
    assert automatic(player.state, 1) == ()
    player.drive()
    player.word(Pause(ANN))
    assert automatic(player.state, 1) == ()
    player.word(Resume(ANN))
    assert player.run().status is RunStatus.COMPLETED
    assert automatic(player.state, 1) == ()


def test_the_sixth_drive_without_a_fact_of_its_own_pauses_the_run():
    player = Player()
    for _ in range(5):
        player.drive()
    assert player.state.status is RunStatus.RUNNING
    player.drive()
    assert player.state.status is RunStatus.PAUSED
    assert player.of(LimitReached)[0] == LimitReached("idle_drives", 5, 6)
    assert player.of(RunPaused)[0].by.via == "policy"
    player.word(Resume(ANN))
    assert player.run().status is RunStatus.COMPLETED


def test_a_fact_of_its_own_starts_the_count_anew_and_a_run_that_waits_is_not_poisoned():
    player = Player(World(plan=lambda r: plan(think("a"))), Definition("d", phases=(Phase("p1"),)))
    player.run()
    for _ in range(9):
        player.drive()
    assert player.state.status is RunStatus.RUNNING
    player.answer("advance")
    assert player.state.idle_drives == 0


def test_an_approval_whose_step_is_over_expires():
    tools = (ToolSpec("act", approval=True), ToolSpec("more"))
    made = [plan(think("a")), plan(think("b"))]
    player = Player(World(plan=lambda r: made[r.version - 1]), tools=tools)
    player.drive()
    player.reconcile()
    player.turn(player.ready())
    player.post(ToolCallWanted("s1", 1, 0, 0, "act", {}))
    assert player.gate("tool_approval")
    player.post(StepRaised("s1", 1, "gave up"))
    assert [e.request_id for e in player.of(GateExpired)] == ["g1"]
    assert player.run().status is RunStatus.COMPLETED


def test_a_step_that_makes_an_artefact_gives_a_draft_and_a_weak_one_is_not_valid():
    phase = Phase("p1", produced_outputs=("page",), auto_advance=True)
    step = Step("a", "Make", produces="page")
    player = Player(World(plan=lambda r: plan(step)), Definition("d", phases=(phase,)))
    player.run()
    draft = player.of(ArtifactDrafted)[0]
    assert (draft.name, draft.version, draft.value_of, draft.valid) == ("page", 1, "s1", True)
    weak = World(plan=lambda r: plan(step), checks=lambda c, o: (Finding("schema", "no title"),))
    player = Player(weak, Definition("d", phases=(phase,)), limits=Limits(step_retries=0, replans=0))
    player.run()
    assert not player.of(ArtifactDrafted)[0].valid
    assert player.of(ArtifactDrafted)[0].issues == ("no title",)


def test_a_phase_where_people_make_everything_needs_no_planner():
    gate = Activity("ok", ActivityType.HUMAN, gate=GateConfig(human_mode=GateMode.FORM, schema={"type": "object"}))
    phase = Phase("p1", produced_outputs=("intent",), exit_human_activity_id="ok")
    player = Player(World(plan=lambda r: 1 / 0), Definition("d", phases=(phase,), activities=(gate,)))
    player.run()
    assert player.of(PlanUpdated)[0].steps == ()
    player.answer("revise", comment="ask for more")
    player.run()
    assert player.of(PlanUpdated)[1].trigger == "ask for more"
