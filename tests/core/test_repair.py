"""Repairs: what code mends by itself, and what it leaves alone."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from phaseloop.core.lint import PlanScope, lint
from phaseloop.core.plan import Call, Plan, Severity, Step
from phaseloop.core.process import Activity, ActivityType
from phaseloop.core.repair import repair
from phaseloop.core.tools import EffectClass, ToolSpec

SCOPE = PlanScope(
    tools=(ToolSpec("get_order", effect=EffectClass.READ), ToolSpec("send-email"), ToolSpec("send_email")),
    activities=(Activity("classify", ActivityType.LLM, optional=True),),
    other_activities=frozenset({"publish"}),
    finished={"s1": Step("s1", "Read", depends_on=("s0", "s0"))},
    failed={"s2": Step("s2", "Ask")},
)


def opened(label, *after, **more):
    return Step(label, f"do {label}", depends_on=after, **more)


def bound(label, *after, **args):
    return Step(label, f"call {label}", depends_on=after, call=Call("get_order", args))


def mended(*steps, scope=SCOPE, **more):
    plan, notes = repair(Plan("g", steps, **more), scope)
    assert all(note.severity is Severity.NOTE and note.message for note in notes)
    return plan.steps, [note.code for note in notes]


def test_a_good_plan_is_returned_as_it_is():
    plan = Plan("g", (opened("s3", "s1"), bound("s4", "s3", x={"$ref": "s3"})), result={"$ref": "s4"})
    assert repair(plan, SCOPE) == (plan, ())


def test_every_reference_becomes_a_dependency():
    step = replace(
        bound("s5", a={"$ref": "s3", "path": "x"}, b={"$tmpl": "{s1:y} {s9} {s5}"}),
        each={"$ref": "s4"},
        only_if="s1.ok",
    )
    steps, codes = mended(opened("s3"), opened("s4"), step)
    assert steps[2].depends_on == ("s3", "s1", "s4")
    assert codes == ["dependency-added"] * 3


def test_a_dependency_stands_once_and_one_on_a_finished_step_stays():
    steps, codes = mended(opened("s3", "s1", "s1"))
    assert steps[0].depends_on == ("s1",)
    assert codes == ["dependency-dropped"]


def test_steps_are_put_in_the_order_of_their_dependencies_and_otherwise_stay():
    steps, codes = mended(opened("a", "c"), opened("b"), opened("c", "s1"), opened("d"))
    assert [step.id for step in steps] == ["b", "c", "a", "d"]
    assert codes == ["reordered"]


def test_a_circle_or_a_label_used_twice_is_left_to_the_linter():
    circle = (opened("a", "b"), opened("b", "a"))
    assert mended(*circle) == (circle, [])
    twice = (opened("b", "a"), opened("a"), opened("a"))
    assert mended(*twice) == (twice, [])


def test_a_tool_name_in_the_wrong_case_or_with_blanks_is_put_right():
    steps, codes = mended(
        opened("s3", tool_hint="Get Order"),
        Step("s4", "x", call=Call("GET-ORDER", {"n": 1})),
        opened("s5", tool_hint="getorder"),
        opened("s6", tool_hint="Send Email"),  # two tools have this name but for its spelling
        opened("s7", tool_hint="send-email"),
    )
    assert [s.tool_hint for s in steps] == ["get_order", None, "getorder", "Send Email", "send-email"]
    assert steps[1].call == Call("get_order", {"n": 1})
    assert codes == ["tool-renamed"] * 2


def test_an_activity_nobody_declared_loses_its_name_and_one_of_another_phase_does_not():
    steps, codes = mended(
        opened("s3", activity_id="fancy"),
        opened("s4", activity_id="publish"),
        opened("s5", activity_id="classify"),
        opened("s6", activity_id="s6"),
    )
    assert [s.activity_id for s in steps] == [None, "publish", "classify", "s6"]
    assert codes == ["activity-dropped"]


def test_a_step_labelled_like_a_failed_one_gets_a_label_of_its_own_everywhere():
    plan, notes = repair(
        Plan(
            "g",
            (opened("s2"), opened("s2_again"), bound("s4", "s2", x={"$ref": "s2"})),
            result={"$ref": "s2"},
        ),
        SCOPE,
    )
    assert [s.id for s in plan.steps] == ["s2_again_again", "s2_again", "s4"]
    assert plan.steps[2] == bound("s4", "s2_again_again", x={"$ref": "s2_again_again"})
    assert plan.result == {"$ref": "s2_again_again"}
    assert [note.code for note in notes] == ["relabelled"]


def test_a_finished_step_is_never_touched():
    done = SCOPE.finished["s1"]
    assert mended(done, opened("s3")) == ((done, opened("s3")), [])


def test_eleven_open_steps_are_merged_in_pairs_from_the_front():
    names = "一二三四五六七八九十"
    steps, codes = mended(*(Step(f"n{at}", name) for at, name in enumerate([*names, "十一"])))
    assert [s.action for s in steps] == ["一 / 二", "三 / 四", "五 / 六", "七", "八", "九", "十", "十一"]
    assert [s.id for s in steps] == ["n0", "n2", "n4", "n6", "n7", "n8", "n9", "n10"]
    assert codes == ["merged"] * 3


def test_a_merged_step_waits_for_all_that_its_parts_waited_for_and_is_waited_for():
    scope = replace(SCOPE, max_steps=3)
    steps, codes = mended(
        opened("a", "s1"),
        opened("b", "a", "s0", tool_hint="send_email"),
        opened("c", "a", "b"),
        bound("d", "b"),
        scope=scope,
    )
    assert steps == (
        Step("a", "do a / do b", "send_email", ("s1", "s0")),
        opened("c", "a"),
        bound("d", "a"),
    )
    assert codes == ["merged"]


def test_two_hints_in_one_merged_step_leave_none():
    steps, _ = mended(
        opened("a", tool_hint="send_email"),
        opened("b", tool_hint="get_order"),
        scope=replace(SCOPE, max_steps=1),
    )
    assert steps[0].tool_hint is None


def test_bound_named_used_and_conditional_steps_are_never_merged():
    kept = (
        bound("a"),
        opened("b", activity_id="classify"),
        opened("c", produces="x"),
        opened("d", "s1", only_if="s1.ok"),
        opened("e", output_schema={"type": "object"}),
        opened("f"),
        bound("g", "f", x={"$ref": "f"}),
        opened("h"),
    )
    steps, codes = mended(*kept, scope=replace(SCOPE, max_steps=2))
    assert steps == kept
    assert codes == []
    assert "too-many-steps" in {f.code for f in lint(Plan("g", steps), replace(SCOPE, max_steps=2))}


def test_merging_waits_until_the_planner_was_asked_once():
    plan = Plan("g", tuple(opened(f"n{at}") for at in range(9)))
    assert repair(plan, SCOPE, merge=False) == (plan, ())
    assert len(repair(plan, SCOPE)[0].steps) == 8


LABELS = [f"s{n}" for n in range(3, 9)]
ORDER_CODES = {"missing-dependency", "dependency-cycle", "too-many-steps", "unknown-activity"}


@st.composite
def acyclic_plans(draw):
    """Plans whose dependencies and references point backwards, in any order of the steps."""
    steps = []
    for at, label in enumerate(LABELS):
        earlier = [*LABELS[:at], "s1"]
        waits = tuple(draw(st.lists(st.sampled_from(earlier), max_size=3)))
        named = draw(st.lists(st.sampled_from(earlier), max_size=2))
        if draw(st.booleans()):
            steps.append(bound(label, *waits, **{f"a{n}": {"$ref": name} for n, name in enumerate(named)}))
        else:
            fancy = draw(st.sampled_from([None, "fancy"]))
            steps.append(opened(label, *waits, only_if=f"{named[0]}.ok" if named else None, activity_id=fancy))
    return Plan("g", tuple(draw(st.permutations(steps))), result={"$ref": draw(st.sampled_from(LABELS))})


@given(acyclic_plans())
def test_a_repaired_plan_has_no_error_of_order_and_repairing_again_changes_nothing(plan):
    repaired, _ = repair(plan, SCOPE)
    assert not {finding.code for finding in lint(repaired, SCOPE)} & ORDER_CODES
    place = {step.id: at for at, step in enumerate(repaired.steps)}
    assert all(place.get(d, -1) < place[step.id] for step in repaired.steps for d in step.depends_on)
    assert repair(repaired, SCOPE) == (repaired, ())
    assert {step.id for step in repaired.steps} == set(LABELS)
