"""The command line: every command with its options. Heavy libraries are imported when a command needs them."""

import asyncio
import json
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from phaseloop.core.errors import LogBroken, PhaseloopError, StoreUnusable

if TYPE_CHECKING:
    from phaseloop.cli.screen import Screen
    from phaseloop.cli.session import Session
    from phaseloop.compose import App

# ruff: noqa: PLC0415 - `--help` and `runs` must not pay for what they do not use
# ruff: noqa: PLR0913 - an option is an argument

INTERRUPTED, WRONG, FAILED = 130, 2, 1
app = typer.Typer(
    name="phaseloop",
    help="Plan, act, judge and stop at gates, on one durable log.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

StoreOption = Annotated[
    str | None, typer.Option("--store", help="Where runs are kept. PHASELOOP_STORE, else .phaseloop/runs.db")
]
ModelOption = Annotated[str | None, typer.Option("--model", "-m", help="provider:name. PHASELOOP_MODEL")]
CriticOption = Annotated[str | None, typer.Option("--critic-model", help="Another model for the critic")]
ToolsOption = Annotated[
    list[str] | None, typer.Option("--tools", "-t", help="PACKAGE[:NAME] or FILE.py[:NAME]; may be repeated")
]
McpOption = Annotated[Path | None, typer.Option("--mcp", help="An mcp.json with mcpServers")]
JsonOption = Annotated[bool, typer.Option("--json", help="Events as JSON, one a line")]
AsciiOption = Annotated[bool, typer.Option("--ascii", help="Plain signs instead of box characters")]
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Answer every gate in my name, positively")]
SafeOption = Annotated[bool, typer.Option("--yes-safe", help="Like --yes, but approvals stay open")]
RunArgument = Annotated[str, typer.Argument(metavar="RUN", help="The run's id, or its first letters")]


def main() -> None:
    """Run the command line; our own errors are one sentence and an exit code, never a traceback."""
    try:
        app()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except (LogBroken, StoreUnusable) as error:
        _fail(error, FAILED)
    except PhaseloopError as error:
        _fail(error, WRONG)


def _fail(error: PhaseloopError, code: int) -> None:
    print(f"phaseloop: {error}", file=sys.stderr)  # noqa: T201
    sys.exit(code)


def _say(text: str) -> None:
    print(text, file=sys.stderr)  # noqa: T201


def _make_app(
    store: str | None,
    model: str | None = None,
    critic_model: str | None = None,
    tools: list[str] | None = None,
    mcp: Path | None = None,
) -> "App":
    from phaseloop.compose import App

    loaded: list[Any] = []
    if tools:
        from phaseloop.adapters.tool_loading import load_tools

        for source in tools:
            loaded += load_tools(source)
    return App(model, critic_model=critic_model, tools=loaded, mcp=mcp, store=store)


def _screen(ascii_only: bool) -> "Screen":
    from phaseloop.cli.screen import this_screen

    return this_screen(ascii_only=ascii_only)


def _run_async(work: Coroutine[Any, Any, int]) -> None:
    raise typer.Exit(asyncio.run(work))


def _session(made: "App", run_id: str, ascii_only: bool, as_json: bool, yes: bool, yes_safe: bool) -> "Session":
    from phaseloop.cli import policies
    from phaseloop.cli.session import Session
    from phaseloop.compose import me

    policy = policies.yes if yes else policies.yes_safe if yes_safe else policies.nobody
    return Session(made, run_id, _screen(ascii_only), as_json, policy, me("cli"))


async def _drive(session: "Session") -> int:
    """Drive a session; Ctrl-C never loses a run, and one line says how to go on."""
    try:
        async with session.app:
            return await session.go()
    except asyncio.CancelledError:
        _say("")
        _say(f"The run rests at event {session.seen}; nothing is lost. Go on: phaseloop resume {session.run_id}")
        raise


async def _whole_id(made: "App", run_id: str) -> str:
    """A run by its id or the letters it begins with."""
    from phaseloop.core.errors import RunUnknown

    if await made.store.runs.run_row(run_id):
        return run_id
    found = [row.run_id for row in await made.store.runs.list_runs(limit=10_000) if row.run_id.startswith(run_id)]
    if len(found) != 1 or not run_id:
        raise RunUnknown(run_id)
    return found[0]


@app.command()
def run(
    goal: Annotated[str, typer.Argument(help="What you want done")],
    process: Annotated[str | None, typer.Option("--process", "-p", help="A definition: id or file")] = None,
    model: ModelOption = None,
    critic_model: CriticOption = None,
    tools: ToolsOption = None,
    mcp: McpOption = None,
    store: StoreOption = None,
    mode: Annotated[str, typer.Option("--mode", help="normal or design")] = "normal",
    inputs: Annotated[list[str] | None, typer.Option("--input", "-i", help="NAME=VALUE, an input")] = None,
    yes: YesOption = False,
    yes_safe: SafeOption = False,
    as_json: JsonOption = False,
    ascii_only: AsciiOption = False,
) -> None:
    """Start a run and drive it until it is over or waits for a person."""
    from ulid import ULID

    from phaseloop.compose import me

    made = _make_app(store, model, critic_model, tools, mcp)
    if made.offline:
        _say("no model is configured: the deterministic offline roles run (--model, PHASELOOP_MODEL)")
    run_id = str(ULID())
    session = _session(made, run_id, ascii_only, as_json, yes, yes_safe)

    async def work() -> int:
        await made.open()
        begin = made.begin(goal, process=process, inputs=_pairs(inputs), mode=mode, by=me("cli"))
        await made.host.begin(run_id, begin)
        return await _drive(session)

    _run_async(work())


def _pairs(texts: list[str] | None) -> dict[str, Any]:
    """`NAME=VALUE` pairs; a value that is JSON is taken as JSON."""
    from phaseloop.core.errors import WrongUse

    pairs: dict[str, Any] = {}
    for text in texts or ():
        name, found, value = text.partition("=")
        if not found or not name:
            raise WrongUse(f"{text!r} is not of the form NAME=VALUE")
        try:
            pairs[name] = json.loads(value)
        except ValueError:
            pairs[name] = value
    return pairs


@app.command()
def resume(
    run_id: RunArgument,
    model: ModelOption = None,
    critic_model: CriticOption = None,
    tools: ToolsOption = None,
    mcp: McpOption = None,
    store: StoreOption = None,
    yes: YesOption = False,
    yes_safe: SafeOption = False,
    as_json: JsonOption = False,
    ascii_only: AsciiOption = False,
) -> None:
    """Go on with a run that rests; a paused one is resumed."""
    made = _make_app(store, model, critic_model, tools, mcp)

    async def work() -> int:
        from phaseloop.compose import me
        from phaseloop.core.answers import Resume

        await made.open()
        whole = await _whole_id(made, run_id)
        state, _ = await made.host.load(whole)
        if state.status == "paused":
            await made.host.receive(whole, Resume(me("cli")))
        return await _drive(_session(made, whole, ascii_only, as_json, yes, yes_safe))

    _run_async(work())


@app.command()
def answer(
    run_id: RunArgument,
    gate: Annotated[str, typer.Argument(metavar="GATE", help="The gate's id or its activity's")],
    outcome: Annotated[str, typer.Argument(metavar="OUTCOME", help="approve, revise, ...: `gates` lists them")],
    value: Annotated[str | None, typer.Option("--value", help="The answer's value, as JSON")] = None,
    fields: Annotated[list[str] | None, typer.Option("--set", help="FIELD=VALUE of a form")] = None,
    plan: Annotated[Path | None, typer.Option("--plan", help="An edited plan, JSON or YAML")] = None,
    comment: Annotated[str, typer.Option("--comment", "-c", help="What should change, or why")] = "",
    model: ModelOption = None,
    critic_model: CriticOption = None,
    tools: ToolsOption = None,
    mcp: McpOption = None,
    store: StoreOption = None,
    yes: YesOption = False,
    as_json: JsonOption = False,
    ascii_only: AsciiOption = False,
) -> None:
    """Answer a gate, then go on with the run."""
    from phaseloop.cli.answering import answer_value, find_gate

    made = _make_app(store, model, critic_model, tools, mcp)

    async def work() -> int:
        from phaseloop.compose import me

        await made.open()
        whole = await _whole_id(made, run_id)
        state, _ = await made.host.load(whole)
        gate_id, asked = find_gate(state, gate)
        said = answer_value(asked, outcome, value, _pairs(fields), plan)
        await made.answer(whole, gate_id, outcome, value=said, comment=comment, by=me("cli"), drive=False)
        return await _drive(_session(made, whole, ascii_only, as_json, yes, False))

    _run_async(work())


@app.command()
def watch(
    run_id: RunArgument, store: StoreOption = None, as_json: JsonOption = False, ascii_only: AsciiOption = False
) -> None:
    """Show a run that another process drives."""
    made = _make_app(store)

    async def work() -> int:
        whole = await _whole_id(made, run_id)
        async with made:
            return await _session(made, whole, ascii_only, as_json, False, False).watch()

    _run_async(work())


@app.command()
def cancel(
    run_id: RunArgument, comment: Annotated[str, typer.Option("--comment", "-c")] = "", store: StoreOption = None
) -> None:
    """End a run for good. Finished work is kept; writes whose end is not known are listed."""
    made = _make_app(store)

    async def work() -> int:
        whole = await _whole_id(made, run_id)
        await made.cancel(whole, comment)
        state, _ = await made.host.load(whole)
        print(f"run {whole} is {state.status}")  # noqa: T201
        return 0

    _run_async(work())


@app.command()
def pause(
    run_id: RunArgument, comment: Annotated[str, typer.Option("--comment", "-c")] = "", store: StoreOption = None
) -> None:
    """Nothing new starts; calls in flight end and are recorded."""
    made = _make_app(store)

    async def work() -> int:
        await made.pause(await _whole_id(made, run_id), comment)
        return 0

    _run_async(work())


def _register() -> None:
    """The commands that only read stand in a module of their own."""
    from phaseloop.cli import reading

    reading.register(app)


_register()
