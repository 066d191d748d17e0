"""Merging neighbours of a plan that is too long."""

import pytest

from phaseloop.core.plan import Plan, Step
from phaseloop.core.plan_merge import merge_steps
from phaseloop.core.plan_scope import PlanScope


def sizes(count, most):
    plan = Plan("g", tuple(Step(f"n{at}", "x") for at in range(count)))
    notes = []
    merged = merge_steps(plan, PlanScope(max_steps=most), notes)
    assert len(notes) == sum(" / " in step.action for step in merged.steps)
    return [step.action.count("x") for step in merged.steps]


@pytest.mark.parametrize(
    ("count", "found"),
    [
        (8, [1] * 8),
        (9, [2, 1, 1, 1, 1, 1, 1, 1]),
        (11, [2, 2, 2, 1, 1, 1, 1, 1]),
        (16, [2] * 8),
        (17, [2, 2, 2, 2, 2, 2, 2, 3]),
        (20, [4, 4, 2, 2, 2, 2, 2, 2]),
    ],
)
def test_pairs_are_merged_from_the_front(count, found):
    assert sizes(count, 8) == found


def test_steps_out_of_the_order_of_their_dependencies_are_not_merged():
    plan = Plan("g", (Step("a", "x", depends_on=("c",)), Step("b", "x"), Step("c", "x")))
    assert merge_steps(plan, PlanScope(max_steps=1), []) is plan


def test_finished_steps_do_not_count_and_are_not_merged():
    plan = Plan("g", (Step("s1", "x"), Step("a", "x"), Step("b", "x")))
    scope = PlanScope(max_steps=2, finished={"s1": plan.steps[0]})
    assert merge_steps(plan, scope, []) is plan
    scope = PlanScope(max_steps=1, finished={"s1": plan.steps[0]})
    assert [step.action for step in merge_steps(plan, scope, []).steps] == ["x", "x / x"]


def test_a_plan_with_more_fixed_steps_than_allowed_is_left_long():
    plan = Plan("g", tuple(Step(f"n{at}", "x", produces=f"p{at}") for at in range(3)))
    assert merge_steps(plan, PlanScope(max_steps=2), []) is plan
