"""The plans, results and verdicts behind recorded decisions, rebuilt from the log for a replay."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from phaseloop.core.answers import (
    Checked,
    ChildEnded,
    PlanJudged,
    Planned,
    PlanningFailed,
    StepJudged,
    StepRaised,
    StepReturned,
    Verdict,
)
from phaseloop.core.call_events import HistoryDiverged
from phaseloop.core.events import Event
from phaseloop.core.plan import ActivityType, Finding, Plan
from phaseloop.core.plan_events import (
    ActivityCompleted,
    PlanRefused,
    PlanRepaired,
    PlanUpdated,
    ResultJudged,
    SubprocessCompleted,
)
from phaseloop.core.run_events import LimitReached
from phaseloop.core.state import RunState, StepState
from phaseloop.core.statuses import ActivityStatus
from phaseloop.core.values import Json
from phaseloop.core.verdicts import rule_findings
from phaseloop.engine.replay_calls import Facts, Rebuilt

ALL_REPLIES = 1_000_000  # more than any step has: the step did not end before its record
UNKNOWN = True  # an output about which no rule has anything to say


def planned(state: RunState, events: Sequence[Event], k: int) -> Iterator[Rebuilt]:
    """The planner's plan, as far as the adopted one shows it: linted, numbered and compared again.

    What a repair changed is not in the log, so its notes are taken as they stand; repairing an adopted plan
    changes nothing more. The planner may or may not have named finished steps.
    """
    repaired = events[k] if isinstance(events[k], PlanRepaired) else None
    at = k if repaired is None else k + 1
    event = events[at] if at < len(events) else None
    if state.phase_index < 0 or not isinstance(event, PlanUpdated):
        return

    def restore(facts: Facts) -> Facts:
        adopted = tuple(fact for fact in facts if not isinstance(fact, PlanRepaired))
        if not isinstance(repaired, PlanRepaired):
            return adopted
        version = state.phase.plan.version + 1
        return (PlanRepaired(state.phase.phase.phase_id, version, repaired.rules), *adopted)

    done = {sid for sid in state.phase.plan.order if state.steps[sid].ended}
    new = tuple(step for step in event.steps if step.id not in done)
    attempt = state.phase.refusals + 1
    for given in (new, event.steps) if done else (new,):
        plan = Plan(event.goal, given, event.constraints, event.result)
        yield Rebuilt(Planned(event.phase_id, event.plan_version, attempt, plan), restore)


def plan_refused(state: RunState, events: Sequence[Event], k: int) -> Iterator[Rebuilt]:
    """A refusal. The refused plan is not in the log; that a plan was wanted, and which, is decided again."""
    event = events[k]
    assert isinstance(event, PlanRefused)

    def restore(facts: Facts) -> Facts:
        return tuple(replace(f, findings=event.findings) if isinstance(f, PlanRefused) else f for f in facts)

    yield Rebuilt(PlanningFailed(event.phase_id, event.plan_version, event.attempt, ""), restore)


def result(state: RunState, events: Sequence[Event], k: int) -> Iterator[Rebuilt]:
    """The report behind a verdict or a completion."""
    replies = ALL_REPLIES
    head = events[k]
    if isinstance(head, HistoryDiverged):
        replies = int(head.asked)
        k += 1
    while k < len(events) and isinstance(events[k], LimitReached):
        k += 1
    event = events[k] if k < len(events) else None
    if isinstance(event, ResultJudged) and event.scope == "plan":
        phase = state.phase
        yield Rebuilt(PlanJudged(phase.phase.phase_id, phase.plan.version, _verdict(event)))
    elif isinstance(event, ResultJudged | ActivityCompleted) and event.step_id in state.steps:
        yield from _step_result(state, events, k, replies)


def _step_result(state: RunState, events: Sequence[Event], k: int, replies: int) -> Iterator[Rebuilt]:
    event = events[k]
    assert isinstance(event, ResultJudged | ActivityCompleted)
    step = state.steps[event.step_id]
    sid, attempt = event.step_id, step.attempt
    if step.spec.type is ActivityType.SUBPROCESS:  # its result comes with `subprocess_completed`
        return
    if isinstance(event, ResultJudged):
        if step.status is ActivityStatus.JUDGING:
            yield Rebuilt(StepJudged(sid, attempt, event.scope, _verdict(event)))
            return
        if event.scope == "deep":
            yield Rebuilt(StepRaised(sid, attempt, event.issues[0]))
            return
    findings = event.findings if isinstance(event, ResultJudged) else ()
    output = output_of(state, events, k)
    if step.spec.bound:
        yield Rebuilt(Checked(sid, attempt, _found_at_the_edge(state, output, findings)))
    else:
        found = _found_at_the_edge(state, output, findings)
        yield Rebuilt(StepReturned(sid, attempt, output, found, replies))


def output_of(state: RunState, events: Sequence[Event], k: int) -> Json:
    """The judged output: with its verdict, or with the completion that follows at once."""
    event = events[k]
    if isinstance(event, ActivityCompleted):
        return event.output
    if not isinstance(event, ResultJudged):
        return None
    after = events[k + 1] if k + 1 < len(events) else None
    if not isinstance(after, ActivityCompleted) or after.step_id != event.step_id:
        return event.output
    step = state.steps[event.step_id]
    return UNKNOWN if _is_replaced(step, event) else after.output


def _is_replaced(step: StepState, event: ResultJudged) -> bool:
    """Whether the step completed with an earlier, better output than the one that was judged last."""
    return event.action == "note" and not step.spec.bound and step.best_score > event.score


def _found_at_the_edge(state: RunState, output: Json, findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """The findings without those that the core's own rules add."""
    for found in (findings, findings[1:], findings[:-1]):
        if rule_findings(state, output, found) == findings:
            return found
    return findings


def _verdict(event: ResultJudged) -> Verdict:
    return Verdict(event.score, event.passed, event.issues, event.suggestion, event.by, event.format_issue)


def child_ended(state: RunState, events: Sequence[Event], k: int) -> Iterator[Rebuilt]:
    """How a child run ended, with the output that its step got from it."""
    event = events[k]
    assert isinstance(event, SubprocessCompleted)
    step = state.steps.get(event.step_id)
    if step is None:
        return
    at = k + 1
    while at < len(events) and isinstance(events[at], LimitReached):
        at += 1
    output = output_of(state, events, at) if at < len(events) else None
    ended = ChildEnded(
        step_id=event.step_id,
        attempt=step.attempt,
        child_run_id=event.child_run_id,
        status=event.status,
        artifacts=event.artifacts,
        result=output,
        message=event.message,
    )
    yield Rebuilt(ended)
