"""A definition is read as it stands in a file, and what cannot be read is named with its place."""

import pytest

from phaseloop.core.definition_form import read_definition, read_gate, write_definition, write_gate
from phaseloop.core.plan import ActivityType, Severity
from phaseloop.core.process import (
    FLAT,
    FLAT_PHASE,
    Activity,
    Definition,
    GateConfig,
    GateMode,
    NoMatchPolicy,
    Option,
    Phase,
)
from phaseloop.core.tools import Risk

ARTICLE = {
    "definitionId": "intent-dispatch",
    "phases": [
        {
            "phaseId": "phase_understand",
            "displayName": "理解",
            "order": 1,
            "classification": "UNDERSTAND",
            "startActivityId": "ic_consume_agent_route",
            "exitHumanActivityId": "human_intent_confirm",
            "producedOutputs": ["confirmedIntent"],
            "autoAdvance": True,
        },
        {
            "phaseId": "phase_design",
            "displayName": "设计",
            "order": 3,
            "classification": "DESIGN",
            "startActivityId": "ic_dispatch_to_sg",
            "exitHumanActivityId": "human_design_approval",
            "producedOutputs": ["generatedComponent"],
            "autoAdvance": False,
        },
    ],
}


def read(document) -> Definition:
    reading = read_definition(document)
    assert reading.definition is not None, reading.findings
    return reading.definition


def test_ids_that_are_not_declared_are_made_up_with_a_warning():
    reading = read_definition(ARTICLE)
    made = reading.definition.activities
    assert [(a.activity_id, a.type, a.phase_ref) for a in made] == [
        ("ic_consume_agent_route", ActivityType.LLM, "phase_understand"),
        ("human_intent_confirm", ActivityType.HUMAN, "phase_understand"),
        ("ic_dispatch_to_sg", ActivityType.LLM, "phase_design"),
        ("human_design_approval", ActivityType.HUMAN, "phase_design"),
    ]
    assert made[1].gate.human_mode is GateMode.CONFIRM
    assert made[3].gate.human_mode is GateMode.APPROVE
    assert [(f.code, f.where, f.severity) for f in reading.findings] == [
        ("activity_made_up", f"phases[{i}].{key}", Severity.NOTE)
        for i in (0, 1)
        for key in ("startActivityId", "exitHumanActivityId")
    ]


def test_where_activities_are_declared_none_is_made_up():
    document = {**ARTICLE, "activities": [{"activityId": "a", "type": "LLM", "phaseRef": "phase_design"}]}
    assert [activity.activity_id for activity in read(document).activities] == ["a"]


def test_without_phases_all_activities_lie_flat_in_one():
    document = {
        "definitionId": "old",
        "displayAnnotation": {"classification": "UNDERSTAND"},
        "activities": [
            {"activityId": "a", "type": "LLM", "displayAnnotation": {"classification": "PLAN"}},
            {"activityId": "b", "type": "HUMAN"},
        ],
    }
    reading = read_definition(document)
    assert [phase.phase_id for phase in reading.definition.phases] == [FLAT_PHASE.phase_id]
    assert reading.definition.phases[0].start_activity_id == "a"
    assert [(f.code, f.where) for f in reading.findings] == [
        ("label_only", "displayAnnotation"),
        ("label_only", "activities[0].displayAnnotation"),
    ]


def test_order_falls_back_to_the_place_in_the_list():
    phases = [{"phaseId": "a"}, {"phaseId": "b"}, {"phaseId": "c", "order": 1}]
    ordered = read({"definitionId": "d", "phases": phases}).phases
    assert [(phase.phase_id, phase.order) for phase in ordered] == [("a", 1), ("c", 1), ("b", 2)]


def test_a_phase_does_not_advance_by_itself_unless_it_says_so():
    assert read({"definitionId": "d", "phases": [{"phaseId": "a"}]}).phases == (Phase("a"),)


@pytest.mark.parametrize(
    ("written", "passes"),
    [
        (None, False),
        (True, True),
        (False, False),
        ("true", True),
        ("TRUE", True),
        ("True", True),
        (" true ", False),
        ("false", False),
        ("yes", False),
        ("1", False),
        (1, False),
        (1.0, False),
        (["true"], False),
        ({}, False),
    ],
)
def test_auto_pass_is_parsed_as_the_article_does(written, passes):
    assert read_gate({"autoPass": written}).auto_pass is passes


FULL_GATE = GateConfig(
    GateMode.SELECT,
    {"en": "Which?", "zh": "哪个？"},
    "Choose one.",
    (Option("a", "A", "the first", recommended=True), Option("b", "b")),
    {"type": "object"},
    ("ann", "ben"),
    2,
    separation_of_duties=True,
    auto_pass=True,
    auto_pass_when="mode == 'x'",
    auto_pass_modes=("DESIGN",),
    timeout_seconds=86400,
    no_match_policy=NoMatchPolicy.ESCALATE,
    default_outcome="a",
    max_asks=3,
    escalate_to="boss",
    reminder_seconds=60,
    risk_level=Risk.LOW,
)


def test_every_field_of_a_gate_survives_writing_and_reading():
    assert read_gate(write_gate(FULL_GATE)) == FULL_GATE


def test_options_may_be_plain_texts():
    assert read_gate({"options": ["a", {"id": "b"}]}).options == (Option("a", "a"), Option("b", "b"))


FULL = Definition(
    "full",
    "2.1",
    {"en": "Full"},
    (
        Phase("one", "One", 3, "X", "region != ''", "work", "ask", ("alpha",), True, None, ("t",), "Do it."),
        Phase("two", plan_from="alpha", order=4, tools=()),
    ),
    (
        Activity("work", ActivityType.TOOL, "one", "Work", {"tool": "t", "args": {"a": [1, None]}}, None, True),
        Activity("ask", ActivityType.HUMAN, "one", config=write_gate(FULL_GATE), gate=FULL_GATE, produces="alpha"),
    ),
    {"alpha": {"type": "object"}},
    {"region": {}},
    {"rounds": 3},
    "4",
)


def test_reading_what_was_written_gives_an_equal_definition():
    assert read(write_definition(FULL)) == FULL
    assert read(write_definition(FLAT)) == FLAT


def test_a_gate_made_in_code_is_written_out():
    definition = Definition(
        "d", phases=(Phase("p"),), activities=(Activity("ask", ActivityType.HUMAN, "p", gate=FULL_GATE),)
    )
    assert read(write_definition(definition)).activities[0].gate == FULL_GATE


@pytest.mark.parametrize(
    ("document", "where"),
    [
        ([], ""),
        (None, ""),
        ({}, "definitionId"),
        ({"definitionId": 7}, "definitionId"),
        ({"definitionId": "a b"}, "definitionId"),
        ({"definitionId": "d", "version": True}, "version"),
        ({"definitionId": "d", "title": {}}, "title"),
        ({"definitionId": "d", "title": {"en": 1}}, "title"),
        ({"definitionId": "d", "artifacts": []}, "artifacts"),
        ({"definitionId": "d", "phaseGranularity": True}, "phaseGranularity"),
        ({"definitionId": "d", "phases": {}}, "phases"),
        ({"definitionId": "d", "phases": ["p"]}, "phases[0]"),
        ({"definitionId": "d", "phases": [{}]}, "phases[0].phaseId"),
        ({"definitionId": "d", "phases": [{"phaseId": "p", "order": "1"}]}, "phases[0].order"),
        ({"definitionId": "d", "phases": [{"phaseId": "p", "order": True}]}, "phases[0].order"),
        ({"definitionId": "d", "phases": [{"phaseId": "p", "autoAdvance": "yes"}]}, "phases[0].autoAdvance"),
        ({"definitionId": "d", "phases": [{"phaseId": "p", "producedOutputs": "x"}]}, "phases[0].producedOutputs"),
        ({"definitionId": "d", "phases": [{"phaseId": "p", "producedOutputs": [1]}]}, "phases[0].producedOutputs"),
        ({"definitionId": "d", "phases": [{"phaseId": "p", "entryCondition": 1}]}, "phases[0].entryCondition"),
        ({"definitionId": "d", "activities": [3]}, "activities[0]"),
        ({"definitionId": "d", "activities": [{"activityId": "a"}]}, "activities[0].type"),
        ({"definitionId": "d", "activities": [{"activityId": "a", "type": "llm"}]}, "activities[0].type"),
        ({"definitionId": "d", "activities": [{"type": "LLM"}]}, "activities[0].activityId"),
        (
            {"definitionId": "d", "activities": [{"activityId": "a", "type": "LLM", "config": []}]},
            "activities[0].config",
        ),
        (
            {"definitionId": "d", "activities": [{"activityId": "a", "type": "TOOL", "config": {"args": "x"}}]},
            "activities[0].config.args",
        ),
        (
            {
                "definitionId": "d",
                "activities": [{"activityId": "a", "type": "SUBPROCESS", "config": {"inputs": {"x": {}}}}],
            },
            "activities[0].config.inputs",
        ),
        (
            {"definitionId": "d", "activities": [{"activityId": "a", "type": "HUMAN", "config": {"humanMode": "ask"}}]},
            "activities[0].config.humanMode",
        ),
        (
            {
                "definitionId": "d",
                "activities": [{"activityId": "a", "type": "HUMAN", "config": {"timeoutSeconds": "60"}}],
            },
            "activities[0].config.timeoutSeconds",
        ),
        (
            {
                "definitionId": "d",
                "activities": [{"activityId": "a", "type": "HUMAN", "config": {"options": [{"name": "x"}]}}],
            },
            "activities[0].config.options",
        ),
        (
            {"definitionId": "d", "activities": [{"activityId": "a", "type": "HUMAN", "config": {"options": {}}}]},
            "activities[0].config.options",
        ),
    ],
)
def test_a_wrong_value_is_an_error_at_its_place(document, where):
    reading = read_definition(document)
    assert reading.definition is None
    errors = [finding for finding in reading.findings if finding.severity is Severity.ERROR]
    assert [finding.where for finding in errors] == [where]
    assert errors[0].mend


def test_the_message_shows_the_value_cut_short():
    finding = read_definition({"definitionId": ["x" * 500]}).findings[0]
    assert "definitionId is [" in finding.message
    assert len(finding.message) < 200


@pytest.mark.parametrize(
    ("document", "where", "mend"),
    [
        ({"definitionId": "d", "artefacts": {}}, "artefacts", "did you mean artifacts?"),
        (
            {"definitionId": "d", "phases": [{"phaseId": "p", "autoAdvanced": True}]},
            "phases[0].autoAdvanced",
            "did you mean autoAdvance?",
        ),
        (
            {"definitionId": "d", "activities": [{"activityId": "a", "type": "HUMAN", "config": {"autopass": True}}]},
            "activities[0].config.autopass",
            "did you mean autoPass?",
        ),
        (
            {"definitionId": "d", "activities": [{"activityId": "a", "type": "LLM", "config": {"outputSchema": {}}}]},
            "activities[0].config.outputSchema",
            "did you mean output_schema?",
        ),
        ({"definitionId": "d", "qqq": 1}, "qqq", "remove it, or start its name with x-"),
    ],
)
def test_an_unknown_field_is_a_warning_with_the_one_that_was_meant(document, where, mend):
    reading = read_definition(document)
    assert reading.definition is not None
    assert [(f.code, f.where, f.mend, f.severity) for f in reading.findings] == [
        ("unknown_field", where, mend, Severity.NOTE)
    ]


def test_own_notes_and_the_name_of_a_schema_are_left_alone():
    assert read_definition({"definitionId": "d", "x-owner": "me", "$schema": "s"}).findings == ()
