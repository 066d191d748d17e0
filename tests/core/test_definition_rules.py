"""Each rule for definitions catches its mistake, and says where; a sound definition has no findings."""

from dataclasses import replace

import pytest

from phaseloop.core.definition_form import read_definition
from phaseloop.core.definition_rules import check_definition, children_of, expressions_of
from phaseloop.core.plan import Finding, Severity
from phaseloop.core.process import FLAT, Definition


def two_phases():
    return {
        "definitionId": "sample",
        "phases": [
            {
                "phaseId": "first",
                "startActivityId": "work",
                "exitHumanActivityId": "ask",
                "producedOutputs": ["alpha"],
                "autoAdvance": True,
            },
            {
                "phaseId": "second",
                "entryCondition": "alpha != null",
                "startActivityId": "more",
                "exitHumanActivityId": "decide",
                "producedOutputs": ["beta"],
            },
        ],
        "activities": [
            {
                "activityId": "work",
                "type": "LLM",
                "phaseRef": "first",
                "produces": "alpha",
                "config": {"instruction": "Work."},
            },
            {"activityId": "ask", "type": "HUMAN", "phaseRef": "first", "config": {"humanMode": "confirm"}},
            {"activityId": "more", "type": "TOOL", "phaseRef": "second", "config": {"tool": "look"}},
            {
                "activityId": "decide",
                "type": "HUMAN",
                "phaseRef": "second",
                "config": {"humanMode": "approve"},
            },
        ],
        "artifacts": {"alpha": {"type": "object"}},
    }


def definition_of(document) -> Definition:
    reading = read_definition(document)
    assert reading.definition is not None, reading.findings
    return reading.definition


def put(document, path, value):
    *parts, last = path
    place = document
    for part in parts:
        place = place[part]
    if value is None and isinstance(place, dict):
        place.pop(last, None)
    else:
        place[last] = value


def found_in(document, **options) -> list[Finding]:
    return list(check_definition(definition_of(document), **options))


def test_a_sound_definition_has_no_findings():
    assert found_in(two_phases()) == []


def test_the_flat_definition_has_no_findings():
    assert check_definition(FLAT, known={}) == ()


@pytest.mark.parametrize(
    ("path", "value", "code", "where"),
    [
        (("phases", 1, "phaseId"), "first", "duplicate_phase", "phases[1].phaseId"),
        (("phases", 1, "order"), 1, "duplicate_order", "phases[1].order"),
        (("activities", 2, "activityId"), "work", "duplicate_activity", "activities[2].activityId"),
        (("phases", 0, "startActivityId"), "wrok", "activity_unknown", "phases[0].startActivityId"),
        (("phases", 0, "startActivityId"), None, "start_missing", "phases[0].startActivityId"),
        (("phases", 0, "startActivityId"), "more", "activity_elsewhere", "phases[0].startActivityId"),
        (("phases", 0, "startActivityId"), "ask", "start_is_exit", "phases[0].exitHumanActivityId"),
        (("phases", 0, "exitHumanActivityId"), "aks", "activity_unknown", "phases[0].exitHumanActivityId"),
        (("phases", 0, "exitHumanActivityId"), "work", "exit_not_human", "phases[0].exitHumanActivityId"),
        (
            ("phases", 0, "exitHumanActivityId"),
            "decide",
            "activity_elsewhere",
            "phases[0].exitHumanActivityId",
        ),
        (("activities", 0, "phaseRef"), "frist", "phase_ref_unknown", "activities[0].phaseRef"),
        (("activities", 0, "phaseRef"), None, "phase_ref_absent", "activities[0].phaseRef"),
        (("phases", 1, "producedOutputs"), ["alpha"], "output_made_twice", "phases[1].producedOutputs[0]"),
        (("phases", 1, "producedOutputs"), ["input"], "output_name_taken", "phases[1].producedOutputs[0]"),
        (
            ("phases", 1, "entryCondition"),
            "beta != null",
            "condition_on_own_output",
            "phases[1].entryCondition",
        ),
        (
            ("phases", 1, "entryCondition"),
            "artifact.beta != null",
            "condition_on_own_output",
            "phases[1].entryCondition",
        ),
        (
            ("phases", 0, "entryCondition"),
            "beta != null",
            "condition_on_later_output",
            "phases[0].entryCondition",
        ),
        (
            ("phases", 1, "entryCondition"),
            "alhpa != null",
            "condition_unknown_name",
            "phases[1].entryCondition",
        ),
        (("phases", 1, "planFrom"), "beta", "plan_from_unknown", "phases[1].planFrom"),
        (("artifacts", "alpha"), 7, "schema_not_object", "artifacts.alpha"),
        (("phaseGranularity",), "6", "granularity_unknown", "phaseGranularity"),
        (("phaseGranularity",), 0, "granularity_unknown", "phaseGranularity"),
        (("activities", 2, "config"), {}, "tool_without_name", "activities[2].config.tool"),
        (("activities", 2, "type"), "RULE", "rule_without_check", "activities[2].config.check"),
        (
            ("activities", 2),
            {"activityId": "more", "type": "RULE", "phaseRef": "second", "config": {"check": "  "}},
            "rule_without_check",
            "activities[2].config.check",
        ),
        (("activities", 0, "config"), {}, "llm_without_instruction", "activities[0].config.instruction"),
        (
            ("activities", 2, "type"),
            "SUBPROCESS",
            "subprocess_without_definition",
            "activities[2].config.definitionId",
        ),
        (("activities", 2, "produces"), "alpha", "produces_elsewhere", "activities[2].produces"),
        (
            ("activities", 1, "config"),
            {"humanMode": "select"},
            "select_without_options",
            "activities[1].config.options",
        ),
        (
            ("activities", 1, "config"),
            {"humanMode": "select", "options": ["a", "a"]},
            "duplicate_option",
            "activities[1].config.options",
        ),
        (
            ("activities", 1, "config"),
            {"timeoutSeconds": 0},
            "seconds_not_positive",
            "activities[1].config.timeoutSeconds",
        ),
        (
            ("activities", 1, "config"),
            {"reminderSeconds": -1},
            "seconds_not_positive",
            "activities[1].config.reminderSeconds",
        ),
        (("activities", 1, "config"), {"required": 0}, "count_not_positive", "activities[1].config.required"),
        (("activities", 1, "config"), {"maxAsks": 0}, "count_not_positive", "activities[1].config.maxAsks"),
        (
            ("activities", 1, "config"),
            {"noMatchPolicy": "escalate"},
            "escalate_to_missing",
            "activities[1].config.escalateTo",
        ),
        (
            ("activities", 1, "config"),
            {"noMatchPolicy": "default"},
            "default_missing",
            "activities[1].config.defaultOutcome",
        ),
        (
            ("activities", 1, "config"),
            {"noMatchPolicy": "approve", "riskLevel": "high"},
            "policy_unsafe",
            "activities[1].config.noMatchPolicy",
        ),
        (
            ("activities", 3, "config"),
            {"humanMode": "approve", "noMatchPolicy": "approve"},
            "policy_unsafe",
            "activities[3].config.noMatchPolicy",
        ),
        (
            ("activities", 3, "config"),
            {"humanMode": "approve", "noMatchPolicy": "default", "defaultOutcome": "approve"},
            "policy_unsafe",
            "activities[3].config.noMatchPolicy",
        ),
        (
            ("activities", 3, "config"),
            {"humanMode": "confirm", "noMatchPolicy": "approve"},
            "policy_unsafe",
            "activities[3].config.noMatchPolicy",
        ),
        (
            ("activities", 3, "config"),
            {"humanMode": "approve", "noMatchPolicy": "ask_again"},
            "policy_not_allowed",
            "activities[3].config.noMatchPolicy",
        ),
    ],
)
def test_a_mistake_is_an_error_at_its_place(path, value, code, where):
    document = two_phases()
    put(document, path, value)
    errors = [finding for finding in found_in(document) if finding.severity is Severity.ERROR]
    assert (code, where) in [(finding.code, finding.where) for finding in errors]
    assert all(finding.message and finding.mend for finding in errors)


@pytest.mark.parametrize(
    ("config", "codes"),
    [
        ({"humanMode": "approve", "autoPass": "true"}, ["auto_pass_ignored"]),
        ({"humanMode": "approve", "autoPassWhen": "true"}, ["auto_pass_ignored"]),
        ({"humanMode": "confirm", "riskLevel": "high", "autoPass": True}, ["auto_pass_ignored"]),
        ({"humanMode": "confirm", "autoPass": True}, ["auto_pass_ignored"]),
        ({"humanMode": "approve", "autoPass": "yes"}, []),
        ({"humanMode": "approve", "noMatchPolicy": "reject", "timeoutSeconds": 60}, []),
        ({"humanMode": "approve", "noMatchPolicy": "escalate", "escalateTo": "boss"}, []),
    ],
)
def test_an_auto_pass_that_never_takes_effect_is_only_noted(config, codes):
    document = two_phases()
    document["activities"][3]["config"] = config
    findings = found_in(document)
    assert [finding.code for finding in findings] == codes
    assert all(finding.severity is Severity.NOTE for finding in findings)


@pytest.mark.parametrize(
    "config",
    [
        {"noMatchPolicy": "approve", "timeoutSeconds": 5},
        {"noMatchPolicy": "default", "defaultOutcome": "confirm"},
        {"humanMode": "form", "noMatchPolicy": "default", "schema": {"type": "object"}},
        {
            "humanMode": "select",
            "noMatchPolicy": "default",
            "options": [{"id": "a", "label": "A", "recommended": True}, "b"],
        },
        {"autoPass": True},
    ],
)
def test_a_gate_of_a_phase_that_advances_by_itself_may_decide_by_policy(config):
    document = two_phases()
    document["activities"][1]["config"] = config
    assert found_in(document) == []


def test_an_inner_gate_of_a_phase_that_does_not_advance_may_decide_by_policy():
    document = two_phases()
    document["activities"].append(
        {
            "activityId": "inner",
            "type": "HUMAN",
            "phaseRef": "second",
            "config": {"noMatchPolicy": "default", "defaultOutcome": "confirm"},
        }
    )
    assert found_in(document) == []


def test_a_misspelt_name_comes_with_the_one_that_was_meant():
    document = two_phases()
    document["phases"][1]["entryCondition"] = "alhpa != null"
    assert found_in(document)[0].mend == "did you mean alpha?"


def test_an_entry_condition_may_read_inputs_and_bind_its_own_names():
    document = two_phases()
    document["inputs"] = {"region": {"type": "string"}}
    condition = "region == 'beta' && alpha.list.exists(item, item.gamma > 1) && size(alpha.list) > 0"
    document["phases"][1]["entryCondition"] = condition + " && mode != '' && input.region != ''"
    assert found_in(document) == []


def test_order_and_not_the_place_in_the_list_says_what_is_earlier():
    document = two_phases()
    document["phases"].reverse()
    document["phases"][0]["order"], document["phases"][1]["order"] = 2, 1
    assert found_in(document) == []
    definition = definition_of(two_phases())
    turned = tuple(reversed(definition.phases))
    assert check_definition(replace(definition, phases=turned)) == ()


def test_a_schema_without_a_maker_is_noted():
    document = two_phases()
    document["artifacts"]["gamma"] = {}
    assert [(finding.code, finding.severity) for finding in found_in(document)] == [("artifact_unmade", Severity.NOTE)]


def test_an_output_name_that_no_condition_can_use_is_noted():
    document = two_phases()
    document["phases"][1]["producedOutputs"] = ["the-result"]
    assert [(finding.code, finding.severity) for finding in found_in(document)] == [("output_name_odd", Severity.NOTE)]


def test_two_activities_do_not_make_one_output():
    document = two_phases()
    twin = {**document["activities"][0], "activityId": "twin"}
    document["activities"].append(twin)
    assert [finding.code for finding in found_in(document)] == ["produced_twice"]


def test_a_plan_may_come_from_an_earlier_output():
    document = two_phases()
    document["phases"][1]["planFrom"] = "alpha"
    assert found_in(document) == []


def with_child(child, **config):
    document = two_phases()
    document["activities"][2] = {
        "activityId": "more",
        "type": "SUBPROCESS",
        "phaseRef": "second",
        "config": {"definitionId": child, **config},
    }
    return document


def test_a_sub_process_must_exist():
    known = {"sampler": (), "other": ()}
    finding = found_in(with_child("smapler"), known=known)[0]
    assert (finding.code, finding.where) == ("subprocess_unknown", "activities[2].config.definitionId")
    assert "did you mean sampler" in finding.mend
    assert found_in(with_child("other"), known=known) == []


def test_without_known_definitions_any_other_may_be_named():
    assert found_in(with_child("anything")) == []


@pytest.mark.parametrize(
    ("child", "known", "loop"),
    [
        ("sample", {}, "sample → sample"),
        ("a", {"a": ("sample",)}, "sample → a → sample"),
        ("a", {"a": ("b",), "b": ("c",), "c": ("b",)}, "sample → a → b → c → b"),
    ],
)
def test_sub_processes_that_start_each_other_are_refused(child, known, loop):
    finding = found_in(with_child(child), known=known)[0]
    assert finding.code == "subprocess_recursive"
    assert loop in finding.message


def test_a_sub_process_that_is_not_awaited_is_refused():
    findings = found_in(with_child("x", waitForCompletion=False), known={"x": ()})
    assert [finding.code for finding in findings] == ["subprocess_not_awaited"]


def test_a_sub_process_is_given_what_is_known_before_its_phase():
    known = {"x": ()}
    assert found_in(with_child("x", inputs={"what": "alpha"}), known=known) == []
    for source in ("beta", "nothing"):
        finding = found_in(with_child("x", inputs={"what": source}), known=known)[0]
        assert finding.code == "handed_over_unknown"
        assert finding.where == "activities[2].config.inputs.what"


def test_children_and_expressions_are_listed_with_their_places():
    document = with_child("x", only_if="alpha.go")
    document["activities"][0]["config"]["check"] = "output != ''"
    document["activities"][1]["config"]["autoPassWhen"] = "mode == 'design'"
    definition = definition_of(document)
    assert children_of(definition) == ("x",)
    assert expressions_of(definition) == (
        ("phases[1].entryCondition", "alpha != null"),
        ("activities[0].config.check", "output != ''"),
        ("activities[1].config.autoPassWhen", "mode == 'design'"),
        ("activities[2].config.only_if", "alpha.go"),
    )


def test_findings_from_the_edge_come_last():
    extra = Finding("condition_not_compiled", "no", "phases[0].entryCondition", "mend")
    assert found_in(two_phases(), extra=(extra,)) == [extra]
