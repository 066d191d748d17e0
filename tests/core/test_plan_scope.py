"""A plan joined with what it is checked against."""

from phaseloop.core.plan import Call, Plan, Step
from phaseloop.core.plan_scope import PlanScope, view_of
from phaseloop.core.process import Activity, ActivityType
from phaseloop.core.references import Reference
from phaseloop.core.schemas import UNKNOWN
from phaseloop.core.tools import EffectClass, ToolSpec

ROW = {"type": "object", "properties": {"id": {"type": "string"}}}
TOOL = ToolSpec("get", effect=EffectClass.READ, output_schema=ROW)
DONE = Step("s1", "Read", call=Call("get"))
SCOPE = PlanScope(
    tools=(TOOL,),
    activities=(Activity("make", ActivityType.LLM, produces="report"),),
    artifacts={"plan": {"rows": [{"n": 1}], "none": []}},
    inputs={"city": "Bremen"},
    finished={"s1": DONE},
)
LOOP = Step("b", "x", depends_on=("a",), call=Call("get", {"x": {"$ref": "item"}}), each={"$ref": "a", "path": "rows"})
VIEW = view_of(Plan("g", (DONE, Step("a", "x", depends_on=("b", "q")), LOOP, Step("c", "y", depends_on=("a",)))), SCOPE)


def test_finished_steps_are_known_but_not_pending():
    assert list(VIEW.steps) == ["s1", "a", "b", "c"]
    assert [step.id for step in VIEW.pending] == ["a", "b", "c"]
    assert VIEW.needs == {"a": (), "b": ("a",), "c": ()}


def test_waits_reach_through_other_steps_and_around_circles():
    assert VIEW.waits["c"] == {"a", "b", "q"}
    assert VIEW.waits["a"] == {"a", "b", "q"}


def test_a_step_makes_what_it_says_or_what_its_activity_declares():
    assert VIEW.produced_by(Step("x", "y", produces="z", activity_id="make")) == "z"
    assert VIEW.produced_by(Step("x", "y", activity_id="make")) == "report"
    assert VIEW.produced_by(Step("x", "y")) is None


def test_the_schema_of_an_output_is_the_steps_own_its_tools_or_a_list_of_it():
    assert VIEW.output_schema("s1") == ROW
    assert VIEW.output_schema("a") is None
    assert VIEW.output_schema("b") == {"type": "array", "items": ROW}
    own = view_of(Plan("g", (Step("a", "x", call=Call("get"), output_schema={"type": "string"}),)), SCOPE)
    assert own.output_schema("a") == {"type": "string"}


def test_places_of_values_that_are_there_come_from_the_values():
    assert VIEW.place(Reference("artifact.plan", "rows[0].n")).schema == {"type": "integer"}
    assert VIEW.place(Reference("artifact.plan", "rows[1]")).impossible == "artifact.plan.rows has 1 item"
    assert VIEW.place(Reference("input.city")).schema == {"type": "string"}
    assert VIEW.place(Reference("input.town")) == UNKNOWN
    assert VIEW.place(Reference("nobody", "x")) == UNKNOWN
    assert VIEW.place(Reference("s1", "a..b")) == UNKNOWN


def test_an_item_is_the_first_element_of_its_list_when_there_is_one():
    def item(each, path):
        return VIEW.place(Reference("item", path), Step("z", "x", each=each))

    assert item({"$ref": "artifact.plan", "path": "rows"}, "n").schema == {"type": "integer"}
    assert item({"$ref": "artifact.plan", "path": "none"}, "n") == UNKNOWN
    assert item({"$ref": "b"}, "id").schema == {"type": "string"}
    assert "no field 'x'" in item({"$ref": "b"}, "x").impossible
    assert item({"$ref": "item"}, "x") == UNKNOWN
    assert VIEW.place(Reference("item")) == UNKNOWN
