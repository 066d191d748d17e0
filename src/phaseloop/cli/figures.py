"""Numbers, times and foreign text as a terminal shows them: short, of known width, harmless."""

import json
import unicodedata
from datetime import UTC, datetime, tzinfo

from rich.cells import cell_len, chop_cells, set_cell_size

from phaseloop.core.values import Json

_LONGEST_MS = 1e14  # three thousand years; JSON numbers can be larger than any time
_STEERING = frozenset("\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u061c")
"""Characters that reorder a line: text from a model must not make a gate read otherwise than it is."""


def printable(text: str) -> str:
    """`text` on one line, without control or reordering characters."""
    flat = " ".join(text.split()) if any(c.isspace() and c != " " for c in text) else text
    return "".join(c for c in flat if c not in _STEERING and unicodedata.category(c) not in ("Cc", "Cs"))


def printable_lines(text: str) -> list[str]:
    """The lines of `text`, tabs as blanks, each without control or reordering characters."""
    return [
        "".join(c for c in line.expandtabs(4) if c not in _STEERING and unicodedata.category(c) not in ("Cc", "Cs"))
        for line in text.splitlines()
    ]


def cut(text: str, width: int) -> str:
    """`text` in at most `width` terminal cells, the rest replaced by an ellipsis."""
    if cell_len(text) <= width:
        return text
    if width <= 1:
        return "…"[: max(0, width)]
    return set_cell_size(text, width - 1).rstrip() + "…"


def padded(text: str, width: int) -> str:
    """`text` in exactly `width` cells, cut or filled on the right."""
    text = cut(text, width)
    return text + " " * (width - cell_len(text))


def padded_left(text: str, width: int) -> str:
    """`text` in exactly `width` cells, filled on the left."""
    text = cut(text, width)
    return " " * (width - cell_len(text)) + text


def wrapped(text: str, width: int) -> list[str]:
    """`text` in lines of at most `width` cells, broken at blanks where it has any (Chinese has none).

    An indented text stays indented.
    """
    indent = text[: len(text) - len(text.lstrip(" "))][: max(0, width - 10)]
    room = max(2, width - len(indent))  # a wide character takes two cells
    lines: list[str] = []
    line = ""
    for word in text.strip(" ").split(" "):
        joined = f"{line} {word}" if line else word
        if cell_len(joined) <= room:
            line = joined
            continue
        lines += [line] if line else []
        *full, line = chop_cells(word, room) or [""]
        lines += full
    return [indent + part for part in (*lines, line)]


def count(n: float) -> str:
    """Tokens and the like: `300`, `9.8k`, `24k`, `1.2M`."""
    if n < 1000:
        return f"{n:.0f}"
    for size, sign in ((1_000.0, "k"), (1_000_000.0, "M")):
        if n < size * 9.95:
            return f"{n / size:.1f}".removesuffix(".0") + sign
        if n < size * 999.5:
            return f"{n / size:.0f}{sign}"
    return f"{n / 1e9:.1f}G"


def money(usd: float) -> str:
    """A sum for a meter: `$1.50`; less than a cent with one more digit."""
    return f"${usd:.3f}" if 0 < usd < 0.01 else f"${usd:.2f}"


def fine_money(usd: float) -> str:
    """A sum for a row, where tenths of a cent count: `$0.091`; nothing for none."""
    if not usd:
        return ""
    return f"${usd:.3f}" if usd < 10 else f"${usd:.2f}"


def score(value: float) -> str:
    """A score of 0 to 10: `3`, `7.5`."""
    return f"{value:.1f}".removesuffix(".0")


def duration(ms: float, language: str) -> str:
    """Milliseconds as `24 s`, `1 m 30 s`, `20 m`, `1 h 5 m`; in Chinese `1 分 30 秒`."""
    hour, minute, second = (" 小时", " 分", " 秒") if language == "zh" else (" h", " m", " s")
    seconds = int(min(max(0.0, ms), _LONGEST_MS) // 1000)
    hours, rest = divmod(seconds, 3600)
    minutes, seconds = divmod(rest, 60)
    parts = [(hours, hour), (minutes, minute), (seconds if not hours else 0, second)]
    words = [f"{n}{unit}" for n, unit in parts if n]
    return " ".join(words) or f"0{second}"


def moment(at: int, zone: tzinfo | None, *, seconds: bool = False, beside: int | None = None) -> str:
    """Milliseconds since 1970 UTC as a time of day in `zone`, the machine's own when it is `None`.

    With the day when it is another one than that of `beside`: `12-01 14:35`.
    """
    try:
        local = datetime.fromtimestamp(at / 1000, UTC).astimezone(zone)
        near = local if beside is None else datetime.fromtimestamp(beside / 1000, UTC).astimezone(zone)
    except (ValueError, OverflowError, OSError):
        return "--:--:--" if seconds else "--:--"  # a deadline beyond the calendar
    day = "" if local.date() == near.date() else local.strftime("%m-%d ")
    return day + local.strftime("%H:%M:%S" if seconds else "%H:%M")


def compact(value: Json) -> str:
    """A JSON value on one line; a text stands without quotes."""
    if isinstance(value, str):
        return printable(value)
    return printable(json.dumps(value, ensure_ascii=False, default=str))


def weight(value: Json) -> str:
    """The size of a value as text: `640 B`, `18.0 KB`."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    size = len(text.encode("utf-8", "replace"))
    return f"{size} B" if size < 1024 else f"{size / 1024:.1f} KB"
