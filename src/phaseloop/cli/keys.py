"""Single keys from a terminal while a live view is on it."""

import os
import sys
import termios
import tty
from collections.abc import Generator
from contextlib import contextmanager
from select import select
from typing import TextIO

KEYS = frozenset("pdwq")
"""Pause, detach, open in browser, stop: `ui/spec.md` section 16."""


class KeyReader:
    """Reads without waiting. Only the letters of the live view count; the rest is dropped."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def pressed(self) -> str:
        """The next key of the live view, empty when none was pressed."""
        while select([self._descriptor], [], [], 0)[0]:
            pressed = os.read(self._descriptor, 1).decode("ascii", "ignore").lower()
            if not pressed:
                return ""
            if pressed in KEYS:
                return pressed
        return ""


@contextmanager
def unechoed(stream: TextIO = sys.stdin) -> Generator[None]:
    """While a picture is drawn, what is typed must not be written into it; Ctrl-C stays an interrupt.

    Does nothing where `stream` is no terminal.
    """
    if not stream.isatty():
        yield
        return
    descriptor = stream.fileno()
    before = termios.tcgetattr(descriptor)
    quiet = termios.tcgetattr(descriptor)
    quiet[3] &= ~termios.ECHO
    termios.tcsetattr(descriptor, termios.TCSADRAIN, quiet)
    try:
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


def drop_typed(stream: TextIO = sys.stdin) -> None:
    """Forget what was typed before a question stood there: it answers something else."""
    if stream.isatty():
        termios.tcflush(stream.fileno(), termios.TCIFLUSH)


@contextmanager
def raw_keys(stream: TextIO = sys.stdin) -> Generator[KeyReader]:
    """Keys from the terminal `stream` without Enter and without echo; Ctrl-C stays an interrupt."""
    descriptor = stream.fileno()
    before = termios.tcgetattr(descriptor)
    tty.setcbreak(descriptor)
    try:
        yield KeyReader(descriptor)
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
