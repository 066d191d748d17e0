"""Opens the application a command works with: by its options, or as the run needs that it goes on with."""

import sys
from collections.abc import Mapping
from typing import Any

from phaseloop.adapters.definitions import examine_definition
from phaseloop.adapters.sqlite_log import open_store
from phaseloop.cli.finding import whole_id
from phaseloop.cli.options import Means
from phaseloop.compose import App
from phaseloop.core.errors import WrongUse
from phaseloop.core.language import language_of
from phaseloop.core.plan import Severity
from phaseloop.core.run_events import RunStarted
from phaseloop.core.tools import ToolSpec
from phaseloop.engine.ports import Recorded
from phaseloop.engine.surroundings import store_url

# ruff: noqa: PLC0415 - tools and the demo's models cost seconds, and most commands need neither


def open_app(means: Means) -> App:
    """An application by options alone. Raises `StoreUnusable` and `WrongUse`."""
    loaded: list[Any] = []
    if means.tools:
        from phaseloop.adapters.tool_loading import load_tools

        for source in means.tools:
            loaded += load_tools(source)
    return App(means.model, critic_model=means.critic_model, tools=loaded, mcp=means.mcp, store=means.store)


async def open_for(means: Means, letters: str) -> tuple[App, str]:
    """The application that can go on with a run, and the run's whole id.

    A run of the demo gets the demo's models and tools. Raises `RunUnknown`, `StoreUnusable`, and `WrongUse`
    for a run that would go on without the tools or the model that it began with.
    """
    url = store_url(means.store)
    store = open_store(url)
    try:
        run_id = await whole_id(store.runs, letters)
        history = await store.read(run_id)
    finally:
        store.close()
    started = history[0].event
    if isinstance(started, RunStarted) and _is_demo(started):
        from phaseloop.demo.roles import demo_app, demo_folder

        return demo_app(url, demo_folder(url), language_of(started.goal)), run_id
    return open_app(means), run_id


def _is_demo(started: RunStarted) -> bool:
    return started.definition_id == "sales-page" and str(started.roles.get("planner", "")).startswith("scripted")


def notes_on(app: App, process: str | None) -> list[str]:
    """What a definition's file has that is no error but may be a mistake, such as a misspelt key."""
    if process is None or process in app.processes:
        return []
    notes = [found for found in examine_definition(process).findings if found.severity is not Severity.ERROR]
    return [f"note: {n.where}: {n.message}" + (f" ({n.mend})" if n.mend else "") for n in notes]


def check_means(app: App, history: list[Recorded], tools: Mapping[str, ToolSpec]) -> None:
    """Refuse to go on with less than the run began with: its steps would be carried out by nobody they know.

    Call it after `App.open`. Raises `WrongUse`.
    """
    started = history[0].event
    run_id = history[0].run_id
    here = {spec.name for spec in app.toolbox.catalogue()}
    servers = sorted({spec.source for name, spec in tools.items() if name not in here and spec.source != "function"})
    missing = sorted(name for name, spec in tools.items() if name not in here and spec.source == "function")
    if missing:
        raise WrongUse(f"run {run_id} uses {', '.join(missing)}: name the file or package they are in with --tools")
    if servers and app.mcp is None:
        raise WrongUse(f"run {run_id} uses tools of {', '.join(servers)}: name the servers' file with --mcp")
    planner = str(started.roles.get("planner", "")) if isinstance(started, RunStarted) else ""
    if app.offline and planner not in ("", "OfflinePlanner"):
        raise WrongUse(
            f"run {run_id} was planned by {planner}: name a model with --model or PHASELOOP_MODEL,"
            " or go on in the program that started it"
        )


def say(text: str) -> None:
    """A notice: to stderr, so that stdout holds results only."""
    print(text, file=sys.stderr, flush=True)  # noqa: T201
