"""Checks the declared activities of a definition: what their config needs, which gates are unsafe."""

from collections.abc import Iterator

from phaseloop.core.definition_fields import nearest, shown
from phaseloop.core.plan import ActivityType, Finding, Severity
from phaseloop.core.process import Activity, Definition, GateConfig, GateMode, NoMatchPolicy, Phase
from phaseloop.core.tools import Risk

_NEEDED = {
    ActivityType.RULE: ("check", "rule_without_check", "a CEL condition or the name of a registered rule"),
    ActivityType.TOOL: ("tool", "tool_without_name", "the name of a tool"),
    ActivityType.SUBPROCESS: ("definitionId", "subprocess_without_definition", "the id of a definition"),
}
_UNASKED = (NoMatchPolicy.APPROVE, NoMatchPolicy.DEFAULT)  # they decide in a person's place: behaviours 2.7


def check_activities(definition: Definition) -> Iterator[Finding]:
    """Findings about each activity, in declared order."""
    produced: dict[tuple[str, str], str] = {}
    for i, activity in enumerate(definition.activities):
        where = f"activities[{i}]"
        phase = _home(definition, activity)
        yield from _work(activity, where)
        yield from _produces(activity, phase, where, produced)
        if activity.type is ActivityType.HUMAN:
            gate = activity.gate or GateConfig()
            yield from _asking(activity, gate, f"{where}.config")
            yield from _deciding(activity, gate, phase, f"{where}.config")


def _home(definition: Definition, activity: Activity) -> Phase | None:
    for phase in definition.phases:
        if phase.phase_id == activity.phase_ref or (not activity.phase_ref and len(definition.phases) == 1):
            return phase
    return None


def _work(activity: Activity, where: str) -> Iterator[Finding]:
    config, name = activity.config, activity.activity_id
    if activity.type in _NEEDED:
        key, code, what = _NEEDED[activity.type]
        if not str(config.get(key) or "").strip():
            message = f"{activity.type} activity {name} has no {key}"
            yield Finding(code, message, f"{where}.config.{key}", f"write {what}")
    if activity.type is ActivityType.LLM and not config.get("instruction") and not activity.title:
        message = f"LLM activity {name} has neither instruction nor title"
        yield Finding("llm_without_instruction", message, f"{where}.config.instruction", "say what is to be done")
    if activity.type is ActivityType.SUBPROCESS and config.get("waitForCompletion") is False:
        message = f"SUBPROCESS activity {name} does not wait for its child; its outputs would be missing"
        yield Finding(
            "subprocess_not_awaited",
            message,
            f"{where}.config.waitForCompletion",
            "write true or leave it out",
        )


def _produces(
    activity: Activity, phase: Phase | None, where: str, produced: dict[tuple[str, str], str]
) -> Iterator[Finding]:
    name = activity.produces
    if name is None or phase is None:
        return
    place = f"{where}.produces"
    if name not in phase.produced_outputs:
        meant = nearest(name, phase.produced_outputs)
        mend = f"did you mean {meant}?" if meant else f"add {name} to producedOutputs of {phase.phase_id}"
        message = f"activity {activity.activity_id} makes {name}, which phase {phase.phase_id} does not produce"
        yield Finding("produces_elsewhere", message, place, mend)
    other = produced.setdefault((phase.phase_id, name), activity.activity_id)
    if other != activity.activity_id:
        message = f"output {name} is made by activity {other} and by activity {activity.activity_id}"
        yield Finding("produced_twice", message, place, "let one activity make it")


def _asking(activity: Activity, gate: GateConfig, where: str) -> Iterator[Finding]:
    """The question can be asked, and its numbers make sense."""
    name = activity.activity_id
    if gate.human_mode is GateMode.SELECT and not gate.options:
        yield Finding(
            "select_without_options",
            f"gate {name} offers nothing to select",
            f"{where}.options",
            "add options",
        )
    ids = [option.id for option in gate.options]
    if len(set(ids)) < len(ids):
        message = f"gate {name} offers options with equal ids: {', '.join(ids)}"
        yield Finding("duplicate_option", message, f"{where}.options", "give each option its own id")
    for key, seconds in (
        ("timeoutSeconds", gate.timeout_seconds),
        ("reminderSeconds", gate.reminder_seconds),
    ):
        if seconds is not None and seconds <= 0:
            message = f"{key} of gate {name} is {shown(seconds)}; it must be more than 0"
            yield Finding("seconds_not_positive", message, f"{where}.{key}", "write seconds, or leave it out to wait")
    for key, count in (("required", gate.required), ("maxAsks", gate.max_asks)):
        if count < 1:
            message = f"{key} of gate {name} is {count}; it must be at least 1"
            yield Finding("count_not_positive", message, f"{where}.{key}", "write 1 or more")
    if gate.no_match_policy is NoMatchPolicy.ESCALATE and not gate.escalate_to:
        message = f"gate {name} escalates to nobody"
        yield Finding("escalate_to_missing", message, f"{where}.escalateTo", "say who is asked then")


def _deciding(activity: Activity, gate: GateConfig, phase: Phase | None, where: str) -> Iterator[Finding]:
    """Nothing decides in a person's place where a person must: behaviours 2.7, contract section 9."""
    reason = _reason(activity, gate, phase)
    policy, place = gate.no_match_policy, f"{where}.noMatchPolicy"
    name = activity.activity_id
    if reason and policy in _UNASKED:
        message = f"gate {name} would be passed by noMatchPolicy {policy} although {reason}"
        yield Finding("policy_unsafe", message, place, "use wait, reject, escalate or cancel")
    elif gate.human_mode is GateMode.APPROVE and policy is NoMatchPolicy.ASK_AGAIN:
        message = f"noMatchPolicy ask_again is not allowed on the approve gate {name}"
        yield Finding("policy_not_allowed", message, place, "use wait, reject, escalate or cancel")
    elif policy is NoMatchPolicy.DEFAULT and _without_default(gate):
        message = f"gate {name} takes a default that it does not name"
        yield Finding("default_missing", message, f"{where}.defaultOutcome", "name the outcome, or recommend an option")
    if reason and (gate.auto_pass or gate.auto_pass_when):
        key = "autoPass" if gate.auto_pass else "autoPassWhen"
        message = f"{key} of gate {name} never takes effect because {reason}"
        yield Finding("auto_pass_ignored", message, f"{where}.{key}", f"remove {key}", Severity.NOTE)


def _reason(activity: Activity, gate: GateConfig, phase: Phase | None) -> str:
    """Why only a person may decide at this gate, or nothing."""
    if gate.human_mode is GateMode.APPROVE:
        return "its mode is approve"
    if gate.risk_level is Risk.HIGH:
        return "its riskLevel is high"
    if phase is not None and not phase.auto_advance and phase.exit_human_activity_id == activity.activity_id:
        return f"it is the exit of phase {phase.phase_id}, whose autoAdvance is false"
    return ""


def _without_default(gate: GateConfig) -> bool:
    """A form falls back on its prefilled values, a selection on what is recommended."""
    if gate.default_outcome or gate.human_mode is GateMode.FORM:
        return False
    return not any(option.recommended for option in gate.options)
