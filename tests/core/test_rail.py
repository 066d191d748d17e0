"""The dependency rail."""

import time

from hypothesis import given
from hypothesis import strategies as st

from phaseloop.core.rail import MARK, MAX_LANES, RailNode, rail


def drawn(*nodes, **options):
    lines = rail([RailNode(*node) for node in nodes], **options)
    return [line.text.replace(MARK, "o").rstrip() for line in lines]


PICTURE = (
    ("s1",),
    ("s2",),
    ("s3", ("s2",), True),
    ("",),
    ("s5", ("s2",)),
    ("s6", ("s2",)),
    ("s7", ("s2",)),
    ("s8", ("s1", "s5", "s6", "s7")),
)


def test_parallel_steps_fork_together_and_join_as_in_the_picture():
    assert drawn(*PICTURE) == [
        "o",
        "│ o",
        "│ │╌o",
        "│ │",
        "│ ├─┬─╮",
        "│ o │ │",
        "│ │ o │",
        "│ │ │ o",
        "├─┴─┴─╯",
        "o",
    ]


def test_the_ascii_rail_has_the_same_shape_in_ascii():
    lines = rail([RailNode(*node) for node in PICTURE], ascii_only=True)
    assert [line.text.replace(MARK, "o").rstrip() for line in lines][4:9] == [
        "| +-+-+",
        "| o | |",
        "| | o |",
        "| | | o",
        "+-+-+-+",
    ]
    assert all(line.text.replace(MARK, "o").isascii() for line in lines)


def test_a_chain_stays_on_one_lane_without_joining_lines():
    assert drawn(("a",), ("b", ("a",)), ("c", ("b",))) == ["o", "o", "o"]


def test_steps_that_do_not_need_each_other_never_stand_directly_under_each_other():
    assert drawn(("a",), ("b",), ("c",)) == ["o", "  o", "o"]


def test_a_diamond_returns_to_the_lane_it_left():
    assert drawn(("a",), ("b", ("a",)), ("c", ("a",)), ("d", ("b", "c"))) == [
        "o",
        "├─╮",
        "o │",
        "│ o",
        "├─╯",
        "o",
    ]


def test_a_step_that_is_needed_twice_keeps_its_lane_until_the_later_one():
    assert drawn(("a",), ("b", ("a",)), ("c", ("a", "b"))) == ["o", "├─╮", "│ o", "├─╯", "o"]


def test_needs_that_are_hidden_or_stand_below_are_left_out():
    assert drawn(("a", ("gone",)), ("b", ("c",)), ("c",)) == ["o", "  o", "o"]


def test_no_rows_make_no_lines():
    assert rail([]) == ()


def test_beyond_eight_lanes_the_last_one_is_shared():
    many = [(f"s{n}",) for n in range(12)]
    lines = rail([RailNode(*node) for node in [*many, ("end", tuple(name for (name,) in many))]])
    assert {len(line.text) for line in lines} == {2 * MAX_LANES - 1}


@st.composite
def graphs(draw):
    count = draw(st.integers(1, 20))
    nodes = []
    for n in range(count):
        needs = draw(st.lists(st.integers(0, n - 1), unique=True, max_size=4)) if n else []
        nodes.append(RailNode(f"s{n}", tuple(f"s{i}" for i in needs), draw(st.booleans()) and n > 0))
    return nodes


@given(graphs())
def test_every_row_has_its_mark_once_and_all_lines_are_of_one_width(nodes):
    lines = rail(nodes)
    assert [line.row for line in lines if line.row >= 0] == list(range(len(nodes)))
    assert all(line.text.count(MARK) == (1 if line.row >= 0 else 0) for line in lines)
    assert len({len(line.text) for line in lines}) == 1
    assert max(line.mark_at for line in lines) < 2 * MAX_LANES


@given(graphs())
def test_appended_rows_never_move_the_marks_above_them(nodes):
    """A list that grows while it is read must not jump: only a new need can pull a lane aside."""
    free = [RailNode(node.id, node.depends_on[:1], node.dead) for node in nodes]
    before = [line.mark_at for line in rail(free) if line.row >= 0]
    after = [line.mark_at for line in rail([*free, RailNode("new")]) if line.row >= 0]
    assert after[: len(before)] == before


def test_two_hundred_rows_are_laid_out_in_a_blink():
    nodes = [RailNode(f"s{n}", (f"s{n // 2}",) if n else ()) for n in range(200)]
    started = time.perf_counter()
    rail(nodes)
    assert time.perf_counter() - started < 1
