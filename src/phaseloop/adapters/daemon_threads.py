"""Runs synchronous tools in daemon threads, so that one that hangs cannot keep the process from ending."""

import asyncio
import queue
import threading
from collections.abc import Callable
from contextvars import copy_context
from typing import Any

_IDLE_THREADS = 32  # kept for reuse; max_parallel of a few runs (contract section 8)
_Job = Callable[[], None]


class DaemonThreads:
    """Threads without an upper bound: a call that outlived its time-out must not take another one's place."""

    def __init__(self) -> None:
        self._idle: list[queue.SimpleQueue[_Job]] = []
        self._lock = threading.Lock()

    async def run(self, function: Callable[[], Any]) -> Any:
        """The function's value, or what it raised; `SystemExit` and `StopIteration` included.

        Cancelling stops the wait, never the thread.
        """
        loop = asyncio.get_running_loop()
        ended: asyncio.Future[tuple[BaseException | None, Any]] = loop.create_future()
        context = copy_context()

        def job() -> None:
            error, value = None, None
            try:
                value = context.run(function)
            except BaseException as raised:
                error = raised
            _deliver(loop, ended, error, value)

        self._start(job)
        error, value = await ended
        if error is not None:
            raise error
        return value

    def _start(self, job: _Job) -> None:
        with self._lock:
            inbox = self._idle.pop() if self._idle else None
        if inbox is None:
            inbox = queue.SimpleQueue[_Job]()
            threading.Thread(target=self._work, args=(inbox,), name="phaseloop-tool", daemon=True).start()
        inbox.put(job)

    def _work(self, inbox: "queue.SimpleQueue[_Job]") -> None:
        kept = True
        while kept:
            inbox.get()()
            with self._lock:
                kept = len(self._idle) < _IDLE_THREADS
                if kept:
                    self._idle.append(inbox)


def _deliver(
    loop: asyncio.AbstractEventLoop,
    ended: "asyncio.Future[tuple[BaseException | None, Any]]",
    error: BaseException | None,
    value: Any,
) -> None:
    def settle() -> None:
        if not ended.done():
            ended.set_result((error, value))

    try:
        loop.call_soon_threadsafe(settle)
    except RuntimeError:
        # The loop was closed while the tool still ran: nobody waits for this value any more.
        return
