"""Tools of MCP servers: names, effect classes from annotations, one attempt at a call, plain JSON back."""

import asyncio
import json
import logging
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import mcp_types
from mcp import Client, MCPError
from pydantic import ValidationError

from phaseloop.adapters.call_failures import Failure
from phaseloop.adapters.local_calls import failed, timed_out, unreadable
from phaseloop.adapters.mcp_config import McpServer
from phaseloop.adapters.mcp_connection import McpConnection, ServerDown, ServerGone
from phaseloop.adapters.tool_options import TOOL_NAME
from phaseloop.adapters.tool_values import SMALL_BYTES, NotJson, is_object, plain
from phaseloop.core.tools import EffectClass, ToolSpec
from phaseloop.core.values import Json, digest
from phaseloop.engine.ports import Returned

KEY_META = "phaseloop/idempotency-key"
_LONGEST_NAME = 64
_LONGEST_ERROR = 2_000
_LOG = logging.getLogger(__name__)


class McpTools:
    """All servers of a process, shared by its runs; an async context manager, or `start` and `close`."""

    def __init__(self, servers: Sequence[McpServer], log_folder: Path) -> None:
        """The stderr of each local server is appended to `log_folder/mcp-NAME.log`."""
        self._connections = {server.name: McpConnection(server, log_folder) for server in servers}
        self._listed: dict[str, tuple[tuple[mcp_types.Tool, ...], dict[str, tuple[str, ToolSpec]]]] = {}

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.close()

    async def start(self) -> None:
        """Connect all servers at once. One that is down is logged and costs its own tools only."""
        await asyncio.gather(*(connection.start() for connection in self._connections.values()))
        for name, problem in self.down().items():
            _LOG.warning("MCP server %s is down: %s", name, problem)

    async def close(self) -> None:
        """Disconnect all servers; no process is left behind."""
        await asyncio.gather(*(connection.close() for connection in self._connections.values()))

    def down(self) -> dict[str, str]:
        """The servers that cannot be called now, each with the reason."""
        return {name: one.problem for name, one in self._connections.items() if not one.up}

    def catalogue(self) -> tuple[ToolSpec, ...]:
        """The tools of every server that was connected once, also of one that is down just now."""
        return tuple(spec for name in self._connections for _, spec in self._tools_of(name).values())

    def absent(self, tool: str) -> str:
        """Why a tool of a server that never came up is not in the catalogue; empty for any other name."""
        for name, connection in self._connections.items():
            if tool.startswith(f"{name}_") and not connection.up and not connection.tools:
                return f"{tool} cannot be called, MCP server {name!r} is down: {connection.problem}"
        return ""

    def secrets(self) -> Mapping[str, str]:
        """What the configuration hands to the servers and must never be shown."""
        return {name: text for one in self._connections.values() for name, text in one.server.secrets().items()}

    async def call(self, spec: ToolSpec, args: Json, key: str) -> Returned:
        """One attempt. A server that is down is started once more first."""
        name = spec.source.removeprefix("mcp:")
        connection = self._connections[name]
        remote = self._tools_of(name)[spec.name][0]
        if not is_object(args):
            return Returned("retry", error=f"{spec.name} takes a JSON object", error_kind="arguments")

        async def send(client: Client) -> Any:
            meta: Any = {KEY_META: key}
            return await client.session.call_tool(remote, dict(args), meta=meta, allow_input_required=True)

        if not connection.up:
            await connection.start()
        try:
            async with asyncio.timeout(spec.timeout_seconds):
                reply = await connection.request(send)
        except TimeoutError:
            return timed_out(spec)
        except Exception as error:
            return _broken(spec, error)
        return _returned(spec, reply)

    def _tools_of(self, server: str) -> dict[str, tuple[str, ToolSpec]]:
        """Our name of each tool, with the server's own name and the spec; made anew when the list changed."""
        connection = self._connections[server]
        listed = self._listed.get(server)
        if listed is None or listed[0] is not connection.tools:
            listed = self._listed[server] = (connection.tools, _specs(connection.server, connection.tools))
        return listed[1]


def _specs(server: McpServer, tools: Sequence[mcp_types.Tool]) -> dict[str, tuple[str, ToolSpec]]:
    made: dict[str, tuple[str, ToolSpec]] = {}
    for tool in tools:
        name = re.sub(r"[^A-Za-z0-9_-]", "_", f"{server.name}_{tool.name}")
        if not TOOL_NAME.fullmatch(name) or name in made:
            name = f"{('_' + name)[: _LONGEST_NAME - 9]}_{digest(server.name, tool.name)[:8]}"
        made[name] = (tool.name, _spec(name, server, tool))
    return made


def _spec(name: str, server: McpServer, tool: mcp_types.Tool) -> ToolSpec:
    """Annotations are hints that only a trusted server is believed; without them a tool writes."""
    hints = tool.annotations or mcp_types.ToolAnnotations()
    effect = EffectClass.WRITE
    if server.trusted and hints.read_only_hint:
        effect = EffectClass.READ
    elif server.trusted and hints.idempotent_hint:
        effect = EffectClass.IDEMPOTENT
    return ToolSpec(
        name=name,
        description=(tool.description or tool.title or hints.title or "").strip(),
        effect=effect,
        input_schema=tool.input_schema,
        output_schema=tool.output_schema,
        timeout_seconds=server.timeout_seconds,
        untrusted=not server.trusted or hints.open_world_hint is True,
        source=f"mcp:{server.name}",
    )


def _returned(spec: ToolSpec, reply: Any) -> Returned:
    if isinstance(reply, mcp_types.InputRequiredResult):
        return Returned("failed", error=f"{spec.name} asks for more input, which is not supported", error_kind="tool")
    if reply.is_error:
        text = " ".join(block.text for block in reply.content if block.type == "text").strip()
        said = f"{spec.name}: {text[:_LONGEST_ERROR] or 'the server reports an error without a message'}"
        return Returned("failed", error=said, error_kind="tool")
    try:
        return Returned("ok", plain(_value(reply)))
    except NotJson as error:
        return unreadable(spec, f"{spec.name} cannot be recorded: {error}")


def _value(reply: mcp_types.CallToolResult) -> Json:
    """Structured content, else the only text (parsed when it is an object or array), else the blocks."""
    if reply.structured_content is not None:
        return reply.structured_content
    blocks = [_block(block) for block in reply.content]
    if len(blocks) != 1:
        return blocks or None
    text = blocks[0]
    if not isinstance(text, str) or text.lstrip()[:1] not in ("{", "["):
        return text
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def _block(block: mcp_types.ContentBlock) -> Json:
    """One content block; bytes above 8 kB are counted, not kept."""
    if isinstance(block, mcp_types.TextContent):
        return block.text
    shown = block.model_dump(mode="json", by_alias=True, exclude_none=True)
    holders: tuple[dict[str, Any], ...] = (shown, shown.get("resource", {}))
    for holder in holders:
        for key in ("data", "blob"):
            size = len(holder.get(key, "")) * 3 // 4
            if size > SMALL_BYTES:
                del holder[key]
                holder["bytes"] = size
    return shown


def _broken(spec: ToolSpec, error: Exception) -> Returned:
    """What an exception of the SDK says about the call."""
    server = spec.source.removeprefix("mcp:")
    if isinstance(error, ServerDown):
        said = f"{spec.name} was not called, MCP server {server!r} is down: {error}"
        return failed(spec, said, Failure("unavailable", transient=True, unsent=True))
    if isinstance(error, ServerGone):
        said = f"{spec.name} was cut off, MCP server {server!r} is gone: {error}"
        return failed(spec, said, Failure("network", transient=True, unsure=True))
    if isinstance(error, MCPError) and error.code == mcp_types.REQUEST_TIMEOUT:
        return failed(spec, f"{spec.name}: {error.message}", Failure("timeout", transient=True, unsure=True))
    if isinstance(error, MCPError) and error.code == mcp_types.INVALID_PARAMS:
        return Returned("retry", error=f"{spec.name}: {error.message[:_LONGEST_ERROR]}", error_kind="arguments")
    if isinstance(error, MCPError):
        return failed(spec, f"{spec.name}: {error.message[:_LONGEST_ERROR]}", Failure("tool"))
    first = str(error).strip().split("\n")[0][:_LONGEST_ERROR]
    if isinstance(error, RuntimeError):
        # The SDK checks a successful result against the tool's output schema only after it has come back.
        return unreadable(spec, f"{spec.name} returned what its output schema does not allow: {first}")
    kind = "result" if isinstance(error, ValidationError) else "exception"
    what = f"{type(error).__name__}: {first}"
    said = f"{spec.name}: the reply of MCP server {server!r} breaks the protocol: {what}"
    return failed(spec, said, Failure(kind, unsure=True))
