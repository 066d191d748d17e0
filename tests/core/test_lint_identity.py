"""Plan rules about identities and repeated writes: each with a plan it must catch and a near one it must let pass."""

from dataclasses import replace

import pytest

from phaseloop.core.lint import lint
from phaseloop.core.plan import ActivityType
from phaseloop.core.process import Activity
from tests.core.plan_world import (
    MAIL,
    REFUND,
    SCOPE,
    bad,
    call,
    check_case,
    codes,
    plan,
    ref,
)

CASES = {
    # code: (caught plan, its scope, passing plan, its scope)
    "invented-identity": (
        bad("refund", order_id="O-1004", amount=249.5),
        SCOPE,
        bad("refund", order_id="o-1003", amount=-249.5),
        SCOPE,
    ),
    "same-write-twice": (plan(REFUND, replace(REFUND, id="s4")), SCOPE, plan(REFUND, MAIL), SCOPE),
    "write-already-done": (
        plan(replace(REFUND, id="s4")),
        replace(SCOPE, finished={**SCOPE.finished, "s3": REFUND}),
        plan(MAIL),
        replace(SCOPE, finished={**SCOPE.finished, "s3": REFUND}),
    ),
    "parallel-writes": (
        plan(REFUND, call("refund", "s4", order_id=ref("s1", "order_id"), amount=249.5)),
        SCOPE,
        plan(REFUND, call("refund", "s4", ("s3",), order_id=ref("s1", "order_id"), amount=249.5)),
        SCOPE,
    ),
}


@pytest.mark.parametrize("code", CASES)
def test_a_rule_catches_its_fault_and_lets_a_near_plan_pass(code):
    check_case(code, *CASES[code])


def test_identity_comes_from_the_request_inputs_artefacts_or_the_schema():
    def refused(**args):
        given = {"order_id": "O-1003", "amount": 249.5, **args}
        return "invented-identity" in codes(plan(call("refund", **given)), SCOPE)

    assert not refused()
    assert refused(amount=249)
    assert refused(order_id="O-100")
    assert not refused(account="main")
    assert not refused(order_id="A-77")
    assert not refused(order_id="northwind")
    assert not refused(note="made up freely")
    assert not refused(order_id={"$tmpl": "X-{s1:order_id}"})
    mail = call("send_email", to=["ann@shop.example", "eve@bad.example"], subject="x")
    (found,) = [f for f in lint(plan(mail), SCOPE) if f.code == "invented-identity"]
    assert '"eve@bad.example"' in found.message
    assert "invented-identity" in codes(bad("set_level", level=1, who={"name": "Eve"}), SCOPE)
    mixed = {"name": "Eve", "order": ref("s1", "order_id")}
    assert "invented-identity" in codes(bad("set_level", level=1, who=mixed), SCOPE)
    declared = Activity("mail", ActivityType.TOOL, config={"args": {"to": ["eve@bad.example"]}}, optional=True)
    assert "invented-identity" not in codes(plan(mail), replace(SCOPE, activities=(declared,)))


def test_the_two_branches_of_a_choice_may_hold_the_same_write():
    yes, no = replace(REFUND, only_if="s1.amount > 5"), replace(REFUND, id="s4", only_if="s1.amount < 2")
    assert "same-write-twice" not in codes(plan(yes, no), SCOPE)
    assert "same-write-twice" in codes(plan(yes, replace(no, only_if=yes.only_if)), SCOPE)
    again = call("set_level", level=1)
    assert "same-write-twice" not in codes(plan(again, replace(again, id="s4")), SCOPE)
