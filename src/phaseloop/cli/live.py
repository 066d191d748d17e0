"""The live view: one picture on the normal screen, redrawn only when it changed, eight times a second at most."""

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, field

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from phaseloop.cli.frame import frame
from phaseloop.cli.frame_head import Picture
from phaseloop.cli.pulse import pulse
from phaseloop.cli.screen import Screen, resized
from phaseloop.core.view_run import View
from phaseloop.core.views import apply
from phaseloop.engine.ports import Clock, Recorded

FRAME_SECONDS = 0.125  # eight frames a second: `ui/spec.md` section 16
QUIET_BEATS = 2  # as long without an event counts as the end of a batch

Draw = Callable[[list[Text]], None]
OnKey = Callable[[str], Awaitable[bool]]
"""Gets a key; true ends the live view."""


@dataclass(slots=True)
class Pacer:
    """Draws a picture when it differs from the last one and the last one is old enough.

    `clock` says what time it is for the run's own clocks, `steady` (seconds) paces the frames.
    """

    run_id: str
    screen: Callable[[], Screen]
    draw: Draw
    clock: Clock
    steady: Callable[[], float] = time.monotonic
    keys: bool = False
    tails: dict[str, str] = field(default_factory=dict[str, str])
    frames: int = 0
    _drawn: list[Text] = field(default_factory=list[Text])
    _drawn_at: float = float("-inf")

    def show(self, view: View, *, now: bool = False) -> bool:
        """Draw `view` if that is due; `now` does not wait for the pace. Returns whether it was drawn."""
        moment = self.steady()
        if not now and moment - self._drawn_at < FRAME_SECONDS:
            return False
        at = max(self.clock(), view.at) if view.ending is None else view.at
        lines = frame(Picture(self.run_id, view, at, self.tails, self.keys and not view.over), self.screen())
        if lines == self._drawn:
            return False
        self.draw(lines)
        self._drawn, self._drawn_at = lines, moment
        self.frames += 1
        return True


@dataclass(slots=True)
class LiveView:
    """Follows a run with pictures. `pressed` gives the next key, empty for none; `on_key` acts on it."""

    pacer: Pacer
    pressed: Callable[[], str] = lambda: ""
    on_key: OnKey | None = None

    async def follow(
        self, events: AsyncIterator[Recorded], stop: Callable[[View], bool], view: View | None = None
    ) -> View:
        """Show `events` until `stop` holds while nothing more comes, a key ends it, or they end.

        `view` is what the events go on from. Returns the last view.
        """
        shown, quiet = view or View(), 0
        async with aclosing(pulse(events, FRAME_SECONDS)) as beats:
            async for recorded in beats:
                quiet = quiet + 1 if recorded is None else 0
                shown = shown if recorded is None else apply(shown, recorded)
                self.pacer.show(shown)
                key = self.pressed()
                if key and self.on_key is not None and await self.on_key(key):
                    break
                if (quiet >= QUIET_BEATS or shown.over) and stop(shown):
                    break
        self.pacer.keys = False
        self.pacer.show(shown, now=True)
        return shown


@contextmanager
def live_on(console: Console, screen: Screen, run_id: str, clock: Clock) -> Generator[LiveView]:
    """A live view on `console`; its last picture stays in the scrollback.

    The caller may set `pacer.keys`, `pressed` and `on_key`, and put what running steps write so far into
    `pacer.tails` by row id.
    """
    with Live(console=console, auto_refresh=False, transient=False, vertical_overflow="crop") as live:

        def draw(lines: list[Text]) -> None:
            live.update(Group(*lines), refresh=True)

        yield LiveView(Pacer(run_id, lambda: resized(screen, console), draw, clock))
