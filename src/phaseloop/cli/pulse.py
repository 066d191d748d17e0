"""Events with a beat: what follows a run also wants to know when nothing came."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import suppress

from phaseloop.core.view_rows import RunState
from phaseloop.core.view_run import View, open_gates
from phaseloop.engine.ports import Recorded


async def pulse(events: AsyncIterator[Recorded], seconds: float) -> AsyncGenerator[Recorded | None, None]:
    """Each event, and `None` whenever none came for `seconds`. Ends with `events`."""
    waiting: asyncio.Future[Recorded] | None = None
    try:
        while True:
            waiting = waiting or asyncio.ensure_future(anext(events))
            done, _ = await asyncio.wait({waiting}, timeout=seconds)
            if not done:
                yield None
                continue
            ended, waiting = waiting, None
            try:
                recorded = ended.result()
            except StopAsyncIteration:
                return
            yield recorded
    finally:
        if waiting is not None:
            waiting.cancel()
            with suppress(asyncio.CancelledError, StopAsyncIteration):
                await waiting


def at_gate(view: View) -> bool:
    """Whether a person can answer something now, or the run is at rest."""
    return bool(open_gates(view)) or at_rest(view)


def at_rest(view: View) -> bool:
    """Whether nothing goes on by itself: the run ended, waits for a person or is paused."""
    return view.over or view.state in (RunState.WAITING, RunState.PAUSED)
