"""The card of a gate: what is judged, what happens next, what may be answered; beside it the prompts."""

from collections.abc import Sequence

from rich.cells import cell_len
from rich.text import Text

from phaseloop.cli.figures import compact, cut, padded, printable, score, weight, wrapped
from phaseloop.cli.frame import fitted, flowed
from phaseloop.cli.frame_head import Picture, head_lines, name_of, track_lines
from phaseloop.cli.gate_fields import Field, fields_of, shown_default
from phaseloop.cli.gate_keys import keys_of
from phaseloop.cli.gate_words import due, gate_title, policy
from phaseloop.cli.marks import FAINT, GATE, ROW_MARKS, sign
from phaseloop.cli.payload import (
    artefact_of,
    list_in,
    object_in,
    object_of,
    options_of,
    schema_of,
    text_at,
    values_of,
)
from phaseloop.cli.screen import Screen
from phaseloop.cli.texts import say
from phaseloop.core.process import GateKind, text_in
from phaseloop.core.view_rows import RowState
from phaseloop.core.view_run import GateView, View, phase_of

MAX_CARD = 110  # wider lines are hard to read
_MAX_ISSUES = 5


def gate_screen(picture: Picture, gate: GateView, screen: Screen) -> list[Text]:
    """Head, track and card, as a terminal shows a waiting run."""
    track = track_lines(picture.view, screen)
    top = [*head_lines(picture, screen), *([Text(), *track] if track else []), Text()]
    return [*(fitted(line, screen) for line in top), *card_lines(picture.view, gate, screen)]


def card_lines(view: View, gate: GateView, screen: Screen) -> list[Text]:
    """The card alone, no line wider than the screen."""
    width = min(screen.width - 2, MAX_CARD) if screen.width >= 40 else screen.width
    inner = max(10, width - 6)
    body = [Text(), *_body(view, gate, screen, inner), Text()]
    lines = [_top(gate, screen, width)]
    for line in body:
        edged = Text("│  ", style=GATE)
        edged.append_text(fitted(line, _narrow(screen, inner)))
        edged.append(" " * max(0, width - 2 - cell_len(edged.plain) + 1))
        edged.append("│", style=GATE)
        lines.append(edged)
    lines.append(_bottom(gate, screen, width))
    margin = "  " if width < screen.width else ""
    return [fitted(Text(margin).append_text(line), screen) for line in lines]


def _narrow(screen: Screen, width: int) -> Screen:
    return Screen(screen.kind, width, screen.height, screen.colour, screen.ascii_only, encoding=screen.encoding)


def _top(gate: GateView, screen: Screen, width: int) -> Text:
    mark = sign(ROW_MARKS[RowState.WAITING], screen)
    title = cut(gate_title(gate, screen.language), max(1, width - 9))
    line = Text("╭─ ", style=GATE)
    line.append(f"{mark} {title}", style=f"bold {GATE}")
    line.append(" " + "─" * max(0, width - cell_len(line.plain) - 2) + "╮", style=GATE)
    return line


def _bottom(gate: GateView, screen: Screen, width: int) -> Text:
    """The lower edge, with what the deadline does and when."""
    if gate.timeout_at is None:
        return Text("╰" + "─" * (width - 2) + "╯", style=GATE)
    told = say(screen.language, "c_deadline", t=due(gate, screen), policy=policy(gate, screen.language, card=True))
    told = cut(told, max(1, width - 6))
    line = Text("╰" + "─" * max(0, width - cell_len(told) - 5) + " ", style=GATE)
    line.append(told, style=FAINT)
    line.append(" ─╯", style=GATE)
    return line


def _body(view: View, gate: GateView, screen: Screen, width: int) -> list[Text]:
    parts = [
        [Text(line) for line in _question(view, gate, screen, width)],
        _subject(gate, screen, width),
        _asked(gate, screen, width),
        _keys(gate, screen, width),
    ]
    if parts[0] and parts[1] and len(parts[1]) == 1:
        parts[0:2] = [parts[0] + parts[1]]  # one line about the subject belongs to the sentence above it
    lines: list[Text] = []
    for part in parts:
        lines += [Text()] if part and lines else []
        lines += part
    return lines


def _question(view: View, gate: GateView, screen: Screen, width: int) -> list[str]:
    """The question itself and what happens next if it is answered with yes."""
    language = screen.language
    phase = phase_of(view, gate.phase_id)
    name = name_of(phase, screen) if phase else gate.phase_id
    said = [text_in(gate.prompt, language), gate.consequence]
    if gate.kind == GateKind.BLOCKED:
        missing = ", ".join(compact(item) for item in list_in(gate.payload, "missing"))
        condition = printable(text_at(gate.payload, "condition"))
        said = [
            say(language, "c_blocked", phase=name, names=missing)
            if missing
            else say(language, "c_blocked_condition", phase=name, condition=condition)
        ]
    elif gate.kind == GateKind.IN_DOUBT:
        said = [say(language, "c_doubt")]
    elif gate.kind == GateKind.ADVANCE:
        said = [say(language, "c_advance", phase=name), *said]
    if gate.required > 1:
        said.append(say(language, "c_votes", n=len(gate.votes), m=gate.required))
    texts = dict.fromkeys(printable(text) for text in said if text)
    return [line for text in texts for line in wrapped(text, width)]


def _subject(gate: GateView, screen: Screen, width: int) -> list[Text]:
    """What is judged: an artefact with its score and issues, a plan's steps, or a call with its arguments."""
    language = screen.language
    lines: list[Text] = []
    name, value = artefact_of(gate)
    if name:
        facts = [weight(value)]
        if isinstance(gate.payload.get("score"), int | float):
            facts.append(f"{say(language, 'c_score')} {score(float(gate.payload['score']))}")
        line = Text(printable(name), style="default")
        line.append("  " + ("，" if language == "zh" else ", ").join(facts), style=FAINT)
        lines.append(line)
        lines += _plan_lines(object_of(value))
    tool = text_at(gate.payload, "tool")
    if tool:
        lines.append(Text(f"{say(language, 'c_tool')}  {printable(tool)}"))
        lines += _pairs(object_in(gate.payload, "args"), width)
    for kind in ("risks", "issues"):
        for issue in list_in(gate.payload, kind)[:_MAX_ISSUES]:
            first, *rest = wrapped(compact(issue), max(1, width - 2))
            lines += [Text(f"! {first}", style=GATE), *(Text(f"  {part}", style=GATE) for part in rest)]
    return lines


def _plan_lines(plan: dict[str, object]) -> list[Text]:
    """The steps of a plan, numbered, with what each waits for."""
    steps = [object_of(step) for step in list_in(plan, "steps")]
    numbers = {text_at(step, "id"): str(n) for n, step in enumerate(steps, 1)}
    lines: list[Text] = []
    for n, step in enumerate(steps, 1):
        line = Text(f"{n:>2}  {printable(text_at(step, 'action'))}")
        after = [numbers.get(compact(one), compact(one)) for one in list_in(step, "depends_on")]
        hint = printable(text_at(step, "tool_hint"))
        line.append(f"  {hint}" if hint else "", style=FAINT)
        line.append(f"  < {', '.join(after)}" if after else "", style=FAINT)
        lines.append(line)
    return lines


def _pairs(values: dict[str, object], width: int) -> list[Text]:
    name_width = max((cell_len(printable(name)) for name in values), default=0)
    lines: list[Text] = []
    for name, value in values.items():
        line = Text(padded(printable(name), name_width), style=FAINT)
        line.append("  " + cut(compact(value), max(1, width - name_width - 2)), style="default")
        lines.append(line)
    return lines


def _asked(gate: GateView, screen: Screen, width: int) -> list[Text]:
    """The options or fields a person fills in, and where a note may go."""
    language = screen.language
    options = options_of(gate)
    if options:
        return [_option_line(n, option, language) for n, option in enumerate(options, 1)]
    fields: Sequence[Field] = ()
    if gate.kind not in (GateKind.TOOL_APPROVAL, GateKind.IN_DOUBT):
        fields = fields_of(schema_of(gate), values_of(gate))
    note = "approve" in gate.outcomes
    labels = [field.title for field in fields] + ([say(language, "c_note")] if note else [])
    label_width = min(max((cell_len(label) for label in labels), default=0), width // 2)
    lines = [line for field in fields for line in _field_lines(field, label_width, width, screen)]
    if note:
        line = Text("  " + padded(say(language, "c_note"), label_width))
        lines.append(line.append("   " + say(language, "c_optional"), style=FAINT))
    return lines


def _option_line(n: int, option: dict[str, object], language: str) -> Text:
    line = Text(f"{n:>2}  ", style=FAINT)
    line.append(printable(text_at(option, "label")) or compact(option["id"]), style="bold")
    told = printable(text_at(option, "description"))
    line.append(f"  {told}" if told else "", style=FAINT)
    line.append(f"  {say(language, 'c_recommended')}" if option.get("recommended") else "", style=GATE)
    return line


def _field_lines(field: Field, label_width: int, width: int, screen: Screen) -> list[Text]:
    """One field: label, then its choices with the default underlined, or what Enter takes."""
    line = Text("? " if field.required else "  ", style=GATE)
    line.append(padded(field.title, label_width), style="bold" if field.required else "default")
    line.append(" › " if field.choices else "   ", style=FAINT)
    default = shown_default(field)
    if not field.choices:
        empty = say(screen.language, "c_required" if field.required else "c_optional")
        return [line.append(default or empty, style="default" if default else FAINT)]
    rows = flowed(field.labels, max(10, width - label_width - 5))
    lines = [line, *(Text(" " * (label_width + 5)) for _ in rows[1:])]
    for start, row in zip(lines, rows, strict=True):
        for n, label in enumerate(row.split("   ")):
            start.append("   " if n else "", style="default")
            start.append(label, style="underline" if label == default else "default")
    return lines


def _keys(gate: GateView, screen: Screen, width: int) -> list[Text]:
    keys = [f"{key.letter} {key.label}" for key in keys_of(gate, screen.language)]
    return [Text(line) for line in flowed(keys, width)]
