"""What the ends of calls, checks and verdicts mean for their step or phase."""

from phaseloop.core.answers import Checked, PlanJudged, StepJudged, ToolReturned, ToolUnsure, Verdict, Verified
from phaseloop.core.call_events import ToolCallDoubted, ToolCallFinished
from phaseloop.core.events import Event
from phaseloop.core.gate_events import GateResolved
from phaseloop.core.gates import POLICY, after_resolution, doubt_gate
from phaseloop.core.ledger import can_fall_back
from phaseloop.core.limits import CriticPower
from phaseloop.core.phases import wants_verdict
from phaseloop.core.plan_events import ResultJudged
from phaseloop.core.run_events import LimitReached
from phaseloop.core.scheduling import bound_output
from phaseloop.core.state import CallState, RunState, StepState
from phaseloop.core.statuses import ActivityStatus, CallStatus, GateStatus
from phaseloop.core.verdicts import Result, after_score, can_replan, effect_of, judge_step

Facts = tuple[Event, ...]


def current_step(state: RunState, step_id: str, attempt: int) -> StepState | None:
    """The step, when it is under way in this attempt."""
    step = state.steps.get(step_id)
    return step if step is not None and step.active and step.attempt == attempt and not state.over else None


def checked(state: RunState, answer: Checked, at: int) -> Facts:
    """A bound step's output was checked at the edge: judge it."""
    step = current_step(state, answer.step_id, answer.attempt)
    known = bound_output(state, step) if step is not None and not step.judging else None
    if step is None or known is None:
        return ()
    calls, output = known
    return judge_step(state, Result(step, output, calls, at), answer.findings)


def tool_returned(state: RunState, answer: ToolReturned, at: int) -> Facts:
    """A call ended: for good, to be sent again, or for its fallback; late testimony closes its question."""
    call = state.calls.get(answer.call_id)
    if call is None or call.status not in (CallStatus.STARTED, CallStatus.IN_DOUBT):
        return ()
    ended = ToolCallFinished(
        call_id=answer.call_id,
        outcome=answer.outcome,
        result=answer.value if answer.outcome == "ok" else None,
        error=answer.error,
        error_kind=answer.error_kind,
        attempts=call.tries,
        duration_ms=answer.duration_ms,
        next=_after(state, call, answer),
        masked=answer.masked,
    )
    gate = state.gates.get(call.gate_id)
    if gate is None or gate.status is not GateStatus.OPEN:
        return (ended,)
    done = GateResolved(
        request_id=call.gate_id,
        activity_id=gate.asked.activity_id,
        outcome="happened" if answer.outcome == "ok" else "abandon",
        by="testimony",
    )
    return (ended, done, *after_resolution(state, gate, done, POLICY))


def _after(state: RunState, call: CallState, answer: ToolReturned) -> str:
    """`again` within the transport cap when that is safe, else `fallback` where there is one (architecture 4.3)."""
    if answer.outcome != "failed" or call.status is not CallStatus.STARTED:
        return ""
    tool = state.facts.tools[call.tool]
    safe = answer.unsent or not tool.writes
    if answer.transient and safe and call.tries < state.limits.transport_attempts:
        return "again"
    return "fallback" if can_fall_back(state, tool) and not call.fallback_of else ""


def tool_unsure(state: RunState, answer: ToolUnsure, at: int) -> Facts:
    """Nobody waits for the call any more: a write is in doubt, the others may be sent again."""
    call = state.calls.get(answer.call_id)
    if call is None or call.status is not CallStatus.STARTED:
        return ()
    if state.facts.tools[call.tool].writes:
        return (ToolCallDoubted(answer.call_id, answer.reason),)
    again = "again" if call.tries < state.limits.transport_attempts else ""
    return (
        ToolCallFinished(
            answer.call_id,
            "failed",
            error=answer.reason,
            error_kind="unsure",
            attempts=call.tries,
            next=again,
        ),
    )


def verified(state: RunState, answer: Verified, at: int) -> Facts:
    """The tool's own word on a write in doubt; when it has none, a person is asked (contract section 8)."""
    call = state.calls.get(answer.call_id)
    if call is None or call.status is not CallStatus.IN_DOUBT or call.gate_id:
        return ()
    if answer.happened is None:
        return doubt_gate(state, call)
    if answer.happened:
        return (ToolCallFinished(call.call_id, result=answer.value, attempts=call.tries, by="verify"),)
    did_not = "verify: it did not happen"
    return (ToolCallFinished(call.call_id, "failed", error=did_not, attempts=call.tries, next="again", by="verify"),)


def step_judged(state: RunState, answer: StepJudged, at: int) -> Facts:
    """A critic's verdict on one step (article 003 section 5.3)."""
    step = state.steps.get(answer.step_id)
    if step is None or step.status is not ActivityStatus.JUDGING or step.attempt != answer.attempt:
        return ()
    if answer.scope != step.judging:
        return ()
    verdict = answer.verdict
    if answer.scope == "deep":
        issues = tuple(dict.fromkeys((*step.issues, *verdict.issues)))
        below = state.limits.band(effect_of(state, step)).accept - 1  # a step without a result is never accepted
        capped = min(verdict.score, below)
        deep = Verdict(capped, False, issues, verdict.suggestion, verdict.by, verdict.format_issue)
        return after_score(state, Result(step, None, (), at), deep, scope="deep")
    calls, output = bound_output(state, step) or ((), step.output)
    result = Result(step, output, calls, at)
    if verdict.by != "rule" and state.limits.critic is CriticPower.ADVISES:
        noted = Verdict(max(verdict.score, state.limits.normal.accept), True, verdict.issues, "", verdict.by)
        return after_score(state, result, noted)
    return after_score(state, result, verdict)


def plan_judged(state: RunState, answer: PlanJudged, at: int) -> Facts:
    """The verdict on the whole phase: accept, re-plan while any are left, or ask a person (contract 7)."""
    if state.phase_index < 0 or not wants_verdict(state):
        return ()
    phase = state.phase
    if (answer.phase_id, answer.version) != (phase.phase.phase_id, phase.plan.version):
        return ()
    verdict = answer.verdict
    action = _plan_action(state, verdict)
    judged = ResultJudged(
        scope="plan",
        passed=action in ("accept", "note"),
        score=verdict.score,
        action=action,
        by=verdict.by,
        issues=verdict.issues if verdict.score < state.limits.warn_below else (),
        suggestion=verdict.suggestion,
        format_issue=verdict.format_issue,
    )
    if action in ("note", "abort") and verdict.score < state.limits.plan_accept:
        return (LimitReached("task_replans", state.limits.replans, state.replans), judged)
    return (judged,)


def _plan_action(state: RunState, verdict: Verdict) -> str:
    limits, phase = state.limits, state.phase
    if verdict.score >= limits.plan_accept:
        return "note" if verdict.score < limits.warn_below and verdict.issues else "accept"
    if verdict.by != "rule" and limits.critic is CriticPower.ADVISES:
        return "veto"
    came_back = bool(phase.issues) and verdict.issues == phase.issues and verdict.score <= phase.score
    if can_replan(state) and not came_back:
        return "replan"
    return "note" if verdict.score >= limits.done_at_cap else "abort"
