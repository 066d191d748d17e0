"""Definition files: what loads, what is refused with its place, and what comes with phaseloop."""

import json
from pathlib import Path

import pytest
import yaml

from phaseloop.adapters.cel_conditions import compile_error
from phaseloop.adapters.contracts import JsonSchemaContracts
from phaseloop.adapters.definitions import (
    MAX_BYTES,
    EdgeRules,
    builtin_definitions,
    definition_schema,
    dump_definition,
    examine_definition,
    load_definition,
)
from phaseloop.core.definition_fields import OPTION_FIELDS
from phaseloop.core.definition_form import (
    ACTIVITY_FIELDS,
    DEFINITION_FIELDS,
    GATE_FIELDS,
    LABEL,
    PHASE_FIELDS,
    WORK_FIELDS,
    read_definition,
)
from phaseloop.core.errors import DefinitionRefused
from phaseloop.core.granularity import assess, merge_phases
from phaseloop.core.plan import ActivityType, Severity
from phaseloop.core.process import FLAT, GateMode

ROOT = Path(__file__).parents[2]
EDGE = EdgeRules(compile_error, JsonSchemaContracts().schema_error)
ARTICLE = """{
  "definitionId": "intent-dispatch",
  "phases": [
    {"phaseId": "phase_understand", "displayName": "理解", "order": 1, "classification": "UNDERSTAND",
     "startActivityId": "ic_consume_agent_route", "exitHumanActivityId": "human_intent_confirm",
     "producedOutputs": ["confirmedIntent"], "autoAdvance": true},
    {"phaseId": "phase_plan", "displayName": "规划", "order": 2, "classification": "PLAN",
     "startActivityId": "ic_plan_generate", "exitHumanActivityId": "ic_user_confirm",
     "producedOutputs": ["approvedPlan"], "autoAdvance": true},
    {"phaseId": "phase_design", "displayName": "设计", "order": 3, "classification": "DESIGN",
     "startActivityId": "ic_dispatch_to_sg", "exitHumanActivityId": "human_design_approval",
     "producedOutputs": ["generatedComponent"], "autoAdvance": false}
  ]
}"""
YAML = """
definitionId: report
title: {en: Report, zh: 报告}
phases:
  - phaseId: collect
    startActivityId: look
    producedOutputs: [facts]
    autoAdvance: true
  - phaseId: write
    entryCondition: facts != null
    startActivityId: draft
    exitHumanActivityId: approve
    producedOutputs: [report]
activities:
  - {activityId: look, type: TOOL, phaseRef: collect, produces: facts, config: {tool: search}}
  - {activityId: draft, type: LLM, phaseRef: write, produces: report, config: {instruction: Write it.}}
  - {activityId: approve, type: HUMAN, phaseRef: write, config: {humanMode: approve}}
artifacts:
  facts: {type: array}
"""


def refused(source, **options) -> str:
    with pytest.raises(DefinitionRefused) as caught:
        load_definition(source, **options)
    assert caught.value.findings
    return str(caught.value)


def test_the_article_s_json_loads_with_warnings():
    definition = load_definition(ARTICLE)
    assert [phase.phase_id for phase in definition.phases] == ["phase_understand", "phase_plan", "phase_design"]
    gates = {a.activity_id: a.gate.human_mode for a in definition.activities if a.gate}
    assert gates == {
        "human_intent_confirm": GateMode.CONFIRM,
        "ic_user_confirm": GateMode.CONFIRM,
        "human_design_approval": GateMode.APPROVE,
    }
    findings = examine_definition(ARTICLE).findings
    assert [finding.code for finding in findings] == ["activity_made_up"] * 6
    assert all(finding.severity is Severity.NOTE for finding in findings)


def test_yaml_and_json_give_equal_definitions(tmp_path):
    as_yaml = tmp_path / "report.yaml"
    as_yaml.write_text(YAML, encoding="utf-8")
    as_json = tmp_path / "report.json"
    as_json.write_text(json.dumps(yaml.safe_load(YAML)), encoding="utf-8-sig")
    without_suffix = tmp_path / "report"
    without_suffix.write_text(json.dumps(yaml.safe_load(YAML)), encoding="utf-8")
    expected = load_definition(YAML)
    for source in (as_yaml, str(as_yaml), as_json, without_suffix, yaml.safe_load(YAML)):
        assert load_definition(source, edge=EDGE) == expected
    assert examine_definition(YAML, edge=EDGE).findings == ()


def test_what_is_dumped_loads_as_an_equal_definition():
    for definition in (*builtin_definitions().values(), load_definition(ARTICLE), load_definition(YAML)):
        dumped = dump_definition(definition)
        assert load_definition(dumped) == definition
        assert load_definition(json.dumps(dumped, ensure_ascii=False)) == definition
        assert load_definition(yaml.safe_dump(dumped, allow_unicode=True)) == definition


def test_words_of_yaml_that_look_like_values_stay_texts():
    document = """
definitionId: d
version: 2026-11-30
activities:
  - {activityId: ask, type: HUMAN, config: {autoPass: yes, title: 12:30}}
"""
    definition = load_definition(document)
    assert definition.version == "2026-11-30"
    assert definition.activities[0].gate.auto_pass is False
    assert definition.activities[0].gate.title == "12:30"
    with_yes = "definitionId: d\nphases:\n  - {phaseId: p, autoAdvance: yes}"
    assert 'autoAdvance is "yes"; it must be true or false' in refused(with_yes)


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("d.json", '{"definitionId": "d",\n  "phases": [,]}', "is not valid JSON at line 2, column 14"),
        ("d.json", '{"definitionId": "d", "definitionId": "e"}', "the key definitionId stands twice"),
        ("d.json", '{"definitionId": "d", "limits": {"x": NaN}}', "NaN is no JSON number"),
        ("d.json", "[" * 100_000, "is nested deeper than"),
        ("d.yaml", "definitionId: d\nphases: [\n", "is not valid YAML at line 3, column 1"),
        ("d.yaml", "definitionId: d\ndefinitionId: e\n", "line 2, column 1: the key definitionId stands twice"),
        ("d.yaml", "definitionId: d\n1: x\n", "a key is not a text"),
        ("d.yaml", "a: !!python/name:os.system x\n", "could not determine a constructor"),
        ("d.yaml", "a: 1\n---\nb: 2\n", "but found another document"),
        ("d.yaml", "a: !!timestamp 2026-11-30\n", "a is of the type date, which JSON does not have"),
        ("d.yaml", "a: &a [*a]\n", "more than"),
        ("d.yaml", "", "a definition is an object with definitionId and phases, not null"),
        ("d.yaml", "x" * (MAX_BYTES + 1), f"a definition has at most {MAX_BYTES}"),
    ],
)
def test_a_file_that_cannot_be_read_says_where(tmp_path, name, content, reason):
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    message = refused(path)
    assert reason in message
    assert str(path) in message


def test_a_file_of_another_encoding_is_refused(tmp_path):
    path = tmp_path / "d.yaml"
    path.write_bytes("definitionId: 理解".encode("gb18030"))
    assert "is not UTF-8 text: byte 14 is 0xc0" in refused(path)


def test_a_missing_file_is_refused(tmp_path):
    assert "No such file" in refused(tmp_path / "none.yaml")
    assert "No such file" in refused("none.yaml")


def test_a_small_file_cannot_grow_without_bound():
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    assert "more than" in refused("\n".join(lines))


def test_a_text_beyond_the_size_is_refused():
    assert f"a definition has at most {MAX_BYTES}" in refused("definitionId: d\n" + "#" * MAX_BYTES)


def test_all_errors_of_a_definition_are_named_together():
    document = yaml.safe_load(YAML)
    document["phases"][1]["entryCondition"] = "report != null"
    document["activities"][1]["phaseRef"] = "wirte"
    with pytest.raises(DefinitionRefused) as caught:
        load_definition(document)
    codes = [finding.code for finding in caught.value.findings]
    assert codes == ["activity_elsewhere", "phase_ref_unknown", "condition_on_own_output"]
    assert caught.value.source == "report"


def test_conditions_and_schemas_are_tried_at_the_edge():
    document = yaml.safe_load(YAML)
    document["phases"][1]["entryCondition"] = "facts ="
    document["activities"][1]["config"]["output_schema"] = {"type": "objekt"}
    document["artifacts"]["facts"] = {"$ref": "https://example.com/facts.json"}
    message = refused(document, edge=EDGE)
    assert 'phases[1].entryCondition: "facts =" is no condition: Syntax error' in message
    assert "activities[1].config.output_schema: " in message
    assert "artifacts.facts: " in message
    assert load_definition(document) is not None


def test_a_sub_process_must_be_known():
    document = yaml.safe_load(YAML)
    document["activities"][0] = {
        "activityId": "look",
        "type": "SUBPROCESS",
        "phaseRef": "collect",
        "config": {"definitionId": "component-desing"},
    }
    finding = next(f for f in examine_definition(document).findings if f.code == "subprocess_unknown")
    assert finding.mend == "did you mean component-design?"
    assert load_definition(document, known={"component-desing": ()}).definition_id == "report"


@pytest.mark.parametrize("name", ["flat", "intent-dispatch", "component-design"])
def test_a_built_in_definition_has_no_findings_at_all(name):
    definition = builtin_definitions()[name]
    assert definition.definition_id == name
    assert examine_definition(dump_definition(definition), edge=EDGE).findings == ()


def test_the_built_in_flat_definition_is_the_core_s():
    assert builtin_definitions()["flat"] is FLAT


def test_the_built_in_five_phases_are_the_article_s():
    definition = builtin_definitions()["intent-dispatch"]
    rows = [
        (p.phase_id, p.start_activity_id, p.exit_human_activity_id, p.produced_outputs, p.auto_advance)
        for p in definition.phases
    ]
    assert rows == [
        ("phase_understand", "ic_consume_agent_route", "human_intent_confirm", ("confirmedIntent",), True),
        ("phase_plan", "ic_plan_generate", "ic_user_confirm", ("approvedPlan",), True),
        ("phase_design", "ic_dispatch_to_sg", "human_design_approval", ("generatedComponent",), False),
        ("phase_integrate", "ic_integrate_component", "human_integration_confirm", ("integratedPage",), True),
        ("phase_deploy", "human_release_approval", None, ("deploymentResult",), True),
    ]
    assert definition.phases[1].entry_condition == "confirmedIntent != null"
    assert definition.phases[2].plan_from == "approvedPlan"
    assert set(definition.artifacts) == {name for _, _, _, outputs, _ in rows for name in outputs}
    tools = {a.config["tool"] for a in definition.activities if a.type is ActivityType.TOOL}
    assert tools == {"integrate_component", "publish_page", "verify_page"}
    texts = [a.title for a in definition.activities] + [a.gate.prompt for a in definition.activities if a.gate]
    assert all(isinstance(text, dict) and set(text) == {"en", "zh"} for text in texts)


def test_merging_the_built_in_definition_keeps_every_decision():
    definition = builtin_definitions()["intent-dispatch"]
    assert assess(definition, "", None, False).level == 5
    merged = merge_phases(definition, 1)
    assert [p.phase_id for p in merged.phases] == [
        "phase_understand",
        "phase_design",
        "phase_integrate",
        "phase_deploy",
    ]
    errors = [f for f in examine_definition(dump_definition(merged), edge=EDGE).findings]
    assert errors == []


def test_the_published_schema_is_the_packaged_one():
    packaged = (ROOT / "src/phaseloop/definitions/definition.schema.json").read_bytes()
    assert (ROOT / "schemas/definition.schema.json").read_bytes() == packaged
    assert JsonSchemaContracts().schema_error(definition_schema()) == ""


def test_the_schema_names_the_same_fields_as_the_reader():
    schema = definition_schema()
    parts = schema["$defs"]
    for fields, part, also in (
        (DEFINITION_FIELDS, schema, {"phases", "activities", LABEL}),
        (PHASE_FIELDS, parts["phase"], {LABEL}),
        (ACTIVITY_FIELDS, parts["activity"], {LABEL}),
        (GATE_FIELDS, parts["gateConfig"], set()),
        (OPTION_FIELDS, parts["option"], set()),
        (WORK_FIELDS[ActivityType.RULE], parts["ruleConfig"], set()),
        (WORK_FIELDS[ActivityType.TOOL], parts["toolConfig"], set()),
        (WORK_FIELDS[ActivityType.LLM], parts["llmConfig"], set()),
        (WORK_FIELDS[ActivityType.SUBPROCESS], parts["subprocessConfig"], set()),
    ):
        assert set(part["properties"]) == {field.key for field in fields} | also
        assert all(entry.get("description") for entry in part["properties"].values() if "$ref" not in entry)


def activity(kind, **config):
    return {"definitionId": "d", "activities": [{"activityId": "a", "type": kind, "config": config}]}


@pytest.mark.parametrize(
    ("document", "sound"),
    [
        ({"definitionId": "d"}, True),
        ({"definitionId": "d", "version": None, "title": {"en": "x"}, "phaseGranularity": 3}, True),
        ({"definitionId": "d", "phases": [{"phaseId": "p", "exitHumanActivityId": None}]}, True),
        (activity("HUMAN", autoPass=7, options=["a", {"id": "b", "label": None}]), True),
        (activity("LLM", instruction={"en": "x"}, tools=[]), True),
        ({}, False),
        ([], False),
        ({"definitionId": ""}, False),
        ({"definitionId": "a b"}, False),
        ({"definitionId": "d", "version": True}, False),
        ({"definitionId": "d", "title": {}}, False),
        ({"definitionId": "d", "phases": {}}, False),
        ({"definitionId": "d", "phases": [{}]}, False),
        ({"definitionId": "d", "phases": [{"phaseId": "p", "order": 1.5}]}, False),
        ({"definitionId": "d", "phases": [{"phaseId": "p", "producedOutputs": ["a b"]}]}, False),
        ({"definitionId": "d", "phases": [{"phaseId": "p", "autoAdvance": "yes"}]}, False),
        ({"definitionId": "d", "activities": [{"activityId": "a", "type": "llm"}]}, False),
        (activity("TOOL", args=[]), False),
        (activity("TOOL", sideEffect="yes"), False),
        (activity("SUBPROCESS", inputs={"a": 1}), False),
        (activity("RULE", check=1), False),
        (activity("HUMAN", humanMode="ask"), False),
        (activity("HUMAN", options=[{"label": "x"}]), False),
        (activity("HUMAN", noMatchPolicy="skip"), False),
        (activity("HUMAN", timeoutSeconds="60"), False),
    ],
)
def test_schema_and_reader_refuse_the_same_documents(document, sound):
    by_schema = JsonSchemaContracts().check(definition_schema(), document)
    assert (by_schema == ()) is sound
    assert (read_definition(document).definition is not None) is sound
