"""Bad input and bad luck: one clear sentence, the documented exit code, and nothing lost."""

import asyncio
import json
import os
import sqlite3
import stat
import subprocess
import sys
import time

import pytest

from phaseloop import App, Secret, tool
from phaseloop.adapters.sqlite_log import open_store
from phaseloop.core.errors import LogBroken
from phaseloop.core.plan_events import ActivityFailed, PlanRefused
from tests.app_world import World, app, bound, gate_process, history, only_gate, opened, plan
from tests.cli.command_line import prepared

SECRET = "sk-very-secret-0123456789"


@pytest.fixture
def phaseloop(monkeypatch, capfd, tmp_path):
    return prepared(monkeypatch, capfd, tmp_path)


def sentence(ended, code):
    """The one sentence of a command that failed."""
    assert ended.code == code, ended
    said = [line for line in ended.err.splitlines() if line.startswith("phaseloop: ")]
    assert len(said) == 1, ended.err
    assert "Traceback" not in ended.err + ended.out
    return said[0]


# ---- definitions


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("a.json", "{", "a.json is not valid JSON at line 1, column 2"),
        ("a.yaml", "phases: [", "a.yaml is not valid YAML at line"),
        ("a.json", "[1, 2]", "definition a.json is refused"),
        ("a.json", json.dumps({"definitionId": "x", "phases": [{"phaseId": "p", "order": "one"}]}), "phases[0].order"),
        ("a.json", json.dumps({**gate_process("approve", noMatchPolicy="approve"), "definitionId": "x"}), "approve"),
    ],
    ids=["cut", "yaml", "list", "type", "unsafe"],
)
def test_a_definition_that_cannot_be_used_is_refused_with_its_place(phaseloop, name, text, words):
    file = phaseloop.file(name, text)
    assert words in sentence(phaseloop("run", "a, b", "--process", name), 2)
    assert phaseloop("check", file).code == 2
    assert phaseloop("runs", "--json").out == ""


def test_a_definition_that_is_no_text_is_refused(phaseloop):
    (phaseloop.folder / "a.json").write_bytes(b"\xff\xfe\x00")
    assert "is not UTF-8 text" in sentence(phaseloop("run", "a", "--process", "a.json"), 2)


def test_a_misspelt_key_is_told_when_the_run_starts(phaseloop):
    phaseloop.file("a.yaml", "definitionId: x\nphases:\n  - {phaseId: p, order: 1, autoAdvence: true}\n")
    ended = phaseloop("run", "a, b", "--process", "a.yaml", "--json")
    assert "autoAdvence" in ended.err
    assert "autoAdvance" in ended.err


# ---- plans


@pytest.fixture
def store(tmp_path):
    return tmp_path / "runs.db"


def refused(store, bad, tools=()):
    """What a planner that insists on a bad plan comes to: the run's end and what was found."""

    async def work():
        async with app(store, {"phase_default": lambda request, desk: bad}, {"*": "x" * 20}, tools=tools) as made:
            run = await made.start("look at it and pay ann")
            return await made.result(run.id), [e for e in await history(made, run.id) if isinstance(e, PlanRefused)]

    result, findings = asyncio.run(work())
    assert result.status == "failed"
    assert len(findings) == 2, "the planner is asked once more, with what was found"
    return result.reason


def test_a_cyclic_plan_is_refused_before_anything_runs(store):
    world = World()
    reason = refused(store, plan(bound("a", "look", {}, ["b"]), bound("b", "look", {}, ["a"])), world.tools())
    assert "s1" in reason or "a" in reason
    assert world.done == []


def test_an_unknown_tool_in_a_plan_is_refused_by_name(store):
    world = World()
    assert "fly" in refused(store, plan(bound("a", "look", {}), bound("b", "fly", {})), world.tools())
    assert world.done == []


# ---- tools


def failing_tool(store, function, **options):
    """A run whose one step calls `function`: its result, its events."""
    made_tool = tool(effect="read", **options)(function)
    same = plan(bound("a", function.__name__, {}))

    async def work():
        async with app(store, [same, same, same], tools=[made_tool]) as made:
            run = await made.start("do it")
            return await made.result(run.id), await history(made, run.id)

    result, events = asyncio.run(work())
    assert result.status == "failed"
    assert [event for event in events if isinstance(event, ActivityFailed)] or result.reason
    return result, events


def test_a_tool_that_raises_fails_its_step_with_its_own_words(store):
    def broken() -> str:
        """Break."""
        raise ValueError("the moon is not reachable")

    result, _ = failing_tool(store, broken)
    assert "the moon is not reachable" in result.reason


def test_a_tool_that_ends_the_interpreter_fails_its_step_only(store):
    def leaving() -> str:
        """Leave."""
        sys.exit(3)

    result, _ = failing_tool(store, leaving)
    assert "SystemExit" in result.reason


def test_ten_megabytes_fail_a_read_with_the_size_and_the_mend(store):
    def flood() -> str:
        """Return too much."""
        return "x" * 10_000_000

    result, _ = failing_tool(store, flood)
    assert "10.0 MB, more than 4.0 MB" in result.reason
    assert store.stat().st_size < 1_000_000, "what was refused was stored all the same"


def test_ten_megabytes_of_a_write_are_kept_in_short_and_the_write_stays_done(store):
    world = World()

    @tool(effect="write")
    async def flood() -> str:
        """Write, and return too much."""
        await world.effect("flood")
        return "x" * 10_000_000

    made = app(store, [plan(bound("a", "flood", {}))], tools=[flood])
    result = made.run_sync("flood")
    assert (result.status, world.done) == ("completed", ["flood"])
    assert result.value["cut"] is True
    assert result.value["bytes"] > 10_000_000
    assert len(result.value["head"]) <= 2000


def test_a_tool_that_hangs_is_left_behind_after_its_time(store):
    def hang() -> str:
        """Hang."""
        time.sleep(30)
        return "late"

    began = time.monotonic()
    result, _ = failing_tool(store, hang, timeout=0.1)
    assert "took longer than 0.1 s" in result.reason
    assert time.monotonic() - began < 25


def test_a_secret_is_masked_wherever_a_tool_may_put_it(store, monkeypatch, phaseloop):
    monkeypatch.setenv("SHOP_KEY", SECRET)
    seen = []

    @tool(effect="read")
    def leak(key: str) -> dict[str, str]:
        """Give the key back."""
        seen.append(key)
        return {"echo": f"the key is {key}", key: "as a name"}

    @tool(effect="read")
    def shout() -> str:
        """Fail with the key in the message."""
        raise ValueError(f"no access with {SECRET}")

    steps = plan(bound("a", "leak", {"key": "${SHOP_KEY}"}), bound("b", "shout", {}))

    async def work():
        made = app(store, [steps, steps, steps], tools=[leak, shout], secrets=[Secret("SHOP_KEY")])
        async with made:
            run = await made.start("leak and shout")
            result = await made.result(run.id)
            return run.id, result, str(await history(made, run.id))

    run_id, result, events = asyncio.run(work())
    assert set(seen) == {SECRET}, "the tool itself gets the value"
    for text in (str(result), events, store.read_bytes().decode("latin-1")):
        assert SECRET not in text
    assert "[secret:SHOP_KEY]" in events
    monkeypatch.setenv("PHASELOOP_STORE", str(store))
    for arguments in (["show", run_id], ["events", run_id], ["show", run_id, "--json"], ["show", run_id, "--events"]):
        ended = phaseloop(*arguments)
        assert SECRET not in ended.out + ended.err, arguments
    wal = store.with_name("runs.db-wal")
    assert not wal.exists() or SECRET.encode() not in wal.read_bytes()


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("t.py", "import nowhere_to_be_found", "t.py cannot be imported: ModuleNotFoundError"),
        ("t.py", "def broken(:", "line 1"),
        ("t.py", "x = 1 / 0", "t.py cannot be imported: ZeroDivisionError: division by zero"),
        ("t.py", "x = 1", "t.py has no tools; mark its functions with @tool"),
    ],
    ids=["import", "syntax", "raises", "empty"],
)
def test_a_tools_file_that_cannot_be_used_is_said_with_its_place(phaseloop, name, text, words):
    phaseloop.file(name, text)
    assert words in sentence(phaseloop("run", "a, b", "--tools", name), 2)


@pytest.mark.parametrize(
    ("text", "words"),
    [("{", "m.json is not JSON"), ("{}", 'expected {"mcpServers"'), ('{"mcpServers": {"a": {}}}', "server 'a'")],
    ids=["cut", "empty", "nothing to start"],
)
def test_a_broken_list_of_mcp_servers_is_said_with_its_place(phaseloop, text, words):
    phaseloop.file("m.json", text)
    assert words in sentence(phaseloop("run", "a, b", "--mcp", "m.json"), 2)


def test_an_mcp_server_that_does_not_start_costs_its_own_tools_only(phaseloop, caplog):
    phaseloop.file("m.json", {"mcpServers": {"gone": {"command": "no-such-program-here"}}})
    ended = phaseloop("run", "a, b", "--mcp", "m.json")
    assert ended.code == 0
    assert "MCP server gone is down" in caplog.text
    assert "Traceback" not in ended.err


@pytest.mark.parametrize("name", ["gpt-5-mini", "nobody:some-model", ":", "openai:"])
def test_a_model_that_cannot_be_meant_is_one_sentence(phaseloop, monkeypatch, name):
    monkeypatch.setenv("OPENAI_API_KEY", "not-a-key")
    said = sentence(phaseloop("run", "a, b", "--model", name), 2)
    assert repr(name) in said
    assert "has no provider: write provider:name" in said or "Unknown model" in said


# ---- goals


@pytest.mark.parametrize(
    "goal",
    [
        "🎉🎉, 👩‍👩‍👧",
        "tab\there, bell\x07 there\r\nand \x1b[31mred\x1b[0m",
        "\u202eevil, text",
        "  ",
        "-",
        "{goal}, %s",
    ],
    ids=["emoji", "control", "reordering", "blank", "dash", "templates"],
)
def test_a_strange_goal_is_carried_as_it_is_and_shown_harmlessly(phaseloop, goal):
    ended = phaseloop("run", "--json", "--", goal)
    assert ended.code == 0, ended
    assert ended.lines[0]["goal"] == goal
    run_id = ended.result["run_id"]
    for arguments in (["runs"], ["show", run_id], ["show", run_id, "--events"], ["show", run_id, "--step", "s1"]):
        shown = phaseloop(*arguments).out
        assert not [c for c in shown if (ord(c) < 32 and c != "\n") or c in "\x7f\u202e"], (arguments, shown)


def test_a_goal_with_half_a_character_is_refused(phaseloop):
    assert "broken Unicode at character 4" in sentence(phaseloop("run", "abc\ud83d"), 2)
    made = App(store="memory:")
    made_run = made.run_sync("a, b")
    assert made_run.status == "completed"


def test_a_huge_goal_is_refused_with_the_limit(phaseloop):
    said = sentence(phaseloop("run", "word " * 200_000), 2)
    assert "1,000,000 characters; it may have 100,000" in said
    assert len(said) < 300
    big = phaseloop("run", "做，" * 49_000, "--json")
    assert big.code == 0
    assert len(big.result["results"]) == 8


def test_an_answer_to_a_gate_that_is_closed_is_refused(phaseloop):
    process = phaseloop.file("p.json", gate_process())
    run_id = phaseloop("run", "a, b", "--process", process, "--json").result["run_id"]
    assert phaseloop("answer", run_id, "g1", "approve").code == 0
    assert "g1" in sentence(phaseloop("answer", run_id, "g1", "approve"), 2)
    assert phaseloop("show", run_id, "--json").lines[-1]["status"] == "completed"


# ---- stores


def test_a_store_that_is_none_is_said(phaseloop):
    (phaseloop.folder / "text.db").write_text("this is no database at all, only text " * 100)
    assert "not a phaseloop store" in sentence(phaseloop("run", "a, b", "--store", "text.db"), 1)
    (phaseloop.folder / "folder").mkdir()
    assert "it is a folder" in sentence(phaseloop("runs", "--store", "folder"), 1)
    assert "sqlite:///path" in sentence(phaseloop("runs", "--store", "mysql://here"), 1)
    strange = sqlite3.connect(phaseloop.folder / "strange.db")
    strange.execute("CREATE TABLE t(x)")
    strange.close()
    assert "another program" in sentence(phaseloop("runs", "--store", "strange.db"), 1)


def test_a_store_of_a_newer_release_is_left_alone(phaseloop):
    run_id = phaseloop("run", "a, b", "--json").result["run_id"]
    path = phaseloop.folder / ".phaseloop" / "runs.db"
    db = sqlite3.connect(path)
    (version,) = db.execute("PRAGMA user_version").fetchone()
    db.execute(f"PRAGMA user_version={version + 1}")
    db.commit()
    said = sentence(phaseloop("run", "c, d"), 1)
    assert f"it has schema {version + 1}, this release knows {version}: upgrade phaseloop" in said
    db.execute(f"PRAGMA user_version={version}")
    db.commit()
    db.close()
    assert phaseloop("show", run_id).code == 0


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written_is_said(phaseloop):
    locked = phaseloop.folder / "locked"
    locked.mkdir()
    locked.chmod(stat.S_IRUSR | stat.S_IXUSR)
    assert "writable" in sentence(phaseloop("run", "a, b", "--store", "locked/runs.db"), 1)


def test_a_place_where_no_folder_can_be_made_is_said(phaseloop):
    phaseloop.file("file", "x")
    assert "its folder cannot be made" in sentence(phaseloop("run", "a, b", "--store", "file/runs.db"), 1)


HOLDER = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.readline()
"""


def test_a_store_that_another_process_holds_is_waited_for_then_said(phaseloop, monkeypatch):
    monkeypatch.setattr("phaseloop.adapters.sqlite_log.BUSY_SECONDS", 0.3)
    monkeypatch.setattr(open_store, "__kwdefaults__", {**open_store.__kwdefaults__, "busy_seconds": 0.3})
    run_id = phaseloop("run", "a, b", "--json").result["run_id"]
    path = phaseloop.folder / ".phaseloop" / "runs.db"
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout.readline() == "held\n"
    try:
        said = sentence(phaseloop("run", "c, d"), 1)
        assert "another process holds it" in said
    finally:
        holder.communicate("\n")
    assert phaseloop("run", "c, d").code == 0
    assert phaseloop("show", run_id).code == 0


class Full:
    """A disk that is full from the n-th commit on, until there is space again."""

    def __init__(self, at):
        self.at = at
        self.commits = 0
        self.space = False

    def __call__(self, moment):
        self.commits += moment == "before"
        if moment == "before" and self.commits >= self.at and not self.space:
            error = sqlite3.OperationalError("database or disk is full")
            error.sqlite_errorcode = sqlite3.SQLITE_FULL
            raise error


@pytest.mark.parametrize("at", [1, 2, 3, 5, 7])
def test_a_full_disk_ends_the_drive_and_the_run_goes_on_when_there_is_space(store, monkeypatch, at):
    world = World()
    steps = plan(bound("a", "look", {}), bound("b", "pay", {"to": "ann"}, ["a"]), opened("c", ["b"]))
    disk = Full(at)
    monkeypatch.setattr("phaseloop.compose.open_store", lambda url: open_store(url, fault=disk))

    def make():
        return app(store, [steps], {"do c": "a long enough text"}, tools=world.tools())

    async def work():
        async with make() as made:
            run_id = made.new_id()
            begun = made.begin("look and pay ann")
            disk.space = True
            await made.host.begin(run_id, begun)
            disk.space, disk.commits = False, 0
            with pytest.raises(LogBroken, match="disk is full; free some disk space"):
                await made.resume(run_id)
            known = await made.store.read(run_id)
            disk.space = True
            result = await made.resume(run_id)
            return known, result, await made.store.read(run_id)

    known, result, recorded = asyncio.run(work())
    assert recorded[: len(known)] == known
    if result.status == "waiting":  # the payment may have left before the disk refused its end: only a person knows
        assert result.waiting_for[0].kind == "in_doubt"
    else:
        assert result.status == "completed"
    assert world.counts["pay ann 1"] <= 1


@pytest.mark.slow
def test_a_full_disk_is_one_sentence_and_exit_code_1_at_the_command_line(phaseloop, monkeypatch):
    disk = Full(4)
    monkeypatch.setattr("phaseloop.compose.open_store", lambda url: open_store(url, fault=disk))
    said = phaseloop("run", "a, b, c")
    assert "disk is full; free some disk space" in sentence(said, 1)
    (command,) = [line.split("Go on: phaseloop ")[1] for line in said.err.splitlines() if "Go on" in line]
    assert "nothing is lost" in said.err
    disk.space = True
    done = phaseloop(*command.split(), "--json")
    assert (done.code, len(done.result["results"])) == (0, 3)


def test_a_gate_answered_on_a_full_disk_stays_open_and_is_answered_later(store, monkeypatch):
    disk = Full(1)
    disk.space = True
    monkeypatch.setattr("phaseloop.compose.open_store", lambda url: open_store(url, fault=disk))

    async def work():
        async with app(store) as made:
            run = await made.start("a, b", process=gate_process())
            gate = only_gate(await made.result(run.id))
            disk.space = False
            with pytest.raises(LogBroken):
                await made.answer(run.id, gate, "approve")
            disk.space = True
            assert only_gate(await made.result(run.id)) == gate
            await made.answer(run.id, gate, "approve")
            return await made.result(run.id)

    assert asyncio.run(work()).status == "completed"
