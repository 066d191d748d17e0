"""Names, omitted defaults and nested values on the wire."""

import json

import pytest

from phaseloop.adapters.codec import CLASSES, ENVELOPE, Codec
from phaseloop.adapters.wire import event_name, field_name, shape_of
from phaseloop.core.call_events import ToolCallFinished
from phaseloop.core.errors import WrongUse
from phaseloop.core.gate_events import GateOpened
from phaseloop.core.plan import Call, Step
from phaseloop.core.plan_events import PlanUpdated
from phaseloop.core.process import GateKind, GateMode
from phaseloop.core.run_events import (
    ConditionEvaluated,
    LimitReached,
    RunCompleted,
)
from phaseloop.engine.ports import Recorded


def test_names_follow_one_rule():
    assert event_name(GateOpened) == "gate_opened"
    assert field_name("best_result") == "bestResult"
    assert field_name("exit_human_activity_id") == "exitHumanActivityId"
    kept = ("tool_hint", "depends_on", "only_if", "output_schema", "tokens_in", "cost_usd", "prompt_ref")
    assert [field_name(name) for name in kept] == list(kept)


def test_no_field_collides_with_the_envelope_or_with_another():
    for cls in CLASSES.values():
        shape = shape_of(cls)
        names = [f.wire for f in shape.fields] + [f.name + "_ref" for f in shape.refs]
        assert len(names) == len(set(names))
        assert not ENVELOPE & set(names)


def test_defaults_are_omitted_by_equality_and_zero_is_not_none():
    assert json.loads(Codec().encode(RunCompleted(score=float(10), result=0)).body) == {"result": 0}
    assert json.loads(Codec().encode(ToolCallFinished("c1", result=False)).body) == {
        "callId": "c1",
        "result": False,
    }
    assert json.loads(Codec().encode(ConditionEvaluated("phase:p", "x", None)).body)["value"] is None


def test_nested_values_follow_the_same_names():
    step = Step("s1", "look", tool_hint="find", call=Call("find", {"some_key": 1}), activity_id="a1", only_if="x")
    body = json.loads(Codec().encode(PlanUpdated("p1", 1, "g", (step,))).body)
    assert body["steps"] == [
        {
            "id": "s1",
            "action": "look",
            "tool_hint": "find",
            "call": {"tool": "find", "args": {"some_key": 1}},
            "activityId": "a1",
            "only_if": "x",
        }
    ]


def test_enums_and_tuples_are_plain_in_an_envelope():
    event = GateOpened("g1", 1, GateKind.EXIT, "a1", GateMode.APPROVE, outcomes=("yes",), timeout_at=5)
    wire = Codec().envelope(Recorded("r", 3, 1_764_547_200_007, event))
    assert wire == {
        "runId": "r",
        "seq": 3,
        "ts": "2025-12-01T00:00:00.007Z",
        "event": "gate_opened",
        "v": 1,
        "requestId": "g1",
        "version": 1,
        "kind": "exit",
        "activityId": "a1",
        "humanMode": "approve",
        "outcomes": ["yes"],
        "timeoutAt": 5,
    }
    assert type(wire["kind"]) is str


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_a_number_that_json_cannot_say_is_refused_before_it_is_written(value):
    with pytest.raises(WrongUse, match="must be finite"):
        Codec().encode(LimitReached("budget", 1.0, value))
