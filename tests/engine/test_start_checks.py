"""What a run may start with."""

import pytest

from phaseloop.adapters.contracts import JsonSchemaContracts
from phaseloop.core.errors import WrongUse
from phaseloop.core.process import FLAT, Definition
from phaseloop.engine.start_checks import MAX_GOAL, check_goal, check_inputs

CITY = Definition("c", inputs={"city": {"type": "string"}, "free": {}})


@pytest.mark.parametrize("goal", ["x", "x" * MAX_GOAL, "🎉", "\x00", "做"])
def test_a_goal_is_taken_as_it_is(goal):
    check_goal(goal, needed=True)


@pytest.mark.parametrize(
    ("goal", "words"),
    [
        (" \n", "needs a goal"),
        ("x" * (MAX_GOAL + 1), "100,001 characters"),
        ("a\udc80", "broken Unicode at character 2"),
    ],
)
def test_a_goal_that_cannot_be_carried_is_refused(goal, words):
    with pytest.raises(WrongUse, match=words):
        check_goal(goal, needed=True)


def test_an_empty_goal_is_taken_where_none_is_needed():
    check_goal("", needed=False)


@pytest.mark.parametrize("inputs", [{}, {"city": "Rome"}, {"city": None}, {"free": [1, {"a": 2}]}])
def test_inputs_that_fit_are_taken(inputs):
    check_inputs(JsonSchemaContracts(), CITY, inputs)
    check_inputs(JsonSchemaContracts(), FLAT, {"anything": 1})


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        ({"town": 1}, "takes no input 'town'; it takes city, free"),
        ({"city": 1}, "input 'city' does not fit: value"),
        ({"free": {1}}, "input 'free' is no JSON"),
        ({"free": "\ud800"}, "input 'free' holds broken Unicode"),
    ],
)
def test_inputs_that_do_not_fit_are_refused_by_name(inputs, words):
    with pytest.raises(WrongUse, match=words):
        check_inputs(JsonSchemaContracts(), CITY, inputs)
