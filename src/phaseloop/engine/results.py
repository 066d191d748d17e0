"""What a run came to, as callers get it (contract section 10)."""

from dataclasses import dataclass, field

from phaseloop.core.context import finished_steps
from phaseloop.core.phases import result_of
from phaseloop.core.run_events import Stats
from phaseloop.core.run_tables import is_waiting
from phaseloop.core.state import GateState, RunState, final_artifacts, open_gates
from phaseloop.core.statuses import RunStatus
from phaseloop.core.values import Json, Object


@dataclass(frozen=True, slots=True)
class WaitingFor:
    """An open gate: who is asked what, and which outcomes an answer may name.

    `run_id` is the run it belongs to: the one asked about, or a SUBPROCESS's.
    """

    gate_id: str
    version: int
    kind: str
    mode: str
    activity_id: str
    title: str
    prompt: str
    outcomes: tuple[str, ...]
    payload: Object = field(default_factory=dict[str, Json])
    consequence: str = ""
    run_id: str = ""


@dataclass(frozen=True, slots=True)
class RunResult:
    """`status`: completed, failed, cancelled, waiting, paused or running. `score` is 0 to 10.

    `results` are the outputs of the current phase's finished steps, in plan order.
    """

    status: str
    value: Json = None
    artifacts: Object = field(default_factory=dict[str, Json])
    score: float = 10.0
    warnings: tuple[str, ...] = ()
    usage: Stats = Stats()
    waiting_for: tuple[WaitingFor, ...] = ()
    reason: str = ""
    run_id: str = ""
    results: tuple[Json, ...] = ()


def run_result(run_id: str, state: RunState, below: tuple[str, RunState] | None = None) -> RunResult:
    """The result of a run as it stands. `below` is a run of one of its SUBPROCESSes that waits for a person."""
    asked = [waiting_for(gate_id, gate, run_id) for gate_id, gate in open_gates(state)]
    if below is not None:
        asked += [waiting_for(gate_id, gate, below[0]) for gate_id, gate in open_gates(below[1])]
    waits = is_waiting(state) or (below is not None and state.status is RunStatus.RUNNING)
    return RunResult(
        status="waiting" if waits else state.status.value,
        value=result_of(state, best=state.status is RunStatus.FAILED) if state.over else None,
        artifacts=final_artifacts(state),
        score=state.phase.score if state.phase_index >= 0 else 0.0,
        warnings=state.warnings,
        usage=state.stats,
        waiting_for=tuple(asked),
        reason=state.failure,
        run_id=run_id,
        results=tuple(step.output for step in finished_steps(state)) if state.phase_index >= 0 else (),
    )


def waiting_for(gate_id: str, gate: GateState, run_id: str = "") -> WaitingFor:
    """An open gate as a caller sees it."""
    asked = gate.asked
    return WaitingFor(
        gate_id=gate_id,
        version=asked.version,
        kind=asked.kind.value,
        mode=asked.human_mode.value,
        activity_id=asked.activity_id,
        title=asked.title,
        prompt=asked.prompt,
        outcomes=asked.outcomes,
        payload=asked.payload,
        consequence=asked.consequence,
        run_id=run_id,
    )
