"""How model calls, tool calls and the ledger change with each event."""

from collections.abc import Callable
from typing import Any

from phaseloop.core.call_events import (
    BreakerClosed,
    BreakerOpened,
    HistoryDiverged,
    ModelCallFinished,
    ModelCallStarted,
    ToolCallDoubted,
    ToolCallFinished,
    ToolCallReused,
    ToolCallStarted,
)
from phaseloop.core.changes import replace
from phaseloop.core.errors import IllegalMove
from phaseloop.core.events import Event
from phaseloop.core.moves import CALL_MOVES, move
from phaseloop.core.run_events import Stats
from phaseloop.core.state import CallState, LedgerEntry, ModelRecord, RunState
from phaseloop.core.statuses import CallStatus


def number(call_id: str) -> int:
    """The number in `c<n>`."""
    return int(call_id[1:])


def with_call(state: RunState, call: CallState) -> RunState:
    """The state with one call added or replaced."""
    return replace(state, calls={**state.calls, call.call_id: call})


def _model_call_started(state: RunState, event: ModelCallStarted, at: int) -> RunState:
    record = state.records.get(event.scope, ModelRecord())
    if event.n != len(record.replies) + 1:
        raise IllegalMove("ModelCallStarted", f"{event.scope} request {event.n}", f"at {len(record.replies)}")
    record = replace(
        record,
        fingerprints=(*record.fingerprints[: event.n - 1], event.fingerprint),
        call_ids=(*record.call_ids[: event.n - 1], event.call_id),
        prompt=record.prompt if event.prompt is None else event.prompt,
    )
    records = {**state.records, event.scope: record}
    return replace(state, records=records, next_call=max(state.next_call, number(event.call_id) + 1))


def _model_call_finished(state: RunState, event: ModelCallFinished, at: int) -> RunState:
    record = state.records.get(event.scope, ModelRecord())
    if event.n != len(record.replies) + 1:
        raise IllegalMove("ModelCallFinished", f"{event.scope} reply {event.n}", f"at {len(record.replies)}")
    reply = (event.ok, event.reply if event.ok else event.error)
    record = replace(record, replies=(*record.replies, reply), calls=(*record.calls, event.calls))
    used = Stats(1, event.usage.tokens_in, event.usage.tokens_out, event.cost_usd)
    return count_used(state, used, records={**state.records, event.scope: record}, idle_drives=0)


def add_stats(a: Stats, b: Stats) -> Stats:
    """The sum of two counts."""
    return Stats(
        a.model_calls + b.model_calls,
        a.tokens_in + b.tokens_in,
        a.tokens_out + b.tokens_out,
        a.cost_usd + b.cost_usd,
        a.tool_calls + b.tool_calls,
        a.retries + b.retries,
        a.replans + b.replans,
    )


def count_used(state: RunState, used: Stats, **changes: Any) -> RunState:
    """The state with `changes`, after something was used, by the run and by its present phase."""
    changes["stats"] = add_stats(state.stats, used)
    if (at := state.phase_index) >= 0:
        phase = state.phases[at]
        phase = replace(phase, stats=add_stats(phase.stats, used))
        changes["phases"] = (*state.phases[:at], phase, *state.phases[at + 1 :])
    return replace(state, **changes)


def _tool_call_started(state: RunState, event: ToolCallStarted, at: int) -> RunState:
    known = state.calls.get(event.call_id)
    if known is not None:
        status = move(CALL_MOVES, known.status, "ToolCallStarted", f"call {event.call_id}")
        call = replace(known, status=status, tries=known.tries + 1, args=event.args, key=event.key, next="")
        return with_call(state, call)
    call = CallState(
        call_id=event.call_id,
        key=event.key,
        step_id=event.step_id,
        attempt=event.attempt,
        n=event.n,
        i=event.i,
        tool=event.tool,
        args=event.args,
        status=CallStatus.STARTED,
        tries=1,
        asked=event.key,
        fallback_of=event.fallback_of,
    )
    calls = {**state.calls, call.call_id: call}
    next_call = max(state.next_call, number(event.call_id) + 1)
    return count_used(state, _ONE_CALL, calls=calls, next_call=next_call)


_ONE_CALL = Stats(tool_calls=1)


def _tool_call_finished(state: RunState, event: ToolCallFinished, at: int) -> RunState:
    call = state.calls[event.call_id]
    name = "ToolCallToRepeat" if event.next == "again" else "ToolCallFinished"
    status = move(CALL_MOVES, call.status, name, f"call {event.call_id}")
    call = replace(call, status=status, outcome=event.outcome, value=event.result, error=event.error, next=event.next)
    state = replace(state, calls={**state.calls, call.call_id: call}, idle_drives=0)
    return end_write(state, call) if status is CallStatus.FINISHED else state


def end_write(state: RunState, call: CallState) -> RunState:
    """A finished or refused write goes to the ledger; its step remembers that it wrote."""
    tool = state.facts.tools.get(call.tool)
    if tool is None or tool.reads or not (call.outcome == "ok" or call.refused):
        return state
    outcome = "failed" if call.refused else "ok"
    entry = LedgerEntry(call.call_id, call.tool, call.key, call.step_id, call.value, outcome, call.error)
    state = replace(state, ledger={**state.ledger, call.key: entry})
    step = state.steps.get(call.step_id)
    if step is None or call.refused or step.wrote:
        return state
    return replace(state, steps={**state.steps, call.step_id: replace(step, wrote=True)})


def _tool_call_doubted(state: RunState, event: ToolCallDoubted, at: int) -> RunState:
    call = state.calls[event.call_id]
    status = move(CALL_MOVES, call.status, "ToolCallDoubted", f"call {event.call_id}")
    return with_call(state, replace(call, status=status))


def _tool_call_reused(state: RunState, event: ToolCallReused, at: int) -> RunState:
    entry = next((entry for entry in state.ledger.values() if entry.call_id == event.of), None)
    source = state.calls.get(event.of)
    outcome, value, error = "ok", None, ""
    if entry is not None:
        outcome, value, error = entry.outcome, entry.value, entry.error
    elif source is not None:
        outcome, value, error = source.outcome, source.value, source.error
    call = CallState(
        call_id=event.call_id,
        key=event.key,
        step_id=event.step_id,
        attempt=event.attempt,
        n=event.n,
        i=event.i,
        tool=event.tool,
        args=None,
        status=CallStatus.FINISHED,
        outcome=outcome,
        value=value,
        error=error,
        asked=event.key,
        of=event.of,
        refused=outcome != "ok",
    )
    state = with_call(state, call)
    step = state.steps.get(event.step_id)
    if step is not None and entry is not None and outcome == "ok" and not step.wrote:
        state = replace(state, steps={**state.steps, event.step_id: replace(step, wrote=True)})
    return replace(state, next_call=max(state.next_call, number(event.call_id) + 1))


def _history_diverged(state: RunState, event: HistoryDiverged, at: int) -> RunState:
    step = state.steps.get(event.step_id)
    scope = f"step/{event.step_id}/{step.attempt}" if step else event.step_id
    record = state.records.get(scope, ModelRecord())
    return replace(state, records={**state.records, scope: replace(record, diverged=event.n)})


def _breaker_opened(state: RunState, event: BreakerOpened, at: int) -> RunState:
    return replace(state, broken_tools=tuple(sorted({*state.broken_tools, event.tool})))


def _breaker_closed(state: RunState, event: BreakerClosed, at: int) -> RunState:
    return replace(state, broken_tools=tuple(tool for tool in state.broken_tools if tool != event.tool))


APPLY: dict[type[Event], Callable[[RunState, Any, int], RunState]] = {
    ModelCallStarted: _model_call_started,
    ModelCallFinished: _model_call_finished,
    ToolCallStarted: _tool_call_started,
    ToolCallFinished: _tool_call_finished,
    ToolCallDoubted: _tool_call_doubted,
    ToolCallReused: _tool_call_reused,
    HistoryDiverged: _history_diverged,
    BreakerOpened: _breaker_opened,
    BreakerClosed: _breaker_closed,
}
