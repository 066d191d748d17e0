"""The ledger: which tool call may be sent, which is answered from the record, which waits: contract 8."""

from phaseloop.core.asks import Go, Lock, Rest, Ruling, Serve, ToolCallWanted, Wait
from phaseloop.core.call_events import HistoryDiverged, ToolCallFinished, ToolCallReused, ToolCallStarted
from phaseloop.core.changes import replace
from phaseloop.core.contention import goes_first, is_busy, needs_lock
from phaseloop.core.events import Event
from phaseloop.core.gate_events import GateOpened
from phaseloop.core.machine import evolve_all
from phaseloop.core.permissions import approval_gate, why_ask
from phaseloop.core.state import CallState, ModelRecord, RunState
from phaseloop.core.statuses import CallStatus, RunStatus
from phaseloop.core.tools import ToolSpec, conflict_key
from phaseloop.core.values import Json, digest

NOT_RUN = "not run: the record goes on without this call"


def stem(tool: str, args: Json) -> str:
    """What two equal calls share: the tool and the digest of the canonical raw arguments."""
    return f"{tool}:{digest(tool, args)}"


def record_of(state: RunState, ask: ToolCallWanted) -> ModelRecord:
    """The replies of the attempt that asks."""
    return state.records.get(f"step/{ask.step_id}/{ask.attempt}", _NO_RECORD)


_NO_RECORD = ModelRecord()


def chain(state: RunState, ask: ToolCallWanted) -> list[CallState]:
    """The calls at the place that asks, oldest first: the call itself, then its fallbacks."""
    return [
        call
        for call in state.calls.values()
        if call.step_id == ask.step_id and call.n == ask.n and call.i == ask.i and call.attempt == ask.attempt
    ]


def call_key(state: RunState, ask: ToolCallWanted, tool: ToolSpec, args: Json) -> str:
    """The call's key. Identical calls are counted over recorded replies and steps, never by arrival."""
    wanted = digest(tool.name, args)
    equal = f"{tool.name}:{wanted}"
    if tool.reads:
        return f"{equal}:{_earlier(state, ask, equal, wanted)}:{ask.step_id}:{ask.attempt}"
    if not tool.repeatable:
        return f"{equal}:0"
    elsewhere = sum(
        entry.key.startswith(f"{equal}:") and entry.step_id != ask.step_id for entry in state.ledger.values()
    )
    return f"{equal}:{elsewhere + _earlier(state, ask, equal, wanted)}"


def _earlier(state: RunState, ask: ToolCallWanted, equal: str, wanted: str) -> int:
    """How many calls with this stem and digest come before this place in its attempt."""
    if ask.n:
        record = record_of(state, ask)
        rows = enumerate(record.calls[: ask.n], 1)
        return sum(call == wanted for n, row in rows for i, call in enumerate(row) if (n, i) < (ask.n, ask.i))
    return sum(
        call.n == 0 and call.i < ask.i and call.attempt == ask.attempt and call.asked.startswith(equal)
        for call in state.calls.values()
        if call.step_id == ask.step_id
    )


def is_current(state: RunState, ask: ToolCallWanted) -> bool:
    """Whether the step that asks is under way in this attempt."""
    step = state.steps.get(ask.step_id)
    return step is not None and step.active and step.attempt == ask.attempt and not state.over


def tool_wanted(state: RunState, ask: ToolCallWanted, at: int) -> tuple[Event, ...]:
    """The facts that follow from an ask for a tool call."""
    tool = state.facts.tools.get(ask.tool)
    if tool is None or not is_current(state, ask) or state.status is RunStatus.PAUSED:
        return ()
    calls = chain(state, ask)
    if calls:
        return _go_on(state, ask, calls, at)
    if ask.n < len(record_of(state, ask).replies):
        return _diverged(state, ask, "call is not in the record", "")
    facts = _new_call(state, ask, tool, at)
    if not facts or not isinstance(facts[-1], ToolCallFinished) or facts[-1].next != "fallback":
        return facts
    state = evolve_all(state, facts, at)  # switched off: its fallback leaves with the same ask
    return (*facts, *_go_on(state, ask, chain(state, ask), at))


def _diverged(state: RunState, ask: ToolCallWanted, what: str, recorded: str) -> tuple[Event, ...]:
    """One fact an attempt; the record wins."""
    if record_of(state, ask).diverged:
        return ()
    return (HistoryDiverged(ask.step_id, max(ask.n, 1), what, recorded, stem(ask.tool, ask.args)),)


def _go_on(state: RunState, ask: ToolCallWanted, calls: list[CallState], at: int) -> tuple[Event, ...]:
    """The place is known: send again what is ready, or a fallback when the call before gave up."""
    first, last = calls[0], calls[-1]
    if not first.asked.startswith(stem(ask.tool, ask.args)):
        return _diverged(state, ask, "other call at this place", first.asked)
    tool = state.facts.tools[last.tool]
    if last.status is CallStatus.READY and (done := _done_already(state, ask, last, tool)) is not None:
        return (done,)
    if last.status is CallStatus.READY and _may_send(state, ask, last, tool, last.args):
        key = last.key if last.tries else call_key(state, ask, tool, last.args)
        started = _started(state, ask, tool, key, last.call_id)
        return (replace(started, args=last.args, fallback_of=last.fallback_of),)
    if last.status is CallStatus.FINISHED and last.next == "fallback":
        return _fall_back(state, ask, state.facts.tools[tool.fallback], last, at)
    return ()


def _done_already(state: RunState, ask: ToolCallWanted, call: CallState, tool: ToolSpec) -> ToolCallFinished | None:
    """A call that was approved with arguments that an equal write has finished with: its answer."""
    entry = None if tool.reads else state.ledger.get(call_key(state, ask, tool, call.args))
    if entry is None:
        return None
    return ToolCallFinished(call.call_id, entry.outcome, entry.value, entry.error, attempts=call.tries, by="ledger")


def _fall_back(state: RunState, ask: ToolCallWanted, tool: ToolSpec, gave_up: CallState, at: int) -> tuple[Event, ...]:
    """The fallback is a call like any other: answered from the ledger, held back, or asked about as by itself."""
    key = call_key(state, ask, tool, ask.args)
    if (reused := _reusable(state, ask, tool, key)) is not None:
        return (_reused(state, ask, tool, key, reused),)
    if not tool.reads and _same_under_way(state, key):
        return ()
    why = why_ask(state, state.steps[ask.step_id], tool, ask.args)
    if not why:
        return _start(state, ask, tool, key, gave_up.call_id)
    asked, *more = approval_gate(state, replace(ask, tool=tool.name), tool, key, why, at)
    assert isinstance(asked, GateOpened)
    return (replace(asked, payload={**asked.payload, "fallbackOf": gave_up.call_id}), *more)


def _new_call(state: RunState, ask: ToolCallWanted, tool: ToolSpec, at: int) -> tuple[Event, ...]:
    key = call_key(state, ask, tool, ask.args)
    if (reused := _reusable(state, ask, tool, key)) is not None:
        return (_reused(state, ask, tool, key, reused),)
    if not tool.reads and _same_under_way(state, key):
        return ()
    if (why := why_ask(state, state.steps[ask.step_id], tool, ask.args)) and not ask.unavailable:
        return approval_gate(state, ask, tool, key, why, at)
    return _start(state, ask, tool, key)


def _reusable(state: RunState, ask: ToolCallWanted, tool: ToolSpec, key: str) -> str | None:
    """The call that already answers this one: an equal finished write, or a read asked too often."""
    if not tool.reads:
        entry = state.ledger.get(key)
        return entry.call_id if entry else None
    if tool.poll or int(key.rsplit(":", 3)[1]) < state.limits.equal_reads:
        return None
    equal = stem(tool.name, ask.args)
    same = [c for c in state.calls.values() if c.step_id == ask.step_id and c.asked.startswith(equal)]
    return same[-1].call_id if same and same[-1].status is CallStatus.FINISHED else None


def _reused(state: RunState, ask: ToolCallWanted, tool: ToolSpec, key: str, of: str) -> ToolCallReused:
    return ToolCallReused(
        call_id=f"c{state.next_call}",
        of=of,
        tool=tool.name,
        key=key,
        activity_id=state.steps[ask.step_id].activity_id,
        step_id=ask.step_id,
        attempt=ask.attempt,
        n=ask.n,
        i=ask.i,
    )


def _same_under_way(state: RunState, key: str) -> bool:
    """Whether an equal write is under way: the second one waits for it."""
    return any(call.key == key and _is_under_way(state, call) for call in state.calls.values())


def _is_under_way(state: RunState, call: CallState) -> bool:
    """Sent and not ended, or still to be sent: by the last reply of an attempt that goes on, by nobody else."""
    if call.status in (CallStatus.STARTED, CallStatus.IN_DOUBT):
        return True
    step = state.steps.get(call.step_id)
    if step is None or not step.active or step.attempt != call.attempt:
        return False
    record = state.records.get(f"step/{call.step_id}/{call.attempt}", _NO_RECORD)
    return call.status in (CallStatus.WAITING, CallStatus.READY) and call.n == len(record.replies)


def _start(state: RunState, ask: ToolCallWanted, tool: ToolSpec, key: str, fallback_of: str = "") -> tuple[Event, ...]:
    if fallback_of and not tool.reads and (entry := state.ledger.get(key)) is not None:
        return (_reused(state, ask, tool, key, entry.call_id),)
    call_id = f"c{state.next_call}"
    started = _started(state, ask, tool, key, call_id)
    if fallback_of:
        started = replace(started, fallback_of=fallback_of)
    if ask.unavailable and not fallback_of:
        after = "fallback" if can_fall_back(state, tool) else ""
        error = f"{tool.name} is switched off: {ask.unavailable}"
        off = ToolCallFinished(call_id, "failed", error=error, error_kind="breaker", attempts=0, next=after)
        return (started, off)
    held = conflict_key(tool, ask.args)
    if needs_lock(tool) and (ask.locked != held or is_busy(state, held)):
        return ()
    return (started,)


def _started(state: RunState, ask: ToolCallWanted, tool: ToolSpec, key: str, call_id: str) -> ToolCallStarted:
    return ToolCallStarted(
        call_id=call_id,
        tool=tool.name,
        key=key,
        args=ask.args,
        activity_id=state.steps[ask.step_id].activity_id,
        step_id=ask.step_id,
        attempt=ask.attempt,
        n=ask.n,
        i=ask.i,
        read_only=tool.reads,
    )


def can_fall_back(state: RunState, tool: ToolSpec) -> bool:
    """Whether the tool names a fallback that exists and is not shut off."""
    return bool(tool.fallback) and tool.fallback in state.facts.tools and tool.fallback not in state.broken_tools


def _may_send(state: RunState, ask: ToolCallWanted, call: CallState, tool: ToolSpec, args: Json) -> bool:
    """Whether a ready call may leave now: rested, locked, and nobody in its way."""
    if call.next == "again" and ask.rested < call.tries:
        return False
    key = conflict_key(tool, args)
    return not needs_lock(tool) or (ask.locked == key and not is_busy(state, key, call.call_id))


def rule_tool(state: RunState, ask: ToolCallWanted) -> Ruling:
    """What the one who asks may do now; the same state gives the same ruling."""
    if not is_current(state, ask):
        return Serve("failed", "the step is over")
    tool = state.facts.tools.get(ask.tool)
    if tool is None:
        return Serve("failed", f"there is no tool {ask.tool!r}")
    calls = chain(state, ask)
    if not calls:
        return _rule_new(state, ask, tool)
    last = calls[-1]
    if not calls[0].asked.startswith(stem(ask.tool, ask.args)):
        return Serve("failed", NOT_RUN)
    if last.status is CallStatus.FINISHED and last.next != "fallback":
        return Serve(last.outcome, last.value if last.outcome == "ok" else last.error)
    if last.status is CallStatus.STARTED:
        return Go(last.key, last.call_id, last.tool, last.args)
    if last.status is CallStatus.READY and last.next == "again" and ask.rested < last.tries:
        waits = state.limits.backoff_seconds
        return Rest(waits[min(last.tries, len(waits)) - 1] if waits else 0.0, last.tries)
    if last.status in (CallStatus.READY, CallStatus.FINISHED) and state.status is not RunStatus.PAUSED:
        sent = state.facts.tools[last.tool if last.status is CallStatus.READY else tool.fallback]
        falls = last.status is CallStatus.FINISHED
        if falls and not sent.reads and _same_under_way(state, call_key(state, ask, sent, ask.args)):
            return Wait()
        return _rule_lock(state, ask, sent, last.args if last.status is CallStatus.READY else ask.args)
    return Wait()


def _rule_new(state: RunState, ask: ToolCallWanted, tool: ToolSpec) -> Ruling:
    if ask.n < len(record_of(state, ask).replies):
        return Serve("failed", NOT_RUN)
    if state.status is RunStatus.PAUSED or _same_under_way(state, call_key(state, ask, tool, ask.args)):
        return Wait()
    return _rule_lock(state, ask, tool, ask.args)


def _rule_lock(state: RunState, ask: ToolCallWanted, tool: ToolSpec, args: Json) -> Ruling:
    key = conflict_key(tool, args)
    if needs_lock(tool) and ask.locked != key and not is_busy(state, key) and goes_first(state, ask.step_id, key):
        return Lock(key)
    if ask.locked and _is_in_doubt(state, key):  # its hook is asked under the lock: let go of it
        return Rest(0.0, ask.rested)
    return Wait()


def _is_in_doubt(state: RunState, key: str) -> bool:
    """Whether a call under the conflict key is in doubt."""
    tools = state.facts.tools
    doubtful = (call for call in state.calls.values() if call.status is CallStatus.IN_DOUBT)
    return any(conflict_key(tools[call.tool], call.args) == key for call in doubtful)
