"""Keeps one MCP server connected in its own task: a server that dies costs its calls, not their tasks."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager, nullcontext
from pathlib import Path
from typing import Any, Self, TextIO, TypeVar, cast

import httpx2
import mcp_types
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from phaseloop.adapters.mcp_config import McpServer

START_SECONDS = 20.0  # contract section 10
CLOSE_SECONDS = 10.0  # the SDK gives a server two seconds to end by itself and two more after SIGTERM
HTTP_SECONDS = 30.0  # to connect and to write; how long a reply may take is the tool's time-out
PAUSE_SECONDS = 1.0  # between two attempts to start a server that is down
MAX_PAGES = 100  # of a tool list; a server whose list never ends is broken
R = TypeVar("R")


class ServerDown(Exception):
    """The server is not connected, so nothing was sent; the text says why."""


class ServerGone(Exception):
    """The connection ended while a call was under way; its effect may have happened."""


class McpConnection:
    """One server. `tools` is what it offered when it was last connected, `problem` why it is down."""

    def __init__(self, server: McpServer, log_folder: Path) -> None:
        self.server = server
        self.tools: tuple[mcp_types.Tool, ...] = ()
        self.problem = "it was not started"
        self._log_file = log_folder / f"mcp-{server.name}.log"
        self._client: Client | None = None
        self._owner: asyncio.Task[None] | None = None
        self._ready = asyncio.Event()
        self._lost = asyncio.Event()
        self._lock = asyncio.Lock()
        self._retry_at = 0.0
        self._closed = False

    @property
    def up(self) -> bool:
        """Whether calls reach the server, as far as is known."""
        return self._client is not None and not self._lost.is_set()

    async def start(self) -> bool:
        """Connect unless connected; whether the server is up then. A start that failed rests for a second."""
        async with self._lock:
            if self._lost.is_set():
                await self._end()
            if self._owner is None or self._owner.done():
                if self._closed or asyncio.get_running_loop().time() < self._retry_at:
                    return False
                self.problem = ""
                self._ready, self._lost = asyncio.Event(), asyncio.Event()
                self._owner = asyncio.create_task(self._own(), name=f"mcp {self.server.name}")
            try:
                await asyncio.wait_for(self._ready.wait(), START_SECONDS)
            except TimeoutError:
                self.problem = f"it did not answer within {START_SECONDS:g} s{self._hint()}"
                await self._end()
            if not self.up:
                self._retry_at = asyncio.get_running_loop().time() + PAUSE_SECONDS
            return self.up

    async def close(self) -> None:
        """Disconnect and end the server's process; calls under way fail with `ServerGone`."""
        self._closed = True
        self.problem = "it was closed"
        await self._end()

    async def request(self, send: Callable[[Client], Awaitable[R]]) -> R:
        """What `send` gets from the server. Raises `ServerDown`, `ServerGone` or what `send` raised.

        It runs in its own task, since the SDK may leave it waiting, or cancel it, when a transport breaks.
        """
        client, lost = self._client, self._lost
        if client is None or lost.is_set():
            raise ServerDown(self.problem)
        call = asyncio.ensure_future(send(client))
        ended = asyncio.ensure_future(lost.wait())
        try:
            await asyncio.wait({call, ended}, return_when=asyncio.FIRST_COMPLETED)
            if call.done() and not call.cancelled() and not _closed(call.exception()):
                return call.result()
            lost.set()
            raise ServerGone(self.problem or "its connection ended")
        finally:
            ended.cancel()
            call.cancel()
            call.add_done_callback(_look_at)

    async def _own(self) -> None:
        """Connect, stay until the connection ends or is given up, disconnect."""
        ready, lost = self._ready, self._lost
        try:
            with self._open_log() as log:
                async with Client(_watched(self._transport(log), lost), cache=None) as client:
                    self.tools = await _list_tools(client)
                    self._client, self.problem = client, ""
                    ready.set()
                    await lost.wait()
                    self._client = None
            self.problem = self.problem or f"its connection ended{self._hint()}"
        except Exception as error:
            self.problem = self.problem or f"{_told(error, self.server)}{self._hint()}"
        finally:
            self._client = None
            lost.set()
            ready.set()

    async def _end(self) -> None:
        """Have the owner disconnect; a transport that does not come to an end is cancelled."""
        self._lost.set()
        if self._owner is None:
            return
        if not self._ready.is_set():
            self._owner.cancel()
        _, late = await asyncio.wait({self._owner}, timeout=CLOSE_SECONDS)
        for owner in late:
            owner.cancel()
            await asyncio.wait({owner}, timeout=CLOSE_SECONDS)

    def _transport(self, log: TextIO | None) -> AbstractAsyncContextManager[Any]:
        server = self.server
        if server.url:
            return _http(server)
        parameters = StdioServerParameters(
            command=server.command, args=list(server.args), env=dict(server.env), cwd=server.cwd or None
        )
        return stdio_client(parameters, errlog=cast("TextIO", log))

    def _open_log(self) -> AbstractContextManager[TextIO | None]:
        """The file for a local server's stderr, which would else be mixed into ours."""
        if self.server.url:
            return nullcontext()
        self._log_file.parent.mkdir(parents=True, exist_ok=True)
        return self._log_file.open("a", encoding="utf-8", errors="replace")

    def _hint(self) -> str:
        return "" if self.server.url else f" (its stderr is in {self._log_file})"


class _WatchedStream:
    """A transport's read stream that notes its end: the SDK tells nobody that a silent server has died."""

    def __init__(self, inner: Any, lost: asyncio.Event) -> None:
        self._inner = inner
        self._lost = lost

    @property
    def last_context(self) -> Any:
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> Any:
        try:
            return await self._inner.receive()
        except BaseException:
            self._lost.set()
            raise

    async def aclose(self) -> None:
        await self._inner.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        try:
            return await self._inner.__anext__()
        except BaseException:
            self._lost.set()
            raise

    async def __aenter__(self) -> Self:
        await self._inner.__aenter__()
        return self

    async def __aexit__(self, *raised: Any) -> bool | None:
        return cast("bool | None", await self._inner.__aexit__(*raised))


@asynccontextmanager
async def _watched(transport: AbstractAsyncContextManager[Any], lost: asyncio.Event) -> AsyncGenerator[Any]:
    async with transport as (read, write):
        yield _WatchedStream(read, lost), write


@asynccontextmanager
async def _http(server: McpServer) -> AsyncGenerator[Any]:
    limits = httpx2.Timeout(HTTP_SECONDS, read=None)
    async with (
        httpx2.AsyncClient(headers=dict(server.headers), timeout=limits) as http,
        streamable_http_client(server.url, http_client=http) as streams,
    ):
        yield streams


async def _list_tools(client: Client) -> tuple[mcp_types.Tool, ...]:
    if client.server_capabilities.tools is None:
        return ()
    tools: list[mcp_types.Tool] = []
    cursor: str | None = None
    for _ in range(MAX_PAGES):
        page = await client.list_tools(cursor=cursor)
        tools += page.tools
        cursor = page.next_cursor
        if not cursor:
            return tuple(tools)
    raise RuntimeError(f"its tool list does not end after {MAX_PAGES} pages")


def _look_at(call: "asyncio.Future[Any]") -> None:
    """What an abandoned call still raises is nobody's; unread it would be logged as an error of ours."""
    if not call.cancelled():
        call.exception()


def _closed(error: BaseException | None) -> bool:
    return isinstance(error, MCPError) and error.code == mcp_types.CONNECTION_CLOSED


def _told(error: BaseException, server: McpServer) -> str:
    """The first cause in one clause; the SDK wraps it in groups of groups."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    if isinstance(error, FileNotFoundError) and server.command:
        return f"its command {server.command!r} was not found"
    if isinstance(error, httpx2.ConnectError):
        return f"nothing answers at {server.url}"
    said = " ".join(str(error).split())
    return f"{type(error).__name__}: {said}" if said else type(error).__name__
