"""References of whole steps and plans."""

from phaseloop.core.plan import Call, Plan, Step
from phaseloop.core.plan_references import (
    condition_names,
    rename_condition,
    rename_plan,
    rename_step,
    step_needs,
)


def test_only_root_names_of_a_condition_count():
    text = "s1.qty < 10 && s2 . s3[\"s4\"] == 's5' && size(artifact.s6) > 1e3 && s1 != null && r\"s8\" == ''"
    assert condition_names(text) == ("s1", "s2", "size", "artifact", "null")


def test_renaming_a_condition_keeps_texts_fields_and_other_names():
    assert rename_condition("a.a == 'a' && b > 1", {"a": "b", "b": "a"}) == "b.a == 'a' && a > 1"


def test_a_step_needs_what_its_arguments_its_each_and_its_condition_name():
    step = Step(
        "s4",
        "x",
        call=Call("t", {"a": {"$ref": "s2"}, "b": {"$tmpl": "{s9:x}{artifact.q}"}}),
        each={"$ref": "s1", "path": "rows"},
        only_if="s3.ok && s7.ok",
    )
    assert step_needs(step, {"s1", "s2", "s3"}) == ("s2", "s9", "s1", "s3")
    assert step_needs(Step("s1", "x"), ()) == ()


def test_renaming_a_plan_reaches_every_place_of_a_label():
    step = Step(
        "b",
        "x",
        depends_on=("a", "q"),
        call=Call("t", {"v": {"$ref": "a", "path": "p"}}),
        each={"$ref": "a"},
        only_if="a.ok",
    )
    plan = Plan("g", (Step("a", "x"), step), result={"r": {"$tmpl": "{b:x}"}})
    out = rename_plan(plan, {"a": "s1", "b": "s2"})
    assert [s.id for s in out.steps] == ["s1", "s2"]
    assert out.steps[1] == Step(
        "s2",
        "x",
        depends_on=("s1", "q"),
        call=Call("t", {"v": {"$ref": "s1", "path": "p"}}),
        each={"$ref": "s1"},
        only_if="s1.ok",
    )
    assert out.result == {"r": {"$tmpl": "{s2:x}"}}
    assert rename_step(Step("a", "x"), {}) == Step("a", "x")
