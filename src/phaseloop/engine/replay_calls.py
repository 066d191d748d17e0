"""The asks and reports behind recorded calls, rebuilt from the log for a replay."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from phaseloop.core.answers import Answer, ToolReturned, ToolUnsure, Verified
from phaseloop.core.asks import ModelCallWanted, ToolCallWanted
from phaseloop.core.call_events import (
    HistoryDiverged,
    ToolCallDoubted,
    ToolCallFinished,
    ToolCallReused,
    ToolCallStarted,
)
from phaseloop.core.contention import needs_lock
from phaseloop.core.events import Event
from phaseloop.core.gate_events import GateExpired, GateOpened
from phaseloop.core.ledger import chain, stem
from phaseloop.core.process import GateKind
from phaseloop.core.run_events import RunCancelled
from phaseloop.core.state import CallState, RunState
from phaseloop.core.tools import conflict_key
from phaseloop.core.values import Json
from phaseloop.core.words import Cancel

Facts = tuple[Event, ...]
NO_PLACE = 1_000_000  # a place in a reply that no recorded call has


def unchanged(facts: Facts) -> Facts:
    """Facts that an answer gives as they are."""
    return facts


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """An answer that the log lets us give again; `restore` puts back what only the first asking knew."""

    answer: Answer
    restore: Callable[[Facts], Facts] = unchanged


def call_started(state: RunState, events: Sequence[Event], k: int) -> Iterator[Rebuilt]:
    """The ask that let a call go: rested, with its lock held, of the tool that was first asked for."""
    event = events[k]
    assert isinstance(event, ToolCallStarted)
    ask = _at_place(state, ToolCallWanted(event.step_id, event.attempt, event.n, event.i, event.tool, event.args))
    if unavailable := _unavailable(events, k):  # then a fallback without a lock may leave at once
        yield Rebuilt(replace(ask, unavailable=unavailable))
    spec = state.facts.tools.get(event.tool)
    if spec is not None and needs_lock(spec):
        ask = replace(ask, locked=conflict_key(spec, event.args))
    yield Rebuilt(replace(ask, unavailable=unavailable))


def _at_place(state: RunState, ask: ToolCallWanted) -> ToolCallWanted:
    """The ask as it was first made at its place, when calls are known there: others are its fallbacks."""
    calls = chain(state, ask)
    if not calls:
        return ask
    return replace(ask, tool=calls[0].tool, args=_asked_arguments(state, calls[0]), rested=calls[-1].tries)


def _unavailable(events: Sequence[Event], k: int) -> str:
    """Why the call was never sent, when its end says so at once."""
    started, end = events[k], events[k + 1] if k + 1 < len(events) else None
    assert isinstance(started, ToolCallStarted)
    if not isinstance(end, ToolCallFinished) or end.call_id != started.call_id or end.error_kind != "breaker":
        return ""
    return end.error.removeprefix(f"{started.tool} is switched off: ")


def _asked_arguments(state: RunState, first: CallState) -> Json:
    """The arguments before a person edited them."""
    for gate in state.gates.values():
        if gate.asked.call_id == first.call_id and gate.asked.kind is GateKind.TOOL_APPROVAL:
            return gate.asked.payload["args"]
    return first.args


def call_reused(state: RunState, events: Sequence[Event], k: int) -> Iterator[Rebuilt]:
    """The ask that the ledger answered. Its arguments stand where an equal call stands."""
    event = events[k]
    assert isinstance(event, ToolCallReused)
    ask = ToolCallWanted(event.step_id, event.attempt, event.n, event.i, event.tool, None)
    if chain(state, ask):
        yield Rebuilt(_at_place(state, ask))
        return
    wanted = event.key[: len(stem(event.tool, None))]
    for args in _known_arguments(events[:k], event.tool):
        if stem(event.tool, args) == wanted:
            yield Rebuilt(replace(ask, args=args))
            return


def _known_arguments(events: Sequence[Event], tool: str) -> Iterator[Json]:
    """Arguments that the log holds for a tool, the newest first."""
    for event in reversed(events):
        if isinstance(event, ToolCallStarted) and event.tool == tool:
            yield event.args
        elif isinstance(event, GateOpened) and event.call_id and event.payload.get("tool") == tool:
            yield event.payload.get("args")


def call_finished(state: RunState, events: Sequence[Event], k: int) -> Iterator[Rebuilt]:
    """What the tool layer, or a `verify` hook, reported of a call."""
    event = events[k]
    assert isinstance(event, ToolCallFinished)
    if event.by == "verify":
        yield Rebuilt(Verified(event.call_id, event.outcome == "ok", event.result))
        return
    if event.by == "ledger":
        call = state.calls[event.call_id]
        ask = ToolCallWanted(call.step_id, call.attempt, call.n, call.i, call.tool, call.args)
        yield Rebuilt(_at_place(state, ask))
        return
    if event.error_kind == "unsure":
        yield Rebuilt(ToolUnsure(event.call_id, event.error))
    again = event.next == "again"
    returned = ToolReturned(
        call_id=event.call_id,
        outcome=event.outcome,
        value=event.result,
        error=event.error,
        error_kind=event.error_kind,
        transient=again,
        unsent=again,
        duration_ms=event.duration_ms,
        masked=event.masked,
    )
    yield Rebuilt(returned)


def call_doubted(state: RunState, events: Sequence[Event], k: int) -> Iterator[Rebuilt]:
    """A wait that ended without an answer, or the first fact of a cancelled run."""
    event = events[k]
    assert isinstance(event, ToolCallDoubted)
    yield Rebuilt(ToolUnsure(event.call_id, event.reason))
    yield from cancelled(state, events, k)


def cancelled(state: RunState, events: Sequence[Event], k: int) -> Iterator[Rebuilt]:
    """A cancelled run: open questions expire and sent writes are doubted before the run ends."""
    while k < len(events) and isinstance(events[k], GateExpired | ToolCallDoubted):
        k += 1
    event = events[k] if k < len(events) else None
    if isinstance(event, RunCancelled):
        yield Rebuilt(Cancel(event.by, event.reason))


def gate_opened(state: RunState, events: Sequence[Event], k: int) -> Iterator[Rebuilt]:
    """Questions that an ask or a hook leads to; all others the state opens by itself."""
    event = events[k]
    assert isinstance(event, GateOpened)
    asked = event.payload
    if event.kind is GateKind.TOOL_APPROVAL:
        place = asked["attempt"], asked["n"], asked["i"]
        yield Rebuilt(_at_place(state, ToolCallWanted(event.step_id, *place, asked["tool"], asked["args"])))
    elif event.kind is GateKind.IN_DOUBT:
        yield Rebuilt(Verified(event.call_id, None))


def diverged(state: RunState, events: Sequence[Event], k: int) -> Iterator[Rebuilt]:
    """An ask beside the record. Of a tool call that never ran only the digest of its arguments is known."""
    event = events[k]
    assert isinstance(event, HistoryDiverged)
    step = state.steps.get(event.step_id)
    attempt = step.attempt if step is not None else 1
    if event.what == "other question":
        scope = f"step/{event.step_id}/{attempt}" if step is not None else event.step_id
        yield Rebuilt(ModelCallWanted(scope, event.n, "", "", event.asked, event.step_id if step else "", attempt))
        return

    def asked_again(facts: Facts) -> Facts:
        return tuple(replace(f, asked=event.asked) if isinstance(f, HistoryDiverged) else f for f in facts)

    tool = event.asked.rpartition(":")[0]
    places = [(event.n, NO_PLACE), (0, NO_PLACE)]
    if event.what == "other call at this place":
        of_step = (call for call in state.calls.values() if call.step_id == event.step_id)
        places = [(call.n, call.i) for call in of_step if call.asked == event.recorded]
    for n, i in places:
        yield Rebuilt(ToolCallWanted(event.step_id, attempt, n, i, tool, None), asked_again)
