"""A small MCP server for the tests: `mcp_demo.py stdio FOLDER` or `mcp_demo.py http FOLDER PORT`.

Writes append a line to FOLDER/effects, so that a test counts what really happened in another process.
"""

import asyncio
import os
import sys
from pathlib import Path

from mcp.server.mcpserver import Context, MCPServer
from mcp_types import ToolAnnotations
from pydantic import BaseModel

FOLDER = Path(sys.argv[2])
server = MCPServer("demo", log_level="ERROR")


class Weather(BaseModel):
    city: str
    degrees: int


def note(text: str) -> None:
    with (FOLDER / "effects").open("a") as effects:
        effects.write(text + "\n")


@server.tool(annotations=ToolAnnotations(read_only_hint=True, open_world_hint=True))
def weather(city: str) -> Weather:
    """The weather of a city."""
    return Weather(city=city, degrees=21)


@server.tool(annotations=ToolAnnotations(read_only_hint=False, idempotent_hint=True, open_world_hint=False))
def put(name: str, ctx: Context) -> str:
    """Store a name."""
    meta = ctx.request_context.meta or {}
    note(f"put {name} {meta.get('phaseloop/idempotency-key')}")
    return '{"stored": true}'


@server.tool()
def send(to: str) -> str:
    """Send a mail."""
    note(f"send {to}")
    return f"sent to {to}"


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
async def slow(seconds: float) -> str:
    """Take some time."""
    note("slow started")
    try:
        await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        note("slow cancelled")
        raise
    return "done"


@server.tool()
async def slow_send(to: str, seconds: float) -> str:
    """Send a mail after some time."""
    note(f"slow_send {to}")
    await asyncio.sleep(seconds)
    return "sent"


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def die() -> str:
    """End the server process in the middle of a call."""
    os._exit(3)


@server.tool()
def die_in_write() -> str:
    """End the server process after the effect."""
    note("die_in_write")
    os._exit(3)


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def fail(why: str) -> str:
    """Fail with a message."""
    raise ValueError(why)


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def environment(name: str) -> str:
    """An environment variable of the server."""
    return os.environ.get(name, "")


(FOLDER / "pid").write_text(str(os.getpid()))
print("the demo server speaks on stderr", file=sys.stderr)
if sys.argv[1] == "stdio":
    server.run("stdio")
else:
    server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[3]))
