"""The command line: its entry point, `run`, and the commands that other modules add."""

import os
import sys
from typing import Annotated

import typer

from phaseloop.cli import moving, reading
from phaseloop.cli.options import (
    AsciiOption,
    CriticOption,
    JsonOption,
    Manner,
    McpOption,
    Means,
    ModelOption,
    SafeOption,
    StoreOption,
    ToolsOption,
    YesOption,
    pairs,
)
from phaseloop.core.errors import AnswerRefused, DefinitionRefused, PhaseloopError, RunUnknown, WrongUse

INTERRUPTED, WRONG, FAILED = 130, 2, 1
app = typer.Typer(
    name="phaseloop",
    help="Plan, act, judge and stop at gates, on one durable log.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main() -> None:
    """Run the command line; our own errors are one sentence and an exit code, never a traceback."""
    os.environ.setdefault("PYDANTIC_AI_NO_BANNER", "1")  # it would be drawn into the live view
    try:
        app()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except PhaseloopError as error:
        callers = isinstance(error, WrongUse | AnswerRefused | DefinitionRefused | RunUnknown)
        _fail(error, WRONG if callers else FAILED)


def _fail(error: PhaseloopError, code: int) -> None:
    from phaseloop.cli.figures import printable  # noqa: PLC0415 - rich costs a quarter of a second

    sentence = f"phaseloop: {printable(str(error))}"
    print(sentence.encode("utf-8", "replace").decode("utf-8"), file=sys.stderr)  # noqa: T201
    sys.exit(code)


@app.command()
def run(  # noqa: PLR0913 - an option is an argument
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
    from phaseloop.cli.starting import start_run  # noqa: PLC0415 - `--help` must not pay for a run

    if mode not in ("normal", "design"):
        raise WrongUse(f"--mode is normal or design, not {mode!r}")
    means = Means(store, model, critic_model, tuple(tools or ()), mcp)
    manner = Manner(as_json, ascii_only, yes, yes_safe)
    raise typer.Exit(start_run(goal, means, manner, process, pairs(inputs), mode))


for command in (
    moving.resume,
    moving.answer,
    moving.retry,
    moving.replan,
    moving.watch,
    moving.cancel,
    moving.pause,
    reading.runs,
    reading.show,
    reading.events,
    reading.gates,
    reading.replay,
    reading.check,
    reading.rebuild,
    reading.demo,
):
    app.command()(command)
