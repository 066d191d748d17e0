"""What a gate's own policy does when its deadline passes, and the answers policies give (behaviours 2.7)."""

from dataclasses import replace

from phaseloop.core.events import Event
from phaseloop.core.gate_events import GateResolved, GateTimedOut, TimerFired
from phaseloop.core.gates import POLICY, after_resolution, deadline
from phaseloop.core.machine_gates import CHANGES, POSITIVE
from phaseloop.core.process import GateConfig, GateMode, NoMatchPolicy
from phaseloop.core.state import GateState, RunState
from phaseloop.core.statuses import GateStatus


def timed_out(state: RunState, timer_id: str, at: int) -> tuple[Event, ...]:
    """A deadline passed: the gate's own policy acts, never a default of ours."""
    if timer_id not in state.timers:
        return ()
    fired = TimerFired(timer_id)
    gate = state.gates.get(timer_id.split("/")[0])
    if gate is None or gate.status is not GateStatus.OPEN:
        return (fired,)
    policy = NoMatchPolicy(gate.asked.no_match_policy)
    out = GateTimedOut(gate.asked.request_id, policy, gate.asks)
    return (fired, out, *_by_policy(state, gate, policy, at))


def _by_policy(state: RunState, gate: GateState, policy: NoMatchPolicy, at: int) -> tuple[Event, ...]:
    config = gate_config(state, gate.asked.activity_id)
    match policy:
        case NoMatchPolicy.WAIT:
            return ()
        case NoMatchPolicy.ASK_AGAIN if gate.asks < config.max_asks:
            return ask_again(gate, config, at)
        case NoMatchPolicy.ESCALATE if gate.asks < 2 and config.escalate_to:
            return ask_again(gate, config, at, (config.escalate_to,))
        case NoMatchPolicy.CANCEL:
            return _resolve(state, gate, "cancel")
        case NoMatchPolicy.APPROVE if _positive(gate):
            return _resolve(state, gate, _positive(gate))
        case NoMatchPolicy.DEFAULT if said := _default(gate, config):
            return _resolve(state, gate, said)
        case _:
            return _resolve(state, gate, next((o for o in gate.asked.outcomes if o in CHANGES), "cancel"))


def _positive(gate: GateState) -> str:
    """The gate's positive outcome, where a policy may give it: never in `approve` mode."""
    if gate.asked.human_mode is GateMode.APPROVE:
        return ""
    return next((o for o in gate.asked.outcomes if o in POSITIVE), "")


def _default(gate: GateState, config: GateConfig) -> str:
    """The outcome the gate falls back on; not even a declared one approves in a person's place."""
    said = config.default_outcome or _positive(gate)
    return "" if said in POSITIVE and not _positive(gate) else said


def _resolve(state: RunState, gate: GateState, outcome: str) -> tuple[Event, ...]:
    done = GateResolved(
        request_id=gate.asked.request_id,
        activity_id=gate.asked.activity_id,
        outcome=outcome,
        by="timeout",
        value=policy_value(gate, outcome),
        comment="" if outcome in POSITIVE else "timeout",
        rule=gate.asked.no_match_policy,
    )
    return (done, *after_resolution(state, gate, done, POLICY))


def policy_value(gate: GateState, outcome: str) -> object:
    """What a policy or `--yes` answers with: the recommended or only option, the prefilled values."""
    payload = gate.asked.payload
    if outcome == "select":
        options = payload.get("options", ())
        chosen = [o["id"] for o in options if o.get("recommended")] or [o["id"] for o in options][:1]
        return chosen[:1]
    return payload.get("values") if outcome == "submit" else None


def ask_again(gate: GateState, config: GateConfig, at: int, approvers: tuple[str, ...] = ()) -> tuple[Event, ...]:
    """The same gate, version + 1 (contract section 1)."""
    asked = gate.asked
    version = asked.version + 1
    due, timer = deadline(asked.request_id, version, config, at)
    again = replace(asked, version=version, timeout_at=due, approvers=approvers or asked.approvers)
    return (again, *timer)


def gate_config(state: RunState, activity_id: str) -> GateConfig:
    """The declared configuration of a HUMAN activity, else the defaults."""
    for activity in state.facts.definition.activities:
        if activity.activity_id == activity_id and activity.gate is not None:
            return activity.gate
    return GateConfig()
