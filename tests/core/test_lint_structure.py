"""Plan rules about labels, dependencies and size: each with a plan it must catch and a near one it must let pass."""

from dataclasses import replace

import pytest

from phaseloop.core.lint import lint
from phaseloop.core.plan import Step
from tests.core.plan_world import (
    LIST,
    MAIL,
    OPEN,
    REFUND,
    SCOPE,
    call,
    check_case,
    plan,
    ref,
)

CASES = {
    # code: (caught plan, its scope, passing plan, its scope)
    "duplicate-label": (plan(REFUND, replace(MAIL, id="s3")), SCOPE, plan(REFUND, MAIL), SCOPE),
    "reserved-label": (plan(replace(OPEN, id="item")), SCOPE, plan(replace(OPEN, id="items")), SCOPE),
    "reused-label": (plan(replace(OPEN, id="s2")), SCOPE, plan(replace(OPEN, id="s2b")), SCOPE),
    "empty-action": (plan(replace(OPEN, action=" ")), SCOPE, plan(OPEN), SCOPE),
    "finished-changed": (
        plan(replace(SCOPE.finished["s1"], action="Read another order"), REFUND),
        SCOPE,
        plan(replace(SCOPE.finished["s1"], tool_hint="x", depends_on=("s9",)), REFUND),
        SCOPE,
    ),
    "too-many-steps": (
        plan(*(Step(f"n{n}", "x") for n in range(9))),
        SCOPE,
        plan(SCOPE.finished["s1"], *(Step(f"n{n}", "x") for n in range(8))),
        SCOPE,
    ),
    "few-steps": (plan(REFUND), SCOPE, plan(REFUND, MAIL), SCOPE),
    "self-dependency": (plan(replace(OPEN, depends_on=("s5",))), SCOPE, plan(OPEN, REFUND), SCOPE),
    "unknown-dependency": (plan(replace(OPEN, depends_on=("s9",))), SCOPE, plan(OPEN, REFUND), SCOPE),
    "failed-dependency": (plan(replace(OPEN, depends_on=("s2",))), SCOPE, plan(OPEN, REFUND), SCOPE),
    "missing-dependency": (
        plan(LIST, call("refund", "s4", (), order_id=ref("s3", "orders[0].order_id"), amount=249.5)),
        SCOPE,
        plan(
            LIST,
            replace(OPEN, id="s6", depends_on=("s3",)),
            call("refund", "s4", ("s6",), order_id=ref("s3", "orders[0].order_id"), amount=249.5),
        ),
        SCOPE,
    ),
    "unknown-reference": (
        plan(replace(OPEN, only_if="s9.ok")),
        SCOPE,
        plan(replace(OPEN, only_if="s1.amount > 0")),
        SCOPE,
    ),
    "dependency-cycle": (
        plan(replace(OPEN, depends_on=("s6",)), replace(OPEN, id="s6", depends_on=("s5",))),
        SCOPE,
        plan(replace(OPEN, depends_on=("s6",)), replace(OPEN, id="s6", depends_on=())),
        SCOPE,
    ),
}


@pytest.mark.parametrize("code", CASES)
def test_a_rule_catches_its_fault_and_lets_a_near_plan_pass(code):
    check_case(code, *CASES[code])


def test_a_circle_through_references_is_found_and_shown():
    steps = (
        call("get_order", "a", (), order_id=ref("b", "order_id")),
        call("get_order", "b", (), order_id=ref("a", "order_id")),
    )
    (found,) = [f for f in lint(plan(*steps), SCOPE) if f.code == "dependency-cycle"]
    assert found.message == "steps wait for each other in a circle: 'a' -> 'b' -> 'a'"
