"""From a gate to a draft answer and back."""

from dataclasses import replace

import pytest

from phaseloop.adapters.contracts import JsonSchemaContracts
from phaseloop.cli.answer_draft import after_edit, draft_of, given_value, judge_of
from phaseloop.cli.answer_file import Draft
from tests.gate_world import PLAN, at_gate

CHECK = JsonSchemaContracts().check


def faults(name, draft, language="en"):
    shown, gate = at_gate(name)
    return [finding.message for finding in judge_of(gate, shown, CHECK, language)(draft)]


@pytest.mark.parametrize(
    ("name", "draft"),
    [
        ("confirm", Draft("confirm", {"title": "page"})),
        ("plan", Draft("approve", PLAN)),
        ("select", Draft("select", ["safe"])),
        ("form", Draft("submit", {"copies": 2})),
        ("doubt", Draft("happened")),
        ("advance", Draft("advance")),
        ("blocked", Draft("override")),
    ],
)
def test_an_editor_starts_from_the_way_on_with_what_is_shown(name, draft):
    assert draft_of(at_gate(name)[1]) == draft


def test_of_a_tool_question_the_arguments_are_edited():
    assert draft_of(at_gate("tool")[1]).value["to"] == "a@b.c"


def test_options_without_a_recommendation_start_empty():
    _, gate = at_gate("select")
    plain = [{**option, "recommended": False} for option in gate.payload["options"]]
    assert draft_of(replace(gate, payload={"options": plain})).value == []


def test_a_yes_to_what_was_shown_has_no_value_and_an_edited_one_has():
    _, gate = at_gate("plan")
    assert after_edit(gate, Draft("approve", PLAN)) is None
    assert after_edit(gate, Draft("approve", {**PLAN, "goal": "else"})) == {**PLAN, "goal": "else"}
    assert after_edit(at_gate("select")[1], Draft("select", ["safe"])) == ["safe"]
    assert after_edit(at_gate("form")[1], Draft("submit", {"copies": 2})) == {"copies": 2}


def test_fields_go_into_the_artefact_that_is_judged():
    _, gate = at_gate("confirm")
    assert given_value(gate, "confirm", {"audience": "team"}) == {"title": "page", "audience": "team"}
    assert given_value(gate, "confirm", {}) is None
    assert given_value(at_gate("form")[1], "submit", {"copies": 2}) == {"copies": 2}


@pytest.mark.parametrize(
    ("name", "draft", "message"),
    [
        ("plan", Draft("reject", PLAN), "Say what should change."),
        ("plan", Draft("return_to", "integrate", "why"), "integrate is none of: understand, plan, design"),
        ("plan", Draft("approve", {"steps": [{"id": "1"}]}), "step 1 says no action"),
        ("select", Draft("select", ["third"]), "third is none of: fast, safe"),
        ("select", Draft("select", "third"), "third is none of: fast, safe"),
        ("form", Draft("submit", {"copies": 2}), '"email" is a required property'),
        ("doubt", Draft("happened", {}), '"id" is a required property'),
    ],
)
def test_what_the_core_would_refuse_is_told_before(name, draft, message):
    assert faults(name, draft) == [message]


@pytest.mark.parametrize(
    ("name", "draft"),
    [
        ("plan", Draft("reject", PLAN, "smaller")),
        ("plan", Draft("return_to", "plan", "why")),
        ("plan", Draft("approve", PLAN)),
        ("select", Draft("select", ["fast"])),
        ("select", Draft("other", "a third way")),
        ("doubt", Draft("run_it")),
        ("confirm", Draft("cancel")),
    ],
)
def test_what_can_be_taken_has_no_faults(name, draft):
    assert faults(name, draft) == []
