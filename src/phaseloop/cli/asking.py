"""Asks the person at this terminal about one gate, and stops asking when it was answered elsewhere."""

import asyncio
import contextlib
import os
import sys
import threading
from typing import Any

from rich.text import Text

from phaseloop.cli.frame_head import Picture
from phaseloop.cli.gate_card import card_lines, gate_screen
from phaseloop.cli.gate_prompt import GateAnswer, GatePrompt, Talk
from phaseloop.cli.keys import drop_typed
from phaseloop.cli.opening import say
from phaseloop.cli.programs import edit_in_editor, show_in_pager
from phaseloop.cli.screen import Screen, console_for, resized
from phaseloop.cli.terminal_lines import StoppableLines
from phaseloop.compose import App, now
from phaseloop.core.errors import AnswerRefused
from phaseloop.core.gate_events import GateExpired, GateOpened, GateResolved
from phaseloop.core.run_events import Who
from phaseloop.core.view_run import GateView, View, open_gates
from phaseloop.core.views import view
from phaseloop.engine.results import WaitingFor


async def ask_here(app: App, asked: WaitingFor, screen: Screen, me: Who | None, shown: str) -> bool:
    """Show the gate's card, take the answer and record it. False when it is left for later.

    `shown` is the run whose picture stands above: for another one the card gets a head of its own.
    """
    history = await app.store.read(asked.run_id)
    seen = view(history)
    gate = next((gate for gate in open_gates(seen) if gate.id == asked.gate_id), None)
    if gate is None:
        return True
    console = console_for(screen, sys.stdout)
    screen = resized(screen, console)  # the terminal may have another size than when the run began
    own = [Text(), *card_lines(seen, gate, screen)]
    for line in own if asked.run_id == shown else gate_screen(Picture(asked.run_id, seen, now()), gate, screen):
        console.print(line, soft_wrap=True)
    moved = asyncio.ensure_future(_moved(app, asked.run_id, history[-1].seq, gate.id))
    answer = await _prompted(app, seen, gate, screen, moved)
    if answer is None:
        return moved.done() and not moved.cancelled()
    try:
        await app.answer(
            asked.run_id,
            gate.id,
            answer.outcome,
            value=answer.value,
            comment=answer.comment,
            version=gate.version,
            by=me,
            drive=False,
        )
    except AnswerRefused as refusal:  # somebody else was first, or the value does not fit: look again
        say(f"phaseloop: {refusal}")
    return True


async def _prompted(
    app: App, seen: View, gate: GateView, screen: Screen, moved: "asyncio.Future[None]"
) -> GateAnswer | None:
    """What the person says, unless the question is over first.

    The prompt runs in a thread that looks for the end several times a second: a thread that waits in a read
    would keep Ctrl-C from ending the process.
    """
    drop_typed()
    over = threading.Event()
    talk = Talk(
        StoppableLines(sys.stdin, over),
        sys.stdout,
        lambda text: edit_in_editor(text, os.environ),
        lambda text: show_in_pager(text, os.environ, sys.stdout),
        lambda schema, value: app.contracts.check(schema, value),
    )
    prompting = asyncio.ensure_future(asyncio.to_thread(GatePrompt(seen, gate, screen, talk).ask))
    either: set[asyncio.Future[Any]] = {prompting, moved}
    try:
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        over.set()
        return await prompting
    finally:
        over.set()
        moved.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await moved


async def _moved(app: App, run_id: str, after: int, gate_id: str) -> None:
    """Wait until the question is answered, is over, or is asked otherwise."""
    async for recorded in app.store.follow(run_id, after):
        event = recorded.event
        if isinstance(event, GateResolved | GateExpired | GateOpened) and event.request_id == gate_id:
            return
