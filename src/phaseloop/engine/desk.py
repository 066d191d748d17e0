"""The one door to models and tools: ask, act when told, report, and use what the log holds (contract section 4)."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Protocol

from phaseloop.core.answers import BreakerMoved, ModelReplied, Report, ToolReturned, ToolUnsure
from phaseloop.core.asks import Ask, Go, Lock, ModelCallWanted, Rest, Ruling, Serve, ToolCallWanted
from phaseloop.core.changes import replace
from phaseloop.core.errors import ModelFailed, RecordUnreadable
from phaseloop.core.tools import ToolSpec
from phaseloop.core.values import Json
from phaseloop.engine.ports import Breakers, Locks, Tools
from phaseloop.roles.protocols import CallResult, ModelReply


class Record(Protocol):
    """The driver as a performer sees it."""

    async def ask(self, ask: Ask) -> Ruling: ...

    async def tell(self, report: Report) -> None: ...

    def note(self, report: Report) -> None: ...


@dataclass(frozen=True, slots=True)
class ToolLayer:
    """What every desk of a run shares. `key_prefix` makes a key unique across runs."""

    tools: Tools
    locks: Locks
    breakers: Breakers
    owner: str
    key_prefix: str


class Desk:
    """The desk of one effect: it numbers requests and calls, and pauses the step's clock while it waits."""

    def __init__(
        self,
        record: Record,
        layer: ToolLayer,
        scope: str,
        step_id: str = "",
        attempt: int = 1,
        tools: tuple[ToolSpec, ...] = (),
    ) -> None:
        self._record = record
        self._layer = layer
        self._scope = scope
        self._step_id = step_id
        self._attempt = attempt
        self._tools = tools
        self._n = 0
        self._next_place = 0
        self.clock: asyncio.Timeout | None = None
        self._held_back = 0
        self._left = 0.0

    @property
    def tools(self) -> tuple[ToolSpec, ...]:
        """The tools this effect may call."""
        return self._tools

    @property
    def replies(self) -> int:
        """How many model requests were answered so far, recorded ones included."""
        return self._n

    async def call(self, tool: str, args: Json, *, i: int | None = None) -> CallResult:
        """Call a tool through ledger, locks, breaker and gates; `i` is its place in the last reply."""
        if i is None:
            i = self._next_place
        self._next_place = max(self._next_place, i + 1)
        if tool not in {spec.name for spec in self._tools}:
            allowed = ", ".join(spec.name for spec in self._tools) or "none"
            return CallResult("failed", f"{tool} is not a tool of this step; it may use: {allowed}")
        return await self.guarded(ToolCallWanted(self._step_id, self._attempt, self._n, i, tool, args))

    async def guarded(self, ask: ToolCallWanted) -> CallResult:
        """The one way to an effect, live and served alike."""
        tried = ""
        if (until := await self._layer.breakers.blocked(ask.tool)) is not None:  # once: it takes a probe's place
            ask = replace(ask, unavailable=f"circuit breaker open until {until}")
        async with AsyncExitStack() as held:
            while True:
                ruling = await self._wait(ask)
                match ruling:
                    case Serve():
                        if tried and ruling.outcome == "failed":
                            await self._count(tried, False)
                        return CallResult(ruling.outcome, ruling.value)
                    case Lock(key):
                        await held.enter_async_context(self._layer.locks.hold(key, self._layer.owner))
                        ask = replace(ask, locked=key)
                    case Rest(seconds, tries):
                        await held.aclose()
                        await asyncio.sleep(seconds * random.uniform(0.9, 1.1))
                        ask = replace(ask, rested=tries, locked="")
                    case Go():
                        if tried and tried != ruling.tool:
                            await self._count(tried, False)
                        tried = ruling.tool
                        ask = replace(ask, unavailable="")
                        if (ok := await self._act(ruling)) is not None:
                            await self._count(ruling.tool, True)
                            return ok
                        await held.aclose()  # the lock is held around the call only (contract section 8)
                        ask = replace(ask, locked="")
                    case _:
                        raise AssertionError(ruling)

    async def _wait(self, ask: Ask) -> Ruling:
        """Ask, with the step's clock stopped: a gate inside stops the clocks (contract section 10)."""
        clock = self.clock
        if clock is None or clock.expired():
            return await self._record.ask(ask)
        loop = asyncio.get_running_loop()
        if not self._held_back:
            self._left = (clock.when() or loop.time()) - loop.time()
            clock.reschedule(None)
        self._held_back += 1
        try:
            return await self._record.ask(ask)
        finally:
            self._held_back -= 1
            if not self._held_back and not clock.expired():
                clock.reschedule(loop.time() + self._left)

    async def _act(self, go: Go) -> CallResult | None:
        """One attempt at the call; its result when it went well, else nothing: the next ruling says more."""
        began = time.monotonic()
        try:
            returned = await self._layer.tools.call(go.tool, go.args, f"{self._layer.key_prefix}:{go.key}")
        except asyncio.CancelledError:  # a time-out of the step or of the executor's own: nobody waits any more
            self._record.note(ToolUnsure(go.call_id, "the wait for the call was cut short"))
            raise
        if returned.outcome == "unsure":
            await self._record.tell(ToolUnsure(go.call_id, returned.error))
            return None
        await self._record.tell(
            ToolReturned(
                call_id=go.call_id,
                outcome=returned.outcome,
                value=returned.value,
                error=returned.error,
                error_kind=returned.error_kind,
                transient=returned.transient,
                unsent=returned.unsent,
                duration_ms=round((time.monotonic() - began) * 1000),
                masked=returned.masked,
            )
        )
        return CallResult("ok", returned.value) if returned.outcome == "ok" else None

    async def _count(self, tool: str, ok: bool) -> None:
        """Count an ended call, after its retries; say so when its breaker moved."""
        moved = await self._layer.breakers.note(tool, ok)
        if moved is not None:
            state, failures, until = moved
            await self._record.tell(BreakerMoved(tool, state == "opened", failures, until))

    async def model(
        self,
        role: str,
        model: str,
        fingerprint: str,
        send: Callable[[], Awaitable[ModelReply]],
        prompt: Json = None,
    ) -> Json:
        """The reply to the next request: from the log, else from `send`. Raises `ModelFailed`."""
        n = self._n + 1
        first = prompt if n == 1 else None
        ask = ModelCallWanted(self._scope, n, role, model, fingerprint, self._step_id, self._attempt, first)
        ruling = await self._wait(ask)
        if isinstance(ruling, Serve):
            self._turn(n)
            if ruling.outcome != "ok":
                raise ModelFailed(str(ruling.value))
            return ruling.value
        return await self._sent(n, send)

    async def _sent(self, n: int, send: Callable[[], Awaitable[ModelReply]]) -> Json:
        """A live request: its reply is recorded before anybody uses it, its failure too."""
        began = time.monotonic()
        try:
            reply = await send()
        except RecordUnreadable:
            raise
        except Exception as error:
            await self._failed(n, error, began)
            self._turn(n)
            raise ModelFailed(str(error) or type(error).__name__) from error
        spent = round((time.monotonic() - began) * 1000)
        await self._record.tell(
            ModelReplied(
                scope=self._scope,
                n=n,
                reply=reply.reply,
                calls=reply.calls,
                usage=reply.usage,
                cost_usd=reply.cost_usd,
                finish=reply.finish,
                drift=reply.drift,
                duration_ms=spent,
            )
        )
        self._turn(n)
        return reply.reply

    def _turn(self, n: int) -> None:
        self._n = n
        self._next_place = 0

    async def _failed(self, n: int, error: Exception, began: float) -> None:
        spent = round((time.monotonic() - began) * 1000)
        text = str(error) or type(error).__name__
        await self._record.tell(ModelReplied(self._scope, n, None, ok=False, error=text, duration_ms=spent))
