"""What `phaseloop run` does: begin a run, drive it here, and say how it can go on when this stops."""

import asyncio
import shlex
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from phaseloop.cli import policies
from phaseloop.cli.opening import notes_on, open_app, say
from phaseloop.cli.options import Manner, Means
from phaseloop.cli.screen import this_screen
from phaseloop.cli.session import Session
from phaseloop.compose import App, StartOptions, me
from phaseloop.core.errors import Fenced, LogBroken, PhaseloopError, StoreUnusable


def start_run(goal: str, means: Means, manner: Manner, process: str | None, inputs: dict[str, Any], mode: str) -> int:
    """The exit code of a new run. Raises what `App.start` raises."""
    made = open_app(means)
    if made.offline:
        say("no model is configured: the deterministic offline roles run (--model, PHASELOOP_MODEL)")
    for note in notes_on(made, process):
        say(note)
    if not goal.strip() and process is None:
        say("the goal is empty: the offline planner takes its template")
    run_id = made.new_id()

    async def work() -> int:
        async with made:
            options = StartOptions(process=process, inputs=inputs, mode=mode, by=me("cli"))
            await made.host.begin(run_id, made.begin(goal, **options))
            return await until_it_rests(session_on(made, run_id, means, manner))

    return asyncio.run(work())


def session_on(made: App, run_id: str, means: Means, manner: Manner) -> Session:
    """A session that shows the run in this terminal."""
    policy = policies.yes if manner.yes else policies.yes_safe if manner.yes_safe else policies.nobody
    screen = replace(this_screen(ascii_only=manner.ascii_only), flags=means.flags())
    return Session(made, run_id, screen, manner.as_json, policy, me("cli"))


async def until_it_rests(session: Session, go: Callable[[], Awaitable[int]] | None = None) -> int:
    """Drive a session. Whatever stops it, one line says that nothing is lost and how to go on."""
    try:
        return await (go or session.go)()
    except asyncio.CancelledError:
        say("")
        await _say_how_on(session)
        raise
    except (LogBroken, StoreUnusable) as error:
        say(f"phaseloop: {error}")
        await _say_how_on(session)
        return 1


async def _say_how_on(session: Session) -> None:
    command = f"phaseloop resume {shlex.quote(session.run_id)}{session.screen.flags}"
    seen = session.seen
    try:
        state, seen = await session.app.host.load(session.run_id)
        if state.over:
            say(f"The run is {state.status}. See: phaseloop show {session.run_id}")
            return
    except (PhaseloopError, Fenced):  # the store is in trouble: what was seen is what can be said
        pass
    say(f"The run rests at event {seen}; nothing is lost. Go on: {command}")
