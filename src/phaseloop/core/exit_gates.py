"""The questions that phases ask: HUMAN activities, advance and blocked; and automatic passing."""

from phaseloop.core.events import Event
from phaseloop.core.gate_events import GateOpened, GateResolved
from phaseloop.core.gate_policies import policy_value
from phaseloop.core.gates import KIND_OUTCOMES, OUTCOMES, deadline, next_gate_id
from phaseloop.core.language import language_of
from phaseloop.core.machine_gates import POSITIVE
from phaseloop.core.paths import is_object
from phaseloop.core.plan import ActivityType
from phaseloop.core.plan_events import ActivityCompleted, ActivityPaused, ActivityStarted
from phaseloop.core.process import Activity, GateConfig, GateKind, GateMode, Phase, text_in
from phaseloop.core.state import GateState, RunState
from phaseloop.core.statuses import ActivityStatus, GateStatus
from phaseloop.core.tools import Risk
from phaseloop.core.values import Json, Object
from phaseloop.core.verdicts import pending_writes


def gate_of(state: RunState, activity_id: str) -> GateState | None:
    """The newest question of an activity, tool questions left aside."""
    found = [gate for gate in state.gates.values() if gate.asked.activity_id == activity_id and not gate.asked.call_id]
    return found[-1] if found else None


def passed(state: RunState, activity_id: str) -> bool:
    """Whether the activity's question was answered positively in this turn of its phase."""
    return activity_id in state.phase.passed


def auto_pass_subject(activity_id: str, plan_version: int) -> str:
    """The name under which a gate's `autoPassWhen` is evaluated."""
    return f"gate:{activity_id}:{plan_version}"


def human_gate(state: RunState, activity: Activity, at: int) -> tuple[Event, ...]:
    """Open the activity's question, or say that it passes by itself; nothing while it is open or undecided."""
    gate = gate_of(state, activity.activity_id)
    if gate is not None and gate.status is GateStatus.OPEN:
        return ()
    if passed(state, activity.activity_id):
        return ()
    config = activity.gate or GateConfig()
    subject = auto_pass_subject(activity.activity_id, state.phase.plan.version)
    if config.auto_pass_when and subject not in state.conditions:
        return ()
    is_exit = activity.activity_id == state.phase.phase.exit_human_activity_id
    opened, timer = _opened(state, activity, config, is_exit, at)
    started = ActivityStarted(activity.activity_id, ActivityType.HUMAN, title=opened.title, attempt=opened.version)
    rule = _auto_pass(state, config, opened, subject)
    if not rule:
        paused = ActivityPaused(activity.activity_id, "human")
        return (started, opened, *timer, paused)
    outcome = next(o for o in opened.outcomes if o in POSITIVE)
    value = policy_value(GateState(opened, at), outcome)
    done = GateResolved(opened.request_id, activity.activity_id, outcome, by="auto_pass", value=value, rule=rule)
    return (started, opened, done, ActivityCompleted(activity.activity_id))


def _opened(
    state: RunState, activity: Activity, config: GateConfig, is_exit: bool, at: int
) -> tuple[GateOpened, tuple[Event, ...]]:
    known = gate_of(state, activity.activity_id)
    gate_id = known.asked.request_id if known else next_gate_id(state)
    version = known.asked.version + 1 if known else 1
    due, timer = deadline(gate_id, version, config, at)
    language = language_of(state.facts.goal)
    phase = state.phase.phase
    opened = GateOpened(
        request_id=gate_id,
        version=version,
        kind=GateKind.EXIT if is_exit else GateKind.ACTIVITY,
        activity_id=activity.activity_id,
        human_mode=config.human_mode,
        title=text_in(config.title or activity.title, language) or activity.activity_id,
        prompt=text_in(config.prompt, language),
        payload=_payload(state, activity, config, is_exit),
        outcomes=OUTCOMES[config.human_mode],
        is_exit_gate=is_exit,
        phase_id=phase.phase_id,
        auto_pass=config.auto_pass,
        timeout_at=due,
        no_match_policy=config.no_match_policy,
        approvers=config.approvers,
        required=config.required,
        separation_of_duties=config.separation_of_duties,
        consequence=_consequence(state) if is_exit else "",
    )
    return opened, timer


def _payload(state: RunState, activity: Activity, config: GateConfig, is_exit: bool) -> dict[str, Json]:
    """What the person sees: behaviours 2.7, request payload by mode."""
    payload: dict[str, Json] = {}
    shown = _shown_artifact(state, activity) if is_exit else None
    if shown is not None:
        payload["artefact"] = shown
    if state.phase.issues or state.warnings:
        payload["issues"] = [*dict.fromkeys((*state.phase.issues, *state.warnings))]
    if is_exit and state.phase.judged:
        payload["score"] = state.phase.score
    if config.human_mode is GateMode.SELECT:
        payload["options"] = [
            {"id": o.id, "label": o.label, "description": o.description, "recommended": o.recommended}
            for o in config.options
        ]
    if config.schema is not None:
        payload["schema"] = dict(config.schema)
        payload["values"] = _prefilled(dict(config.schema), shown)
    return payload


def _prefilled(schema: dict[str, Json], shown: Json) -> Json:
    """Defaults of the form's schema, over them the shown artefact's own values."""
    properties = schema.get("properties")
    fields = properties if is_object(properties) else {}
    values = {n: field["default"] for n, field in fields.items() if is_object(field) and "default" in field}
    known = shown.get("value") if is_object(shown) else None
    if is_object(known):
        values.update({name: known[name] for name in fields if name in known})
    return values


def _shown_artifact(state: RunState, activity: Activity) -> dict[str, Json] | None:
    """The draft that the exit gate judges; the last one when the phase makes several."""
    drafts = [state.artifacts[n] for n in state.phase.phase.produced_outputs if n in state.artifacts]
    if drafts:
        return {"name": drafts[-1].name, "version": drafts[-1].version, "value": drafts[-1].value}
    ended = [state.steps[sid] for sid in state.phase.plan.order if state.steps[sid].status is ActivityStatus.COMPLETED]
    return {"name": activity.produces or "result", "version": 1, "value": ended[-1].output} if ended else None


def _consequence(state: RunState) -> str:
    """One sentence: what happens next if the answer is yes."""
    coming = state.phases[state.phase_index + 1 :]
    chinese = language_of(state.facts.goal) == "zh"
    if not coming:
        return "运行结束。" if chinese else "The run is complete."
    name = text_in(coming[0].phase.display_name, "zh" if chinese else "en") or coming[0].phase.phase_id
    return f"进入阶段：{name}。" if chinese else f"The next phase starts: {name}."


def _auto_pass(state: RunState, config: GateConfig, opened: GateOpened, subject: str) -> str:
    """By which rule a gate passes without a person, or nothing (contract section 9, behaviours 2.7)."""
    rule = "autoPass" if config.auto_pass else ""
    if config.auto_pass_when and state.conditions.get(subject) is True:
        rule = f"autoPassWhen: {config.auto_pass_when}"
    if not rule or config.human_mode is GateMode.APPROVE or config.risk_level is Risk.HIGH:
        return ""
    modes = [mode.casefold() for mode in config.auto_pass_modes]
    if modes and state.facts.mode.casefold() not in modes:
        return ""
    if opened.is_exit_gate and (
        not state.phase.phase.auto_advance or state.phase.issues or state.phase.judged == "veto"
    ):
        return ""
    if pending_writes(state) or not _complete(config, opened):
        return ""
    return rule


def _complete(config: GateConfig, opened: GateOpened) -> bool:
    """Whether the policy has an answer: one option or a recommended one, all required values."""
    if config.human_mode is GateMode.SELECT:
        return len(config.options) == 1 or sum(option.recommended for option in config.options) == 1
    if config.human_mode is GateMode.FORM:
        values: dict[str, Json] = opened.payload.get("values") or {}
        schema: Object = config.schema or {}
        return all(name in values for name in schema.get("required", ()))
    return True


def advance_gate(state: RunState, at: int) -> tuple[Event, ...]:
    """A phase without an exit gate that may not go on by itself asks for the word (contract section 9)."""
    phase = state.phase.phase
    known = gate_of(state, phase.phase_id)
    if known is not None and known.status is GateStatus.OPEN:
        return ()
    chinese = language_of(state.facts.goal) == "zh"
    name = text_in(phase.display_name, "zh" if chinese else "en") or phase.phase_id
    opened = GateOpened(
        request_id=known.asked.request_id if known else next_gate_id(state),
        version=known.asked.version + 1 if known else 1,
        kind=GateKind.ADVANCE,
        activity_id=phase.phase_id,
        human_mode=GateMode.CONFIRM,
        title=f"{name}已完成" if chinese else f"{name} is finished",
        prompt="; ".join(state.phase.issues),
        payload={"issues": list(state.phase.issues), "score": state.phase.score},
        outcomes=KIND_OUTCOMES[GateKind.ADVANCE],
        phase_id=phase.phase_id,
        consequence=_consequence(state),
    )
    return (opened,)


def blocked_gate(state: RunState, phase: Phase, missing: tuple[str, ...]) -> tuple[Event, ...]:
    """A phase whose entry condition is false waits for a person, never silently."""
    chinese = language_of(state.facts.goal) == "zh"
    name = text_in(phase.display_name, "zh" if chinese else "en") or phase.phase_id
    lacking = ", ".join(missing)
    known = gate_of(state, phase.phase_id)
    opened = GateOpened(
        request_id=known.asked.request_id if known else next_gate_id(state),
        version=known.asked.version + 1 if known else 1,
        kind=GateKind.BLOCKED,
        activity_id=phase.phase_id,
        human_mode=GateMode.SELECT,
        title=f"{name}还不能开始" if chinese else f"{name} cannot start yet",
        prompt=f"{phase.entry_condition}" + (f" ({lacking})" if lacking else ""),
        payload={"condition": phase.entry_condition, "missing": list(missing)},
        outcomes=KIND_OUTCOMES[GateKind.BLOCKED],
        phase_id=phase.phase_id,
    )
    return (opened,)
