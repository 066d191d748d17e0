"""One line per turning point of a run: for pipes, logs and terminals that cannot do more."""

from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import dataclass

from rich.cells import cell_len

from phaseloop.cli.figures import moment
from phaseloop.cli.gate_words import answer_commands
from phaseloop.cli.plain_lines import line_of
from phaseloop.cli.plain_words import Line
from phaseloop.cli.pulse import pulse
from phaseloop.cli.screen import Screen, shown
from phaseloop.cli.texts import say
from phaseloop.core.gate_events import GateOpened, GateResolved
from phaseloop.core.plan_events import PlanUpdated
from phaseloop.core.run_events import PhaseStarted
from phaseloop.core.view_run import View, open_gates
from phaseloop.core.views import apply
from phaseloop.engine.ports import Recorded

QUIET_SECONDS = 0.25  # events of one batch come closer together than this


@dataclass(slots=True)
class PlainTeller:
    """Turns a history into lines.

    A line whose meaning the next event may complete is held back until that event: a phase with its plan,
    a gate that a rule passes at once.
    """

    run_id: str
    screen: Screen
    view: View = View()
    _held: Recorded | None = None
    _held_view: View = View()

    def tell(self, recorded: Recorded) -> list[str]:
        """The lines that `recorded` makes due, oldest first."""
        before, self.view = self.view, apply(self.view, recorded)
        if self.view is before:
            return []
        event = recorded.event
        lines: list[str] = []
        if self._completes(recorded):
            held, self._held = self._held, None
            lines += self._written(held or recorded, line_of(event, self.view, self.run_id, self.screen, True))
            return lines
        lines += self.rest()
        if isinstance(event, PhaseStarted | GateOpened):
            self._held, self._held_view = recorded, self.view
            return lines
        return lines + self._written(recorded, line_of(event, self.view, self.run_id, self.screen))

    def rest(self) -> list[str]:
        """The line that was held back, when nothing came to complete it."""
        held, self._held = self._held, None
        if held is None:
            return []
        return self._written(held, line_of(held.event, self._held_view, self.run_id, self.screen))

    def _completes(self, recorded: Recorded) -> bool:
        held, event = self._held.event if self._held else None, recorded.event
        if isinstance(held, PhaseStarted) and isinstance(event, PlanUpdated):
            return held.phase_id == event.phase_id
        if isinstance(held, GateOpened) and isinstance(event, GateResolved):
            return held.request_id == event.request_id and event.by == "auto_pass"
        return False

    def _written(self, recorded: Recorded, line: Line) -> list[str]:
        if not line:
            return []
        at = moment(recorded.at, self.screen.zone, seconds=True)
        return [shown(f"{at} {line}", self.screen)]


def waiting_lines(view: View, run_id: str, screen: Screen) -> list[str]:
    """The commands that answer what is open, and the exit code: the last lines of a run that waits."""
    label = say(screen.language, "p_answer")
    blank = " " * len("00:00:00 ")
    lines: list[str] = []
    for gate in open_gates(view):
        lead = label
        for command in answer_commands(run_id, view, gate):
            lines.append(blank + lead + command + screen.flags)
            lead = " " * cell_len(label)
    why = say(screen.language, "waiting_person")
    lines.append(say(screen.language, "p_exit", code=10, why=why))
    return [shown(line, screen) for line in lines]


async def follow_plain(
    events: AsyncIterator[Recorded],
    write: Callable[[str], None],
    teller: PlainTeller,
    stop: Callable[[View], bool],
) -> View:
    """Write a line per turning point until `stop` holds while nothing more comes, or `events` end.

    `write` gets each line without its newline. Returns the view of what was told.
    """
    async with aclosing(pulse(events, QUIET_SECONDS)) as beats:
        async for recorded in beats:
            for line in teller.rest() if recorded is None else teller.tell(recorded):
                write(line)
            if (recorded is None or teller.view.over) and stop(teller.view):
                break
    for line in teller.rest():
        write(line)
    return teller.view
