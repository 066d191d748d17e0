"""RULE activities: registered functions of every shape, conditions, and what goes wrong with them."""

import asyncio
import threading

import pytest

from phaseloop.adapters.cel_conditions import CelConditions
from phaseloop.engine.rule_registry import RuleRegistry


def verdict(rule, names=None):
    registry = RuleRegistry(CelConditions(), {"mine": rule})
    return asyncio.run(registry.evaluate("mine", names or {}))


async def slow_yes(names):
    await asyncio.sleep(0)
    return names["go"]


class Callable:
    async def __call__(self, names):
        return ["late"]


@pytest.mark.parametrize(
    ("answer", "issues"),
    [
        (True, []),
        (False, ["rule mine does not hold"]),
        ((True, "unused"), []),
        ((False, "too short"), ["too short"]),
        ((False, ""), ["rule mine does not hold"]),
        ([], []),
        (["one", 2], ["one", "2"]),
    ],
)
def test_a_rule_answers_in_any_of_three_shapes(answer, issues):
    value, findings = verdict(lambda names: answer)
    assert value == {"passed": not issues, "issues": issues}
    assert [(f.code, f.message, f.where) for f in findings] == [("check", issue, "mine") for issue in issues]


def test_a_rule_sees_the_names():
    assert verdict(lambda names: names["artifact"]["x"] == 1, {"artifact": {"x": 1}})[0]["passed"]


def test_an_async_rule_is_awaited():
    assert verdict(slow_yes, {"go": True})[0] == {"passed": True, "issues": []}
    assert verdict(Callable())[0] == {"passed": False, "issues": ["late"]}


def test_a_plain_rule_does_not_hold_up_the_loop():
    here = threading.get_ident()
    assert verdict(lambda names: threading.get_ident() != here)[0]["passed"]


def test_a_rule_that_raises_is_a_finding():
    def broken(names):
        raise KeyError("x")

    value, findings = verdict(broken)
    assert value["passed"] is False
    assert [(f.code, f.message) for f in findings] == [("error", "rule mine raised KeyError: 'x'")]


@pytest.mark.parametrize("answer", [None, 1, "yes", ("a", "b"), (True, "a", "b")])
def test_an_answer_of_another_shape_is_a_finding(answer):
    findings = verdict(lambda names: answer)[1]
    assert [f.code for f in findings] == ["error"]
    assert "a rule returns a bool, (bool, message) or a list of issues" in findings[0].message


def evaluated(check, names):
    return asyncio.run(RuleRegistry(CelConditions()).evaluate(check, names))


def test_what_is_not_registered_is_a_condition():
    assert evaluated("s1.n > 3", {"s1": {"n": 4}}) == ({"passed": True, "issues": []}, ())
    value, findings = evaluated("s1.n > 3", {"s1": {"n": 3}})
    assert value == {"passed": False, "issues": ["s1.n > 3 does not hold"]}
    assert [f.code for f in findings] == ["check"]


def test_a_condition_without_a_value_is_an_error():
    value, findings = evaluated("my_rule", {"s1": 1})
    assert value["passed"] is False
    assert [f.code for f in findings] == ["error"]
    assert "my_rule is no registered rule and has no value: my_rule is not a known name" in findings[0].message


def test_a_cancelled_rule_is_cancelled():
    async def forever(names):
        await asyncio.Event().wait()

    async def main():
        task = asyncio.create_task(RuleRegistry(CelConditions(), {"mine": forever}).evaluate("mine", {}))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
