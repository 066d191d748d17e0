"""How runs and phases change with each event."""

from phaseloop.core.answers import ToolUnsure
from phaseloop.core.asks import ToolCallWanted
from phaseloop.core.gate_events import GateExpired
from phaseloop.core.limits import Limits
from phaseloop.core.machine import evolve
from phaseloop.core.machine_runs import RAISABLE, phase_at, raise_limits
from phaseloop.core.process import Definition, Phase
from phaseloop.core.run_events import CatalogueChanged, DriveStarted, RunFailed, RunReopened
from phaseloop.core.state import CallStatus, PhaseStatus
from tests.core.player import ANN, TOOLS, Player, World, plan, write


def in_doubt():
    player = Player(World(plan=lambda r: plan(write("a", room="1"))))
    player.drive()
    player.reconcile()
    player.turn(player.ready())
    player.post(ToolCallWanted("s1", 1, 0, 0, "book", {"room": "1"}, locked="room:1"))
    return player


def test_a_new_drive_puts_what_the_last_one_left_into_doubt_and_counts():
    state = in_doubt().state
    after = evolve(state, DriveStarted(2, "w"), 9)
    assert after.calls["c1"].status is CallStatus.IN_DOUBT
    assert (after.drive, after.idle_drives) == (2, state.idle_drives + 1)


def test_a_write_in_doubt_outlives_a_failed_run_and_is_asked_about_when_it_is_reopened():
    player = in_doubt()
    player.post(ToolUnsure("c1", "cut"))
    gate = player.gate("in_doubt")[0]
    for event in (GateExpired(gate, "the run failed"), RunFailed("replans_exhausted", "no")):
        player.take([event])
    assert player.state.calls["c1"].status is CallStatus.IN_DOUBT
    player.take([RunReopened(ANN, "go on")])
    player.drive()
    assert player.gate("in_doubt")[0] != gate
    assert player.state.phase.trigger == "human"


def test_limits_are_raised_by_so_much_and_only_three_kinds_can_be():
    raised = raise_limits(Limits(), {"task_replans": 1, "step_retries": 2, "revisions": 3})
    assert (raised.replans, raised.step_retries, raised.revisions_per_gate) == (3, 5, 8)
    assert raise_limits(Limits(), {}) == Limits()
    assert set(RAISABLE) == {"task_replans", "step_retries", "revisions"}


def test_phases_are_found_by_id_and_start_pending():
    player = Player(definition=Definition("d", phases=(Phase("p1"), Phase("p2", order=2))))
    assert phase_at(player.state, "p2") == 1
    assert {p.status for p in player.state.phases} == {PhaseStatus.PENDING}
    assert player.state.phase_index == -1


def test_a_catalogue_replaces_the_tools():
    state = evolve(Player().state, CatalogueChanged(TOOLS[1:]), 1)
    assert set(state.facts.tools) == {"book", "put"}


def test_a_tool_that_went_away_stays_known_while_a_call_of_it_is_not_over():
    player = in_doubt()
    player.take([CatalogueChanged(TOOLS[:1])])
    assert set(player.state.facts.tools) == {"look", "book"}
    player.drive()
    assert player.gate("in_doubt")[1].asked.title == "Did book happen?"
