"""A conflict key goes to the step with the longest way to the end, and nobody waits for one that is held up."""

import pytest

from phaseloop.core.answers import ToolReturned
from phaseloop.core.asks import Go, Lock, ToolCallWanted, Wait
from phaseloop.core.contention import goes_first, is_busy, needs_lock
from phaseloop.core.decide import rule
from phaseloop.core.tools import EffectClass, ToolSpec
from tests.core.player import TOOLS, Player, World, plan, read, think, write

KEY = "room:1"


def started(*steps, tools=TOOLS):
    """A run whose first steps are under way; their performers are left out: the test asks for them."""
    player = Player(World(plan=lambda request: plan(*steps)), tools=tools)
    player.drive()
    player.reconcile()
    player.turn(player.ready())
    return player


def ask(player, step, tool="book", **more):
    args = player.state.steps[step].spec.call.args
    wanted = ToolCallWanted(step, 1, 0, 0, tool, args, **more)
    player.post(wanted)
    return rule(player.state, wanted)


def short_before_long():
    """Two writes under one key, the one that others wait for planned last."""
    return (
        write("short", room="1", guest="ann"),
        write("long", room="1", guest="bob"),
        read("after", "long"),
    )


def test_the_key_goes_to_the_step_with_the_longest_tail_not_to_the_first_who_asks():
    player = started(*short_before_long())
    assert ask(player, "s1") == Wait()
    assert ask(player, "s2") == Lock(KEY)


def test_the_others_get_it_when_that_call_has_ended_and_not_before():
    player = started(*short_before_long())
    assert isinstance(ask(player, "s2", locked=KEY), Go)
    assert ask(player, "s1") == Wait()
    player.post(ToolReturned("c1", "ok", 1))
    assert ask(player, "s1") == Lock(KEY)


def test_equal_tails_go_in_plan_order():
    player = started(write("a", room="1", guest="ann"), write("b", room="1", guest="bob"), read("c"))
    assert ask(player, "s2") == Wait()
    assert ask(player, "s1") == Lock(KEY)


def test_another_key_is_nobodys_business():
    player = started(write("short", room="2"), write("long", room="1"), read("after", "long"))
    assert ask(player, "s1") == Lock("room:2")


def test_a_longer_step_that_has_not_started_stands_in_nobodys_way():
    steps = (
        read("first"),
        write("short", room="1", guest="ann"),
        write("long", "first", room="1", guest={"$ref": "first", "path": "of"}),
        read("after", "long"),
    )
    player = started(*steps)
    assert ask(player, "s2") == Lock(KEY)


def test_a_longer_step_that_a_person_is_asked_about_stands_in_nobodys_way():
    asks = ToolSpec("book", conflict_key="room:{room}", approval=True)
    plain = ToolSpec("note", conflict_key="room:{room}")
    steps = (
        write("short", tool="note", room="1"),
        write("long", room="1"),
        read("after", "long"),
    )
    player = started(*steps, tools=(TOOLS[0], asks, plain))
    assert ask(player, "s1", "note") == Wait()
    assert ask(player, "s2") == Wait()
    assert player.gate()[1].asked.title == "Run book?"
    assert ask(player, "s1", "note") == Lock(KEY)


def test_a_longer_step_that_waits_for_its_twin_stands_in_nobodys_way():
    asks = ToolSpec("book", conflict_key="room:{room}", approval=True)
    plain = ToolSpec("note", conflict_key="room:{room}")
    steps = (
        think("open", tool_hint="book"),
        write("short", tool="note", room="1"),
        write("long", room="1"),
        read("after", "long"),
    )
    player = started(*steps, tools=(TOOLS[0], asks, plain))
    assert ask(player, "s2", "note") == Wait()
    player.post(ToolCallWanted("s1", 1, 0, 0, "book", {"room": "1"}))
    assert player.gate()[1].asked.title == "Run book?"
    assert ask(player, "s3") == Wait()
    assert ask(player, "s2", "note") == Lock(KEY)


def test_a_step_of_another_plan_is_not_held_up():
    player = started(*short_before_long())
    assert goes_first(player.state, "s99", KEY)


def test_a_key_is_busy_while_a_call_under_it_is_under_way_but_not_for_that_call():
    player = started(*short_before_long())
    ask(player, "s2", locked=KEY)
    assert is_busy(player.state, KEY)
    assert not is_busy(player.state, KEY, but="c1")
    assert not is_busy(player.state, "room:2")


@pytest.mark.parametrize(
    ("tool", "locked"),
    [
        (ToolSpec("r", effect=EffectClass.READ), False),
        (ToolSpec("r", effect=EffectClass.READ, exclusive_reads=True), True),
        (ToolSpec("i", effect=EffectClass.IDEMPOTENT), True),
        (ToolSpec("w"), True),
    ],
)
def test_writes_need_their_lock_and_reads_only_where_their_tool_says_so(tool, locked):
    assert needs_lock(tool) is locked
