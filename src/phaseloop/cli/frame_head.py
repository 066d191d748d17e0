"""The top of a picture: mark and title, meters, the phase track."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from rich.cells import cell_len
from rich.text import Text

from phaseloop.cli.figures import count, duration, money, padded, printable
from phaseloop.cli.marks import BAD, FAINT, GATE, PHASE_MARKS, RUN_MARKS, sign
from phaseloop.cli.screen import Screen
from phaseloop.cli.texts import say
from phaseloop.core.process import text_in
from phaseloop.core.view_rows import Diamond, PhaseState, elapsed
from phaseloop.core.view_run import PhaseView, View

MARGIN = "  "
BAR_CELLS = 6
NEAR = 0.8  # above it a meter warns: `ui/spec.md` section 4.1
_DIAMONDS = {
    Diamond.NONE: ("─", FAINT),
    Diamond.FUTURE: ("◇", FAINT),
    Diamond.AUTO: ("»", FAINT),
    Diamond.ANSWERED: ("◇", FAINT),
    Diamond.OPEN: ("◆", GATE),
}


@dataclass(frozen=True, slots=True)
class Picture:
    """What to draw: a run at `now` (ms since 1970 UTC), its live tails by row, whether keys work."""

    run_id: str
    view: View
    now: int
    tails: Mapping[str, str] = field(default_factory=dict[str, str])
    keys: bool = False


def head_lines(picture: Picture, screen: Screen) -> list[Text]:
    """Mark, title and run id on the first line; the meters below, with bars where they fit on one line."""
    view = picture.view
    mark = RUN_MARKS[view.state]
    room = screen.width - cell_len(picture.run_id) - 4
    title = padded(printable(view.title) or picture.run_id, max(1, room))
    first = Text()
    first.append(sign(mark, screen), style=f"bold {mark.style}")
    first.append(" ")
    first.append(title, style=f"bold {mark.style}")
    first.append("  " + picture.run_id, style=FAINT)
    for bars in (True, False):
        meters = _meters(view, screen, picture.now, bars=bars)
        width = sum(cell_len(meter.plain) for meter in meters) + 2 * len(meters)
        if width <= screen.width:
            return [first, _joined(meters)]
    return [first, *_meter_lines(_meters(view, screen, picture.now, bars=False), screen.width)]


def _joined(parts: Sequence[Text]) -> Text:
    line = Text(MARGIN)
    for n, part in enumerate(parts):
        line.append("  " if n else "")
        line.append_text(part)
    return line


def _meter_lines(meters: Sequence[Text], width: int) -> list[Text]:
    lines: list[list[Text]] = [[]]
    for meter in meters:
        used = sum(cell_len(part.plain) + 2 for part in lines[-1])
        if lines[-1] and used + cell_len(meter.plain) + 2 > width:
            lines.append([])
        lines[-1].append(meter)
    return [_joined(parts) for parts in lines]


def _meters(view: View, screen: Screen, now: int, *, bars: bool) -> list[Text]:
    language, meters = screen.language, view.meters
    active = elapsed(meters.active, now) / 1000

    def seconds(value: float) -> str:
        return duration(value * 1000, language)

    values: list[tuple[str, float, float | None, Callable[[float], str], bool]] = [
        ("tokens", meters.tokens, meters.tokens_limit, count, bars),
        ("cost", meters.cost_usd, meters.cost_limit, money, bars),
        ("time", active, meters.seconds_limit, seconds, bars),
        ("replans", meters.replans, meters.replans_limit, count, False),
    ]
    return [_meter(say(language, key), used, limit, word, bar, screen) for key, used, limit, word, bar in values]


def _meter(
    label: str, used: float, limit: float | None, word: Callable[[float], str], bar: bool, screen: Screen
) -> Text:
    share = used / limit if limit else 0.0
    style = BAD if share > 1 else GATE if share > NEAR else ""
    text = Text(f"{label} ", style=FAINT)
    text.append(word(used), style=f"bold {style}".strip())
    if limit is None:
        return text
    text.append(f"/{word(limit)}", style=FAINT)
    if bar:
        full = min(BAR_CELLS, round(share * BAR_CELLS))
        text.append(" ")
        text.append("━" * full, style=style)
        text.append("┄" * (BAR_CELLS - full), style=FAINT)
    return text


def track_lines(view: View, screen: Screen) -> list[Text]:
    """The phases in one line with their gates; nothing for a run of one phase. Centred on the current one."""
    if len(view.phases) <= 1:
        return []
    parts = [_track_part(view, n, screen) for n in range(len(view.phases))]
    at = next((n for n, phase in enumerate(view.phases) if phase.phase_id == view.current), 0)
    first, last = at, at
    while True:
        wider = [(first - 1, last)] if first > 0 else []
        wider += [(first, last + 1)] if last < len(parts) - 1 else []
        fits = [span for span in wider if _track_width(parts, span) <= screen.width]
        if not fits:
            break
        first, last = fits[-1] if last - at <= at - first else fits[0]
    line = Text(MARGIN)
    line.append("… " if first else "", style=FAINT)
    for part in parts[first : last + 1]:
        line.append_text(part)
    line.append("…" if last < len(parts) - 1 else "", style=FAINT)
    return [line]


def _track_width(parts: Sequence[Text], span: tuple[int, int]) -> int:
    inner = sum(cell_len(part.plain) for part in parts[span[0] : span[1] + 1])
    return len(MARGIN) + inner + (2 if span[0] else 0) + (1 if span[1] < len(parts) - 1 else 0)


def _track_part(view: View, n: int, screen: Screen) -> Text:
    phase = view.phases[n]
    mark = PHASE_MARKS[phase.state]
    current = phase.phase_id == view.current
    style = mark.style if current or phase.state in (PhaseState.DONE, PhaseState.FAILED) else FAINT
    text = Text()
    text.append(sign(mark, screen), style=mark.style)
    text.append(" " + name_of(phase, screen), style=f"bold {style}" if current else style)
    is_last = n == len(view.phases) - 1
    if is_last and phase.diamond is Diamond.NONE:
        return text
    diamond, colour = _DIAMONDS[phase.diamond]
    text.append(" " + "─", style=FAINT)
    text.append(diamond, style=colour)
    text.append("" if is_last else "─" + " ", style=FAINT)
    return text


def name_of(phase: PhaseView, screen: Screen) -> str:
    """A phase's name in the reader's language."""
    return printable(text_in(phase.name, screen.language)) or printable(phase.phase_id)
