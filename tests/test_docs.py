"""The documentation is true: its code runs, its links lead somewhere, and nothing that exists is unnamed."""

import dataclasses
import json
import re
import tomllib
from pathlib import Path

import pytest
import yaml
from pytest_examples import CodeExample, EvalExample, find_examples

from phaseloop.adapters.mcp_config import _KEYS as MCP_KEYS
from phaseloop.adapters.mcp_config import parse_mcp_config
from phaseloop.adapters.wire import event_name
from phaseloop.core.definition_form import (
    ACTIVITY_FIELDS,
    DEFINITION_FIELDS,
    GATE_FIELDS,
    PHASE_FIELDS,
    WORK_FIELDS,
    read_definition,
)
from phaseloop.core.definition_rules import check_definition
from phaseloop.core.events import EVENT_TYPES
from phaseloop.core.limits import Band, Limits
from phaseloop.core.lint import errors, lint
from phaseloop.core.plan_scope import PlanScope
from phaseloop.core.plan_text import normalise
from phaseloop.core.process import GateKind, GateMode, NoMatchPolicy
from phaseloop.core.tools import EffectClass, ToolSpec
from tools import events_page

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted([*DOCS.glob("*.md"), *ROOT.glob("*.md"), *(ROOT / "changelog.d").glob("*.md")])
READMES = ["README.md", "README.zh-CN.md"]
MACHINE_PATHS = re.compile(r"/(work|home|root|tmp)/\w+")


def page(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def page_id(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def named(text: str) -> set[str]:
    """Every word that stands in code marks."""
    return {word for span in re.findall(r"`([^`\n]+)`", text) for word in re.findall(r"[\w-]+", span)}


@pytest.mark.parametrize(
    "example",
    [e for e in find_examples(*(str(path) for path in PAGES)) if e.prefix.startswith(("python", "py"))],
    ids=lambda example: f"{example.path.name}:{example.start_line}",
)
def test_a_code_block_runs_and_prints_what_it_says(
    example: CodeExample, eval_example: EvalExample, tmp_path, monkeypatch
):
    if example.prefix_settings().get("test") == "skip":
        pytest.skip("needs a model")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PHASELOOP_MODEL", raising=False)
    eval_example.set_config(line_length=110)
    eval_example.run_print_check(example)


@pytest.mark.parametrize("path", PAGES, ids=page_id)
def test_every_link_inside_the_repository_leads_to_a_file(path):
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (path.parent / target).exists(), f"{page_id(path)} links to {target}"


@pytest.mark.parametrize("path", PAGES, ids=page_id)
def test_no_page_names_a_folder_of_the_machine_it_was_written_on(path):
    assert not MACHINE_PATHS.search(path.read_text(encoding="utf-8"))


def test_the_index_lists_every_page():
    index = page("index.md")
    for path in DOCS.glob("*.md"):
        assert path.name == "index.md" or f"]({path.name})" in index, f"{path.name} is not in docs/index.md"


def test_the_table_of_events_is_up_to_date():
    assert events_page.PAGE.read_text(encoding="utf-8") == events_page.render(), "run: python -m tools.events_page"


@pytest.mark.parametrize("event_type", EVENT_TYPES, ids=lambda cls: cls.__name__)
def test_every_event_has_a_row(event_type):
    assert f"| `{event_name(event_type)}` |" in page("events.md")


def limit_text(value: object) -> str:
    """A limit's default as docs/limits.md writes it."""
    if isinstance(value, Band):
        return f"{value.retry:g} / {value.accept:g}"
    if isinstance(value, tuple):
        return ", ".join(f"{part:g}" for part in value)
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, str) else f"{value:,.0f}"


@pytest.mark.parametrize("limit", dataclasses.fields(Limits), ids=lambda field: field.name)
def test_every_limit_is_documented_with_its_default(limit):
    assert f"| `{limit.name}` | {limit_text(getattr(Limits(), limit.name))} |" in page("limits.md")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("definitions.md", [field.key for field in (*DEFINITION_FIELDS, *PHASE_FIELDS, *ACTIVITY_FIELDS)]),
        ("gates.md", [field.key for field in GATE_FIELDS]),
        ("gates.md", [*GateKind, *GateMode, *NoMatchPolicy]),
        ("tools.md", sorted(MCP_KEYS)),
        ("tools.md", [field.name for field in dataclasses.fields(ToolSpec)]),
    ],
    ids=["definition", "gate", "gate words", "mcp.json", "tool"],
)
def test_every_setting_is_named(name, words):
    missing = sorted({str(word) for word in words} - named(page(name)))
    assert not missing, f"docs/{name} does not name {missing}"


def test_every_setting_of_an_activity_is_named():
    keys = {field.key for fields in WORK_FIELDS.values() for field in fields}
    missing = keys - named(page("definitions.md")) - {"sideEffect", "waitForCompletion"}
    assert not missing, f"docs/definitions.md does not name {sorted(missing)}"


def blocks(name: str, language: str) -> list[str]:
    """The code blocks of one page in one language."""
    return re.findall(rf"```{language}\n(.*?)```", page(name), re.DOTALL)


def test_the_example_definition_is_one():
    examples = blocks("definitions.md", "yaml")
    assert examples
    for example in examples:
        reading = read_definition(yaml.safe_load(example))
        assert reading.findings == ()
        assert check_definition(reading.definition) == ()


def test_the_example_plan_passes_the_linter():
    (example,) = blocks("definitions.md", "json")
    plan, drift = normalise(json.loads(example))
    assert drift == ()
    number, total = {"type": "string"}, {"type": "number"}
    order = {"type": "object", "properties": {"id": number, "total": total}, "required": ["id", "total"]}
    tools = (
        ToolSpec("find_order", effect=EffectClass.READ, output_schema=order),
        ToolSpec("send_mail", identity=("to",)),
        ToolSpec("note"),
    )
    names = frozenset(tool.name for tool in tools)
    scope = PlanScope(request="confirm the order of ann@example.com", tools=tools, all_tools=names)
    assert [finding.message for finding in errors(lint(plan, scope))] == []


def test_the_example_of_mcp_servers_is_read():
    (example,) = blocks("tools.md", "json")
    environment = {"WEATHER_KEY": "one", "TICKET_TOKEN": "two"}
    servers = parse_mcp_config(json.loads(example), "docs/tools.md", environment)
    assert [server.name for server in servers] == ["weather", "tickets"]


def command_flags() -> dict[str, set[str]]:
    """The flags of each command as the command line itself declares them."""
    from typer import Typer
    from typer.main import get_command

    from phaseloop.cli import main

    app = next(value for value in vars(main).values() if isinstance(value, Typer))
    group = get_command(app)
    context = group.make_context("phaseloop", [], resilient_parsing=True)
    flags = {}
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        flags[name] = {
            option
            for parameter in command.params
            for option in (*parameter.opts, *parameter.secondary_opts)
            if option.startswith("--") and not getattr(parameter, "hidden", False)
        }
    return flags


@pytest.mark.skipif(not (ROOT / "src/phaseloop/cli").is_dir(), reason="there is no command line yet")
def test_every_command_and_flag_is_named_and_no_other():
    text = page("cli.md")
    flags = command_flags()
    for command in flags:
        assert f"| `phaseloop {command}" in text, f"docs/cli.md does not name the command {command}"
    declared = {flag for options in flags.values() for flag in options} | {"--help"}
    written = set(re.findall(r"--[a-z][a-z-]+", text))
    assert written == declared, f"missing {sorted(declared - written)}, invented {sorted(written - declared)}"
    assert set(re.findall(r"\| `phaseloop (\w+)", text)) == set(flags)


@pytest.mark.parametrize("name", READMES)
def test_a_readme_names_the_two_commands_and_only_real_ones(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    used = set(re.findall(r"(?:`|\$ )make ([a-z-]+)", text))
    assert {"demo", "test"} <= used
    assert used <= targets
    documented = set(re.findall(r"\| `phaseloop (\w+)", page("cli.md")))
    assert set(re.findall(r"`phaseloop (\w+)", text)) <= documented


def test_both_readmes_hold_the_same_code():
    blocks = [re.findall(r"```\w+\n(.*?)```", (ROOT / name).read_text(encoding="utf-8"), re.DOTALL) for name in READMES]
    assert blocks[0]
    assert blocks[0] == blocks[1]


def test_the_guide_for_agents_stays_short():
    assert (ROOT / "AGENTS.md").read_text(encoding="utf-8").count("\n") <= 80


def test_each_change_is_one_sentence_in_its_own_file():
    for path in (ROOT / "changelog.d").glob("*.md"):
        if path.name != "README.md":
            assert re.fullmatch(r"\d{4}-[a-z0-9-]+\.md", path.name), path.name
            assert len(path.read_text(encoding="utf-8").strip().splitlines()) == 1, path.name


def test_the_lock_files_have_hashes_and_no_addresses():
    for path in (ROOT / "requirements").glob("*.txt"):
        text = path.read_text(encoding="utf-8")
        assert "://" not in text, f"{path.name} records an address"
        assert "--index" not in text
        assert "--find-links" not in text
        for entry in re.split(r"\n(?=\S)", text.strip()):
            assert re.match(r"[\w.\[\]-]+==[\w.]+", entry), f"{path.name}: {entry.splitlines()[0]} is not pinned"
            assert "--hash=sha256:" in entry, f"{path.name}: {entry.splitlines()[0]} has no hash"


@pytest.mark.parametrize(
    ("lock", "groups"), [("run", []), ("setup", ["setup"]), ("dev", ["dev"]), ("check", ["dev", "check"])]
)
def test_the_lock_files_hold_what_the_project_asks_for(lock, groups):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wanted = [] if lock == "setup" else list(project["project"]["dependencies"])
    wanted += [entry for group in groups for entry in project["dependency-groups"][group]]
    locked = re.findall(r"^([\w.-]+)", (ROOT / "requirements" / f"{lock}.txt").read_text(), re.MULTILINE)
    names = {re.split(r"[\[<>=~! ;]", entry, maxsplit=1)[0].lower() for entry in wanted}
    assert names <= {name.lower() for name in locked}, "run: make lock"
