"""Commands that move a run that exists: resume, answer, retry, replan, watch, cancel, pause."""

from pathlib import Path
from typing import Annotated

import typer

from phaseloop.cli.options import (
    AsciiOption,
    CommentOption,
    CriticOption,
    JsonOption,
    Manner,
    McpOption,
    Means,
    ModelOption,
    RunArgument,
    SafeOption,
    StoreOption,
    ToolsOption,
    YesOption,
    pairs,
)
from phaseloop.core.errors import WrongUse

# ruff: noqa: PLC0415 - `--help` must not pay for a run


def resume(  # noqa: PLR0913 - an option is an argument
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
    from phaseloop.cli.going_on import go_on, resumed

    means = Means(store, model, critic_model, tuple(tools or ()), mcp)
    raise typer.Exit(go_on(run_id, means, Manner(as_json, ascii_only, yes, yes_safe), resumed))


def answer(  # noqa: PLR0913 - an option is an argument
    run_id: RunArgument,
    gate: Annotated[str, typer.Argument(metavar="GATE", help="The gate's id or its activity's")],
    outcome: Annotated[str, typer.Argument(metavar="OUTCOME", help="approve, revise, ...: `gates` lists them")],
    value: Annotated[str | None, typer.Option("--value", help="The answer's value, as JSON")] = None,
    fields: Annotated[list[str] | None, typer.Option("--set", help="FIELD=VALUE of a form")] = None,
    plan: Annotated[Path | None, typer.Option("--plan", help="An edited plan, JSON or YAML")] = None,
    comment: CommentOption = "",
    no_drive: Annotated[
        bool, typer.Option("--no-drive", help="Only record the answer; whoever drives the run goes on")
    ] = False,
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
    """Answer a gate, then go on with the run."""
    from phaseloop.cli.going_on import answered, go_on, record

    if sum(given is not None for given in (value, plan, fields or None)) > 1:
        raise WrongUse("give the answer's value once: by --value, by --set or by --plan")
    said = answered(gate, outcome, value, pairs(fields), plan, comment)
    means = Means(store, model, critic_model, tuple(tools or ()), mcp)
    if no_drive:
        raise typer.Exit(record(run_id, means, said))
    raise typer.Exit(go_on(run_id, means, Manner(as_json, ascii_only, yes, yes_safe), said))


def retry(  # noqa: PLR0913 - an option is an argument
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
    """Try a failed run again: one more plan for what is left; finished steps are kept."""
    from phaseloop.cli.going_on import go_on, reopened

    means = Means(store, model, critic_model, tuple(tools or ()), mcp)
    raise typer.Exit(go_on(run_id, means, Manner(as_json, ascii_only, yes, yes_safe), reopened("")))


def replan(  # noqa: PLR0913 - an option is an argument
    run_id: RunArgument,
    comment: CommentOption = "",
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
    """Plan what is left of a failed run anew, with a word of yours to the planner."""
    from phaseloop.cli.going_on import go_on, reopened

    if not comment.strip():
        raise WrongUse("replan needs --comment: what should the new plan do otherwise? (retry needs none)")
    means = Means(store, model, critic_model, tuple(tools or ()), mcp)
    raise typer.Exit(go_on(run_id, means, Manner(as_json, ascii_only, yes, yes_safe), reopened(comment)))


def watch(
    run_id: RunArgument, store: StoreOption = None, as_json: JsonOption = False, ascii_only: AsciiOption = False
) -> None:
    """Show a run that another process drives, until it rests."""
    from phaseloop.cli.going_on import watch_run

    raise typer.Exit(watch_run(run_id, Means(store), Manner(as_json, ascii_only)))


def cancel(run_id: RunArgument, comment: CommentOption = "", store: StoreOption = None) -> None:
    """End a run for good. Finished work is kept; writes whose end is not known are listed."""
    from phaseloop.cli.going_on import cancel_run

    raise typer.Exit(cancel_run(run_id, Means(store), comment))


def pause(run_id: RunArgument, comment: CommentOption = "", store: StoreOption = None) -> None:
    """Nothing new starts; calls in flight end and are recorded."""
    from phaseloop.cli.going_on import pause_run

    raise typer.Exit(pause_run(run_id, Means(store), comment))
