"""Commands that read: runs, show, events, gates, replay, check, rebuild; and the demo."""

import asyncio
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from phaseloop.cli.options import AsciiOption, JsonOption, RunArgument, StoreOption
from phaseloop.core.errors import WrongUse

if TYPE_CHECKING:
    from phaseloop.adapters.sqlite_log import SqliteLog
    from phaseloop.engine.ports import Recorded

# ruff: noqa: PLC0415 - `runs` must not pay for what `check` uses
# ruff: noqa: T201 - this is what they print


def _store(url: str | None) -> "SqliteLog":
    from phaseloop.adapters.sqlite_log import open_store
    from phaseloop.engine.surroundings import store_url

    return open_store(store_url(url))


def _history(url: str | None, letters: str) -> "tuple[SqliteLog, list[Recorded]]":
    """The store, still open, and a run's history."""
    from phaseloop.cli.finding import whole_id

    opened = _store(url)

    async def load() -> "list[Recorded]":
        return await opened.read(await whole_id(opened.runs, letters))

    return opened, asyncio.run(load())


def runs(
    store: StoreOption = None,
    needs_me: Annotated[bool, typer.Option("--needs-me", help="Only runs that wait for a person")] = False,
    limit: Annotated[int, typer.Option("--limit", min=1, help="At most so many, the newest")] = 50,
    as_json: JsonOption = False,
) -> None:
    """List runs, those that wait for a person first."""
    from phaseloop.cli.figures import printable

    opened = _store(store)
    rows = asyncio.run(opened.runs.list_runs(state="waiting" if needs_me else "", limit=limit))
    opened.close()
    rows.sort(key=lambda row: row.state != "waiting")
    if as_json:
        for row in rows:
            print(json.dumps(asdict(row), ensure_ascii=False))
        return
    if not rows:
        print("No run waits for you." if needs_me else 'No runs yet. Start one: phaseloop run "..."')
    for row in rows:
        place = f"{row.phase_index + 1}/{row.phase_count}"
        need = f"  [{printable(row.need)[:80]}]" if row.need else ""
        print(f"{row.run_id}  {row.state:<9}  {place:>4}  {printable(row.title)}{need}")


def show(
    run_id: RunArgument,
    step: Annotated[str | None, typer.Option("--step", help="One step, with calls and verdicts")] = None,
    as_events: Annotated[bool, typer.Option("--events", help="Its history, a line per turning point")] = False,
    store: StoreOption = None,
    as_json: JsonOption = False,
    ascii_only: AsciiOption = False,
) -> None:
    """Show a run as it stands: phases, plan, steps, gates, result."""
    from phaseloop.cli import showing

    opened, history = _history(store, run_id)
    codec = opened.codec
    opened.close()
    if step is not None:
        found = [codec.envelope(r) for r in history if step in showing.steps_of(r.event)]
        if not found:
            raise WrongUse(f"run {history[0].run_id} has no step {step}")
        showing.show_step(found, step, as_json)
    elif as_events:
        showing.show_events(history, codec, as_json, ascii_only)
    else:
        showing.show_run(history, as_json, ascii_only, store)


def events(
    run_id: RunArgument,
    after: Annotated[int, typer.Option("--after", help="Only events after this number", min=0)] = 0,
    store: StoreOption = None,
) -> None:
    """Print the events of a run as JSON, one a line."""
    opened, history = _history(store, run_id)
    for recorded in history:
        if recorded.seq > after:
            print(json.dumps(opened.codec.envelope(recorded), ensure_ascii=False))
    opened.close()


def gates(store: StoreOption = None, as_json: JsonOption = False, ascii_only: AsciiOption = False) -> None:
    """List the open gates of all runs, each with the commands that answer it."""
    from phaseloop.cli import showing

    opened = _store(store)

    async def load() -> "list[list[Recorded]]":
        waiting = dict.fromkeys(run_id for run_id, _ in await opened.runs.open_gates())
        return [await opened.read(run_id) for run_id in waiting]

    histories = asyncio.run(load())
    opened.close()
    if not histories and not as_json:
        print("Nothing needs you.")
    for history in histories:
        showing.show_gates(history, as_json, ascii_only, store)


def replay(run_id: RunArgument, store: StoreOption = None) -> None:
    """Re-derive every decision of a run without a model or a tool, and report the first difference."""
    from phaseloop.engine.replay import replay as replay_history

    opened, history = _history(store, run_id)
    opened.close()
    result = replay_history(history)
    if result.difference is not None:
        print(result.difference)
        raise typer.Exit(1)
    print(f"{result.events} events, {result.decisions} decisions derived again, no difference")


def check(
    file: Annotated[Path, typer.Argument(help="A definition, JSON or YAML")],
    as_json: JsonOption = False,
) -> None:
    """Check a process definition and say what to mend."""
    from phaseloop.cli.checking import check_file

    raise typer.Exit(check_file(file, as_json))


def rebuild(store: StoreOption = None) -> None:
    """Rebuild the derived tables (run list, open gates, timers) from the log."""
    from phaseloop.core.machine import fold
    from phaseloop.core.run_tables import tables
    from phaseloop.core.tables import Tables

    opened = _store(store)

    async def derived(run_id: str) -> Tables:
        return tables(run_id, fold(await opened.read(run_id)))

    count = asyncio.run(opened.rebuild(derived))
    opened.close()
    print(f"{count} runs rebuilt")


def demo(
    store: StoreOption = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Let the demo's own policy answer the gates")] = False,
    fresh: Annotated[bool, typer.Option("--new", help="A new run, even if one was interrupted")] = False,
    ascii_only: AsciiOption = False,
) -> None:
    """Build a sales page in five phases, offline, with scripted models and real local tools."""
    from phaseloop.cli.demoing import run_demo

    raise typer.Exit(run_demo(store, yes, ascii_only, fresh))
