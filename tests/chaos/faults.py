"""Numbered fault points inside a process: at the n-th one it is killed, frozen, or its commit fails."""

import os
import signal
import sqlite3
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from enum import StrEnum


class Fault(StrEnum):
    """What happens at the point. A failing commit counts commits only, not points."""

    NONE = "none"
    KILL = "kill"
    FREEZE = "freeze"
    COMMIT_LOST = "commit_lost"
    COMMIT_KEPT = "commit_kept"


@dataclass
class Points:
    """Counts points from 1 over all threads and acts at number `at`, or at the first point called `name`.

    A process is frozen while it holds `quiet`: inside a transaction it would hold up everybody for ever.
    """

    fault: Fault = Fault.NONE
    at: int = 0
    name: str = ""
    names: list[str] = field(default_factory=list)
    quiet: AbstractContextManager[object] = field(default_factory=nullcontext)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _commits: int = 0

    def reach(self, name: str) -> None:
        """Pass a point, or not."""
        with self._lock:
            self.names.append(name)
            due = len(self.names) == self.at or (bool(self.name) and name == self.name)
        if due and self.fault is Fault.KILL:
            os.kill(os.getpid(), signal.SIGKILL)
        if due and self.fault is Fault.FREEZE:
            self.name, self.at = "", 0
            with self.quiet:
                os.kill(os.getpid(), signal.SIGSTOP)

    def around_commits(self) -> Callable[[str], None]:
        """The store's hook: two points a commit, or the commit that fails."""

        def hook(moment: str) -> None:
            self.reach(f"commit:{moment}")
            if moment == "before":
                self._commits += 1
                if self.fault is Fault.COMMIT_LOST and self._commits == self.at:
                    raise sqlite3.OperationalError("the disk failed before the commit")
            elif self.fault is Fault.COMMIT_KEPT and self._commits == self.at:
                raise sqlite3.OperationalError("the disk failed after the commit")

        return hook

    @property
    def commits(self) -> int:
        """Commits tried so far."""
        return self._commits
