"""Phases, plans and artefacts in the view."""

from phaseloop.core.plan import ActivityType, Call, Step
from phaseloop.core.plan_events import ActivityCompleted, ActivityStarted, PlanUpdated
from phaseloop.core.run_events import (
    ArtifactDrafted,
    ArtifactFinalized,
    PhaseAdvanced,
    PhaseBlocked,
    PhaseCompleted,
    PhaseFailed,
    PhaseReopened,
    PhaseStarted,
    RunStarted,
)
from phaseloop.core.view_phase_changes import listed
from phaseloop.core.view_rows import Diamond, PhaseState, ReplanRow, RowState
from phaseloop.core.view_run import View, activities, phase_of
from phaseloop.core.views import view
from tests.sales_story import Story, begun, done, live, opening, waiting


def rows(story, phase_id):
    return {row.id: row for row in activities(phase_of(view(story.history), phase_id))}


def test_a_run_without_phases_lists_its_only_one_when_it_starts():
    shown = view(Story().tell(0, RunStarted("g"), PhaseStarted("phase_default")).history)
    assert [(phase.phase_id, phase.state) for phase in shown.phases] == [("phase_default", PhaseState.ACTIVE)]
    assert shown.current == "phase_default"
    assert listed(shown, "phase_default") is shown
    assert listed(View(), "x").phases[0].order == 1


def test_a_finished_phase_knows_its_outputs_and_its_time():
    phase = view(opening().history).phases[0]
    assert (phase.state, phase.outputs[0].produced, phase.active.ms) == (PhaseState.DONE, True, 14_000)


def test_advancing_locks_the_focus_to_the_placeholder_of_the_first_activity():
    shown = view(opening().history)
    assert (shown.current, shown.focus_id) == ("design", "design_first")
    placeholder = activities(shown.phases[2])[0]
    assert (placeholder.activity_id, placeholder.placeholder) == ("s1", True)


def test_a_plan_puts_the_real_row_in_place_of_the_placeholder_and_the_focus_follows():
    story = opening().tell(115, PlanUpdated("design", 1, "g", (Step("s0", "x"), Step("s1", "y")), reason="given"))
    shown = view(story.history)
    assert shown.focus_id == "s1"
    assert [row.id for row in activities(shown.phases[2])] == ["s0", "s1"]


def test_an_activity_that_starts_before_any_plan_takes_the_placeholder():
    story = opening().tell(115, ActivityStarted("s1", ActivityType.RULE, title="Check"))
    shown = view(story.history)
    assert [(row.id, row.placeholder) for row in activities(shown.phases[2])] == [("s1", False)]
    assert shown.focus_id == "s1"


def test_a_placeholder_of_unknown_activity_gives_way_to_the_first_step():
    story = Story().tell(0, RunStarted("g"), PhaseStarted("a"), PhaseAdvanced("a", "b"), PhaseStarted("b", 2))
    shown = view(story.tell(1, PlanUpdated("b", 1, "g", (Step("s1", "x"),))).history)
    assert shown.focus_id == "s1"


def test_a_later_plan_keeps_started_rows_places_new_ones_after_the_mark_and_drops_what_never_began():
    phase = phase_of(view(live().history), "design")
    assert [row.id for row in phase.rows] == ["s1", "s2", "s3", "design:v2", "s5", "s6", "s7", "s8"]
    mark = phase.rows[3]
    assert isinstance(mark, ReplanRow)
    assert (mark.n, mark.score, mark.kept, mark.removed, mark.added) == (1, 3, 2, 2, 4)
    assert rows(live(), "design")["s3"].state is RowState.REPLACED
    assert [plan.version for plan in phase.plans] == [1, 2]


def test_a_plan_changed_by_a_person_counts_as_no_replan():
    story = opening().tell(115, PlanUpdated("design", 1, "g", (Step("s1", "x"),), reason="given"))
    shown = view(
        story.tell(116, PlanUpdated("design", 2, "g", (Step("s1", "x"), Step("s2", "y")), reason="human")).history
    )
    mark = shown.phases[2].rows[0]
    assert (mark.kind, mark.n, mark.reason, shown.meters.replans) == ("replan", 0, "human", 0)


def test_a_dropped_step_that_was_done_is_shown_as_replaced_and_one_that_is_only_absent_stays_done():
    story = opening().tell(115, PlanUpdated("design", 1, "g", (Step("s1", "x"), Step("s2", "y")), reason="given"))
    story.tell(116, begun("s1"), done("s1"), begun("s2"), done("s2"))
    story.tell(117, PlanUpdated("design", 2, "g", (Step("s3", "z"),), reason="replan", dropped=("s2",)))
    states = {name: row.state for name, row in rows(story, "design").items()}
    assert states == {"s1": RowState.DONE, "s2": RowState.REPLACED, "s3": RowState.NOT_STARTED}


def test_a_kept_step_takes_the_words_of_the_new_plan():
    story = opening().tell(115, PlanUpdated("design", 1, "g", (Step("s1", "old"),), reason="given"), begun("s1"))
    story.tell(116, PlanUpdated("design", 2, "g", (Step("s1", "new"),), reason="replan", changed=("s1",)))
    assert (rows(story, "design")["s1"].title, rows(story, "design")["s1"].state) == ("new", RowState.RUNNING)


def test_a_bound_step_shows_its_tool():
    steps = (Step("s1", "x", "hint", call=Call("files.read")), Step("s2", "y", "hint"), Step("s3", "z"))
    story = opening().tell(115, PlanUpdated("design", 1, "g", steps, reason="given"))
    assert [row.tool for row in rows(story, "design").values()] == ["files.read", "hint", ""]


def test_a_phase_that_cannot_start_says_what_is_missing():
    shown = view(
        opening().tell(115, PhaseBlocked("integrate", "generatedComponent != null", ("generatedComponent",))).history
    )
    phase = phase_of(shown, "integrate")
    assert (phase.state, phase.missing) == (PhaseState.BLOCKED, ("generatedComponent",))


def test_a_failed_phase_says_why():
    phase = phase_of(view(opening().tell(115, PhaseFailed("design", "contract_unmet", "no page")).history), "design")
    assert (phase.state, phase.note, phase.active.since) == (PhaseState.FAILED, "no page", None)


def test_a_reopened_phase_begins_again_and_its_history_stays_as_replaced():
    story = waiting().tell(300, PhaseReopened("plan", "forgot mobile", ("approvedPlan", "generatedComponent")))
    shown = view(story.tell(301, PhaseStarted("plan", 2)).history)
    plan, design = phase_of(shown, "plan"), phase_of(shown, "design")
    assert (shown.current, plan.state, design.state) == ("plan", PhaseState.ACTIVE, PhaseState.PENDING)
    assert {row.state for row in activities(plan)} == {RowState.REPLACED}
    assert (design.diamond, design.outputs[0].produced) == (Diamond.FUTURE, False)
    assert {a.name: a.state for a in shown.artifacts}["approvedPlan"] == "superseded"
    assert phase_of(shown, "understand").state is PhaseState.DONE


def test_reopening_a_phase_that_is_not_there_changes_nothing():
    before = view(opening().history)
    after = view(opening().tell(115, PhaseReopened("nowhere")).history)
    assert after.phases == before.phases


def test_a_draft_becomes_final_with_who_approved_it():
    story = opening().tell(115, ArtifactDrafted("generatedComponent", 1, "s8", "s8", "design", False, ("too long",)))
    draft = view(story.history).artifacts[-1]
    assert (draft.state, draft.valid, draft.issues) == ("draft", False, ("too long",))
    story.tell(116, ArtifactFinalized("generatedComponent", 1, "s8", "design", approved_by="Kai"))
    final = view(story.history).artifacts[-1]
    assert (final.state, final.approved_by, len(view(story.history).artifacts)) == ("final", "Kai", 3)
    assert phase_of(view(story.history), "design").outputs[0].produced


def test_a_completed_phase_marks_the_outputs_the_event_names():
    story = Story().tell(0, *opening().history[0:1] and [opening().history[0].event], PhaseStarted("understand"))
    shown = view(
        story.tell(1, ActivityCompleted("nothing"), PhaseCompleted("understand", ("confirmedIntent",))).history
    )
    assert shown.phases[0].outputs[0].produced
