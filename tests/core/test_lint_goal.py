"""Plan rules about what the request says: each with a plan it must catch and a near one it must let pass."""

from dataclasses import replace

import pytest

from phaseloop.core.lint import lint
from phaseloop.core.plan import Step
from tests.core.plan_world import (
    IF,
    LIST,
    MAIL,
    OPEN,
    QUOTED,
    REFUND,
    SCOPE,
    asks,
    call,
    check_case,
    codes,
    plan,
)

CASES = {
    # code: (caught plan, its scope, passing plan, its scope)
    "unused-read": (
        plan(LIST, replace(REFUND, id="s4")),
        SCOPE,
        plan(LIST, replace(OPEN, depends_on=("s3",)), MAIL),
        SCOPE,
    ),
    "unused-literal": (
        plan(MAIL),
        QUOTED,
        plan(call("send_email", to="ann@shop.example", subject={"$tmpl": "budget  2027!"})),
        QUOTED,
    ),
    "condition-missing": (plan(REFUND), IF, plan(replace(REFUND, only_if="s1.amount > 0")), IF),
}


@pytest.mark.parametrize("code", CASES)
def test_a_rule_catches_its_fault_and_lets_a_near_plan_pass(code):
    check_case(code, *CASES[code])


def test_polite_words_and_open_steps_that_check_raise_no_question_about_conditions():
    assert "condition-missing" not in codes(plan(REFUND), asks("Refund O-1003 if possible. 若干"))
    assert "condition-missing" in codes(plan(REFUND), asks("如果迟到就退款 O-1003"))
    checked = plan(Step("s3", "Refund if it is late"))
    assert "condition-missing" not in codes(checked, IF)


def test_quoted_words_of_inputs_or_of_other_phases_raise_no_question():
    scope = asks('Mail "Budget" {"customer": "Northwind"}')
    assert [f.message for f in lint(plan(REFUND), scope) if f.code == "unused-literal"] == [
        "the request says 'Budget', but no step uses it"
    ]
    assert "unused-literal" not in codes(plan(REFUND), replace(scope, whole_request=False))
    assert "unused-literal" in codes(plan(REFUND), asks("写信，标题「预算」"))
    assert "unused-literal" not in codes(plan(REFUND), asks("don't stop, it isn't over"))


def test_a_read_that_makes_something_or_is_declared_is_used():
    made, declared = replace(LIST, produces="report"), replace(LIST, activity_id="classify")
    assert "unused-read" not in codes(plan(made, replace(REFUND, id="s4")), SCOPE)
    assert "unused-read" not in codes(plan(declared, replace(REFUND, id="s4")), SCOPE)
    assert "unused-read" not in codes(plan(LIST, replace(REFUND, id="s4"), result={"$ref": "s3"}), SCOPE)
