"""CEL conditions: what is true, what is an error, and that nothing escapes or runs away."""

import time

import pytest

from phaseloop.adapters.cel_conditions import MAX_CHARACTERS, CelConditions, compile_error, names_of


def value(expression, **names):
    return CelConditions().evaluate(expression, names)


@pytest.mark.parametrize(
    ("expression", "names", "expected"),
    [
        ("confirmedIntent != null", {"confirmedIntent": None}, False),
        ("confirmedIntent != null", {"confirmedIntent": {"title": "x"}}, True),
        ("confirmedIntent != null", {"confirmedIntent": {}}, True),
        ("confirmedIntent != null", {"confirmedIntent": []}, True),
        ("confirmedIntent != null", {"confirmedIntent": "x"}, True),
        ("confirmedIntent != null", {"confirmedIntent": 0}, True),
        ("confirmedIntent != null", {"confirmedIntent": False}, True),
        ("output.score >= 7", {"output": {"score": 7}}, True),
        ("output.score >= 7", {"output": {"score": 7.0}}, True),
        ("output.score >= 7", {"output": {"score": 6.9}}, False),
        ("output.score >= 6.5", {"output": {"score": 7}}, True),
        ("output.score == 7", {"output": {"score": 7.0}}, True),
        ("output.score * 2.0 > 7", {"output": {"score": 4.0}}, True),
        ("output.score * 2 > 7.0", {"output": {"score": 4}}, True),
        ("a == b", {"a": [1, {"k": 2.0}], "b": [1.0, {"k": 2}]}, True),
        ("s1.items.size() > 0", {"s1": {"items": [1]}}, True),
        ("s1.items.size() > 0", {"s1": {"items": []}}, False),
        ("size(s1.items) > 0.5", {"s1": {"items": [1]}}, True),
        ("has(s1.a) && s1.a.b[0].c == 'x'", {"s1": {"a": {"b": [{"c": "x"}]}}}, True),
        ("has(s1.a)", {"s1": {}}, False),
        ("s1 != null && has(s1.a)", {"s1": None}, False),
        ("s1.list.exists(i, i.v > 3) && s1.list.all(i, i.v > 0)", {"s1": {"list": [{"v": 1}, {"v": 4.5}]}}, True),
        ("'x' in m && 2 in l", {"m": {"x": 0}, "l": [1, 2]}, True),
        ("goal.size() == 4", {"goal": "销售图表"}, True),
        ("artifact.plan != null || input.urgent", {"artifact": {"plan": None}, "input": {"urgent": True}}, True),
        ("x.in_stock", {"x": {"in_stock": True}}, True),
        ("true", {}, True),
    ],
)
def test_conditions_give_true_or_false(expression, names, expected):
    assert value(expression, **names) == (expected, "")


@pytest.mark.parametrize(
    ("expression", "names", "reason"),
    [
        ("confirmdIntent != null", {"confirmedIntent": None}, "did you mean confirmedIntent?"),
        ("x != null", {}, "x is not a known name; known are: none"),
        ("1 + 1", {}, "gives INT; it must give true or false"),
        ("score", {"score": 7}, "gives INT; it must give true or false"),
        ("score", {"score": "true"}, "gives STRING; it must give true or false"),
        ("score", {"score": None}, "gives NULL"),
        ("a == ", {"a": 1}, "at column 6"),
        ("a &&\n b ==", {"a": 1, "b": 1}, "at line 2, column"),
        ("s1.items.size() > 0", {"s1": {}}, 'Key not found in map : "items"'),
        ("s1.items.size() > 0", {"s1": None}, "has(...)"),
        ("score + 1 > 7", {"score": 7.5}, "write double(...)"),
        ("1 / n > 0", {"n": 0}, "divide by zero"),
        ("l[5] == 1", {"l": [1]}, "index=5"),
        ("nope(a)", {"a": 1}, "undeclared reference to 'nope'"),
        ("a > 1", {"a": 2**70}, "out of range"),
        ("a == 'x'", {"a": object()}, "Non-CEL value"),
        ("a.matches('(')", {"a": "x"}, "missing"),
        ("", {}, "empty"),
        ("   ", {}, "empty"),
        ("计划 != null", {"计划": 1}, "at column 1"),
        ("a == '\ud800'", {"a": "x"}, "surrogate"),
        ("a == 'x'", {"a": "\ud800"}, "surrogate"),
    ],
)
def test_what_has_no_value_says_why_in_one_line(expression, names, reason):
    outcome, why = value(expression, **names)
    assert outcome is None
    assert reason in why
    assert "\n" not in why
    assert "expecting {" not in why


def test_work_is_bounded():
    started = time.perf_counter()
    outcome, why = value("l.map(i, l.map(j, l.map(k, i * j * k))).size() > 0", l=list(range(300)))
    assert (outcome, "budget" in why) == (None, True)
    assert value("s.matches('(a+)+$')", s="a" * 5000 + "b") == (False, "")
    assert time.perf_counter() - started < 5


def test_size_and_depth_are_bounded():
    long = "a == 1" + " " * MAX_CHARACTERS
    assert value(long, a=1)[1] == f"the condition has {len(long)} characters; at most {MAX_CHARACTERS} are allowed"
    outcome, why = value("(" * 200 + "true" + ")" * 200)
    assert outcome is None
    assert "recursion limit" in why


def test_only_the_names_that_are_used_are_handed_over():
    assert value("a == 1", a=1, b=object(), c={1: 2}) == (True, "")


def test_a_name_may_be_bound_inside_and_given_outside():
    assert value("l.exists(i, i == 2)", l=[2], i=1) == (True, "")
    assert value("l.exists(i, i == 2) && i == 1", l=[2], i=1) == (True, "")
    outcome, why = value("l.exists(i, i == 2) && i == 1", l=[2])
    assert outcome is None
    assert why.startswith("undeclared reference to 'i' at column")


@pytest.mark.parametrize(
    "expression",
    ["confirmedIntent != null", "output.score * 2.0 > 7", "l.exists(i, i.v > 3)", "l.all(i, l.all(j, i == j))", "x"],
)
def test_sound_conditions_compile_whatever_names_exist(expression):
    assert compile_error(expression) == ""
    assert CelConditions().compile_error(expression) == ""


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("a = 1", "Syntax error"),
        ("'x'", "gives STRING"),
        ("1 + 'a' == b", "no matching overload"),
        ("'x' > 1", "no matching overload"),
        ("foo(a)", "undeclared reference to 'foo'"),
        ("a ? b", "Syntax error"),
    ],
)
def test_unsound_conditions_are_named_before_a_run(expression, reason):
    assert reason in compile_error(expression)


def test_names_of_a_condition_are_listed():
    assert names_of("s1.a > limit && has(s2.b)") == ("s1", "limit", "s2")
    assert CelConditions().names_of("a.exists(i, i == b)") == ("a", "b")
