"""The derived rows of one run, computed from its state (contract section 3)."""

from phaseloop.core.phases import start_is_open
from phaseloop.core.planning import wants_plan
from phaseloop.core.state import RunState, open_gates
from phaseloop.core.statuses import RunStatus
from phaseloop.core.tables import GateRow, RunRow, Tables, TimerRow


def is_waiting(state: RunState) -> bool:
    """Whether a gate is open and nothing else can run: derived, never stored (contract section 9)."""
    if state.status is not RunStatus.RUNNING or not open_gates(state):
        return False
    if state.phase_index < 0:
        return True
    plans = wants_plan(state) and not start_is_open(state)
    steps = (state.steps[sid] for sid in state.phase.plan.order)
    return not plans and not any(step.status in ("running", "judging") for step in steps)


def shows_the_same(before: RunState, after: RunState) -> bool:
    """Whether the derived rows of both are equal, as far as a glance tells; while a gate is open it does not."""
    return (
        not after.gates
        and not before.gates
        and after.facts is before.facts
        and after.status is before.status
        and after.phase_index == before.phase_index
        and len(after.phases) == len(before.phases)
        and after.timers == before.timers
        and after.failure == before.failure
        and after.stats.tokens_in + after.stats.tokens_out == before.stats.tokens_in + before.stats.tokens_out
        and after.stats.cost_usd == before.stats.cost_usd
    )


def tables(run_id: str, state: RunState) -> Tables:
    """The run's row, its open gates and its timers."""
    facts = state.facts
    gates = open_gates(state)
    need = gates[0][1].asked.title if gates else state.failure
    row = RunRow(
        run_id=run_id,
        title=facts.title,
        definition_id=facts.definition.definition_id,
        state="waiting" if is_waiting(state) else state.status.value,
        phase_index=max(0, state.phase_index),
        phase_count=max(1, len(state.phases)),
        need=need,
        started_at=facts.started_at,
        ended_at=facts.ended_at,
        tokens=state.stats.tokens_in + state.stats.tokens_out,
        cost_usd=state.stats.cost_usd,
        parent_run_id=facts.parent_run_id,
        parent_step_id=facts.parent_step_id,
    )
    asked = tuple(
        GateRow(
            gate_id=gate_id,
            version=gate.asked.version,
            kind=gate.asked.kind,
            mode=gate.asked.human_mode,
            activity_id=gate.asked.activity_id,
            title=gate.asked.title,
            opened_at=gate.opened_at,
            timeout_at=gate.asked.timeout_at,
        )
        for gate_id, gate in gates
    )
    return Tables(row, asked, tuple(TimerRow(timer, due) for timer, due in sorted(state.timers.items())))
