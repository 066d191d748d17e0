"""How phases change with facts: entering, plans, leaving, their artefacts."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from phaseloop.core.events import Event
from phaseloop.core.plan import Step
from phaseloop.core.plan_events import PlanUpdated
from phaseloop.core.run_events import (
    ArtifactDrafted,
    ArtifactFinalized,
    PhaseAdvanced,
    PhaseBlocked,
    PhaseCompleted,
    PhaseFailed,
    PhaseReopened,
    PhaseStarted,
)
from phaseloop.core.view_row_changes import entered
from phaseloop.core.view_rows import OVER, ActivityRow, Diamond, PhaseState, ReplanRow, Row, RowState, stopped
from phaseloop.core.view_run import (
    ArtifactView,
    Output,
    PhaseView,
    PlanVersion,
    View,
    activities,
    phase_of,
    with_phase,
)

Change = Callable[[View, Any, int], View]


def listed(view: View, phase_id: str) -> View:
    """`view` with this phase in it: a run without phases names its only one when it starts."""
    if phase_of(view, phase_id) is not None:
        return view
    order = len(view.phases) + 1
    return replace(view, phases=(*view.phases, PhaseView(phase_id, name=phase_id, order=order)))


def _phase_started(view: View, event: PhaseStarted, at: int) -> View:
    def begin(phase: PhaseView) -> PhaseView:
        return replace(
            phase,
            state=PhaseState.ACTIVE,
            started_at=at if phase.started_at is None else phase.started_at,
            ended_at=None,
            planning=True,
            missing=(),
            note="",
        )

    return replace(with_phase(listed(view, event.phase_id), event.phase_id, begin), current=event.phase_id)


def _finish(phase: PhaseView, at: int) -> PhaseView:
    """`phase` done; what was drafted for it counts as produced only when the event says so."""
    ended_at = at if phase.ended_at is None else phase.ended_at
    clock = stopped(phase.active, at)
    return replace(phase, state=PhaseState.DONE, ended_at=ended_at, planning=False, active=clock)


def _phase_completed(view: View, event: PhaseCompleted, at: int) -> View:
    def complete(phase: PhaseView) -> PhaseView:
        made = tuple(
            replace(output, produced=output.produced or output.name in event.outputs) for output in phase.outputs
        )
        return replace(_finish(phase, at), outputs=made)

    return with_phase(view, event.phase_id, complete)


def _phase_advanced(view: View, event: PhaseAdvanced, at: int) -> View:
    """Fold the old phase and lock the focus to `<phase>_first` of the new one (behaviours 2.10)."""
    view = with_phase(listed(view, event.to_phase_id), event.from_phase_id, lambda phase: _finish(phase, at))
    first = f"{event.to_phase_id}_first"

    def enter(phase: PhaseView) -> PhaseView:
        placeholder = ActivityRow(first, event.first_activity_id, placeholder=True)
        rows = phase.rows if any(row.id == first for row in phase.rows) else (*phase.rows, placeholder)
        return replace(phase, state=PhaseState.ACTIVE, started_at=at, ended_at=None, rows=rows)

    return replace(with_phase(view, event.to_phase_id, enter), current=event.to_phase_id, focus_id=first)


def _phase_blocked(view: View, event: PhaseBlocked, at: int) -> View:
    def block(phase: PhaseView) -> PhaseView:
        return replace(phase, state=PhaseState.BLOCKED, missing=event.missing, note=event.condition)

    return with_phase(listed(view, event.phase_id), event.phase_id, block)


def _phase_failed(view: View, event: PhaseFailed, at: int) -> View:
    def fail(phase: PhaseView) -> PhaseView:
        note = event.message or event.error_kind
        clock = stopped(phase.active, at)
        return replace(phase, state=PhaseState.FAILED, ended_at=at, planning=False, note=note, active=clock)

    return with_phase(view, event.phase_id, fail)


def _phase_reopened(view: View, event: PhaseReopened, at: int) -> View:
    """`return_to`: this phase and all after it begin again; what they did stays as history."""
    target = phase_of(view, event.phase_id)
    if target is None:
        return view

    def again(phase: PhaseView) -> PhaseView:
        if phase.order < target.order or phase.state is PhaseState.SKIPPED:
            return phase
        return replace(
            phase,
            state=PhaseState.PENDING,
            ended_at=None,
            active=stopped(phase.active, at),
            planning=False,
            outputs=tuple(replace(output, produced=False) for output in phase.outputs),
            diamond=phase.diamond if phase.diamond is Diamond.NONE else Diamond.FUTURE,
            rows=tuple(row for row in (_superseded(row, at) for row in phase.rows) if row is not None),
            note=event.reason,
        )

    artifacts = tuple(
        replace(artifact, state="superseded") if artifact.name in event.superseded else artifact
        for artifact in view.artifacts
    )
    phases = tuple(again(phase) for phase in view.phases)
    return replace(view, phases=phases, artifacts=artifacts, current=event.phase_id)


def _superseded(row: Row, at: int) -> Row | None:
    """A started row stays as replaced, one that never started goes."""
    if isinstance(row, ReplanRow):
        return row
    if row.state is RowState.NOT_STARTED:
        return None
    return entered(row, RowState.REPLACED, at)


def _step_row(step: Step, version: int) -> ActivityRow:
    return ActivityRow(
        step.id,
        step.activity_id or step.id,
        step.id,
        type=step.type.value,
        title=step.action,
        tool=step.call.tool if step.call else step.tool_hint or "",
        depends_on=step.depends_on,
        produces=step.produces or "",
        plan_version=version,
    )


def _kept_row(row: Row, steps: dict[str, Step], dropped: tuple[str, ...], at: int) -> Row | None:
    """What a later plan makes of a row: started rows stay where they are, the others are placed anew."""
    if isinstance(row, ReplanRow) or (row.plan_version == 0 and not row.placeholder):
        return row
    if row.state is RowState.NOT_STARTED:
        return None
    step = steps.get(row.id)
    if step is not None:
        return replace(row, title=step.action, depends_on=step.depends_on)
    if row.state in OVER and row.id not in dropped:
        return row
    return entered(row, RowState.REPLACED, at)


def _replan_row(view: View, phase: PhaseView, event: PlanUpdated, at: int) -> ReplanRow | None:
    if not phase.plans:
        return None
    counted = event.reason == "replan"
    return ReplanRow(
        f"{event.phase_id}:v{event.plan_version}",
        event.plan_version,
        view.meters.replans if counted else 0,
        event.reason,
        trigger=event.trigger,
        score=view.replan_cause if counted else None,
        kept=len(event.kept),
        removed=len(event.dropped),
        added=len(event.added),
        changed=len(event.changed),
        at=at,
    )


def _plan_updated(view: View, event: PlanUpdated, at: int) -> View:
    view = listed(view, event.phase_id)
    if event.reason == "replan":
        view = replace(view, meters=replace(view.meters, replans=view.meters.replans + 1))
    phase = phase_of(view, event.phase_id) or PhaseView(event.phase_id)
    steps = {step.id: step for step in event.steps}
    kept = [_kept_row(row, steps, event.dropped, at) for row in phase.rows]
    rows: list[Row] = [row for row in kept if row is not None]
    mark = _replan_row(view, phase, event, at)
    there = {row.id for row in rows}
    fresh = [_step_row(step, event.plan_version) for step in event.steps if step.id not in there]
    plan = PlanVersion(event.plan_version, event.steps, event.goal, event.constraints, event.reason, at)
    changed = replace(
        phase,
        rows=(*rows, *([mark] if mark else []), *fresh),
        plans=(*phase.plans, plan),
        planning=False,
        note="",
    )
    view = replace(with_phase(view, event.phase_id, lambda _: changed), replan_cause=None)
    return _unlocked(view, phase, changed)


def _unlocked(view: View, before: PhaseView, after: PhaseView) -> View:
    """The focus moves from the placeholder to the activity it stood for."""
    placeholder = next((row for row in activities(before) if row.placeholder), None)
    if placeholder is None or view.focus_id != placeholder.id:
        return view
    rows = activities(after)
    named = [row for row in rows if placeholder.activity_id and row.activity_id == placeholder.activity_id]
    waiting = [row for row in rows if row.state not in OVER]
    return replace(view, focus_id=next((row.id for row in (*named, *waiting)), ""))


def _artifact(view: View, event: ArtifactDrafted | ArtifactFinalized, at: int) -> View:
    final = isinstance(event, ArtifactFinalized)
    artifact = ArtifactView(
        event.name,
        event.version,
        event.phase_id,
        event.produced_by_activity_id,
        state="final" if final else "draft",
        valid=event.valid,
        issues=() if isinstance(event, ArtifactFinalized) else event.issues,
        approved_by=event.approved_by or event.confirmed_by if isinstance(event, ArtifactFinalized) else "",
    )
    names = [known.name for known in view.artifacts]
    artifacts = tuple(artifact if known.name == event.name else known for known in view.artifacts)
    view = replace(view, artifacts=artifacts if event.name in names else (*artifacts, artifact))

    def produce(phase: PhaseView) -> PhaseView:
        outputs = tuple(Output(output.name, output.produced or output.name == event.name) for output in phase.outputs)
        return replace(phase, outputs=outputs)

    return with_phase(view, event.phase_id, produce)


CHANGES: dict[type[Event], Change] = {
    PhaseStarted: _phase_started,
    PhaseCompleted: _phase_completed,
    PhaseAdvanced: _phase_advanced,
    PhaseBlocked: _phase_blocked,
    PhaseFailed: _phase_failed,
    PhaseReopened: _phase_reopened,
    PlanUpdated: _plan_updated,
    ArtifactDrafted: _artifact,
    ArtifactFinalized: _artifact,
}
