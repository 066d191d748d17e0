"""Which terminal this is and what it can show: the ladder from a live view down to plain lines."""

import locale
import os
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import tzinfo
from enum import StrEnum
from typing import Any, Protocol

from rich.console import Console

MIN_WIDTH = 60  # below it a live view says less than lines do: `ui/spec.md` section 16
_PIPE_WIDTH = 100
_ASCII_SIGNS = str.maketrans(
    {"━": "=", "┄": ".", "─": "-", "│": "|", "◇": "<", "◆": "!", "»": ">", "⇄": "@", "›": ">", "…": "~"}
    | dict.fromkeys("╭╮╰╯", "+")
)


class Kind(StrEnum):
    """How a run is shown."""

    LIVE = "live"
    PLAIN = "plain"


class Output(Protocol):
    """What is asked of an output stream."""

    @property
    def encoding(self) -> str | None: ...

    def isatty(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class Screen:
    """A terminal: `width` and `height` in cells, `zone` for times of day (`None`: the machine's own).

    `flags` are the options that a command printed on it needs to reach the same run, such as ` --store x`.
    """

    kind: Kind = Kind.PLAIN
    width: int = _PIPE_WIDTH
    height: int = 25
    colour: bool = False
    ascii_only: bool = False
    language: str = "en"
    zone: tzinfo | None = None
    encoding: str = "utf-8"
    flags: str = ""


def with_flags(command: str, screen: Screen) -> str:
    """A command to print with the options it takes: one that only reads takes the store and no model or tools."""
    if command.split()[1] not in ("show", "replay", "events"):
        return command + screen.flags
    words = shlex.split(screen.flags)
    store = words[words.index("--store") : words.index("--store") + 2] if "--store" in words else []
    return command + "".join(f" {shlex.quote(word)}" for word in store)


def language_of(env: Mapping[str, str]) -> str:
    """`zh` when `PHASELOOP_LANG`, else `LC_ALL`, else `LANG` starts with it; English otherwise."""
    for name in ("PHASELOOP_LANG", "LC_ALL", "LANG"):
        if env.get(name):
            return "zh" if env[name].lower().startswith("zh") else "en"
    return "en"


def choose(
    stream: Output, env: Mapping[str, str], size: tuple[int, int] | None = None, *, ascii_only: bool = False
) -> Screen:
    """The screen for `stream`.

    Live needs a TTY of at least 60 columns that is not dumb, outside CI. `NO_COLOR` takes the colours,
    a stream that is not UTF-8 takes everything beyond ASCII from our own marks. `size` is (columns, rows).
    """
    terminal = stream.isatty()
    width, height = size or (_PIPE_WIDTH, 25)
    in_ci = env.get("CI", "").lower() not in ("", "0", "false")
    live = terminal and width >= MIN_WIDTH and env.get("TERM", "") != "dumb" and not in_ci
    encoding = (stream.encoding or "ascii").lower().replace("-", "").replace("_", "")
    return Screen(
        Kind.LIVE if live else Kind.PLAIN,
        width=width,
        height=height,
        colour=live and not env.get("NO_COLOR"),
        ascii_only=ascii_only or not encoding.startswith("utf8"),
        language=language_of(env),
        encoding=stream.encoding or "ascii",
    )


def this_screen(*, ascii_only: bool = False) -> Screen:
    """The screen of this process's standard output."""
    size: tuple[int, int] | None = None
    if sys.stdout.isatty():
        columns, rows = os.get_terminal_size(sys.stdout.fileno())
        size = (columns, rows)
    chosen = choose(sys.stdout, os.environ, size, ascii_only=ascii_only)
    utf8 = locale.getencoding().lower().replace("-", "") == "utf8"
    return chosen if utf8 else replace(chosen, ascii_only=True)


def console_for(screen: Screen, stream: Any) -> Console:
    """A console on `stream` that adds nothing of its own: no markup, no emoji, no highlighting."""
    return Console(
        file=stream,
        width=None if screen.kind is Kind.LIVE else screen.width,
        force_terminal=screen.kind is Kind.LIVE,
        no_color=not screen.colour,
        color_system="auto" if screen.colour else None,
        highlight=False,
        markup=False,
        emoji=False,
        soft_wrap=False,
        legacy_windows=False,
    )


def shown(text: str, screen: Screen) -> str:
    """`text` as the stream can write it: drawing signs in ASCII where asked, `?` for what it has no sign for."""
    text = text.translate(_ASCII_SIGNS) if screen.ascii_only else text
    return text.encode(screen.encoding, "replace").decode(screen.encoding)


def resized(screen: Screen, console: Console) -> Screen:
    """`screen` as large as the console is now."""
    width, height = console.size
    return replace(screen, width=width, height=height)
