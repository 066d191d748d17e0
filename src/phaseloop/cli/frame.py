"""One picture of a run for a terminal of any size: head, meters, phase track, phases, rows, tail."""

from collections.abc import Sequence
from dataclasses import replace

from rich.cells import cell_len
from rich.text import Text

from phaseloop.cli.figures import cut, duration, padded, padded_left, printable
from phaseloop.cli.frame_head import MARGIN, Picture, head_lines, name_of, track_lines
from phaseloop.cli.frame_rows import rows_text
from phaseloop.cli.gate_words import fate, gate_title
from phaseloop.cli.marks import FAINT, PHASE_MARKS, ROW_MARKS, RUN, sign
from phaseloop.cli.screen import Screen, shown
from phaseloop.cli.texts import counted, say
from phaseloop.core.view_gate_changes import guards_exit
from phaseloop.core.view_rows import (
    ACTIVE,
    OVER,
    ActivityRow,
    GateState,
    PhaseState,
    ReplanRow,
    Row,
    RowState,
    elapsed,
)
from phaseloop.core.view_run import PhaseView, View, activities, current_phase, open_gates

MAX_WIDTH = 120  # on a wider terminal the columns would stand too far from their row to be read


def frame(picture: Picture, screen: Screen) -> list[Text]:
    """The lines of the picture, none wider than the screen, at most its height less two.

    What does not fit folds in this order: finished phases, finished steps, blank lines, tail and keys,
    then the last rows.
    """
    screen = replace(screen, width=min(screen.width, MAX_WIDTH))
    limit = max(1, screen.height - 2)
    lines: list[Text] = []
    for level in range(5):
        lines = _lines(picture, screen, level, limit)
        if len(lines) <= limit:
            break
    return [fitted(line, screen) for line in lines[:limit]]


def fitted(line: Text, screen: Screen) -> Text:
    """`line` as this screen can show it: never wider, in signs the stream can write, styles in place."""
    plain = shown(line.plain, screen)
    safe = Text(plain)
    safe.spans = list(line.spans)
    if cell_len(plain) > screen.width:
        safe.right_crop(len(plain) - len(cut(plain, screen.width)) + 1)
        safe.append(shown("…", screen))
    return safe


def _lines(picture: Picture, screen: Screen, level: int, limit: int) -> list[Text]:
    blank = [] if level >= 3 else [Text()]
    head = head_lines(picture, screen)
    track = track_lines(picture.view, screen)
    body = [*head, *([*blank, *track] if track else []), *blank]
    body += _finished_lines(picture.view, screen, folded=level >= 1)
    rows = _current_lines(picture, screen, hide_done=level >= 2)
    foot = [] if level >= 4 else _foot_lines(picture, screen, blank)
    room = limit - len(body) - len(foot)
    if level >= 4 and len(rows) > room >= 2:
        hidden = len(rows) - room + 1
        rows = [*rows[: room - 1], _more(hidden, screen)]
    return [*body, *rows, *foot]


def _more(n: int, screen: Screen) -> Text:
    return Text(MARGIN + say(screen.language, "more", n=n), style=FAINT)


def _is_finished(view: View, phase: PhaseView) -> bool:
    return phase.state in (PhaseState.DONE, PhaseState.SKIPPED) and phase.phase_id != view.current


def _finished_lines(view: View, screen: Screen, *, folded: bool) -> list[Text]:
    """One line a finished phase: name, steps, time, what its gate came to."""
    finished = [phase for phase in view.phases if _is_finished(view, phase)]
    if not finished:
        return []
    mark = PHASE_MARKS[PhaseState.DONE]
    if folded:
        line = Text(MARGIN)
        line.append(sign(mark, screen), style=mark.style)
        line.append(" " + say(screen.language, "finished_phases", n=len(finished)), style=FAINT)
        return [line]
    rows = [_finished_cells(view, phase, screen) for phase in finished]
    widths = [max(cell_len(row[n]) for row in rows) for n in range(3)]
    lines: list[Text] = []
    for phase, (name, steps, spent, gate) in zip(finished, rows, strict=True):
        own = PHASE_MARKS[phase.state]
        line = Text(MARGIN)
        line.append(sign(own, screen), style=own.style)
        line.append(" " + padded(name, widths[0]))
        rest = f"  {padded_left(steps, widths[1])}  {padded_left(spent, widths[2])}  {gate}"
        line.append(rest.rstrip(), style=FAINT)
        lines.append(line)
    return lines


def _finished_cells(view: View, phase: PhaseView, screen: Screen) -> tuple[str, str, str, str]:
    steps = [row for row in activities(phase) if row.type != "HUMAN" and row.state is not RowState.REPLACED]
    gates = [g for g in view.gates if guards_exit(g) and g.phase_id == phase.phase_id]
    closed = [gate for gate in gates if gate.state in (GateState.AUTO, GateState.ANSWERED)]
    gate = ""
    if closed:
        gate = ("»" if closed[-1].state is GateState.AUTO else "◇") + " " + fate(closed[-1], screen)
    return (
        name_of(phase, screen),
        counted(screen.language, "step_one", "steps", len(steps)),
        duration(elapsed(phase.active, view.at), screen.language),
        gate,
    )


def _current_lines(picture: Picture, screen: Screen, *, hide_done: bool) -> list[Text]:
    view = picture.view
    phase = current_phase(view)
    if phase is None:
        return []
    language, mark = screen.language, PHASE_MARKS[phase.state]
    line = Text(MARGIN)
    line.append(sign(mark, screen), style=mark.style)
    line.append(" " + name_of(phase, screen), style="bold")
    if phase.plans:
        plan = phase.plans[-1]
        steps = counted(language, "step_one", "steps", len(plan.steps))
        line.append("  " + say(language, "plan_steps", v=plan.version, steps=steps), style=FAINT)
    if phase.planning and not view.over and not open_gates(view):
        line.append("  " + say(language, "planning"), style=RUN)
    rows: list[Row] = [row for row in phase.rows if not (isinstance(row, ActivityRow) and _is_exit(row, view))]
    shown_rows = [row for row in rows if not (hide_done and _is_over(row, rows))]
    hidden = len(rows) - len(shown_rows)
    lines = [line, *([_more(hidden, screen)] if hidden else [])]
    lines += rows_text(shown_rows, view, screen, picture.now) if shown_rows else []
    return lines + _gate_lines(view, screen)


def _is_exit(row: ActivityRow, view: View) -> bool:
    """Whether the row is a gate's own activity, which the gate's line stands for."""
    return row.type == "HUMAN" and any(gate.activity_id == row.activity_id for gate in view.gates)


def _is_over(row: Row, rows: Sequence[Row]) -> bool:
    if isinstance(row, ReplanRow):
        return row is not [r for r in rows if isinstance(r, ReplanRow)][-1]
    return row.state in OVER


def _gate_lines(view: View, screen: Screen) -> list[Text]:
    mark = ROW_MARKS[RowState.WAITING]
    lines: list[Text] = []
    for gate in open_gates(view):
        line = Text(MARGIN)
        line.append(sign(mark, screen) + " " + gate_title(gate, screen.language), style=f"bold {mark.style}")
        lines.append(line)
    return lines


def _foot_lines(picture: Picture, screen: Screen, blank: Sequence[Text]) -> list[Text]:
    """The last line of what the focused step writes, else of any step under way; and the keys."""
    lines: list[Text] = []
    row = None if picture.view.over else _writing(picture)
    if row is not None:
        line = Text(MARGIN)
        line.append(printable(row.id), style=RUN)
        line.append("  " + printable(picture.tails[row.id]))
        lines += [*blank, line]
    if picture.keys:
        keys = say(screen.language, "keys").split("   ")
        lines += [*blank, *(Text(MARGIN + part, style=FAINT) for part in flowed(keys, screen.width - 2))]
    return lines


def _writing(picture: Picture) -> ActivityRow | None:
    phase = current_phase(picture.view)
    rows = [row for row in activities(phase) if picture.tails.get(row.id)] if phase else []
    focused = [row for row in rows if row.id == picture.view.focus_id]
    return next(iter([*focused, *(row for row in rows if row.state in ACTIVE)]), None)


def flowed(words: Sequence[str], width: int) -> list[str]:
    """Short phrases side by side, three blanks between them, in as few lines as `width` allows."""
    lines: list[str] = []
    for word in words:
        joined = f"{lines[-1]}   {word}" if lines else word
        if lines and cell_len(joined) <= width:
            lines[-1] = joined
        else:
            lines.append(word)
    return lines
