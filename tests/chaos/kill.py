"""Run a program that is killed before its n-th storage call, or whose disk fills up or breaks at it."""

import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).with_name("killat.c")


def why_not() -> str:
    """Why this machine cannot do it; empty when it can."""
    if sys.platform != "linux":
        return "the storage killer needs Linux"
    return "" if shutil.which("cc") else "the storage killer needs a C compiler (cc)"


@cache
def library() -> Path:
    """The compiled `killat.c`, built once a process."""
    target = Path(tempfile.mkdtemp(prefix="killat")) / "killat.so"
    command = ["cc", "-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o", str(target), str(SOURCE), "-ldl"]
    subprocess.run(command, check=True, capture_output=True, text=True)
    return target


@dataclass(frozen=True, slots=True)
class Orders:
    """What shall go wrong, by the number of the storage call from 1; 0 is never.

    `kill_at`: killed before this call. `full_at`: no write succeeds from this call on.
    `sync_fails_at`: the next sync at or after this call is done and reported as failed.
    """

    kill_at: int = 0
    full_at: int = 0
    sync_fails_at: int = 0


@dataclass(frozen=True, slots=True)
class Outcome:
    """How the program ended, and how many storage calls it had begun by then."""

    code: int
    calls: int
    stdout: str
    stderr: str

    @property
    def killed(self) -> bool:
        """Whether SIGKILL ended it."""
        return self.code == -signal.SIGKILL


NOTHING = Orders()


def run_under(
    orders: Orders,
    command: Sequence[str],
    folder: Path,
    *,
    environment: Mapping[str, str] | None = None,
    timeout_seconds: float = 120.0,
) -> Outcome:
    """Run `command`; storage calls on files below `folder` are counted and go wrong as ordered.

    Raises `subprocess.TimeoutExpired` when it does not end in `timeout_seconds`.
    """
    with tempfile.NamedTemporaryFile() as counter:
        counter.write(struct.pack("l", 0))
        counter.flush()
        chaos = {
            "LD_PRELOAD": str(library()),
            "CHAOS_FOLDER": str(folder.resolve()),
            "CHAOS_COUNT": counter.name,
            "CHAOS_KILL_AT": str(orders.kill_at),
            "CHAOS_FULL_AT": str(orders.full_at),
            "CHAOS_SYNC_FAILS_AT": str(orders.sync_fails_at),
        }
        ended = subprocess.run(
            command,
            env={**os.environ, **(environment or {}), **chaos},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout_seconds,
            check=False,
        )
        calls = struct.unpack("l", Path(counter.name).read_bytes())[0]
    return Outcome(ended.returncode, calls, ended.stdout, ended.stderr)
