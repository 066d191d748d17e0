"""One run in this terminal: drive it, show it, ask at its gates, say how it ended."""

import asyncio
import contextlib
import json
import sys
from collections.abc import AsyncIterator, Callable
from dataclasses import asdict, dataclass, field
from functools import partial

from phaseloop.cli.asking import ask_here
from phaseloop.cli.gate_words import answer_commands
from phaseloop.cli.keys import unechoed
from phaseloop.cli.live import live_on
from phaseloop.cli.opening import say
from phaseloop.cli.plain import PlainTeller, follow_plain, waiting_lines
from phaseloop.cli.policies import Policy, nobody
from phaseloop.cli.pulse import pulse
from phaseloop.cli.result_card import exit_code, result_card
from phaseloop.cli.screen import Kind, Screen, console_for, resized
from phaseloop.compose import App, now
from phaseloop.core.errors import AnswerRefused
from phaseloop.core.run_events import Who
from phaseloop.core.state import RunState
from phaseloop.core.values import Json
from phaseloop.core.view_run import View, open_gates
from phaseloop.core.views import apply, view
from phaseloop.engine.ports import Recorded
from phaseloop.engine.results import WaitingFor, run_result

BEAT_SECONDS = 0.05  # how soon a JSON reader learns that a run rests


@dataclass(slots=True)
class Session:
    """Shows and drives one run until it is over or waits for somebody who is not here."""

    app: App
    run_id: str
    screen: Screen
    as_json: bool = False
    policy: Policy = nobody
    me: Who | None = None
    write: Callable[[str], None] = partial(print, flush=True)
    seen: int = 0
    view: View = View()
    _held: Recorded | None = None
    _refused: set[tuple[str, str, int]] = field(default_factory=set[tuple[str, str, int]])

    async def go(self) -> int:
        """Drive and show; the exit code of architecture section 11. Raises what breaks a drive."""
        while True:
            driving = self.app.drives.drive(self.run_id)
            try:
                await self._show(driving)
                state = await asyncio.shield(driving)
            finally:
                if not driving.done():
                    driving.cancel()
                    await asyncio.gather(driving, return_exceptions=True)
            if state.over or not await self._answer(state):
                return await self._ended()

    async def watch(self) -> int:
        """Show a run that others drive, until it rests or is over."""
        resting = asyncio.ensure_future(self.app.drives.settled(self.run_id))
        try:
            await self._show(resting)
        finally:
            resting.cancel()
            await asyncio.gather(resting, return_exceptions=True)
        return await self._ended()

    # ---- showing

    async def _show(self, driving: "asyncio.Future[RunState]") -> None:
        """Show until the drive has stopped and everything it appended was shown."""
        ending = asyncio.ensure_future(self._last_seq(driving))
        try:
            await self._follow(lambda shown: ending.done() and self.seen >= ending.result())
        finally:
            ending.cancel()
            await asyncio.gather(ending, return_exceptions=True)

    async def _last_seq(self, driving: "asyncio.Future[RunState]") -> int:
        """The place of the last event when `driving` has ended; 0 when it broke, for then there is no end to show."""
        await asyncio.wait({driving})
        if driving.cancelled() or driving.exception() is not None:
            return 0
        return (await self.app.host.load(self.run_id))[1]

    async def _follow(self, stop: Callable[[View], bool]) -> None:
        events = self._events()
        if self.as_json:
            await self._follow_json(events, stop)
        elif self.screen.kind is Kind.LIVE:
            with unechoed(), live_on(console_for(self.screen, sys.stdout), self.screen, self.run_id, now) as live:
                self.view = await live.follow(events, stop, self.view)
        else:
            teller = PlainTeller(self.run_id, self.screen, self.view)
            self.view = await follow_plain(events, self.write, teller, stop)

    async def _events(self) -> AsyncIterator[Recorded]:
        async for recorded in self.app.follow(self.run_id, self.seen):
            self.seen = recorded.seq
            yield recorded

    async def _follow_json(self, events: AsyncIterator[Recorded], stop: Callable[[View], bool]) -> None:
        """The events, one a line; the last one is held back, for it carries the result."""
        async with contextlib.aclosing(pulse(events, BEAT_SECONDS)) as beats:
            async for recorded in beats:
                if recorded is not None:
                    self._write_held()
                    self._held = recorded
                    self.view = apply(self.view, recorded)
                if (recorded is None or self.view.over) and stop(self.view):
                    return

    def _write_held(self, extra: dict[str, Json] | None = None) -> None:
        if self._held is not None:
            wire = {**self.app.store.codec.envelope(self._held), **(extra or {})}
            self.write(json.dumps(wire, ensure_ascii=False))
        self._held = None

    # ---- gates

    async def _waiting_for(self, state: RunState) -> tuple[WaitingFor, ...]:
        """What a person is asked, by this run or by one below it."""
        return run_result(self.run_id, state, await self.app.drives.waiting_child(state)).waiting_for

    async def _answer(self, state: RunState) -> bool:
        """Answer what the policy or the person here can; false when nobody here answers."""
        gates = await self._waiting_for(state)
        for gate in gates:
            place = (gate.run_id, gate.gate_id, gate.version)
            said = self.policy(gate) if place not in self._refused else None
            if said is None:
                continue
            outcome, value, comment = said
            try:
                await self.app.answer(
                    gate.run_id, gate.gate_id, outcome, value=value, comment=comment, by=self.me, drive=False
                )
            except AnswerRefused as refusal:
                self._refused.add(place)
                say(f"phaseloop: {refusal}")
                continue
            return True
        at_terminal = not self.as_json and self.screen.kind is Kind.LIVE and sys.stdin.isatty()
        return bool(gates) and at_terminal and await self._ask(gates[0])

    async def _ask(self, gate: WaitingFor) -> bool:
        self.screen = resized(self.screen, console_for(self.screen, sys.stdout))
        return await ask_here(self.app, gate, self.screen, self.me, self.run_id)

    # ---- the end

    async def _ended(self) -> int:
        state, _ = await self.app.host.load(self.run_id)
        below = await self.app.drives.waiting_child(state)
        result = run_result(self.run_id, state, below)
        if self.as_json:
            wire = {k: v for k, v in asdict(result).items() if k != "waiting_for"}
            wire["waiting_for"] = [asdict(gate) for gate in result.waiting_for]
            self._write_held({"result": wire})
        elif self.view.over:
            console = console_for(self.screen, sys.stdout)
            screen = resized(self.screen, console) if self.screen.kind is Kind.LIVE else self.screen
            for line in result_card(self.view, self.run_id, screen):
                console.print(line, soft_wrap=True)
        else:
            for text in waiting_lines(self.view, self.run_id, self.screen):
                self.write(text)
            if below is not None:
                await self._say_below(below[0])
        return exit_code(self.view)

    async def _say_below(self, run_id: str) -> None:
        """The commands that answer what a run below this one asks."""
        child = view(await self.app.store.read(run_id))
        for gate in open_gates(child):
            for command in answer_commands(run_id, child, gate):
                self.write(command + self.screen.flags)
