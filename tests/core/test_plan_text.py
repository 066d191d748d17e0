"""The loose forms in which planners send a plan, and what is made of them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phaseloop.core.plan import ActivityType, Call, Plan, Step
from phaseloop.core.plan_text import normalise


def steps_of(draft, known=()):
    return normalise(draft, known)[0].steps


def test_the_plan_of_the_article_is_read_without_drift():
    draft = {
        "goal": "g",
        "steps": [
            {"id": "s1", "action": "Look", "tool_hint": "search", "depends_on": []},
            {"id": "s2", "action": "Write", "tool_hint": None, "depends_on": ["s1"], "produces": "report"},
        ],
        "constraints": ["short"],
    }
    plan = Plan(
        "g",
        (Step("s1", "Look", "search"), Step("s2", "Write", None, ("s1",), "report")),
        ("short",),
    )
    assert normalise(draft) == (plan, ())


def test_numbers_become_labels_that_a_condition_can_name():
    draft = {
        "steps": [
            {"id": 1, "action": "a", "call": {"tool": "get", "args": {}}},
            {"id": "2", "action": "b", "depends_on": [1],
             "only_if": "s1.qty < 10 && step1.ok && x.s1 == 's1'"},
            {"id": 3.0, "action": "c", "depends_on": ["S1", "step 2"], "call": {"tool": "t", "args": {
                "a": {"$ref": 1, "path": "x"}, "b": {"$ref": "s2"}, "c": {"$tmpl": "{1:x} {step2}"}}}},
        ],
        "result": {"$ref": "S3", "path": "y"},
    }  # fmt: skip
    plan, drift = normalise(draft)
    one, two, three = plan.steps
    assert [s.id for s in plan.steps] == ["step1", "step2", "step3"]
    assert two.depends_on == ("step1",)
    assert two.only_if == "step1.qty < 10 && step1.ok && x.s1 == 's1'"
    assert three.depends_on == ("step1", "step2")
    assert three.call.args == {
        "a": {"$ref": "step1", "path": "x"},
        "b": {"$ref": "step2"},
        "c": {"$tmpl": "{step1:x} {step2}"},
    }
    assert one.type is ActivityType.TOOL
    assert two.type is ActivityType.LLM
    assert plan.result == {"$ref": "step3", "path": "y"}
    assert drift == (
        "step 'step3': dependency \"S1\" was read as 'step1'",
        "step 'step3': dependency \"step 2\" was read as 'step2'",
    )


@pytest.mark.parametrize(
    "name", ["S1", "s1", "step 1", "Step1", "step_1", "#1", "$1", "task 1", 1, "1", 1.0, {"id": 1},
             "FIND orders", "search"]
)  # fmt: skip
def test_a_dependency_may_be_named_in_many_ways(name):
    draft = [
        {"id": 1, "action": "Find orders", "tool": "search"},
        {"id": 2, "action": "b", "depends_on": name},
    ]
    assert steps_of(draft)[1].depends_on == ("step1",)


def test_dependencies_on_nothing_itself_or_several_are_dropped_and_said():
    draft = [
        {"id": "a", "action": "x", "tool": "t", "depends_on": ["a", "zz", "t"]},
        {"id": "b", "action": "x", "tool": "t", "depends_on": "none"},
        {"id": "c", "action": "y", "depends_on": "a, b"},
        {"id": "d", "action": "z", "depends_on": [None, "x"]},
    ]
    plan, drift = normalise(draft)
    assert [s.depends_on for s in plan.steps] == [(), (), ("a", "b"), ()]
    assert drift[1:] == (
        "step 'a': its dependency on itself was dropped",
        "step 'a': dependency \"zz\" names no step and was dropped",
        "step 'a': dependency \"t\" names no step and was dropped",
        "step 'd': dependency \"x\" names no step and was dropped",
    )


def test_a_forward_dependency_is_kept_for_the_repair():
    assert steps_of([{"id": 1, "depends_on": [2]}, {"id": 2}])[0].depends_on == ("step2",)


def test_earlier_steps_may_be_named_and_are_not_mixed_up_with_new_numbers():
    draft = [
        {"id": 1, "action": "a", "depends_on": ["s1", "S3"], "only_if": "s1.ok"},
        {"id": 2, "action": "b", "depends_on": [1, 3], "call": {"tool": "t", "args": {"x": {"$ref": "s2"}}}},
    ]
    one, two = steps_of(draft, known=("s1", "s2", "s3"))
    assert one.depends_on == ("s1", "s3")
    assert one.only_if == "s1.ok"
    assert two.depends_on == ("step1", "s3")
    assert two.call.args == {"x": {"$ref": "s2"}}


def test_steps_without_labels_are_counted_and_never_take_a_known_id():
    assert [s.id for s in steps_of([{"action": "a"}, {"action": "b"}])] == ["step1", "step2"]
    assert [s.id for s in steps_of(["a", {"id": "step1"}], known=("new_step1",))] == [
        "new_new_step1",
        "step1",
    ]


def test_steps_with_names_may_be_named_by_their_place():
    draft = [{"id": "find", "action": "a"}, {"id": "pay", "action": "b", "depends_on": [1]}]
    assert steps_of(draft)[1].depends_on == ("find",)


@pytest.mark.parametrize(
    "wrap",
    [
        lambda plan: plan,
        lambda plan: plan["steps"],
        lambda plan: {"plan": plan},
        lambda plan: {"plan": plan["steps"]},
        lambda plan: {"name": "make_plan", "arguments": plan},
        lambda plan: {"properties": plan},
        lambda plan: json.dumps(plan),
        lambda plan: {"output": {"plan": json.dumps(plan)}},
        lambda plan: {"steps": {"one": plan["steps"][0], "two": plan["steps"][1]}},
        lambda plan: {"steps": {"one": "Look", "two": {"action": "Write", "depends_on": "one"}}},
        lambda plan: {"tasks": [{"step_id": s["id"], "description": s["action"],
                                 "dependencies": s["depends_on"]} for s in plan["steps"]]},
    ],
)  # fmt: skip
def test_wrappers_around_the_steps_are_taken_off(wrap):
    plan = {
        "goal": "g",
        "steps": [
            {"id": "one", "action": "Look", "depends_on": None},
            {"id": "two", "action": "Write", "depends_on": ["one"]},
        ],
    }
    assert steps_of(wrap(plan)) == (Step("one", "Look"), Step("two", "Write", None, ("one",)))


@pytest.mark.parametrize(
    "draft",
    [
        None,
        5,
        "no JSON",
        {},
        {"goal": "g"},
        {"goal": "g", "constraints": ["a"]},
        {"plan": {"goal": "x"}},
        "5",
        {"a": {"b": {"c": {"d": {"e": {"steps": []}}}}}},
    ],
)
def test_no_list_of_steps_is_one_clear_error(draft):
    with pytest.raises(ValueError, match="the plan has no list of steps: .*; expected an object with"):
        normalise(draft)


def test_steps_as_texts_and_other_oddities_are_read_and_said():
    plan, drift = normalise({"goal": None, "steps": ["Look", {"step": "Write"}, 7], "constraints": "be kind"})
    assert [s.action for s in plan.steps] == ["Look", "Write", "7"]
    assert plan.goal == ""
    assert plan.constraints == ("be kind",)
    assert drift == ("step 1 is a text instead of an object", "step 3 is 7 instead of an object")
    assert normalise({"steps": [], "constraints": [{"a": 1}, None, "b"]})[0].constraints == ('{"a": 1}', "b")


@pytest.mark.parametrize(
    "item",
    [
        {"call": {"tool": "get", "args": {"x": 1}}},
        {"call": {"name": "get", "arguments": '{"x": 1}'}},
        {"call": "get", "args": {"x": 1}},
        {"tool": "get", "args": {"x": 1}},
        {"tool": {"name": "get"}, "parameters": {"x": 1}},
    ],
)
def test_a_bound_call_may_be_written_in_several_ways(item):
    (step,) = steps_of([{"id": "a", "action": "x", **item}])
    assert step.call == Call("get", {"x": 1})
    assert step.type is ActivityType.TOOL


def test_a_step_without_a_real_call_stays_open():
    draft = [
        {"id": "a", "tool_hint": ["get"], "call": None},
        {"id": "b", "call": {"tool": None, "args": {}}, "tool_hint": "none"},
        {"id": "c", "call": {"args": {"x": 1}}},
        {"id": "d", "call": {"tool": "t", "args": [1]}, "type": "rule"},
    ]
    plan, drift = normalise(draft)
    a, b, c, d = plan.steps
    assert (a.call, a.tool_hint, b.call, b.tool_hint, c.call) == (None, "get", None, None, None)
    assert d.call == Call("t", {})
    assert d.type is ActivityType.RULE
    assert drift[1:] == (
        "step 'c': arguments without a tool were dropped",
        "step 'd': its arguments are [1] instead of an object and were dropped",
    )


def test_each_and_schemas_and_the_other_fields_are_taken_over():
    draft = [
        {"id": 1, "each": {"$ref": "input.rows"}, "output_schema": {"type": "object"}, "activityId": "check"},
        {"id": 2, "each": "s1.rows[0]", "onlyIf": "", "outputSchema": "x"},
        {"id": 3, "each": "artifact.list"},
    ]
    one, two, three = steps_of(draft)
    assert (one.each, one.output_schema, one.activity_id) == (
        {"$ref": "input.rows"},
        {"type": "object"},
        "check",
    )
    assert (two.each, two.only_if, two.output_schema) == ({"$ref": "step1", "path": "rows[0]"}, None, None)
    assert three.each == {"$ref": "artifact.list"}


NAMES = st.sampled_from([1, "2", "S3", "a", None, "", "step 1", 2.0, True, {"id": 1}, ["a"]])
DRAFTS = st.lists(
    st.dictionaries(
        st.sampled_from(["id", "action", "tool", "depends_on", "call", "each", "only_if", "args", "step"]),
        NAMES | st.lists(NAMES, max_size=3),
        max_size=5,
    )
    | st.text(max_size=5),
    max_size=5,
)


@given(DRAFTS, st.sampled_from([(), ("s1", "a")]))
def test_any_list_of_steps_gives_a_plan_of_as_many_with_dependencies_that_exist(draft, known):
    plan, _ = normalise(draft, known)
    labels = {step.id for step in plan.steps}
    assert len(plan.steps) == len(draft)
    assert all(step.id for step in plan.steps)
    assert all(d in labels | set(known) for step in plan.steps for d in step.depends_on)
