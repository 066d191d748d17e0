"""Lines from a terminal, read so that the reader can be told to stop."""

import codecs
import os
import threading
from select import select
from typing import Protocol, TextIO

LOOK_SECONDS = 0.1  # how soon a reader that was told to stop does


class Lines(Protocol):
    """Where a conversation reads from."""

    def readline(self) -> str:
        """The next line with its newline; empty when there will be no more."""
        ...


class StoppableLines:
    """`readline` as a text stream has it; at the end of input, or once `over` is set, it gives an empty text."""

    def __init__(self, stream: TextIO, over: threading.Event) -> None:
        self._descriptor = stream.fileno()
        self._over = over
        self._decoder = codecs.getincrementaldecoder(stream.encoding or "utf-8")("replace")
        self._text = ""

    def readline(self) -> str:
        """The next line with its newline."""
        while "\n" not in self._text:
            if self._over.is_set():
                return ""
            if not select([self._descriptor], [], [], LOOK_SECONDS)[0]:
                continue
            more = os.read(self._descriptor, 4096)
            if not more:
                return ""
            self._text += self._decoder.decode(more)
        line, _, self._text = self._text.partition("\n")
        return line + "\n"
