"""A process definition as it stands in a file (article 002 section 5) and as the core holds it, both ways."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from phaseloop.core.definition_fields import (
    Field,
    auto_pass,
    flag,
    identifier,
    listed,
    names,
    number,
    one_of,
    options,
    read_fields,
    reference,
    release,
    shown,
    sources,
    table,
    text,
    whole,
    words,
    write_fields,
)
from phaseloop.core.paths import is_object
from phaseloop.core.plan import ActivityType, Finding, Severity
from phaseloop.core.process import (
    FLAT_PHASE,
    Activity,
    Definition,
    GateConfig,
    GateMode,
    NoMatchPolicy,
    Phase,
)
from phaseloop.core.tools import Risk
from phaseloop.core.values import Json, Object

LABEL = "displayAnnotation"  # the early form, in which a phase was only a label: article 002 section 5.1


def _granularity(value: Json) -> str:
    return text(str(value) if isinstance(value, int) and not isinstance(value, bool) else value)


DEFINITION_FIELDS = (
    Field("definitionId", "definition_id", identifier, required=True),
    Field("version", "version", release),
    Field("title", "title", words),
    Field("artifacts", "artifacts", table),
    Field("inputs", "inputs", table),
    Field("limits", "limits", table),
    Field("phaseGranularity", "phase_granularity", _granularity),
)
PHASE_FIELDS = (
    Field("phaseId", "phase_id", identifier, required=True),
    Field("displayName", "display_name", words),
    Field("order", "order", whole),
    Field("classification", "classification", text),
    Field("entryCondition", "entry_condition", text),
    Field("startActivityId", "start_activity_id", reference),
    Field("exitHumanActivityId", "exit_human_activity_id", identifier),
    Field("producedOutputs", "produced_outputs", names),
    Field("autoAdvance", "auto_advance", flag),
    Field("planFrom", "plan_from", identifier),
    Field("tools", "tools", names),
    Field("instruction", "instruction", text),
)
ACTIVITY_FIELDS = (
    Field("activityId", "activity_id", identifier, required=True),
    Field("type", "type", one_of(ActivityType), required=True),
    Field("phaseRef", "phase_ref", reference),
    Field("title", "title", words),
    Field("config", "config", table),
    Field("optional", "optional", flag),
    Field("produces", "produces", identifier),
)
GATE_FIELDS = (
    Field("humanMode", "human_mode", one_of(GateMode)),
    Field("title", "title", words),
    Field("prompt", "prompt", words),
    Field("options", "options", options),
    Field("schema", "schema", table),
    Field("approvers", "approvers", names),
    Field("required", "required", whole),
    Field("separationOfDuties", "separation_of_duties", flag),
    Field("autoPass", "auto_pass", auto_pass),
    Field("autoPassWhen", "auto_pass_when", text),
    Field("autoPassModes", "auto_pass_modes", names),
    Field("timeoutSeconds", "timeout_seconds", number),
    Field("noMatchPolicy", "no_match_policy", one_of(NoMatchPolicy)),
    Field("defaultOutcome", "default_outcome", text),
    Field("maxAsks", "max_asks", whole),
    Field("escalateTo", "escalate_to", text),
    Field("reminderSeconds", "reminder_seconds", number),
    Field("riskLevel", "risk_level", one_of(Risk)),
)
_ANY_WORK = (
    Field("check", "", text),
    Field("output_schema", "", table),
    Field("only_if", "", text),
    Field("judge", "", flag),
)
WORK_FIELDS: Mapping[ActivityType, Sequence[Field]] = {
    ActivityType.RULE: _ANY_WORK,
    ActivityType.TOOL: (
        Field("tool", "", text),
        Field("args", "", table),
        Field("sideEffect", "", flag),
        *_ANY_WORK,
    ),
    ActivityType.LLM: (Field("instruction", "", words), Field("tools", "", names), *_ANY_WORK),
    ActivityType.SUBPROCESS: (
        Field("definitionId", "", identifier),
        Field("inputs", "", sources),
        Field("outputs", "", table),
        Field("waitForCompletion", "", flag),
        *_ANY_WORK,
    ),
}
"""What `config` of an activity may hold (contract section 5); HUMAN has `GATE_FIELDS`."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What became of a document: the definition, unless a finding is an error, and all findings."""

    definition: Definition | None
    findings: tuple[Finding, ...] = ()


def read_definition(document: Json) -> Reading:
    """The definition in a JSON value with the article's field names.

    Without `activities` the ids that phases name are made up (contract section 5), each with a warning.
    Without `phases` all activities lie flat in one phase (002 section 7).
    """
    if not is_object(document):
        message = f"a definition is an object with definitionId and phases, not {shown(document)}"
        return Reading(None, (Finding("wrong_type", message, "", "write an object"),))
    values, findings = read_fields(DEFINITION_FIELDS, document, "", frozenset({"phases", "activities", LABEL}))
    findings += _labels(document, "")
    phases = _phases(_entries(document, "phases", findings), findings)
    activities = _activities(_entries(document, "activities", findings), findings)
    if any(finding.severity is Severity.ERROR for finding in findings):
        return Reading(None, tuple(findings))
    if not phases:
        first = activities[0].activity_id if activities else ""
        phases = (replace(FLAT_PHASE, start_activity_id=first),)
    if not activities:
        activities = _made_up(phases, findings)
    return Reading(Definition(phases=phases, activities=activities, **values), tuple(findings))


def write_definition(definition: Definition) -> dict[str, Json]:
    """The definition as a JSON object; reading it again gives an equal definition."""
    written = write_fields(DEFINITION_FIELDS, definition)
    written["phases"] = [{**write_fields(PHASE_FIELDS, phase), "order": phase.order} for phase in definition.phases]
    if definition.activities:
        written["activities"] = [_written_activity(activity) for activity in definition.activities]
    return written


def read_gate(config: Object) -> GateConfig:
    """The gate that a HUMAN activity's `config` describes; fields of a wrong type keep their default."""
    values, _ = read_fields(GATE_FIELDS, config, "")
    return GateConfig(**values)


def write_gate(gate: GateConfig) -> dict[str, Json]:
    """`gate` as the `config` of a HUMAN activity."""
    return write_fields(GATE_FIELDS, gate)


def _written_activity(activity: Activity) -> dict[str, Json]:
    written = write_fields(ACTIVITY_FIELDS, activity)
    if activity.gate is not None and read_gate(activity.config) != activity.gate:
        written["config"] = write_gate(activity.gate)
    return written


def _entries(document: Object, key: str, findings: list[Finding]) -> list[tuple[str, dict[str, Json]]]:
    """The objects of the list under `key`, each with its place."""
    value = document.get(key)
    if value is None:
        return []
    try:
        items = listed(value)
    except ValueError as expected:
        message = f"{key} is {shown(value)}; it must be {expected}"
        findings.append(Finding("wrong_type", message, key, "write a list of objects"))
        return []
    found: list[tuple[str, dict[str, Json]]] = []
    for i, item in enumerate(items):
        if is_object(item):
            found.append((f"{key}[{i}]", item))
        else:
            message = f"{key}[{i}] is {shown(item)}; it must be an object"
            findings.append(Finding("wrong_type", message, f"{key}[{i}]", "write an object"))
    return found


def _labels(document: Object, where: str) -> list[Finding]:
    if LABEL not in document:
        return []
    place = f"{where}.{LABEL}".lstrip(".")
    message = f"{LABEL} is a label of the early form and changes nothing"
    return [Finding("label_only", message, place, "declare phases to give it a meaning", Severity.NOTE)]


def _phases(entries: list[tuple[str, dict[str, Json]]], findings: list[Finding]) -> tuple[Phase, ...]:
    """In running order. A phase without `order` takes its place in the list (behaviours 5, C15)."""
    phases: list[Phase] = []
    for place, (where, entry) in enumerate(entries, start=1):
        values, found = read_fields(PHASE_FIELDS, entry, where, frozenset({LABEL}))
        findings += found + _labels(entry, where)
        values.setdefault("phase_id", "")
        values.setdefault("order", place)
        phases.append(Phase(**values))
    return tuple(sorted(phases, key=lambda phase: phase.order))


def _activities(entries: list[tuple[str, dict[str, Json]]], findings: list[Finding]) -> tuple[Activity, ...]:
    activities: list[Activity] = []
    for where, entry in entries:
        values, found = read_fields(ACTIVITY_FIELDS, entry, where, frozenset({LABEL}))
        findings += found + _labels(entry, where)
        if "type" not in values:
            continue
        values.setdefault("activity_id", "")
        activity = Activity(**values)
        human = activity.type is ActivityType.HUMAN
        fields = GATE_FIELDS if human else WORK_FIELDS[activity.type]
        found = read_fields(fields, activity.config, f"{where}.config")[1]
        findings += found
        activities.append(replace(activity, gate=read_gate(activity.config)) if human else activity)
    return tuple(activities)


def _made_up(phases: tuple[Phase, ...], findings: list[Finding]) -> tuple[Activity, ...]:
    """Activities for the ids that phases name: the start is work for a model, the exit asks a person."""
    made: list[Activity] = []
    for i, phase in enumerate(phases):
        if phase.start_activity_id:
            title = phase.display_name or phase.start_activity_id
            made.append(Activity(phase.start_activity_id, ActivityType.LLM, phase.phase_id, title))
            findings.append(_guess(f"phases[{i}].startActivityId", phase.start_activity_id, "LLM"))
        if phase.exit_human_activity_id:
            mode = GateMode.CONFIRM if phase.auto_advance else GateMode.APPROVE
            config = {"humanMode": mode.value}
            made.append(
                Activity(
                    phase.exit_human_activity_id,
                    ActivityType.HUMAN,
                    phase.phase_id,
                    phase.display_name,
                    config,
                    read_gate(config),
                )
            )
            findings.append(_guess(f"phases[{i}].exitHumanActivityId", phase.exit_human_activity_id, f"HUMAN, {mode}"))
    return tuple(made)


def _guess(where: str, activity_id: str, taken_as: str) -> Finding:
    message = f"activity {activity_id} is not declared; it is taken as {taken_as}"
    return Finding("activity_made_up", message, where, f"declare {activity_id} under activities", Severity.NOTE)
