"""Looking things up in a view."""

from dataclasses import replace

from phaseloop.core.view_rows import ActivityRow, GateState, ReplanRow, RunState
from phaseloop.core.view_run import (
    Ending,
    GateView,
    PhaseView,
    View,
    activities,
    current_phase,
    find_row,
    open_gates,
    phase_of,
    with_gate,
    with_phase,
    with_row,
    with_rows,
)

EARLY = PhaseView("p1", rows=(ActivityRow("s1", "s1", "s1"), ActivityRow("read", "read")))
LATE = PhaseView("p2", rows=(ReplanRow("p2:v2", 2, 1, "replan"), ActivityRow("s2", "read", "s2")))
VIEW = View(phases=(EARLY, LATE), current="p2", gates=(GateView("g1", 1, "exit", "approve", "gate"),))


def test_rows_are_found_by_step_id_and_by_activity_id_with_the_later_phase_first():
    assert find_row(VIEW, "s1").id == "s1"
    assert find_row(VIEW, "", "read").id == "s2"
    assert find_row(VIEW, "", "") is None
    assert find_row(VIEW, "s9") is None


def test_replan_rows_are_no_activities():
    assert [row.id for row in activities(LATE)] == ["s2"]


def test_only_what_is_named_changes():
    assert with_row(VIEW, "s2", lambda row: replace(row, title="new")).phases[0] is EARLY
    assert with_rows(VIEW, lambda row: replace(row, title="new")).phases[1].rows[1].title == "new"
    assert with_phase(VIEW, "p9", lambda phase: replace(phase, note="x")) == VIEW
    closed = with_gate(VIEW, "g1", lambda gate: replace(gate, state=GateState.ANSWERED))
    assert open_gates(VIEW)
    assert not open_gates(closed)


def test_phases_are_found_by_id():
    assert current_phase(VIEW) is LATE
    assert phase_of(VIEW, "p9") is None
    assert current_phase(View()) is None


def test_a_run_is_over_and_warns_only_with_an_ending():
    assert not VIEW.over
    assert VIEW.warnings == ()
    ended = replace(VIEW, ending=Ending(RunState.COMPLETED, 1, warnings=("soft",)))
    assert ended.over
    assert ended.warnings == ("soft",)
