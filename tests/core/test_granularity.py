"""Complexity is a sum anybody can check; merging phases never drops a person's decision."""

from dataclasses import replace

import pytest

from phaseloop.core.definition_rules import check_definition
from phaseloop.core.granularity import assess, merge_phases, phase_count
from phaseloop.core.plan import ActivityType
from phaseloop.core.process import FLAT, Activity, Definition, GateConfig, GateMode, Phase


def activities(plain=0, gates=0, children=0, writes=0):
    made = [Activity(f"a{n}", ActivityType.LLM) for n in range(plain)]
    made += [Activity(f"g{n}", ActivityType.HUMAN, gate=GateConfig()) for n in range(gates)]
    made += [Activity(f"c{n}", ActivityType.SUBPROCESS) for n in range(children)]
    made += [Activity(f"w{n}", ActivityType.TOOL, config={"sideEffect": True}) for n in range(writes)]
    return Definition("d", phases=FLAT.phases, activities=tuple(made))


@pytest.mark.parametrize(
    ("definition", "unclear", "score", "level"),
    [
        (activities(plain=1), False, 1, 1),
        (activities(plain=3), False, 3, 1),
        (activities(plain=4), False, 4, 2),
        (activities(plain=4, writes=1), False, 7, 2),
        (activities(plain=6), True, 8, 3),
        (activities(plain=3, gates=1, writes=1), True, 11, 3),
        (activities(plain=12), False, 12, 3),
        (activities(plain=13), False, 13, 4),
        (activities(plain=5, gates=2, children=1), False, 15, 4),
        (activities(plain=18), False, 18, 4),
        (activities(plain=19), False, 19, 5),
        (activities(plain=5, gates=3, children=1, writes=1), False, 21, 5),
    ],
)
def test_score_and_level_are_those_of_the_table(definition, unclear, score, level):
    complexity = assess(definition, "goal", None, unclear)
    assert (complexity.score, complexity.level) == (score, level)


def test_reasons_add_up_to_the_score():
    complexity = assess(activities(2, 1, 1, 1), "goal", 99, True)
    assert complexity.reasons == (
        "activities: 5 × 1",
        "gates: 1 × 2",
        "sub-processes: 1 × 3",
        "writes: 1 × 2",
        "unclear intent: 1 × 2",
    )
    assert complexity.score == 5 + 2 + 3 + 2 + 2


def test_a_bare_goal_counts_its_estimate_else_its_parts():
    assert assess(FLAT, "北京天气", None, False).score == 1
    assert assess(FLAT, "调研竞品，输出对比报告，给出落地建议", None, False).score == 3
    assert assess(FLAT, "，。；", None, False).score == 1
    assert assess(FLAT, "调研竞品，输出对比报告", 6, False).score == 6


@pytest.mark.parametrize(
    ("gate", "asks"),
    [
        (GateConfig(), True),
        (GateConfig(auto_pass=True), False),
        (GateConfig(auto_pass=True, auto_pass_modes=("design",)), True),
        (GateConfig(auto_pass=True, auto_pass_when="mode == 'x'"), True),
        (GateConfig(auto_pass=True, human_mode=GateMode.APPROVE), True),
    ],
)
def test_a_gate_counts_unless_it_always_passes_by_itself(gate, asks):
    definition = replace(FLAT, activities=(Activity("g", ActivityType.HUMAN, gate=gate),))
    assert assess(definition, "", None, False).score == (3 if asks else 1)


def test_the_exit_gate_of_a_phase_that_does_not_advance_counts():
    phase = Phase("p", exit_human_activity_id="g")
    gate = Activity("g", ActivityType.HUMAN, "p", gate=GateConfig(auto_pass=True))
    assert assess(Definition("d", phases=(phase,), activities=(gate,)), "", None, False).score == 3


NAMES = ("understand", "plan", "design", "integrate", "deploy")


def five_phases(**changes) -> Definition:
    """Five phases that advance by themselves, each with a start, a confirmation and an output."""
    phases, made = [], []
    for order, name in enumerate(NAMES, start=1):
        condition = f"{NAMES[order - 2]}_out != null" if order > 1 else ""
        phase = Phase(
            name,
            {"en": name.title(), "zh": f"阶段{order}"},
            order,
            name.upper(),
            condition,
            f"{name}_start",
            f"{name}_gate",
            (f"{name}_out",),
            auto_advance=True,
            tools=(f"{name}_tool",),
            instruction=f"Do {name}.",
        )
        phases.append(replace(phase, **changes.get(name, {})))
        made.append(Activity(f"{name}_start", ActivityType.LLM, name, title="x"))
        made.append(Activity(f"{name}_gate", ActivityType.HUMAN, name, gate=GateConfig()))
    return Definition("d", phases=tuple(phases), activities=tuple(made))


def with_gate(definition, activity_id, gate):
    changed = [replace(a, gate=gate) if a.activity_id == activity_id else a for a in definition.activities]
    return replace(definition, activities=tuple(changed))


@pytest.mark.parametrize(
    ("level", "ids"),
    [
        (5, NAMES),
        (7, NAMES),
        (4, NAMES[:4]),
        (3, NAMES[:3]),
        (2, NAMES[:2]),
        (1, NAMES[:1]),
        (0, NAMES[:1]),
    ],
)
def test_the_last_phases_become_one(level, ids):
    merged = merge_phases(five_phases(), level)
    assert tuple(phase.phase_id for phase in merged.phases) == ids
    assert check_definition(merged) == ()
    assert len(merged.activities) == 10


def test_a_merged_phase_has_the_first_entry_the_last_gate_and_all_outputs():
    last = merge_phases(five_phases(), 4).phases[-1]
    assert last == Phase(
        "integrate",
        {"en": "Integrate + Deploy", "zh": "阶段4 + 阶段5"},
        4,
        "DEPLOY",
        "design_out != null",
        "integrate_start",
        "deploy_gate",
        ("integrate_out", "deploy_out"),
        auto_advance=True,
        tools=("integrate_tool", "deploy_tool"),
        instruction="Do integrate.\nDo deploy.",
    )


def test_inner_gates_stay_as_activities_of_the_merged_phase():
    merged = merge_phases(five_phases(), 4)
    homes = {activity.activity_id: activity.phase_ref for activity in merged.activities}
    assert homes["integrate_gate"] == homes["deploy_gate"] == "integrate"


def test_a_phase_without_a_tool_list_opens_the_merged_one_to_all_tools():
    merged = merge_phases(five_phases(deploy={"tools": None, "display_name": "发布"}), 4)
    assert merged.phases[-1].tools is None
    assert merged.phases[-1].display_name == {"en": "Integrate + 发布", "zh": "阶段4 + 发布"}


def test_plain_names_are_joined_as_text():
    definition = five_phases(integrate={"display_name": "A"}, deploy={"display_name": ""})
    assert merge_phases(definition, 4).phases[-1].display_name == "A + deploy"


def test_nothing_is_merged_past_a_phase_that_must_not_advance_by_itself():
    merged = merge_phases(five_phases(design={"auto_advance": False}), 1)
    assert [phase.phase_id for phase in merged.phases] == ["understand", "integrate"]
    assert merged.phases[0].auto_advance is False


def test_nothing_is_merged_past_an_approval():
    approve = GateConfig(human_mode=GateMode.APPROVE)
    merged = merge_phases(with_gate(five_phases(), "design_gate", approve), 2)
    assert [phase.phase_id for phase in merged.phases] == ["understand", "plan", "integrate"]


def test_an_approval_at_the_start_stays_the_start():
    approve = GateConfig(human_mode=GateMode.APPROVE)
    definition = five_phases(deploy={"start_activity_id": "deploy_gate", "exit_human_activity_id": None})
    merged = merge_phases(with_gate(definition, "deploy_gate", approve), 1)
    assert [phase.phase_id for phase in merged.phases] == ["understand", "deploy"]


def test_a_phase_stays_apart_from_the_one_that_makes_its_plan():
    merged = merge_phases(five_phases(design={"plan_from": "plan_out"}), 1)
    assert [phase.phase_id for phase in merged.phases] == ["understand", "design"]
    assert check_definition(merged) == ()


@pytest.mark.parametrize(("wanted", "count"), [("declared", 5), ("auto", 3), ("1", 1), ("4", 4), ("5", 5)])
def test_the_definition_says_how_many_phases_it_wants(wanted, count):
    definition = replace(five_phases(), phase_granularity=wanted)
    assert phase_count(definition, assess(FLAT, "", 12, False)) == count
