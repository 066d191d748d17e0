"""Plan rules about arguments and references: each with a plan it must catch and a near one it must let pass."""

from dataclasses import replace

import pytest

from phaseloop.core.lint import errors, lint
from phaseloop.core.tools import EffectClass, ToolSpec
from tests.core.plan_world import (
    EACH,
    LIST,
    OPEN,
    SCOPE,
    bad,
    call,
    check_case,
    codes,
    fields,
    plan,
    ref,
)

CASES = {
    # code: (caught plan, its scope, passing plan, its scope)
    "bad-reference": (
        bad("get_order", order_id=ref("s1", "a..b")),
        SCOPE,
        bad("get_order", order_id=ref("s1", "order_id")),
        SCOPE,
    ),
    "item-outside-each": (
        bad("get_order", order_id=ref("item", "order_id")),
        SCOPE,
        plan(LIST, call("get_order", "s4", order_id=ref("item", "order_id"), **EACH)),
        SCOPE,
    ),
    "missing-field": (
        bad("get_order", order_id=ref("s1", "orderid")),
        SCOPE,
        bad("get_order", order_id=ref("s1", "order_id")),
        SCOPE,
    ),
    "unknown-input": (bad("get_order", order_id=ref("input.id")), SCOPE, plan(LIST), SCOPE),
    "unknown-artifact": (
        bad("get_order", order_id=ref("artifact.report")),
        SCOPE,
        bad("get_order", order_id=ref("artifact.intent", "title")),
        SCOPE,
    ),
    "bad-each": (
        plan(LIST, call("get_order", "s4", order_id="O-1003", each=ref("s1", "email"))),
        SCOPE,
        plan(LIST, call("get_order", "s4", order_id=ref("item", "order_id"), **EACH)),
        SCOPE,
    ),
    "write-each": (
        plan(LIST, call("refund", "s4", order_id=ref("item", "order_id"), amount=249.5, **EACH)),
        SCOPE,
        plan(LIST, call("refund", "s4", order_id=ref("item", "order_id"), amount=249.5, **EACH)),
        replace(SCOPE, approved=True),
    ),
    "missing-argument": (
        bad("refund", order_id="O-1003"),
        SCOPE,
        bad("refund", order_id="O-1003", amount=249.5),
        SCOPE,
    ),
    "unknown-argument": (
        bad("get_order", order_id="O-1003", id="x"),
        SCOPE,
        bad("get_order", order_id="O-1003"),
        SCOPE,
    ),
    "argument-type": (
        bad("list_orders", customer="x", limit="5"),
        SCOPE,
        bad("list_orders", customer="x", limit=5.0),
        SCOPE,
    ),
    "argument-value": (bad("set_level", level=3), SCOPE, bad("set_level", level=2), SCOPE),
    "reference-type": (
        bad("get_order", order_id=ref("s1", "amount")),
        SCOPE,
        bad("get_order", order_id=ref("s1", "email")),
        SCOPE,
    ),
}


@pytest.mark.parametrize("code", CASES)
def test_a_rule_catches_its_fault_and_lets_a_near_plan_pass(code):
    check_case(code, *CASES[code])


def test_paths_are_checked_through_each_lists_and_artefacts():
    lists = call("get_order", "s4", ("s3",), order_id=ref("item", "order_id"), each=ref("s3", "orders"))
    use = call("get_order", "s5", ("s4",), order_id=ref("s4", "[0].orderid"))
    (found,) = errors(lint(plan(LIST, lists, use), SCOPE))
    assert found.code == "missing-field"
    assert "s4[0] has no field 'orderid'; it has 'order_id', 'amount', 'email'" in found.message
    items = {"each": ref("artifact.intent", "lines")}
    assert codes(plan(call("get_order", order_id=ref("item", "sku"), **items)), SCOPE) == {"few-steps"}
    assert "missing-field" in codes(plan(call("get_order", order_id=ref("item", "x"), **items)), SCOPE)
    nobody = {"each": ref("artifact.intent", "none")}
    assert codes(plan(call("get_order", order_id=ref("item", "x"), **nobody)), SCOPE) == {"few-steps"}
    assert "bad-each" in codes(plan(call("get_order", order_id="O-1003", each={"x": 1})), SCOPE)
    assert "bad-each" in codes(plan(replace(OPEN, each=ref("s1"))), SCOPE)


def test_nested_arguments_are_checked_with_their_path():
    def said(**args):
        return [
            f.message.split(" and ", 1)[1]
            for f in errors(lint(bad("set_level", level=1, **args), SCOPE))
            if f.code != "invented-identity"
        ]

    assert said(who={}) == ["lacks 'who.name'"]
    assert said(who={"name": 5})[0] == "gives 'who.name' 5, which is not a string"
    assert said(tags=["a", 1]) == ["gives 'tags[1]' 1, which is not a string"]
    assert said(tags=[{"$tmpl": "x"}, ref("s1", "amount")]) == [
        "gives 'tags[1]' s1.amount, which is a number; the tool wants a string"
    ]
    assert "argument-type" in codes(bad("send_email", to=5, subject="x"), SCOPE)
    assert "argument-type" in codes(bad("set_level", level=True), SCOPE)


def test_a_tool_that_takes_anything_is_not_asked_about_names():
    open_tool = ToolSpec("any", effect=EffectClass.READ, input_schema=fields(closed=False, a_="string"))
    bare = ToolSpec("bare", effect=EffectClass.READ)
    scope = replace(SCOPE, tools=(open_tool, bare))
    assert codes(bad("any", b=1), scope) == {"few-steps"}
    assert codes(bad("bare", b=1), scope) == {"few-steps"}


def test_a_schema_that_says_nothing_refuses_nothing():
    nowhere = ToolSpec("odd", effect=EffectClass.READ, input_schema={"$ref": "#/none"})
    loose = ToolSpec("loose", effect=EffectClass.READ, input_schema=fields(any={"$ref": "#/none"}))
    scope = replace(SCOPE, tools=(nowhere, loose))
    assert codes(bad("odd", x=1), scope) == {"few-steps"}
    assert codes(bad("loose", any=1), scope) == {"few-steps"}


def test_a_choice_of_schemas_refuses_what_none_of_them_takes():
    choice = {"anyOf": [{"type": "object", "required": ["a"]}, {"type": "object", "required": ["b", "c"]}]}
    scope = replace(SCOPE, tools=(ToolSpec("pick", effect=EffectClass.READ, input_schema=fields(one=choice)),))
    (found,) = errors(lint(bad("pick", one={}), scope))
    assert found.message.endswith("lacks 'one.a'")
    assert not errors(lint(bad("pick", one={"b": 1, "c": 2}), scope))
