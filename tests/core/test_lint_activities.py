"""Plan rules about activities, tools and outputs: each with a plan it catches and a near one it lets pass."""

from dataclasses import replace

import pytest

from phaseloop.core.lint import lint
from phaseloop.core.plan import Plan
from tests.core.plan_world import (
    MUST,
    OPEN,
    OUTPUTS,
    REFUND,
    SCOPE,
    START,
    TWICE,
    bad,
    check_case,
    codes,
    plan,
)

CASES = {
    # code: (caught plan, its scope, passing plan, its scope)
    "unknown-tool": (bad("get_ordr", order_id="O-1003"), SCOPE, bad("get_order", order_id="O-1003"), SCOPE),
    "tool-not-allowed": (bad("deploy"), SCOPE, plan(REFUND), SCOPE),
    "unknown-hint": (
        plan(replace(OPEN, tool_hint="mailer")),
        SCOPE,
        plan(replace(OPEN, tool_hint="refund")),
        SCOPE,
    ),
    "foreign-activity": (
        plan(replace(OPEN, activity_id="publish")),
        SCOPE,
        plan(replace(OPEN, activity_id="classify")),
        SCOPE,
    ),
    "unknown-activity": (
        plan(replace(OPEN, activity_id="clasify")),
        SCOPE,
        plan(replace(OPEN, activity_id="s5")),
        SCOPE,
    ),
    "human-in-plan": (
        plan(replace(OPEN, activity_id="confirm")),
        SCOPE,
        plan(replace(OPEN, activity_id="make")),
        SCOPE,
    ),
    "missing-activity": (plan(OPEN), MUST, plan(replace(OPEN, activity_id="check")), MUST),
    "activity-twice": (plan(*TWICE), SCOPE, plan(TWICE[0]), SCOPE),
    "start-not-first": (
        plan(REFUND, replace(OPEN, activity_id="classify", depends_on=())),
        START,
        plan(replace(OPEN, activity_id="classify", depends_on=("s1",)), REFUND),
        START,
    ),
    "output-twice": (
        plan(replace(OPEN, produces="report"), replace(OPEN, id="s6", activity_id="make")),
        OUTPUTS,
        plan(replace(OPEN, produces="plan"), replace(OPEN, id="s6", activity_id="make")),
        OUTPUTS,
    ),
    "foreign-output": (
        plan(replace(OPEN, produces="page")),
        OUTPUTS,
        plan(*(replace(OPEN, id=name, produces=name) for name in ("seal", "report", "plan"))),
        OUTPUTS,
    ),
    "output-missing": (
        plan(replace(OPEN, produces="report")),
        OUTPUTS,
        plan(replace(OPEN, produces="report"), replace(OPEN, id="s6", produces="plan")),
        OUTPUTS,
    ),
    "no-steps": (
        Plan("g", ()),
        OUTPUTS,
        Plan("g", ()),
        SCOPE,
    ),
}


@pytest.mark.parametrize("code", CASES)
def test_a_rule_catches_its_fault_and_lets_a_near_plan_pass(code):
    check_case(code, *CASES[code])


def test_an_empty_plan_is_fine_only_when_all_is_made():
    empty = Plan("g", ())
    one = replace(SCOPE, outputs=("report",))
    assert codes(empty, replace(SCOPE, finished={})) == {"no-steps"}
    assert codes(empty, one) == set()  # the last finished step's output is the one output
    made = {"s1": replace(OPEN, id="s1", produces="report")}
    assert codes(empty, replace(one, finished=made)) == set()
    assert "'plan' is not made" in lint(empty, replace(OUTPUTS, finished=made))[0].message


def test_a_single_output_needs_no_named_maker():
    one = replace(SCOPE, outputs=("report",))
    assert "output-missing" not in codes(plan(OPEN, REFUND), one)
