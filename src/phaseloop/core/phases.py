"""From phase to phase: entry conditions, artefact contracts, exit gates, and the end of the run."""

from phaseloop.core.context import values_of
from phaseloop.core.errors import UnresolvedReference
from phaseloop.core.events import Event
from phaseloop.core.exit_gates import advance_gate, blocked_gate, gate_of, human_gate, passed
from phaseloop.core.gate_events import GateExpired
from phaseloop.core.paths import is_object
from phaseloop.core.plan import ActivityType
from phaseloop.core.plan_events import ResultJudged
from phaseloop.core.process import Activity, GateMode, Phase, phase_activities
from phaseloop.core.references import resolve
from phaseloop.core.run_events import (
    ArtifactFinalized,
    LimitReached,
    PhaseAdvanced,
    PhaseBlocked,
    PhaseCompleted,
    PhaseExitReached,
    PhaseFailed,
    PhaseStarted,
    RunCompleted,
    RunFailed,
)
from phaseloop.core.state import ArtifactState, GateState, PhaseState, RunState, open_gates
from phaseloop.core.statuses import ActivityStatus, PhaseStatus
from phaseloop.core.values import Json, Object
from phaseloop.core.verdicts import can_replan, pending_writes


def enter_next(state: RunState, at: int) -> tuple[Event, ...]:
    """Start the next phase when its entry condition holds, say what blocks it when not, or complete the run."""
    before = state.phase if state.phase_index >= 0 else None
    if before is not None and before.status is not PhaseStatus.COMPLETED:
        return ()
    if state.phase_index + 1 >= len(state.phases):
        return (_completed(state),)
    coming = state.phases[state.phase_index + 1]
    phase = coming.phase
    if coming.status is PhaseStatus.BLOCKED:
        gate = gate_of(state, phase.phase_id)
        return _start(before, phase, "user") if gate and gate.outcome == "override" else ()
    if phase.entry_condition:
        known = state.conditions.get(entry_subject(phase), _UNKNOWN)
        if known is _UNKNOWN:
            return ()
        if known is not True:
            missing = _missing_names(state, phase)
            blocked = PhaseBlocked(phase.phase_id, phase.entry_condition, missing)
            return (blocked, *blocked_gate(state, phase, missing))
    return _start(before, phase, before.passed_by or "auto" if before else "auto")


_UNKNOWN = object()


def entry_subject(phase: Phase) -> str:
    """The name under which a phase's entry condition is evaluated."""
    return f"phase:{phase.phase_id}"


def _start(before: PhaseState | None, phase: Phase, by: str) -> tuple[Event, ...]:
    started = PhaseStarted(phase.phase_id, phase.order, phase.start_activity_id, phase.entry_condition)
    if before is None:
        return (started,)
    return (PhaseAdvanced(before.phase.phase_id, phase.phase_id, phase.start_activity_id, by), started)


def _missing_names(state: RunState, phase: Phase) -> tuple[str, ...]:
    """Artefacts of earlier phases that the condition names and that are not final."""
    made = [name for other in state.phases for name in other.phase.produced_outputs]
    return tuple(
        name
        for name in dict.fromkeys(made)
        if name in phase.entry_condition and not (name in state.artifacts and state.artifacts[name].final)
    )


def start_activity(state: RunState, at: int) -> tuple[Event, ...]:
    """A HUMAN start activity asks before anything is planned (contract section 5)."""
    activity = _human(state, state.phase.phase.start_activity_id)
    if activity is None or activity.activity_id == state.phase.phase.exit_human_activity_id:
        return ()
    return human_gate(state, activity, at)


def start_is_open(state: RunState) -> bool:
    """Whether the phase still waits for its HUMAN start activity."""
    activity = _human(state, state.phase.phase.start_activity_id)
    if activity is None or activity.activity_id == state.phase.phase.exit_human_activity_id:
        return False
    return not passed(state, activity.activity_id)


def _human(state: RunState, activity_id: str | None) -> Activity | None:
    for activity in state.facts.definition.activities:
        if activity.activity_id == activity_id and activity.type is ActivityType.HUMAN:
            return activity
    return None


def work_is_done(state: RunState) -> bool:
    """Whether every step of the phase's plan is over and nothing sent is without an end."""
    phase = state.phase
    if phase.trigger or not phase.plan.version or pending_writes(state):
        return False
    return all(state.steps[sid].ended for sid in phase.plan.order)


def wants_verdict(state: RunState) -> bool:
    """Whether a critic looks at the whole phase before its exit."""
    limits = state.limits
    wanted = limits.critic != "none" and limits.critic_sees_plan and bool(state.phase.plan.order)
    return wanted and not state.phase.judged and work_is_done(state)


def leave(state: RunState, at: int) -> tuple[Event, ...]:
    """The exit, in the order of behaviours 2.5: steps over, contract, gates, artefacts final, phase completed."""
    phase = state.phase
    if phase.status is not PhaseStatus.ACTIVE or not work_is_done(state) or wants_verdict(state):
        return ()
    missing = missing_outputs(state)
    if missing and not phase.passed_by:
        return _contract_unmet(state, missing)
    if (asked := _inner_gate(state, at)) is not None:
        return asked
    if phase.passed_by:
        return _complete(state, missing, at)
    waiting_for = "human" if phase.phase.exit_human_activity_id else "none"
    if waiting_for == "none" and (not phase.phase.auto_advance or phase.judged == "veto"):
        waiting_for = "advance"
    reached: tuple[Event, ...] = ()
    if not phase.exit_reached:
        contract: Object = {"satisfied": True, "missing": []}
        reached = (PhaseExitReached(phase.phase.phase_id, contract, waiting_for),)
    if waiting_for == "human":
        gate = _human(state, phase.phase.exit_human_activity_id)
        return (*reached, *(human_gate(state, gate, at) if gate else ()))
    if waiting_for == "advance":
        return (*reached, *advance_gate(state, at))
    return (*reached, *_complete(state, (), at))


def _inner_gate(state: RunState, at: int) -> tuple[Event, ...] | None:
    """HUMAN activities that are neither start nor exit ask in declared order, one by one, after the steps."""
    phase = state.phase.phase
    for activity in phase_activities(state.facts.definition, phase):
        ends = activity.activity_id in (phase.start_activity_id, phase.exit_human_activity_id)
        if activity.type is not ActivityType.HUMAN or ends or activity.optional:
            continue
        if not passed(state, activity.activity_id):
            return human_gate(state, activity, at)
    return None


def missing_outputs(state: RunState) -> tuple[str, ...]:
    """Outputs of the contract without a valid value; what the gate makes is not missing before it is answered."""
    phase = state.phase.phase
    by_person = gate_made(state)
    return tuple(
        name
        for name in phase.produced_outputs
        if name not in by_person and not (name in state.artifacts and state.artifacts[name].valid)
    )


def gate_made(state: RunState) -> frozenset[str]:
    """Outputs that come into being when a person answers (behaviours 2.2)."""
    phase = state.phase.phase
    declared = phase_activities(state.facts.definition, phase)
    named = {a.produces for a in declared if a.type is ActivityType.HUMAN and a.produces}
    gate = _human(state, phase.exit_human_activity_id)
    form = gate is not None and gate.gate is not None and gate.gate.human_mode is GateMode.FORM
    drafted = {name for name, a in state.artifacts.items() if a.valid}
    rest = [name for name in phase.produced_outputs if name not in drafted]
    return frozenset(named | set(rest if form and len(rest) == 1 else ()))


def _contract_unmet(state: RunState, missing: tuple[str, ...]) -> tuple[Event, ...]:
    """One re-plan with the missing names, then the phase fails (behaviours 2.5)."""
    issues = tuple(f"{name} was not produced" + _why_invalid(state, name) for name in missing)
    if can_replan(state) and not state.phase.contract_replanned:
        verdict = ResultJudged("plan", passed=False, score=0, action="replan", by="contract", issues=issues)
        return (verdict,)
    return fail(state, "contract_unmet", "; ".join(issues))


def _why_invalid(state: RunState, name: str) -> str:
    artifact = state.artifacts.get(name)
    return f" validly: {'; '.join(artifact.issues)}" if artifact is not None and artifact.issues else ""


def _complete(state: RunState, missing: tuple[str, ...], at: int) -> tuple[Event, ...]:
    phase = state.phase
    finals = tuple(_final(state, name) for name in phase.phase.produced_outputs if name not in missing)
    done = PhaseCompleted(
        phase.phase.phase_id,
        phase.phase.produced_outputs,
        max(0, at - phase.started_at),
        phase.stats,
    )
    return (*finals, done)


def _final(state: RunState, name: str) -> ArtifactFinalized:
    """The artefact as it was shown, edited, or made by the person who answered (contract section 6)."""
    known = state.artifacts.get(name)
    draft = known if known is not None and known.valid else None
    phase = state.phase.phase
    maker = next((a for a in state.facts.definition.activities if a.produces == name and a.gate), None)
    asks = maker.activity_id if draft is None and maker is not None else phase.exit_human_activity_id or ""
    gate = gate_of(state, asks)
    approves = gate is not None and gate.asked.human_mode is GateMode.APPROVE
    who = (gate.user or gate.by) if gate is not None else ""
    return ArtifactFinalized(
        name=name,
        version=draft.version if draft else (known.version if known else 0) + 1,
        produced_by_activity_id=draft.activity_id if draft else asks,
        phase_id=phase.phase_id,
        value=_said(gate, name, draft) if gate is not None else None,
        value_of=draft.step_id if draft else "",
        confirmed_by="" if approves else who,
        approved_by=who if approves else "",
    )


def _said(gate: GateState, name: str, draft: ArtifactState | None) -> Json:
    """The value a person gave for the artefact: made by a form, edited as a whole, or fields laid over an object."""
    if draft is None or gate.value is None:
        return gate.value
    shown = gate.asked.payload.get("artefact")
    if not gate.asked.is_exit_gate or not is_object(shown) or shown.get("name") != name:
        return None
    if not gate.asked.payload.get("schema"):
        return gate.value
    both = is_object(draft.value) and is_object(gate.value)
    return {**draft.value, **gate.value} if both else None  # the gate's own fields never replace a text


def fail(state: RunState, code: str, why: str, activity_id: str = "") -> tuple[Event, ...]:
    """The phase and the run fail with the best result so far and an explanation, never an exception."""
    facts: list[Event] = []
    if code == "replans_exhausted":
        facts.append(LimitReached("task_replans", state.limits.replans, state.replans, activity_id))
    facts += [GateExpired(gate_id, "the run failed") for gate_id, _ in open_gates(state)]
    if state.phase_index >= 0 and state.phase.status is not PhaseStatus.COMPLETED:
        facts.append(PhaseFailed(state.phase.phase.phase_id, code, why))
    done = sum(step.status is ActivityStatus.COMPLETED for step in state.steps.values())
    facts.append(
        RunFailed(
            code=code,
            reason=why,
            explanation=f"{why.rstrip('.')}. {done} finished steps are kept.",
            best_result=result_of(state, best=True),
            activity_id=activity_id,
            score=state.phase.score if state.phase_index >= 0 else 0.0,
            warnings=state.warnings,
            stats=state.stats,
        )
    )
    return tuple(facts)


def result_of(state: RunState, best: bool = False) -> Json:
    """The run's result: the plan's own, else the last phase's one artefact, else the last step's output."""
    if state.phase_index < 0:
        return None
    phase = state.phase
    if phase.plan.result is not None:
        try:
            return resolve(phase.plan.result, values_of(state))
        except UnresolvedReference:
            pass  # a step that the result names was skipped: the rules below say what there is
    outputs = phase.phase.produced_outputs
    if len(outputs) == 1 and outputs[0] in state.artifacts:
        return state.artifacts[outputs[0]].value
    ended = [state.steps[sid] for sid in phase.plan.order if state.steps[sid].status is ActivityStatus.COMPLETED]
    if ended:
        return ended[-1].output
    tried = [step.best_output for step in state.steps.values() if step.best_output is not None]
    return tried[-1] if best and tried else None


def _completed(state: RunState) -> RunCompleted:
    return RunCompleted(
        status="completed_with_warnings" if state.warnings else "completed",
        result=result_of(state),
        score=state.phase.score,
        warnings=state.warnings,
        stats=state.stats,
    )
