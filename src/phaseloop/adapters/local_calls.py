"""One attempt at a Python tool: its time-out, its exceptions and what they mean for the call."""

import asyncio
import contextlib
import inspect
import logging
from collections.abc import Callable
from typing import Any

from phaseloop.adapters.call_failures import Failure, classify, sentence
from phaseloop.adapters.daemon_threads import DaemonThreads
from phaseloop.adapters.local_tools import LocalTool
from phaseloop.adapters.tool_arguments import ArgumentsRefused
from phaseloop.adapters.tool_errors import RetryWithOtherArguments
from phaseloop.adapters.tool_values import NotJson, is_array, plain
from phaseloop.core.tools import ToolSpec
from phaseloop.core.values import Json
from phaseloop.engine.ports import Returned

GRACE_SECONDS = 1.0  # for the `finally` blocks of a cancelled tool; after that it is left behind
_LOG = logging.getLogger(__name__)


class LocalCalls:
    """Calls Python tools. An async tool runs as its own task, a sync one in a daemon thread."""

    def __init__(self) -> None:
        self._threads = DaemonThreads()
        self._left: set[asyncio.Task[Any]] = set()

    async def call(self, tool: LocalTool[..., Any], spec: ToolSpec, args: Json, key: str) -> Returned:
        """One attempt. Only `CancelledError` of the caller's own task passes through."""
        try:
            ready = tool.bind(args, key)
        except ArgumentsRefused as error:
            return Returned("retry", error=str(error), error_kind="arguments")
        try:
            value = await self._within(spec.timeout_seconds, ready, tool.is_async)
        except _TimedOut:
            return timed_out(spec)
        except RetryWithOtherArguments as error:
            return Returned("retry", error=sentence(spec.name, error), error_kind="arguments")
        except (Exception, BaseExceptionGroup) as error:
            return failed(spec, sentence(spec.name, error), classify(error))
        try:
            return Returned("ok", plain(value))
        except NotJson as error:
            return unreadable(spec, f"{spec.name} cannot be recorded: {error}")
        except Exception as error:
            return unreadable(spec, sentence(f"reading the result of {spec.name}", error))

    async def verify(self, tool: LocalTool[..., Any], spec: ToolSpec, args: Json, key: str) -> tuple[bool | None, Json]:
        """What the tool's `verify` hook says; a hook that fails or takes too long cannot tell."""
        try:
            ready = tool.bind_verify(args, key)
            if ready is None:
                return None, None
            said = await self._within(spec.timeout_seconds, ready, tool.verify_is_async)
            return _verdict(said)
        except _TimedOut:
            _LOG.warning("verify of %s took longer than %g s; a person is asked", spec.name, spec.timeout_seconds)
        except (Exception, BaseExceptionGroup) as error:
            _LOG.warning("%s; a person is asked", sentence(f"verify of {spec.name}", error))
        return None, None

    async def _within(self, seconds: float, ready: Callable[[], Any], is_async: bool) -> Any:
        """The value of `ready`. Raises `_TimedOut` after `seconds`, also when the tool ignores the cancel."""
        work = asyncio.ensure_future(self._run(ready, is_async))
        self._left.add(work)
        work.add_done_callback(self._forget)
        try:
            done, _ = await asyncio.wait({work}, timeout=seconds)
        except asyncio.CancelledError:
            work.cancel()
            raise
        if not done:
            work.cancel()
            await asyncio.wait({work}, timeout=GRACE_SECONDS)
            raise _TimedOut
        if work.cancelled():
            raise _Abandoned("it was cancelled from inside")
        return work.result()

    async def _run(self, ready: Callable[[], Any], is_async: bool) -> Any:
        try:
            value = ready() if is_async else await self._threads.run(ready)
            return await value if inspect.isawaitable(value) else value
        except SystemExit as error:
            # Raised out of a task it would end the event loop, and with it every other run.
            raise _Abandoned(f"it ended with SystemExit: {error}") from error

    def _forget(self, work: asyncio.Task[Any]) -> None:
        self._left.discard(work)
        with contextlib.suppress(asyncio.CancelledError):
            work.exception()


class _TimedOut(Exception):
    """The tool took longer than it may."""


class _Abandoned(Exception):
    """The tool ended in a way that is neither a value nor an ordinary exception."""


def timed_out(spec: ToolSpec) -> Returned:
    """A call that took too long: harmless for a read, in doubt for a write."""
    said = f"{spec.name} took longer than {spec.timeout_seconds:g} s"
    return failed(spec, said, Failure("timeout", transient=True, unsure=True))


def failed(spec: ToolSpec, said: str, failure: Failure) -> Returned:
    """The end of a failed attempt; a write that may have happened is `unsure` (contract section 8)."""
    if spec.writes and failure.unsure:
        return Returned("unsure", error=f"{said}; whether it happened is not known", error_kind=failure.kind)
    return Returned("failed", error=said, error_kind=failure.kind, transient=failure.transient, unsent=failure.unsent)


def unreadable(spec: ToolSpec, said: str) -> Returned:
    """A result that cannot be recorded. What a write did stays done, so its call must not read as failed."""
    if spec.reads:
        return Returned("failed", error=said, error_kind="result")
    return Returned("ok", {"unreadable": said})


def _verdict(said: Any) -> tuple[bool | None, Json]:
    happened, value = said if is_array(said) and len(said) == 2 else (said, None)
    if happened is not None and not isinstance(happened, bool):
        raise TypeError(f"it must say True, False or None, or a pair of that and the result, not {said!r}")
    return happened, plain(value)
