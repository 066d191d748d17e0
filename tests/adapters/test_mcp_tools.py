import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import mcp_types
import pytest

from phaseloop.adapters import mcp_connection
from phaseloop.adapters.mcp_config import McpServer, parse_mcp_config
from phaseloop.adapters.mcp_tools import McpTools
from phaseloop.adapters.toolbox import Toolbox
from phaseloop.core.tools import EffectClass, conflict_key
from phaseloop.engine.ports import Returned

SERVER = Path(__file__).parent / "servers" / "mcp_demo.py"


def stdio(folder, name="demo", **options):
    entry = {
        "command": sys.executable,
        "args": [str(SERVER), "stdio", str(folder)],
        "trusted": True,
        **options,
    }
    return parse_mcp_config({"mcpServers": {name: entry}}, "mcp.json", {})[0]


def effects(folder):
    path = folder / "effects"
    return path.read_text().splitlines() if path.exists() else []


def server_is_alive(folder):
    try:
        os.kill(int((folder / "pid").read_text()), 0)
    except ProcessLookupError:
        return False
    return True


async def until(question):
    async with asyncio.timeout(20):
        while not question():  # noqa: ASYNC110 - what is waited for happens in another process
            await asyncio.sleep(0.01)


class HttpServer:
    """The demo server over HTTP in a process of its own."""

    def __init__(self, folder):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.folder = folder
        self.url = f"http://127.0.0.1:{self.port}/mcp"
        self.process = None

    def __enter__(self):
        command = [sys.executable, str(SERVER), "http", str(self.folder), str(self.port)]
        with (self.folder / "http.log").open("a") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return self
            except OSError:
                time.sleep(0.05)
        raise AssertionError((self.folder / "http.log").read_text())

    def __exit__(self, *raised):
        self.process.kill()
        self.process.wait()


def test_a_stdio_server_from_start_to_end(tmp_path):
    async def main():
        async with McpTools([stdio(tmp_path, env={"DEMO_TOKEN": "abcdefgh-9"})], tmp_path / "logs") as mcp:
            box = Toolbox([], mcp=mcp)
            by_name = {spec.name: spec for spec in box.catalogue()}
            weather, put, send = by_name["demo_weather"], by_name["demo_put"], by_name["demo_send"]
            assert (weather.effect, weather.untrusted, weather.source) == (EffectClass.READ, True, "mcp:demo")
            assert weather.output_schema["required"] == ["city", "degrees"]
            assert weather.input_schema["required"] == ["city"]
            assert weather.description == "The weather of a city."
            assert (put.effect, put.untrusted) == (EffectClass.IDEMPOTENT, False)
            assert (send.effect, send.timeout_seconds, conflict_key(send, {})) == (
                EffectClass.WRITE,
                30,
                "mcp:demo",
            )

            assert await box.call("demo_weather", {"city": "Köln"}, "k") == Returned(
                "ok", {"city": "Köln", "degrees": 21}
            )
            assert (await box.call("demo_put", {"name": "ann"}, "run:put:1")).value == {"result": '{"stored": true}'}
            assert effects(tmp_path) == ["put ann run:put:1"]
            failed = await box.call("demo_fail", {"why": "no"}, "k")
            assert (failed.outcome, failed.error_kind, failed.transient) == ("failed", "tool", False)
            assert failed.error.startswith("demo_fail: ")
            wrong = await box.call("demo_weather", {"town": "x"}, "k")
            assert wrong.outcome in ("retry", "failed")
            leaked = await box.call("demo_environment", {"name": "DEMO_TOKEN"}, "k")
            assert leaked == Returned("ok", {"result": "[secret:DEMO_TOKEN]"}, masked=True)
            assert server_is_alive(tmp_path)
        assert not server_is_alive(tmp_path)

    asyncio.run(main())
    assert "speaks on stderr" in (tmp_path / "logs" / "mcp-demo.log").read_text()


def test_an_http_server_from_start_to_death_and_back(tmp_path):
    async def main():
        http = HttpServer(tmp_path)
        server = McpServer("far", url=http.url, trusted=True)
        with http:
            mcp = McpTools([server], tmp_path)
            await mcp.start()
            box = Toolbox([], mcp=mcp)
            many = await asyncio.gather(*(box.call("far_weather", {"city": c}, "k") for c in "abc"))
            assert [one.value["city"] for one in many] == ["a", "b", "c"]
            write = await box.call("far_die_in_write", {}, "k")
            assert (write.outcome, write.error_kind) == ("unsure", "network")
            assert effects(tmp_path) == ["die_in_write"]
        away = await box.call("far_weather", {"city": "a"}, "k")
        assert (away.outcome, away.transient, away.unsent) == ("failed", True, True)
        assert f"MCP server 'far' is down: nothing answers at {http.url}" in away.error
        with http:
            await asyncio.sleep(1.05)  # a server that did not start rests for a second
            assert (await box.call("far_weather", {"city": "a"}, "k")).outcome == "ok"
            await mcp.close()

    asyncio.run(main())


def test_a_server_that_cannot_start_costs_its_own_tools_only(tmp_path, caplog):
    missing = McpServer("gone", command=str(tmp_path / "no-such-program"))
    refused = McpServer("far", url="http://127.0.0.1:9/mcp")

    async def main():
        async with McpTools([missing, refused], tmp_path) as mcp:
            box = Toolbox([], mcp=mcp)
            assert box.catalogue() == ()
            assert set(mcp.down()) == {"gone", "far"}
            returned = await box.call("gone_anything", {}, "k")
            assert (returned.outcome, returned.transient, returned.unsent) == ("failed", True, True)
            assert "MCP server 'gone' is down: its command" in returned.error
            assert (await box.call("other_tool", {}, "k")).error_kind == "unknown_tool"

    asyncio.run(main())
    assert "MCP server gone is down: its command" in caplog.text
    assert "MCP server far is down: nothing answers at http://127.0.0.1:9/mcp" in caplog.text


@pytest.mark.slow
def test_a_stdio_server_that_dies_costs_the_calls_under_way_and_comes_back(tmp_path):
    async def main():
        async with McpTools([stdio(tmp_path)], tmp_path) as mcp:
            box = Toolbox([], mcp=mcp)
            reading = asyncio.create_task(box.call("demo_slow", {"seconds": 60}, "k"))
            writing = asyncio.create_task(box.call("demo_slow_send", {"to": "ann", "seconds": 60}, "k"))
            await until(lambda: len(effects(tmp_path)) == 2)
            first = int((tmp_path / "pid").read_text())
            os.kill(first, signal.SIGKILL)
            read, write = await reading, await writing
            assert (read.outcome, read.error_kind, read.transient, read.unsent) == (
                "failed",
                "network",
                True,
                False,
            )
            assert (write.outcome, write.error_kind) == ("unsure", "network")
            assert "MCP server 'demo' is gone" in write.error
            assert (await box.call("demo_weather", {"city": "a"}, "k")).outcome == "ok"
            assert int((tmp_path / "pid").read_text()) != first
        assert not server_is_alive(tmp_path)

    asyncio.run(main())


@pytest.mark.slow
def test_a_server_that_dies_while_idle_is_noticed_before_the_next_write(tmp_path):
    async def main():
        async with McpTools([stdio(tmp_path)], tmp_path) as mcp:
            os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)
            await until(lambda: bool(mcp.down()))
            assert (await Toolbox([], mcp=mcp).call("demo_send", {"to": "bo"}, "k")).outcome == "ok"
        assert effects(tmp_path) == ["send bo"]

    asyncio.run(main())


@pytest.mark.slow
def test_time_out_and_cancel_reach_the_server(tmp_path):
    async def main():
        async with McpTools([stdio(tmp_path, timeout=0.5)], tmp_path) as mcp:
            box = Toolbox([], mcp=mcp)
            read = await box.call("demo_slow", {"seconds": 60}, "k")
            assert (read.outcome, read.error_kind, read.transient) == ("failed", "timeout", True)
            assert read.error == "demo_slow took longer than 0.5 s"
            write = await box.call("demo_slow_send", {"to": "ann", "seconds": 60}, "k")
            assert (write.outcome, write.error_kind) == ("unsure", "timeout")
            await until(lambda: "slow cancelled" in effects(tmp_path))
            running = asyncio.create_task(box.call("demo_slow", {"seconds": 60}, "k"))
            await until(lambda: effects(tmp_path).count("slow started") == 2)
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
            await until(lambda: effects(tmp_path).count("slow cancelled") == 2)
            assert (await box.call("demo_weather", {"city": "a"}, "k")).outcome == "ok"

    asyncio.run(main())


@pytest.mark.slow
def test_close_ends_calls_under_way_and_a_cancelled_loop_leaves_no_process(tmp_path):
    async def closing():
        mcp = McpTools([stdio(tmp_path)], tmp_path)
        await mcp.start()
        running = asyncio.create_task(Toolbox([], mcp=mcp).call("demo_slow", {"seconds": 60}, "k"))
        await until(lambda: effects(tmp_path) == ["slow started"])
        await mcp.close()
        assert (await running).error_kind == "network"
        assert "it was closed" in (await Toolbox([], mcp=mcp).call("demo_weather", {"city": "a"}, "k")).error

    async def forgetting():
        await McpTools([stdio(tmp_path)], tmp_path).start()

    asyncio.run(closing())
    assert not server_is_alive(tmp_path)
    asyncio.run(forgetting())
    assert not server_is_alive(tmp_path)


@pytest.mark.slow
def test_a_server_that_never_answers_is_given_up_and_ended(tmp_path, monkeypatch):
    monkeypatch.setattr(mcp_connection, "START_SECONDS", 1.0)
    code = f"import os, time; open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid())); time.sleep(60)"
    silent = McpServer("silent", command=sys.executable, args=("-c", code))

    async def main():
        async with McpTools([silent], tmp_path) as mcp:
            assert mcp.down()["silent"].startswith("it did not answer within 1 s")
            await until(lambda: not server_is_alive(tmp_path))

    asyncio.run(main())


def catalogue_of(server, tools):
    made = McpTools([server], Path("unused"))
    made._connections[server.name].tools = tuple(tools)
    return made.catalogue()


def listed(name, **hints):
    annotations = mcp_types.ToolAnnotations(**hints) if hints else None
    return mcp_types.Tool(name=name, input_schema={"type": "object"}, annotations=annotations)


@pytest.mark.parametrize(
    ("trusted", "hints", "effect", "untrusted"),
    [
        (True, {"read_only_hint": True}, EffectClass.READ, False),
        (True, {"read_only_hint": True, "open_world_hint": True}, EffectClass.READ, True),
        (True, {"idempotent_hint": True}, EffectClass.IDEMPOTENT, False),
        (True, {"destructive_hint": False}, EffectClass.WRITE, False),
        (True, {}, EffectClass.WRITE, False),
        (False, {"read_only_hint": True, "open_world_hint": False}, EffectClass.WRITE, True),
        (False, {}, EffectClass.WRITE, True),
    ],
)
def test_only_a_trusted_server_is_believed(trusted, hints, effect, untrusted):
    (spec,) = catalogue_of(McpServer("s", command="x", trusted=trusted), [listed("t", **hints)])
    assert (spec.name, spec.effect, spec.untrusted) == ("s_t", effect, untrusted)


def test_names_fit_what_model_providers_take_and_stay_apart():
    names = [
        spec.name
        for spec in catalogue_of(
            McpServer("s", command="x"),
            [listed("a.b/c"), listed("a_b_c"), listed("x" * 90), listed("x" * 91)],
        )
    ]
    assert names[0] == "s_a_b_c"
    assert len(set(names)) == 4
    assert all(len(name) <= 64 and name.replace("_", "").isalnum() for name in names)
