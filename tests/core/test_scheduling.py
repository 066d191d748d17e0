"""Which steps may start now (architecture section 4.4)."""

from dataclasses import replace

import pytest

from phaseloop.core.answers import StepReturned
from phaseloop.core.asks import ToolCallWanted
from phaseloop.core.call_events import ToolCallStarted
from phaseloop.core.limits import Limits
from phaseloop.core.plan import Finding, Step
from phaseloop.core.plan_events import ActivityCompleted, ActivityFailed, ActivityStarted
from phaseloop.core.state import ActivityStatus, RunStatus
from phaseloop.core.wanted import desired
from tests.core.player import Failed, Player, World, plan, read, think, write


def started(player):
    return [e.step_id for e in player.of(ActivityStarted)]


def begun(*steps, limits=None, **world):
    """A run with its plan adopted and nothing reported yet."""
    made = plan(*steps)
    player = Player(World(plan=lambda r: made, **world), limits=limits)
    player.drive()
    for _ in range(3):
        if player.state.phase.plan.version:
            break
        player.reconcile()
        player.turn(player.ready())
    player.reconcile()
    return player


def ended(player, sid, output="x", attempt=1):
    return player.post(StepReturned(sid, attempt, output))


def test_a_step_starts_the_moment_its_own_inputs_are_there_and_not_before():
    player = begun(think("a"), think("b"), think("c", "a"), think("d", "c", "b"))
    assert started(player) == ["s1", "s2"]
    ended(player, "s1")
    assert started(player) == ["s1", "s2", "s3"]
    ended(player, "s3")
    assert "s4" not in started(player)
    ended(player, "s2")
    assert started(player)[-1] == "s4"


def test_the_longest_way_to_the_end_goes_first_then_plan_order():
    player = begun(think("a"), think("b"), think("c"), think("d", "c"), limits=Limits(max_parallel=1))
    assert started(player) == ["s3"]
    ended(player, "s3")
    ended(player, "s1")
    ended(player, "s2")
    assert started(player) == ["s3", "s1", "s2", "s4"]


def test_no_more_than_max_parallel_steps_run_and_a_paused_one_makes_room():
    player = begun(*(think(f"n{i}") for i in range(4)), limits=Limits(max_parallel=2))
    assert started(player) == ["s1", "s2"]
    player.post(ToolCallWanted("s1", 1, 0, 0, "book", {"room": "1"}))
    assert player.state.steps["s1"].status is ActivityStatus.PAUSED
    assert started(player) == ["s1", "s2", "s3"]


def test_a_failed_step_frees_nobody_running_ones_end_and_only_reads_start_before_the_replan():
    def tool(name, args, key):
        return Failed("no") if args.get("bad") else "ok"

    player = begun(read("a", bad=True), think("b"), read("c", "b"), write("d", "b"), think("e", "a"), tool=tool)
    player.hold = {"step/s2/1"}
    player.turn(player.ready())
    player.turn(player.ready())
    assert player.state.phase.trigger == "replan"
    assert not any(i.startswith("plan/") for i, _ in desired(player.state))
    ended(player, "s2")
    assert started(player) == ["s1", "s2", "s3"]
    assert player.state.steps["s5"].status is ActivityStatus.PENDING


def test_the_condition_of_a_step_is_asked_for_when_its_turn_comes():
    player = begun(think("a"), replace(think("b", "a"), only_if="a == 'x'"))
    assert not any(i.startswith("condition/") for i in player.tasks)
    ended(player, "s1")
    player.reconcile()
    assert "condition/step:s2:1" in player.tasks
    assert "s2" not in started(player)


def test_a_false_condition_skips_the_step_and_who_refers_to_its_output_but_not_who_only_waits():
    steps = (
        read("a"),
        replace(read("b", "a", n=1), only_if="false"),
        read("c", "b", of={"$ref": "b", "path": "x"}),
        replace(read("d", "b"), each={"$ref": "b", "path": ""}),
        read("e", "b", n=2),
        think("f", "c", "d", "e"),
    )
    player = Player(World(plan=lambda r: plan(*steps), condition=lambda *a: False))
    assert player.run().status is RunStatus.COMPLETED
    skipped = [e.step_id for e in player.of(ActivityCompleted) if e.status == "skipped"]
    assert skipped == ["s2", "s3", "s4"]
    assert {"s5", "s6"} <= set(started(player))


def test_a_condition_that_has_no_value_fails_the_step():
    player = Player(
        World(plan=lambda r: plan(replace(think("a"), only_if="1/0")), condition=lambda *a: None),
        limits=Limits(replans=0),
    )
    assert player.run().status is RunStatus.FAILED
    assert "only_if could not be evaluated" in player.of(ActivityFailed)[0].message


def test_a_reference_that_is_not_there_fails_the_step_before_anything_is_sent():
    steps = (read("a"), write("b", "a", room={"$ref": "a", "path": "missing"}))
    player = Player(World(plan=lambda r: plan(*steps)), limits=Limits(replans=0))
    player.run()
    assert "reference s1.missing cannot be resolved" in player.of(ActivityFailed)[0].message
    assert [tool for tool, _, _ in player.world.sent] == ["look"]


def test_each_calls_once_an_element_in_order_and_its_output_is_the_list():
    steps = (think("a"), replace(read("b", "a", n={"$ref": "item", "path": ""}), each={"$ref": "a", "path": ""}))
    world = World(plan=lambda r: plan(*steps), step=lambda e: [3, 1, 2], tool=lambda t, args, k: args["n"] * 10)
    player = Player(world)
    player.run()
    assert player.state.steps["s2"].output == [30, 10, 20]
    assert [e.i for e in player.of(ToolCallStarted)] == [0, 1, 2]


@pytest.mark.parametrize(("value", "status"), [([], RunStatus.FAILED), ({"a": 1}, RunStatus.FAILED)])
def test_each_over_nothing_is_an_empty_result_and_over_no_list_an_error(value, status):
    steps = (think("a"), replace(read("b", "a"), each={"$ref": "a", "path": ""}))
    world = World(plan=lambda r: plan(*steps), step=lambda e: value or [])
    player = Player(world, limits=Limits(replans=0))
    assert player.run().status is status
    assert not player.world.sent


def test_a_bound_read_leaves_with_its_start_and_a_write_asks_for_its_lock_first():
    player = begun(read("a"), write("b", room="1"))
    names = player.names()
    assert names[names.index("ActivityStarted") + 1] == "ToolCallStarted"
    assert [e.tool for e in player.of(ToolCallStarted)] == ["look"]


def test_a_bound_output_is_checked_at_the_edge_before_it_is_judged():
    step = Step("a", "Look", call=read("a").call, output_schema={"type": "object"})
    seen = []

    def checks(checks, output):
        seen.append((checks[0].schema, output))
        return (Finding("schema", "no object"),) if len(seen) == 1 else ()

    player = Player(World(plan=lambda r: plan(step), checks=checks))
    assert player.run().status is RunStatus.COMPLETED
    assert seen == [({"type": "object"}, {"of": "look"})] * 2
    assert [e.attempt for e in player.of(ActivityStarted)] == [1, 2]
