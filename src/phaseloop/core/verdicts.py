"""From findings to a score, from a score to what happens next. Contract section 7."""

from collections.abc import Sequence
from dataclasses import dataclass

from phaseloop.core.answers import Verdict
from phaseloop.core.changes import replace
from phaseloop.core.limits import (
    SCORE_CHECK,
    SCORE_EMPTY,
    SCORE_ERROR,
    SCORE_OK,
    SCORE_SCHEMA,
    SCORE_SOFT,
    CriticPower,
)
from phaseloop.core.plan import Finding, Severity, Step
from phaseloop.core.plan_events import ActivityCompleted, ActivityFailed, ResultJudged
from phaseloop.core.run_events import LimitReached
from phaseloop.core.state import RunState, StepState
from phaseloop.core.statuses import CallStatus
from phaseloop.core.tools import EffectClass
from phaseloop.core.values import Json

_SCORES = {"error": SCORE_ERROR, "empty": SCORE_EMPTY, "check": SCORE_CHECK, "schema": SCORE_SCHEMA}
_ORDER = (EffectClass.READ, EffectClass.IDEMPOTENT, EffectClass.WRITE)

Facts = tuple[ActivityCompleted | ActivityFailed | ResultJudged | LimitReached, ...]


def rule_findings(state: RunState, output: Json, found: Sequence[Finding]) -> tuple[Finding, ...]:
    """What rules say of an output besides the checks at the edge: is it there, is it long enough."""
    findings = tuple(found)
    if output is None or (isinstance(output, str) and not output.strip()) or output in ([], {}):
        return (Finding("empty", "the result is empty"), *findings)
    least = state.limits.min_result_chars
    if isinstance(output, str) and len(output.strip()) < least:
        short = f"the result has {len(output.strip())} characters, fewer than {least}"
        findings = (*findings, Finding("length", short, severity=Severity.NOTE))
    return findings


def rule_score(findings: Sequence[Finding]) -> float:
    """The lowest score that any finding calls for."""
    return min((_SCORES.get(finding.code, SCORE_SOFT) for finding in findings), default=SCORE_OK)


def effect_of(state: RunState, step: StepState) -> EffectClass | None:
    """The strongest effect a step may have: its call's or hinted tool's, else that of any tool it may use."""
    tools = state.facts.tools
    if step.spec.call is not None:
        return tools[step.spec.call.tool].effect if step.spec.call.tool in tools else EffectClass.WRITE
    if step.spec.type != "LLM" or is_one_call(step.spec):
        return None
    if step.spec.tool_hint and step.spec.tool_hint in tools:
        return tools[step.spec.tool_hint].effect
    allowed = allowed_tools(state)
    return max((tools[name].effect for name in allowed), key=_ORDER.index, default=None)


def is_one_call(step: Step) -> bool:
    """Whether an open step is one model call: it answers in a schema and names no tool (architecture section 5)."""
    return step.call is None and step.output_schema is not None and not step.tool_hint


def allowed_tools(state: RunState) -> tuple[str, ...]:
    """The tools of the current phase, by name, sorted."""
    listed = state.phase.phase.tools
    names = sorted(state.facts.tools)
    return tuple(names) if listed is None else tuple(name for name in names if name in listed)


def can_replan(state: RunState) -> bool:
    """Whether a re-plan is left, or one is already wanted and will serve for this too."""
    return state.replans < state.limits.replans or state.phase.trigger == "replan"


@dataclass(frozen=True, slots=True)
class Result:
    """What a step came to: its output, the calls that hold it (bound steps), and when."""

    step: StepState
    output: Json
    calls: tuple[str, ...]
    at: int


def judge_step(state: RunState, result: Result, found: Sequence[Finding]) -> Facts:
    """The facts after rules looked at a step's output. A clean result is completed at once."""
    findings = rule_findings(state, result.output, found)
    score = rule_score(findings)
    step = result.step
    if _wants_critic(state, step) and score >= state.limits.band(effect_of(state, step)).accept:
        return (_judged(result, Verdict(score), "ask", findings, "step"),)
    if not findings:
        return (_completed(result, score, ()),)
    issues = tuple(finding.message for finding in findings)
    return after_score(state, result, Verdict(score, issues=issues), findings)


def step_failed(state: RunState, result: Result, why: str) -> Facts:
    """A step ended without a result: deep reflection, by a model where one may steer, else by rule."""
    verdict = Verdict(SCORE_ERROR, passed=False, issues=(why,))
    if state.limits.deep_reflection and can_replan(state):
        return (_judged(result, verdict, "ask", (), "deep"),)
    return after_score(state, result, verdict, scope="deep")


def _wants_critic(state: RunState, step: StepState) -> bool:
    """A model judges a step only where its declaration says that rules cannot (article 003 section 5.1)."""
    if state.limits.critic is CriticPower.NONE or step.spec.activity_id is None:
        return False
    declared = state.facts.definition.activities
    activity = next((a for a in declared if a.activity_id == step.spec.activity_id), None)
    return activity is not None and activity.config.get("judge") is True


def after_score(
    state: RunState, result: Result, verdict: Verdict, findings: Sequence[Finding] = (), scope: str = "step"
) -> Facts:
    """The verdict, and the completion or failure that follows from it."""
    step = result.step
    action = action_for(state, step, verdict.score, verdict.issues)
    if scope == "deep" and action == "note" and not _has_best(state, step):
        action = "abort"
    judged = _judged(result, verdict, action, findings, scope)
    limits = _limit_facts(state, step, verdict.score, action)
    if action == "retry":
        return (*limits, judged)
    if action == "note" and step.best_score > verdict.score and not result.calls:
        best = replace(result, output=step.best_output)
        return (*limits, judged, _completed(best, step.best_score, verdict.issues))
    if action in ("accept", "note") or (action == "replan" and step.wrote and scope == "step"):
        return (*limits, judged, _completed(result, verdict.score, verdict.issues))
    message = "; ".join(verdict.issues) or verdict.suggestion or f"score {verdict.score:g}"
    failed = ActivityFailed(
        activity_id=step.activity_id,
        error_kind="error" if scope == "deep" else "judged",
        message=message,
        step_id=step.spec.id,
        attempt=step.attempt,
        next=action,
    )
    return (*limits, judged, failed)


def _limit_facts(state: RunState, step: StepState, score: float, action: str) -> tuple[LimitReached, ...]:
    """A cap that decided the outcome is said."""
    band = state.limits.band(effect_of(state, step))
    facts: list[LimitReached] = []
    used = step.attempt - 1
    if band.retry <= score < band.accept and action != "retry" and used >= state.limits.step_retries:
        facts.append(LimitReached("step_retries", state.limits.step_retries, used, step.activity_id))
    if action == "abort" or (action == "note" and score < band.accept and not can_replan(state)):
        facts.append(LimitReached("task_replans", state.limits.replans, state.replans, step.activity_id))
    return tuple(facts)


def action_for(state: RunState, step: StepState, score: float, issues: tuple[str, ...]) -> str:
    """accept, note, retry, replan or abort, by the band of the step and what is left of the caps."""
    band = state.limits.band(effect_of(state, step))
    if score >= band.accept:
        return "accept"
    if score >= band.retry:
        if step.spec.bound and step.wrote:
            return "note"
        if step.attempt - 1 < state.limits.step_retries and not _stalled(step, score, issues):
            return "retry"
    if can_replan(state):
        return "replan"
    return "note" if max(score, step.best_score) >= state.limits.done_at_cap else "abort"


def _has_best(state: RunState, step: StepState) -> bool:
    """Whether an earlier attempt of a step that failed left something good enough to go on with."""
    return step.best_output is not None and step.best_score >= state.limits.done_at_cap


def _stalled(step: StepState, score: float, issues: tuple[str, ...]) -> bool:
    """Whether the same issue came back without a better score: another try will not help either."""
    return step.attempt > 1 and score <= step.score and issues == step.issues


def _judged(result: Result, verdict: Verdict, action: str, findings: Sequence[Finding], scope: str) -> ResultJudged:
    step = result.step
    completes = action in ("accept", "note") or (action == "replan" and step.wrote and scope == "step")
    return ResultJudged(
        scope=scope,
        passed=action in ("accept", "note", "ask"),
        score=verdict.score,
        action=action,
        by=verdict.by,
        activity_id=step.activity_id,
        step_id=step.spec.id,
        attempt=step.attempt,
        issues=verdict.issues or tuple(finding.message for finding in findings),
        suggestion=verdict.suggestion,
        findings=tuple(findings),
        output=None if completes or result.calls else result.output,
        format_issue=verdict.format_issue,
    )


def _completed(result: Result, score: float, issues: tuple[str, ...]) -> ActivityCompleted:
    step = result.step
    return ActivityCompleted(
        activity_id=step.activity_id,
        step_id=step.spec.id,
        output=None if result.calls else result.output,
        output_of=result.calls,
        outputs=(step.spec.produces,) if step.spec.produces else (),
        score=score,
        issues=issues,
        duration_ms=max(0, result.at - step.started_at),
    )


def pending_writes(state: RunState) -> bool:
    """Whether a write was sent and its end is not known."""
    return any(call.status in (CallStatus.STARTED, CallStatus.IN_DOUBT) for call in state.calls.values())
