"""What only the machine knows: the time, who acts, which process this is, and where runs are kept."""

import asyncio
import getpass
import os
import secrets as random_bytes
import socket
import time
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from phaseloop.core.errors import WrongUse
from phaseloop.core.run_events import Who

T = TypeVar("T")
DEFAULT_STORE = ".phaseloop/runs.db"


def now() -> int:
    """Milliseconds since 1970 UTC."""
    return time.time_ns() // 1_000_000


def store_url(given: str | None) -> str:
    """Where runs are kept: as `given`, else `PHASELOOP_STORE`, else the default."""
    return given or os.environ.get("PHASELOOP_STORE") or DEFAULT_STORE


def me(via: str = "library") -> Who:
    """Who acts: `PHASELOOP_USER`, else the user of the operating system (contract section 10)."""
    return Who(os.environ.get("PHASELOOP_USER") or _user(), via)


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a container whose user has no entry
        return f"user-{os.getuid()}"


def worker_name() -> str:
    """A name for this process and this application in it; `is_gone` reads it."""
    return f"{_place()}/{os.getpid()}-{random_bytes.token_hex(3)}"


def is_gone(worker: str) -> bool:
    """Whether `worker` was a process of this machine that is no more; of other machines nothing is known."""
    place, _, process = worker.rpartition("/")
    pid = process.partition("-")[0]
    if place != _place() or not pid.isdecimal():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):  # it lives and belongs to somebody else, or is no process id at all
        return False
    return False


def _place() -> str:
    """Where process ids mean what they mean here: the machine, and on Linux the namespace in it."""
    try:
        return f"{socket.gethostname()}.{os.stat('/proc/self/ns/pid').st_ino}"
    except OSError:
        return socket.gethostname()


def run_alone(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run `work` in an event loop of its own. Raises `WrongUse` where one runs already."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work())
    raise WrongUse("run_sync cannot be called where an event loop runs: await app.start and app.result there")
