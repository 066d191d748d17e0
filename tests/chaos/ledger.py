"""The world outside: a process that records every delivery of an effect and outlives every kill.

A tool under test calls `deliver`; only after the line is in the ledger's file does it get its answer.
`python ledger.py SOCKET FILE [KILL_AT SIDE]` is the process; `Ledger` starts and reads it.
"""

import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

READY = "ready"


def deliver(address: str, effect: dict[str, Any], timeout_seconds: float = 30.0) -> None:
    """Make one effect happen outside. Raises `OSError` when the ledger is gone or hangs up."""
    with socket.socket(socket.AF_UNIX) as line:
        line.settimeout(timeout_seconds)
        line.connect(address)
        line.sendall(json.dumps(effect, ensure_ascii=False).encode() + b"\n")
        if line.recv(16) != b"ok\n":
            raise ConnectionError("the ledger hung up before it answered")


@dataclass(frozen=True, slots=True)
class Ledger:
    """A running ledger: where to deliver, and what was delivered."""

    address: str
    file: Path

    def deliveries(self) -> list[dict[str, Any]]:
        """Every effect in the order it happened."""
        text = self.file.read_text(encoding="utf-8") if self.file.exists() else ""
        return [json.loads(line) for line in text.splitlines()]

    def times(self, field: str = "key") -> Counter[str]:
        """How often each value of `field` was delivered."""
        return Counter(str(effect[field]) for effect in self.deliveries())


@contextmanager
def running_ledger(*, kill_at: int = 0, side: str = "after") -> Iterator[Ledger]:
    """Start a ledger process and stop it at the end; its folder is removed.

    With `kill_at` the ledger kills the process that makes the n-th delivery (counted from 1): `before` the
    delivery is recorded, so that it never happened, or `after`, so that it did and the program cannot know.
    """
    folder = Path(tempfile.mkdtemp(prefix="ledger"))  # short: a socket's path has at most 107 bytes
    ledger = Ledger(str(folder / "s"), folder / "effects.jsonl")
    command = [sys.executable, __file__, ledger.address, str(ledger.file), str(kill_at), side]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        if process.stdout.readline().strip() != READY:
            raise RuntimeError("the ledger did not start")
        yield ledger
    finally:
        process.terminate()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()
        shutil.rmtree(folder)


class Recorder:
    """The server's side: one writer for all connections."""

    def __init__(self, file: Path, kill_at: int, side: str) -> None:
        self.file = file.open("ab", buffering=0)
        self.kill_at = kill_at
        self.side = side
        self.count = 0
        self.turn = threading.Lock()

    def serve(self, line: socket.socket) -> None:
        """Record each line of one connection, then answer it."""
        with line, line.makefile("rb") as lines, suppress(ConnectionError):
            for text in lines:
                if self.record(text, line):
                    line.sendall(b"ok\n")

    def record(self, text: bytes, line: socket.socket) -> bool:
        """Whether the sender still lives and gets its answer."""
        with self.turn:
            self.count += 1
            last = self.count == self.kill_at
            if not (last and self.side == "before"):
                self.file.write(text)
            if last:
                os.kill(peer(line), signal.SIGKILL)
            return not last


def peer(line: socket.socket) -> int:
    """The process at the other end."""
    credentials = line.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    pid: int = struct.unpack("3i", credentials)[0]
    return pid


def main(address: str, file: str, kill_at: str = "0", side: str = "after") -> None:
    """Serve until terminated."""
    recorder = Recorder(Path(file), int(kill_at), side)
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(address)
        door.listen(64)
        print(READY, flush=True)
        while True:
            line, _ = door.accept()
            threading.Thread(target=recorder.serve, args=(line,), daemon=True).start()


if __name__ == "__main__":
    main(*sys.argv[1:])
