"""The derived rows of one run."""

from phaseloop.core.asks import ToolCallWanted
from phaseloop.core.machine import evolve
from phaseloop.core.process import Activity, ActivityType, Definition, GateConfig, Phase
from phaseloop.core.run_tables import is_waiting, shows_the_same, tables
from phaseloop.core.state import RunState
from phaseloop.core.words import Cancel, Pause
from tests.core.player import ANN, Player, World, plan, think, write

GATE = Activity("ok", ActivityType.HUMAN, title="Look at it", gate=GateConfig(timeout_seconds=60))
ONE = Definition("one", phases=(Phase("p1", exit_human_activity_id="ok"),), activities=(GATE,))


def test_the_row_says_where_a_run_stands_and_what_it_needs():
    player = Player(definition=ONE, title="My run")
    assert tables("r1", player.state).row.state == "running"
    player.run()
    made = tables("r1", player.state)
    assert (made.row.state, made.row.need, made.row.title, made.row.phase_count) == (
        "waiting",
        "Look at it",
        "My run",
        1,
    )
    (gate,) = made.gates
    assert (gate.gate_id, gate.version, gate.kind, gate.mode) == ("g1", 1, "exit", "confirm")
    assert [(t.timer_id, t.due_at) for t in made.timers] == [("g1/1", gate.timeout_at)]
    player.answer("confirm")
    player.run()
    made = tables("r1", player.state)
    assert (made.row.state, made.row.need, made.gates, made.timers) == ("completed", "", (), ())
    assert made.row.ended_at == player.at


def test_a_run_waits_only_when_nothing_else_can_run():
    player = Player(World(plan=lambda r: plan(think("a", tool_hint="look"), think("b"))))
    player.drive()
    player.reconcile()
    player.turn(player.ready())
    player.post(ToolCallWanted("s1", 1, 0, 0, "book", {"room": "1"}))
    assert player.gate("tool_approval")
    assert not is_waiting(player.state)
    player.reconcile()
    player.turn([s for s in player.ready() if s.effect_id == "step/s2/1"])
    assert is_waiting(player.state)
    player.word(Pause(ANN))
    assert tables("r1", player.state).row.state == "paused"
    player.word(Cancel(ANN, "no"))
    row = tables("r1", player.state).row
    assert (row.state, row.need) == ("cancelled", "no")


def test_a_run_that_is_blocked_at_its_first_phase_waits():
    player = Player(World(condition=lambda *a: False), Definition("d", phases=(Phase("p1", entry_condition="x"),)))
    player.run()
    assert is_waiting(player.state)


def test_a_failed_run_needs_what_it_failed_of():
    player = Player(World(plan=lambda r: plan(write("a", room="1")), tool=lambda *a: 1 / 0))
    player.world.plan = lambda r: Exception("no words")
    player.run()
    assert tables("r1", player.state).row.need == "no words"


def test_what_shows_the_same_at_a_glance_has_equal_rows():
    player = Player(definition=ONE, title="My run")
    player.run()
    player.answer("confirm")
    player.run()
    before, glances = RunState(), []
    for recorded in player.log:
        after = evolve(before, recorded.event, recorded.at)
        glances.append(shows_the_same(before, after))
        if glances[-1]:
            assert tables("r1", before) == tables("r1", after), recorded.event
        before = after
    assert True in glances
    assert False in glances
