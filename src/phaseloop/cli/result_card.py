"""How a run ended: result, warnings, artefacts, or why it stopped and what can be done; and the exit code."""

from collections.abc import Callable, Sequence

from rich.cells import cell_len
from rich.text import Text

from phaseloop.cli.answer_file import as_yaml
from phaseloop.cli.figures import count, duration, money, padded, printable, printable_lines, wrapped
from phaseloop.cli.frame import fitted
from phaseloop.cli.gate_words import answer_commands
from phaseloop.cli.marks import BAD, FAINT, GATE, GOOD, RUN_MARKS, sign
from phaseloop.cli.plain_lines import used
from phaseloop.cli.screen import Screen, with_flags
from phaseloop.cli.texts import counted, say
from phaseloop.core.values import Json
from phaseloop.core.view_rows import ActivityRow, RowState, RunState
from phaseloop.core.view_run import Ending, View, activities, find_row, open_gates

MAX_RESULT_LINES = 20  # what is longer is one command away
DONE, FAILED, CANCELLED, OVER_BUDGET, WAITING = 0, 1, 3, 4, 10
"""Exit codes: architecture section 11."""
MARGIN = "  "


def exit_code(view: View) -> int:
    """The process's exit code for a run in this state; 10 for one that rests and may go on."""
    ending = view.ending
    if ending is None:
        return WAITING
    if ending.state is RunState.FAILED:
        return OVER_BUDGET if ending.code == "budget_exceeded" else FAILED
    return CANCELLED if ending.state is RunState.CANCELLED else DONE


def result_card(view: View, run_id: str, screen: Screen) -> list[Text]:
    """The end card, or for a run that waits the commands that answer it; no line wider than the screen.

    The result itself is cut to a few lines; `result_text` has all of it.
    """
    ending = view.ending
    if ending is None:
        return [fitted(line, screen) for line in _waiting(view, run_id, screen)]
    parts = [
        _head(view, ending, screen),
        _why(view, ending, screen),
        _result(ending, run_id, screen),
        _listed("r_warnings", ending.warnings, screen, "! "),
        _artefacts(view, screen),
        _next(view, ending, run_id, screen),
    ]
    lines: list[Text] = []
    for part in parts:
        lines += [Text()] if part and lines else []
        lines += part
    return [fitted(line, screen) for line in lines]


def result_text(value: Json) -> str:
    """A result as text: a text as it is, anything else as YAML."""
    return value if isinstance(value, str) else as_yaml(value).removesuffix("...\n")


def _head(view: View, ending: Ending, screen: Screen) -> list[Text]:
    style = {RunState.COMPLETED: GOOD, RunState.FAILED: BAD}.get(ending.state, FAINT)
    mark = RUN_MARKS[ending.state]
    line = Text("─── ", style=style)
    line.append(sign(mark, screen) + " " + say(screen.language, ending.state.value), style=f"bold {style}")
    line.append("  " + printable(view.title), style="bold")
    line.append("  " + used(view, screen), style=FAINT)
    return [line]


def _paragraph(text: str, screen: Screen, style: str = "") -> list[Text]:
    lines = [part for line in printable_lines(text) for part in wrapped(line, max(10, screen.width - 4))]
    return [Text(MARGIN + line, style=style) for line in lines]


def _why(view: View, ending: Ending, screen: Screen) -> list[Text]:
    """Of a run that did not finish: where it stopped, why, and what is kept."""
    if ending.state is RunState.COMPLETED:
        return []
    language = screen.language
    lines: list[Text] = []
    row = find_row(view, "", ending.activity_id)
    if row is not None:
        stopped = say(language, "r_stopped_at")
        lines.append(Text(f"{MARGIN}{stopped}  {printable(row.title) or row.id}", style="bold"))
    if ending.by:
        lines.append(Text(MARGIN + say(language, "r_by", who=printable(ending.by)), style=FAINT))
    lines += _paragraph(ending.explanation or ending.reason, screen)
    if ending.code == "budget_exceeded":
        lines += [Text(MARGIN + line, style=GATE) for line in _spent(view, screen)]
    if row is not None:
        lines += _listed("", row.issues, screen, "! ")
    done = [r for phase in view.phases for r in activities(phase) if _kept(r)]
    if done and "kept" not in ending.explanation:
        lines.append(Text(MARGIN + counted(language, "r_kept_one", "r_kept", len(done)), style=FAINT))
    if ending.in_doubt:
        calls = ", ".join(printable(call) for call in ending.in_doubt)
        lines.append(Text(MARGIN + say(language, "r_doubt", calls=calls), style=GATE))
    return lines


def _kept(row: ActivityRow) -> bool:
    return row.state is RowState.DONE and row.type != "HUMAN"


def _spent(view: View, screen: Screen) -> list[str]:
    """Each limit that was reached: `120k used of 120k`."""
    language, meters = screen.language, view.meters

    def seconds(value: float) -> str:
        return duration(value * 1000, language)

    pairs: list[tuple[float, float | None, Callable[[float], str]]] = [
        (meters.tokens, meters.tokens_limit, count),
        (meters.cost_usd, meters.cost_limit, money),
        (meters.active.ms / 1000, meters.seconds_limit, seconds),
    ]
    return [
        say(language, "r_budget", used=word(value), limit=word(limit))
        for value, limit, word in pairs
        if limit is not None and value >= limit
    ]


def _result(ending: Ending, run_id: str, screen: Screen) -> list[Text]:
    if ending.result is None:
        return []
    key = "r_result" if ending.state is RunState.COMPLETED else "r_best"
    body = _paragraph(result_text(ending.result), screen)
    hidden = len(body) - MAX_RESULT_LINES
    lines = [Text(MARGIN + say(screen.language, key), style="bold"), *body[:MAX_RESULT_LINES]]
    if hidden > 0:
        more = say(screen.language, "r_cut", n=hidden, command=with_flags(f"phaseloop show {run_id}", screen))
        lines.append(Text(MARGIN + more, style=FAINT))
    return lines


def _listed(key: str, texts: Sequence[str], screen: Screen, bullet: str) -> list[Text]:
    if not texts:
        return []
    lines = [Text(MARGIN + say(screen.language, key), style="bold")] if key else []
    for text in texts:
        first, *rest = wrapped(printable(text), max(10, screen.width - 6))
        lines += [Text(f"{MARGIN}{bullet}{first}", style=GATE), *(Text(f"{MARGIN}  {part}") for part in rest)]
    return lines


def _artefacts(view: View, screen: Screen) -> list[Text]:
    final = [artifact for artifact in view.artifacts if artifact.state == "final"]
    if not final:
        return []
    width = max(cell_len(printable(artifact.name)) for artifact in final)
    lines = [Text(MARGIN + say(screen.language, "r_files"), style="bold")]
    for artifact in final:
        line = Text(MARGIN + padded(printable(artifact.name), width))
        by = printable(artifact.approved_by)
        line.append(f"  v{artifact.version}" + (f"  {say(screen.language, 'r_by', who=by)}" if by else ""), style=FAINT)
        lines.append(line)
    return lines


def _next(view: View, ending: Ending, run_id: str, screen: Screen) -> list[Text]:
    """What can be done now, each as the command that does it."""
    again = [(f"phaseloop show {run_id} --events", "n_events")]
    if ending.state is RunState.COMPLETED:
        return _commands([(f"phaseloop show {run_id}", "n_show")], screen)
    if ending.state is RunState.CANCELLED or ending.code == "budget_exceeded":
        return _commands(again, screen)
    mends = [
        (f'phaseloop replan {run_id} --comment "..."', "n_replan"),
        (f"phaseloop retry {run_id}", "n_retry"),
    ]
    return _commands([*mends, *again], screen)


def _commands(pairs: Sequence[tuple[str, str]], screen: Screen) -> list[Text]:
    pairs = [(with_flags(command, screen), key) for command, key in pairs]
    width = max(cell_len(command) for command, _ in pairs)
    lines = [Text(MARGIN + say(screen.language, "r_next"), style="bold")]
    for command, key in pairs:
        line = Text(MARGIN + padded(command, width))
        lines.append(line.append("  " + say(screen.language, key), style=FAINT))
    return lines


def _waiting(view: View, run_id: str, screen: Screen) -> list[Text]:
    """A run at rest: who it waits for, and the exact commands that move it."""
    mark = RUN_MARKS[view.state]
    line = Text(f"{sign(mark, screen)} {say(screen.language, view.state.value)}", style=f"bold {mark.style}")
    line.append("  " + printable(view.title), style="bold")
    commands = [c for gate in open_gates(view) for c in answer_commands(run_id, view, gate)]
    commands = commands or [f"phaseloop resume {run_id}"]
    return [line, *(Text(MARGIN + command + screen.flags) for command in commands)]
