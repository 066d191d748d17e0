"""The rows of the current phase: rail, mark, title, tool, score, time, tokens, cost."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.text import Text

from phaseloop.cli.figures import count, cut, duration, fine_money, padded, padded_left, printable
from phaseloop.cli.figures import score as score_text
from phaseloop.cli.frame_head import MARGIN
from phaseloop.cli.marks import BAD, FAINT, GATE, GOOD, ROW_MARKS, RUN, sign
from phaseloop.cli.screen import Screen
from phaseloop.cli.texts import say
from phaseloop.core.rail import MARK, RailLine, RailNode, rail
from phaseloop.core.view_rows import ACTIVE, ActivityRow, ReplanRow, Row, RowState, elapsed
from phaseloop.core.view_run import View

MIN_TITLE = 24  # a row whose title says less is better off without its last column
MAX_TOOL = 22
_COLUMNS = ("cost", "tokens", "tool", "time")
"""Columns in the order in which a narrow screen gives them up; the score stays."""


@dataclass(frozen=True, slots=True)
class _Cells:
    """One row's texts by column, and its styles."""

    title: str
    suffix: str
    columns: dict[str, str]
    title_style: str
    score_style: str


def rows_text(rows: Sequence[Row], view: View, screen: Screen, now: int) -> list[Text]:
    """The rows with their rail, no line wider than the screen. `now`: milliseconds since 1970 UTC."""
    lines = rail([_node(row) for row in rows], ascii_only=screen.ascii_only)
    rail_width = max((len(line.text) for line in lines), default=1)
    cells = {row.id: _cells(row, view, screen, now) for row in rows if isinstance(row, ActivityRow)}
    widths = _widths(list(cells.values()), screen.width - len(MARGIN) - rail_width - 2)
    drawn_lines: list[Text] = []
    for line in lines:
        row = rows[line.row] if line.row >= 0 else None
        text = Text(MARGIN)
        text.append_text(_rail_text(line, row, view, screen))
        if isinstance(row, ReplanRow):
            text.append("  ")
            text.append_text(_replan_text(row, view, screen, screen.width - cell_len(text.plain)))
        elif row is not None:
            text.append("  ")
            text.append_text(_row_text(cells[row.id], widths))
        drawn_lines.append(text)
    return drawn_lines


def _node(row: Row) -> RailNode:
    if isinstance(row, ReplanRow):
        return RailNode()
    return RailNode(row.id, row.depends_on, dead=row.state is RowState.REPLACED)


def _rail_text(line: RailLine, row: Row | None, view: View, screen: Screen) -> Text:
    at = line.mark_at
    if at < 0 or not isinstance(row, ActivityRow):
        return Text(line.text.replace(MARK, " "), style=FAINT)
    mark = ROW_MARKS[row.state]
    text = Text(line.text[:at], style=FAINT)
    text.append(sign(mark, screen), style=mark.style)
    text.append(line.text[at + 1 :], style=FAINT)
    return text


def _title(row: ActivityRow, language: str) -> str:
    return printable(row.title) or printable(row.activity_id) or say(language, "planning")


def _tool(row: ActivityRow, language: str) -> str:
    if row.placeholder:
        return ""
    if row.tool:
        return printable(row.tool)
    words = {"LLM": "model", "RULE": "rule", "HUMAN": "person", "SUBPROCESS": "child"}
    return say(language, words[row.type]) if row.type in words else ""


def _cells(row: ActivityRow, view: View, screen: Screen, now: int) -> _Cells:
    language = screen.language
    spent = elapsed(row.active, now)
    ran = row.state is not RowState.NOT_STARTED and row.state is not RowState.SKIPPED
    suffix = say(language, "attempt", n=row.attempt) if row.attempt > 1 and row.state in ACTIVE else ""
    columns = {
        "tool": cut(_tool(row, language), MAX_TOOL),
        "score": score_text(row.score) if row.score is not None else "",
        "time": duration(spent, language) if ran else "",
        "tokens": count(row.tokens) if row.tokens else "",
        "cost": fine_money(row.cost_usd),
    }
    return _Cells(_title(row, language), suffix, columns, _title_style(row), _score_style(row.score, view))


def _title_style(row: ActivityRow) -> str:
    if row.state in ACTIVE or row.state is RowState.WAITING:
        return "bold"
    if row.state is RowState.REPLACED:
        return f"strike {FAINT}"
    return FAINT if row.state in (RowState.NOT_STARTED, RowState.SKIPPED, RowState.CANCELLED) else ""


def _score_style(value: float | None, view: View) -> str:
    if value is None:
        return ""
    if view.replan_score is not None and value < view.replan_score:
        return f"bold {BAD}"
    if view.pass_score is not None and value < view.pass_score:
        return GATE
    return GOOD


def _widths(cells: Sequence[_Cells], room: int) -> dict[str, int]:
    """The width of each column that is shown; `title` takes what the others leave."""
    names = ("tool", "score", "time", "tokens", "cost")
    widths = {name: max((cell_len(c.columns[name]) for c in cells), default=0) for name in names}
    widths = {name: width for name, width in widths.items() if width}
    longest = max((cell_len(c.title) + (cell_len(c.suffix) + 2 if c.suffix else 0) for c in cells), default=0)
    for name in _COLUMNS:
        if room - sum(width + 2 for width in widths.values()) >= min(longest, MIN_TITLE):
            break
        widths.pop(name, None)
    widths["title"] = max(1, room - sum(width + 2 for width in widths.values()))
    return widths


def _row_text(cells: _Cells, widths: dict[str, int]) -> Text:
    text = Text()
    suffix = f"  {cells.suffix}" if cells.suffix else ""
    room = max(1, widths["title"] - cell_len(suffix))
    title = cut(cells.title, room)
    text.append(title, style=cells.title_style)
    text.append(suffix if cell_len(title) + cell_len(suffix) <= widths["title"] else "", style="bold")
    text.append(" " * (widths["title"] - cell_len(text.plain)))
    for name in ("tool", "score", "time", "tokens", "cost"):
        if name not in widths:
            continue
        value = cells.columns[name]
        fitted = padded(value, widths[name]) if name == "tool" else padded_left(value, widths[name])
        style = cells.score_style if name == "score" else "" if name == "time" else FAINT
        text.append("  ")
        text.append(fitted, style=style)
    text.rstrip()
    return text


def _replan_text(row: ReplanRow, view: View, screen: Screen, room: int) -> Text:
    """`⇄ Replan 1/2  score 3 < 4   =2  -2  +4`."""
    language = screen.language
    limit = view.meters.replans_limit
    if not row.n:
        head = say(language, "plan_changed", v=row.plan_version)
    elif limit is None:
        head = say(language, "replan_open", n=row.n)
    else:
        head = say(language, "replan", n=row.n, max=f"{limit:g}")
    signs = [f"={row.kept}", f"-{row.removed}", f"+{row.added}"] + ([f"~{row.changed}"] if row.changed else [])
    parts = f"⇄ {head}", _cause(row, view, language), " " + "  ".join(signs)
    return Text(cut("  ".join(part for part in parts if part.strip()), max(1, room)), style=f"{RUN}")


def _cause(row: ReplanRow, view: View, language: str) -> str:
    if row.score is None:
        return printable(row.trigger)
    value = score_text(row.score)
    if view.replan_score is not None and row.score < view.replan_score:
        return say(language, "score_below", score=value, limit=score_text(view.replan_score))
    return say(language, "score_is", score=value)
