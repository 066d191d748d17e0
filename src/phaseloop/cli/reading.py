"""Commands that read: runs, show, events, gates, replay, check, tools, rebuild; and the demo."""

import asyncio
import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from phaseloop.core.errors import RunUnknown, WrongUse

# ruff: noqa: PLC0415 - `runs` must not pay for what `check` uses
# ruff: noqa: T201 - this is what they print

StoreOption = Annotated[str | None, typer.Option("--store", help="PHASELOOP_STORE, else .phaseloop/runs.db")]
JsonOption = Annotated[bool, typer.Option("--json", help="As JSON")]
RunArgument = Annotated[str, typer.Argument(metavar="RUN")]


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    for command in (runs, show, events, gates, replay, check, rebuild, demo):
        app.command()(command)


def _store(url: str | None) -> Any:
    import os

    from phaseloop.adapters.sqlite_log import open_store

    return open_store(url or os.environ.get("PHASELOOP_STORE") or ".phaseloop/runs.db")


async def _history(store: Any, run_id: str) -> list[Any]:
    history: list[Any] = await store.read(run_id)
    if history:
        return history
    found = [row.run_id for row in await store.runs.list_runs(limit=10_000) if row.run_id.startswith(run_id)]
    if len(found) != 1 or not run_id:
        raise RunUnknown(run_id)
    again: list[Any] = await store.read(found[0])
    return again


def runs(
    store: StoreOption = None,
    needs_me: Annotated[bool, typer.Option("--needs-me", help="Only runs that wait for a person")] = False,
    limit: Annotated[int, typer.Option("--limit", min=1)] = 50,
    as_json: JsonOption = False,
) -> None:
    """List runs, those that wait for a person first."""
    opened = _store(store)
    rows = asyncio.run(opened.runs.list_runs(state="waiting" if needs_me else "", limit=limit))
    opened.close()
    if as_json:
        for row in rows:
            print(json.dumps(asdict(row), ensure_ascii=False))
        return
    if not rows:
        print("No run waits for you." if needs_me else 'No runs yet. Start one: phaseloop run "..."')
    for row in rows:
        place = f"{row.phase_index + 1}/{row.phase_count}"
        print(f"{row.run_id}  {row.state:<9}  {place:>4}  {row.title}" + (f"  [{row.need}]" if row.need else ""))


def show(
    run_id: RunArgument,
    step: Annotated[str | None, typer.Option("--step", help="One step, with calls and verdicts")] = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
    ascii_only: Annotated[bool, typer.Option("--ascii")] = False,
) -> None:
    """Show a run as it stands: phases, plan, steps, gates, result."""
    from phaseloop.cli.showing import show_run, show_step

    opened = _store(store)
    history = asyncio.run(_history(opened, run_id))
    codec = opened.codec
    opened.close()
    if step is not None:
        found = [codec.envelope(r) for r in history if getattr(r.event, "step_id", "") == step]
        if not found:
            raise WrongUse(f"run {run_id} has no step {step}")
        show_step(found, as_json)
        return
    show_run(history, as_json, ascii_only)


def events(
    run_id: RunArgument,
    after: Annotated[int, typer.Option("--after", help="Only events after this number", min=0)] = 0,
    store: StoreOption = None,
) -> None:
    """Print the events of a run as JSON, one a line."""
    opened = _store(store)
    for recorded in asyncio.run(_history(opened, run_id)):
        if recorded.seq > after:
            print(json.dumps(opened.codec.envelope(recorded), ensure_ascii=False))
    opened.close()


def gates(store: StoreOption = None, as_json: JsonOption = False) -> None:
    """List the open gates of all runs with the outcomes that answer them."""
    from phaseloop.core.machine import fold
    from phaseloop.engine.results import waiting_for

    opened = _store(store)

    async def load() -> list[tuple[str, Any]]:
        rows = []
        for run_id, row in await opened.runs.open_gates():
            state = fold(await opened.read(run_id))
            rows.append((run_id, waiting_for(row.gate_id, state.gates[row.gate_id])))
        return rows

    found = asyncio.run(load())
    opened.close()
    if not found and not as_json:
        print("Nothing needs you.")
    for run_id, gate in found:
        if as_json:
            print(json.dumps({"run_id": run_id, **asdict(gate)}, ensure_ascii=False))
            continue
        print(f"{run_id}  {gate.gate_id}  {gate.activity_id}  {gate.title}")
        print(f"  phaseloop answer {run_id} {gate.gate_id} {'|'.join(gate.outcomes)}")


def replay(run_id: RunArgument, store: StoreOption = None) -> None:
    """Re-derive every decision of a run without a model or a tool, and report the first difference."""
    from phaseloop.engine.replay import replay as replay_history

    opened = _store(store)
    history = asyncio.run(_history(opened, run_id))
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
    ascii_only: Annotated[bool, typer.Option("--ascii", help="Plain signs instead of box characters")] = False,
) -> None:
    """Build a sales page in five phases, offline, with scripted models and real local tools."""
    from phaseloop.cli.demoing import run_demo

    raise typer.Exit(run_demo(store, yes, ascii_only, fresh))
