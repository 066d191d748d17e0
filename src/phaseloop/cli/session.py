"""One run in this terminal: drive it, show it, ask at its gates, say how it ended."""

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import AsyncIterator, Callable
from dataclasses import asdict, dataclass, field
from functools import partial

from phaseloop.cli.frame_head import Picture
from phaseloop.cli.gate_card import gate_screen
from phaseloop.cli.gate_prompt import GatePrompt, Talk
from phaseloop.cli.live import live_on
from phaseloop.cli.plain import PlainTeller, follow_plain, waiting_lines
from phaseloop.cli.policies import Policy, nobody
from phaseloop.cli.programs import edit_in_editor, show_in_pager
from phaseloop.cli.result_card import exit_code, result_card
from phaseloop.cli.screen import Kind, Screen, console_for
from phaseloop.compose import App, now
from phaseloop.core.errors import Fenced
from phaseloop.core.run_events import Who
from phaseloop.core.state import RunState
from phaseloop.core.values import Json
from phaseloop.core.view_run import View, open_gates
from phaseloop.core.views import apply
from phaseloop.engine.ports import Recorded
from phaseloop.engine.results import run_result


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
    _refused: set[str] = field(default_factory=set[str])

    async def go(self) -> int:
        """Drive and show; the exit code of architecture section 11."""
        while True:
            if await self._held_by_another():
                await self._watch_until(lambda: self.view.over)
                return await self._ended()
            driving = asyncio.ensure_future(self.app.host.resume(self.run_id))
            try:
                await self._show(driving)
                state = await driving
            except Fenced:
                continue
            finally:
                driving.cancel()
                with contextlib.suppress(asyncio.CancelledError, Fenced):
                    await driving
            if state.over or not await self._answer(state):
                return await self._ended()

    async def watch(self) -> int:
        """Show a run that others drive, until it rests or is over."""
        await self._watch_until(lambda: self._rests())
        return await self._ended()

    def _rests(self) -> bool:
        return self.view.over or bool(open_gates(self.view))

    async def _held_by_another(self) -> bool:
        holder = await self.app.store.leases.holder(self.run_id)
        return holder is not None and holder != self.app.worker

    # ---- showing

    async def _watch_until(self, done: Callable[[], bool]) -> None:
        await self._follow(lambda view: done())

    async def _show(self, driving: "asyncio.Future[RunState]") -> None:
        """Show until the drive has stopped and everything it appended was shown."""
        last: list[int] = []

        def stop(view: View) -> bool:
            if driving.done() and not last:
                last.append(1)
                return view.over
            return driving.done()

        await self._follow(stop)

    async def _follow(self, stop: Callable[[View], bool]) -> None:
        events = self._events()
        if self.as_json:
            await self._follow_json(events, stop)
        elif self.screen.kind is Kind.LIVE:
            with live_on(console_for(self.screen, sys.stdout), self.screen, self.run_id, now) as live:
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
        from phaseloop.cli.pulse import pulse  # noqa: PLC0415 - only here

        async with contextlib.aclosing(pulse(events, 0.05)) as beats:
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

    async def _answer(self, state: RunState) -> bool:
        """Answer what the policy or the person here can; false when nobody here answers."""
        for gate in run_result(self.run_id, state).waiting_for:
            said = self.policy(gate) if gate.gate_id not in self._refused else None
            if said is not None:
                outcome, value, comment = said
                await self.app.answer(
                    self.run_id, gate.gate_id, outcome, value=value, comment=comment, by=self.me, drive=False
                )
                return True
        return await self._ask_here()

    async def _ask_here(self) -> bool:
        """Ask the person at this terminal, when there is one."""
        gates = open_gates(self.view)
        if not gates or self.as_json or self.screen.kind is not Kind.LIVE or not sys.stdin.isatty():
            return False
        gate = gates[0]
        console = console_for(self.screen, sys.stdout)
        for line in gate_screen(Picture(self.run_id, self.view, now()), gate, self.screen):
            console.print(line, soft_wrap=True)
        env = os.environ
        talk = Talk(
            sys.stdin,
            sys.stdout,
            lambda text: edit_in_editor(text, env),
            lambda text: show_in_pager(text, env, sys.stdout),
            lambda schema, value: self.app.contracts.check(schema, value),
        )
        answer = await asyncio.to_thread(GatePrompt(self.view, gate, self.screen, talk).ask)
        if answer is None:
            return False
        await self.app.answer(
            self.run_id,
            gate.id,
            answer.outcome,
            value=answer.value,
            comment=answer.comment,
            version=gate.version,
            by=self.me,
            drive=False,
        )
        return True

    # ---- the end

    async def _ended(self) -> int:
        state, _ = await self.app.host.load(self.run_id)
        result = run_result(self.run_id, state)
        if self.as_json:
            wire = {k: v for k, v in asdict(result).items() if k != "waiting_for"}
            wire["waiting_for"] = [g.gate_id for g in result.waiting_for]
            self._write_held({"result": wire})
            return exit_code(self.view)
        if self.view.over:
            console = console_for(self.screen, sys.stdout)
            for line in result_card(self.view, self.run_id, self.screen):
                console.print(line, soft_wrap=True)
        else:
            for text in waiting_lines(self.view, self.run_id, self.screen):
                self.write(text)
        return exit_code(self.view)
