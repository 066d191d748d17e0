"""Gates: how a question is asked, who may answer, what an answer does: contract 9, behaviours 2.7."""

from phaseloop.core.call_events import ToolCallDoubted
from phaseloop.core.errors import AnswerRefused
from phaseloop.core.events import Event
from phaseloop.core.gate_events import (
    GateAnswered,
    GateExpired,
    GateOpened,
    GateResolved,
    TimerSet,
)
from phaseloop.core.machine_gates import CHANGES, POSITIVE
from phaseloop.core.paths import is_list, is_object
from phaseloop.core.plan_events import ActivityCompleted, ActivityPaused, ActivityResumed
from phaseloop.core.process import GateConfig, GateKind, GateMode
from phaseloop.core.run_events import LimitReached, PhaseReopened, RunCancelled, RunFailed, Who
from phaseloop.core.state import CallState, GateState, RunState, open_gates
from phaseloop.core.statuses import CallStatus, GateStatus
from phaseloop.core.words import Answered

OUTCOMES: dict[GateMode, tuple[str, ...]] = {
    GateMode.CONFIRM: ("confirm", "revise", "cancel"),
    GateMode.SELECT: ("select", "other", "none_of_these", "cancel"),
    GateMode.FORM: ("submit", "revise", "cancel"),
    GateMode.APPROVE: ("approve", "reject", "return_to", "cancel"),
}
KIND_OUTCOMES: dict[GateKind, tuple[str, ...]] = {
    GateKind.TOOL_APPROVAL: ("approve", "reject", "cancel"),
    GateKind.IN_DOUBT: ("happened", "run_it", "abandon", "cancel"),
    GateKind.ADVANCE: ("advance", "revise", "return_to", "cancel"),
    GateKind.BLOCKED: ("override", "return_to", "cancel"),
}
NEEDS_COMMENT = frozenset({"revise", "reject", "none_of_these"})
POLICY = Who("phaseloop", "policy")


def next_gate_id(state: RunState) -> str:
    """Gate ids count through the run."""
    return f"g{len(state.gates) + 1}"


def deadline(gate_id: str, version: int, config: GateConfig, at: int) -> tuple[int | None, tuple[Event, ...]]:
    """When a gate times out, and the timer that says so."""
    if config.timeout_seconds is None:
        return None, ()
    due = at + int(config.timeout_seconds * 1000)
    return due, (TimerSet(f"{gate_id}/{version}", due),)


def doubt_gate(state: RunState, call: CallState) -> tuple[Event, ...]:
    """Ask a person whether a write happened; its step pauses."""
    step = state.steps[call.step_id]
    tool = state.facts.tools[call.tool]
    asked = GateOpened(
        request_id=next_gate_id(state),
        version=1,
        kind=GateKind.IN_DOUBT,
        activity_id=step.activity_id,
        human_mode=GateMode.SELECT,
        title=f"Did {call.tool} happen?",
        prompt="The call was sent, and its end is not known.",
        payload={
            "tool": call.tool,
            "args": call.args,
            "key": call.key,
            "schema": dict(tool.output_schema or {}),
        },
        outcomes=KIND_OUTCOMES[GateKind.IN_DOUBT],
        phase_id=step.phase_id,
        step_id=call.step_id,
        call_id=call.call_id,
        consequence="happened: its result is what you say; run_it: it is sent again with the same key.",
    )
    if not step.active:
        return (asked,)
    return (asked, ActivityPaused(step.activity_id, "human", call.step_id))


def answered(state: RunState, answer: Answered, at: int) -> tuple[Event, ...]:
    """The facts of an answer. Raises `AnswerRefused`, except for a repeat with the same key: no facts."""
    gate = state.gates.get(answer.gate_id)
    if gate is None:
        raise AnswerRefused(answer.gate_id, "there is no such gate in this run", 404)
    if answer.key and any(vote.key == answer.key for vote in gate.votes):
        return ()
    _check(state, gate, answer)
    vote = GateAnswered(
        request_id=answer.gate_id,
        version=answer.version,
        outcome=answer.outcome,
        by=answer.by,
        value=answer.value,
        comment=answer.comment,
        key=answer.key,
    )
    votes = {v.by.id for v in gate.votes if v.version == answer.version and v.outcome == answer.outcome}
    if answer.outcome in POSITIVE and len(votes | {answer.by.id}) < gate.asked.required:
        return (vote,)
    edits = 1 if answer.value is not None and answer.value != shown_value(gate) else 0
    resolved = GateResolved(
        request_id=answer.gate_id,
        activity_id=gate.asked.activity_id,
        outcome=answer.outcome,
        by="user",
        value=answer.value,
        comment=answer.comment,
        user=answer.by.id,
        edits=edits,
    )
    return (vote, resolved, *after_resolution(state, gate, resolved, answer.by))


def shown_value(gate: GateState) -> object:
    """The artefact or the values that the question showed."""
    payload = gate.asked.payload
    artefact = payload.get("artefact")
    return artefact.get("value") if is_object(artefact) else payload.get("values")


def _check(state: RunState, gate: GateState, answer: Answered) -> None:
    """Refuse what cannot be taken, with the reason and what would be."""
    asked = gate.asked
    if gate.status is GateStatus.EXPIRED or state.over:
        raise AnswerRefused(answer.gate_id, f"the question is over: {gate.comment or f'run {state.status}'}", 410)
    if gate.status is GateStatus.RESOLVED:
        who = gate.user or gate.by
        raise AnswerRefused(answer.gate_id, f"already answered by {who}: {gate.outcome}", 409)
    if answer.version != asked.version:
        why = f"the answer is for version {answer.version}, the question is at version {asked.version}"
        raise AnswerRefused(answer.gate_id, why, 409)
    if answer.outcome not in asked.outcomes:
        can = ", ".join(asked.outcomes)
        raise AnswerRefused(answer.gate_id, f"{answer.outcome!r} is no outcome here; it takes {can}")
    if answer.outcome in NEEDS_COMMENT and not answer.comment.strip():
        raise AnswerRefused(answer.gate_id, f"{answer.outcome} needs a comment that says what should change")
    if asked.approvers and not {answer.by.id, *answer.by.roles} & set(asked.approvers):
        raise AnswerRefused(
            answer.gate_id, f"{answer.by.id} may not answer; it takes {', '.join(asked.approvers)}", 403
        )
    started_by = state.facts.by
    if asked.separation_of_duties and started_by is not None and started_by.id == answer.by.id:
        raise AnswerRefused(answer.gate_id, f"{answer.by.id} started the run and may not approve it", 403)
    if any(v.by.id == answer.by.id and v.version == answer.version for v in gate.votes):
        raise AnswerRefused(answer.gate_id, f"{answer.by.id} has voted already", 409)
    _check_value(state, gate, answer)


def _check_value(state: RunState, gate: GateState, answer: Answered) -> None:
    """Values whose shape the core can tell; schemas are checked at the edge."""
    asked = gate.asked
    if answer.outcome == "select":
        known = [option["id"] for option in asked.payload.get("options", ())]
        chosen = answer.value if is_list(answer.value) else [answer.value]
        if not chosen or any(option not in known for option in chosen):
            raise AnswerRefused(answer.gate_id, f"{answer.value!r} is none of {', '.join(map(str, known))}")
    if answer.outcome == "return_to":
        earlier = [phase.phase.phase_id for phase in state.phases[: state.phase_index + 1]]
        if answer.value not in earlier:
            why = f"return_to needs the id of a phase that has begun: {', '.join(earlier)}"
            raise AnswerRefused(answer.gate_id, why)
    step = state.steps.get(asked.step_id)
    if answer.outcome == "happened" and answer.value is None and step is not None and step.spec.produces:
        why = f"{asked.step_id} makes {step.spec.produces} of the call's result: say it with --value (JSON)"
        raise AnswerRefused(answer.gate_id, why)
    edits_arguments = answer.outcome == "approve" and asked.kind is GateKind.TOOL_APPROVAL
    if edits_arguments and answer.value is not None and not is_object(answer.value):
        raise AnswerRefused(answer.gate_id, "edited arguments must be an object")


def after_resolution(state: RunState, gate: GateState, done: GateResolved, by: Who) -> tuple[Event, ...]:
    """What follows at once: the step goes on, the run is cancelled, or the revision cap is reached."""
    if done.outcome == "cancel":
        return cancelled(state, by, done.comment or f"cancelled at gate {done.request_id}", done.request_id)
    if done.outcome == "return_to":
        return _return_to(state, str(done.value), done)
    facts: list[Event] = []
    step = state.steps.get(gate.asked.step_id)
    if step is not None and step.active and not _held_elsewhere(state, gate):
        facts.append(ActivityResumed(step.activity_id, "answered", step.spec.id))
    if gate.asked.kind in (GateKind.EXIT, GateKind.ACTIVITY):
        facts.append(_human_ended(gate, done))
    cap = state.limits.revisions_per_gate
    if done.outcome in CHANGES and not gate.asked.call_id and gate.revisions + 1 > cap:
        facts.append(LimitReached("revisions", cap, gate.revisions + 1, gate.asked.activity_id))
        why = f"{cap} changes were asked for at {gate.asked.activity_id}; raise the limit to go on"
        facts.append(RunFailed("revisions_exhausted", why, activity_id=gate.asked.activity_id))
    return tuple(facts)


def _human_ended(gate: GateState, done: GateResolved) -> Event:
    """A positive answer completes the HUMAN activity, another one makes it go on (behaviours 2.9)."""
    if done.outcome in POSITIVE:
        return ActivityCompleted(gate.asked.activity_id)
    return ActivityResumed(gate.asked.activity_id, done.outcome)


def cancelled(state: RunState, by: Who, reason: str, gate_id: str = "") -> tuple[Event, ...]:
    """The run ends: other questions expire, writes without an end are doubted and listed."""
    facts: list[Event] = [GateExpired(g, "the run was cancelled") for g, _ in open_gates(state) if g != gate_id]
    sent = [call for call in state.calls.values() if call.status is CallStatus.STARTED]
    writes = [call.call_id for call in sent if not state.facts.tools[call.tool].reads]
    facts += [ToolCallDoubted(call_id, "the run was cancelled") for call_id in writes]
    doubted = [call.call_id for call in state.calls.values() if call.status is CallStatus.IN_DOUBT]
    facts.append(RunCancelled(by, reason, tuple(sorted({*writes, *doubted}, key=lambda c: int(c[1:])))))
    return tuple(facts)


def _return_to(state: RunState, phase_id: str, done: GateResolved) -> tuple[Event, ...]:
    """An earlier phase begins again; the artefacts from there on no longer count."""
    ids = [phase.phase.phase_id for phase in state.phases]
    void = ids[ids.index(phase_id) :]
    superseded = tuple(sorted(name for name, a in state.artifacts.items() if a.phase_id in void))
    expired = (GateExpired(g, "the phase begins again") for g, _ in open_gates(state) if g != done.request_id)
    return (*expired, PhaseReopened(phase_id, done.comment, superseded))


def _held_elsewhere(state: RunState, gate: GateState) -> bool:
    """Whether another open question still holds the step."""
    return any(
        other.status is GateStatus.OPEN
        and other.asked.step_id == gate.asked.step_id
        and other.asked.request_id != gate.asked.request_id
        for other in state.gates.values()
    )
