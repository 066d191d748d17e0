"""The signs and colours of states; the colour repeats what the sign says and never carries it alone."""

from collections.abc import Mapping
from dataclasses import dataclass

from phaseloop.cli.screen import Screen
from phaseloop.core.view_rows import PhaseState, RowState, RunState


@dataclass(frozen=True, slots=True)
class Mark:
    """A state's sign, its sign in ASCII, and its style."""

    sign: str
    plain: str
    style: str = ""


NEUTRAL, RUN, GOOD, BAD, GATE, FAINT = "default", "blue", "green", "red", "yellow", "bright_black"

ROW_MARKS: Mapping[RowState, Mark] = {
    RowState.NOT_STARTED: Mark("○", "o", FAINT),
    RowState.RUNNING: Mark("●", ">", RUN),
    RowState.CHECKING: Mark("◉", "?", RUN),
    RowState.RETRYING: Mark("↻", "r", RUN),
    RowState.DONE: Mark("✓", "*", GOOD),
    RowState.FAILED: Mark("✗", "x", BAD),
    RowState.REPLACED: Mark("✗", "x", FAINT),
    RowState.SKIPPED: Mark("⊘", "/", FAINT),
    RowState.CANCELLED: Mark("⊘", "/", FAINT),
    RowState.PAUSED: Mark("‖", "=", FAINT),
    RowState.WAITING: Mark("◆", "!", GATE),
}
PHASE_MARKS: Mapping[PhaseState, Mark] = {
    PhaseState.PENDING: Mark("○", "o", FAINT),
    PhaseState.ACTIVE: Mark("●", ">", RUN),
    PhaseState.WAITING: Mark("◆", "!", GATE),
    PhaseState.DONE: Mark("✓", "*", GOOD),
    PhaseState.FAILED: Mark("✗", "x", BAD),
    PhaseState.BLOCKED: Mark("◆", "!", GATE),
    PhaseState.SKIPPED: Mark("⊘", "/", FAINT),
    PhaseState.CANCELLED: Mark("⊘", "/", FAINT),
}
RUN_MARKS: Mapping[RunState, Mark] = {
    RunState.CREATED: Mark("○", "o", FAINT),
    RunState.RUNNING: Mark("●", ">", RUN),
    RunState.WAITING: Mark("◆", "!", GATE),
    RunState.PAUSED: Mark("‖", "=", FAINT),
    RunState.COMPLETED: Mark("✓", "*", GOOD),
    RunState.FAILED: Mark("✗", "x", BAD),
    RunState.CANCELLED: Mark("⊘", "/", FAINT),
}


def sign(mark: Mark, screen: Screen) -> str:
    """The sign this screen can show."""
    return mark.plain if screen.ascii_only else mark.sign
