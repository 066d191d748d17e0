"""What the commands on an existing run do: one word to it, then drive it here until it rests."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from phaseloop.cli.answering import answer_value, find_gate
from phaseloop.cli.finding import whole_id
from phaseloop.cli.opening import check_means, open_app, open_for, say
from phaseloop.cli.options import Manner, Means
from phaseloop.cli.starting import session_on, until_it_rests
from phaseloop.compose import App, me
from phaseloop.core.machine import fold
from phaseloop.core.statuses import RunStatus
from phaseloop.core.words import Reopen, Resume

Word = Callable[[App, str], Awaitable[None]]
"""Says something to a run before it is driven."""


def go_on(letters: str, means: Means, manner: Manner, word: Word) -> int:
    """Say `word` to a run and drive it; the exit code of the run. Raises `PhaseloopError`."""

    async def work() -> int:
        made, run_id = await open_for(means, letters)
        async with made:
            owner = await made.drives.owner(run_id)
            history = await made.store.read(owner)
            check_means(made, history, fold(history).facts.tools)
            await word(made, run_id)
            return await until_it_rests(session_on(made, owner, means, manner))

    return asyncio.run(work())


def record(letters: str, means: Means, word: Word) -> int:
    """Say `word` to a run and leave the driving to others. Raises `PhaseloopError`."""

    async def work() -> int:
        made = open_app(Means(means.store))
        try:
            run_id = await whole_id(made.store.runs, letters)
            await word(made, run_id)
            say(f"Recorded. Whoever drives run {run_id} goes on; else: phaseloop resume {run_id}")
        finally:
            await made.close()
        return 0

    return asyncio.run(work())


async def resumed(made: App, run_id: str) -> None:
    """The word of `resume`: only a paused run needs one."""
    state, _ = await made.host.load(run_id)
    if state.status is RunStatus.PAUSED:
        await made.host.receive(run_id, Resume(me("cli")))


def reopened(comment: str) -> Word:
    """The word of `retry` and `replan`: one more re-plan, which only a person can grant (contract section 7)."""

    async def word(made: App, run_id: str) -> None:
        await made.host.receive(run_id, Reopen(me("cli"), comment, {"task_replans": 1}))

    return word


def answered(
    gate: str, outcome: str, value: str | None, fields: dict[str, Any], plan: Path | None, comment: str
) -> Word:
    """The word of `answer`."""

    async def word(made: App, run_id: str) -> None:
        state, _ = await made.host.load(run_id)
        gate_id, asked = find_gate(state, gate)
        said = answer_value(asked, outcome, value, fields, plan)
        await made.answer(run_id, gate_id, outcome, value=said, comment=comment, by=me("cli"), drive=False)

    return word


def watch_run(letters: str, means: Means, manner: Manner) -> int:
    """Show a run that others drive; the exit code of the run."""

    async def work() -> int:
        made = open_app(means)
        async with made:
            session = session_on(made, await whole_id(made.store.runs, letters), means, manner)
            return await session.watch()

    return asyncio.run(work())


def cancel_run(letters: str, means: Means, comment: str) -> int:
    """End a run; say which calls may have happened. Raises `WrongUse` when it is over already."""

    async def work() -> int:
        made = open_app(means)
        try:
            run_id = await whole_id(made.store.runs, letters)
            await made.cancel(run_id, comment, me("cli"))
            doubted = [getattr(r.event, "in_doubt", ()) for r in await made.store.read(run_id)]
        finally:
            await made.close()
        unsure = ", ".join(doubted[-1]) if doubted else ""
        print(f"run {run_id} is cancelled" + (f"; unknown whether these happened: {unsure}" if unsure else ""))  # noqa: T201
        return 0

    return asyncio.run(work())


def pause_run(letters: str, means: Means, comment: str) -> int:
    """Pause a run. Raises `WrongUse` when it does not run."""

    async def work() -> int:
        made = open_app(means)
        try:
            run_id = await whole_id(made.store.runs, letters)
            await made.pause(run_id, comment, me("cli"))
        finally:
            await made.close()
        print(f"run {run_id} is paused. Go on: phaseloop resume {run_id}{means.flags()}")  # noqa: T201
        return 0

    return asyncio.run(work())
