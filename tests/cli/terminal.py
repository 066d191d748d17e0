"""A real pseudo terminal with the command line in it, and the screen that a person would see."""

import os
import sys
import time
from pathlib import Path

import pexpect
import pyte


class Terminal:
    """Runs a program at a terminal of `columns` by `rows`; `shown` is its screen, `past` what scrolled away."""

    def __init__(self, command, folder, columns=100, rows=40, **environment):
        env = {k: v for k, v in os.environ.items() if not k.startswith("PHASELOOP_") and k not in ("NO_COLOR", "CI")}
        env |= {"TERM": "xterm-256color", "LANG": "C.UTF-8", "PHASELOOP_USER": "kai", **environment}
        self.screen = pyte.HistoryScreen(columns, rows, history=5000)
        self.stream = pyte.Stream(self.screen)
        self.raw = ""
        self.child = pexpect.spawn(
            command[0],
            command[1:],
            cwd=str(folder),
            env=env,
            dimensions=(rows, columns),
            encoding="utf-8",
            timeout=30,
        )

    def pump(self, seconds=0.1):
        """Take in what the program wrote."""
        try:
            text = self.child.read_nonblocking(65536, timeout=seconds)
        except (pexpect.TIMEOUT, pexpect.EOF):
            return False
        self.raw += text
        self.stream.feed(text)
        return True

    @property
    def lines(self):
        return [line.rstrip() for line in self.screen.display]

    @property
    def shown(self):
        return "\n".join(self.lines).rstrip()

    @property
    def past(self):
        rows = ("".join(row[x].data for x in range(self.screen.columns)).rstrip() for row in self.screen.history.top)
        return "\n".join(rows)

    @property
    def everything(self):
        return f"{self.past}\n{self.shown}"

    def wait_for(self, text, seconds=30.0):
        """Until `text` stands on the screen or above it."""
        deadline = time.monotonic() + seconds
        while text not in self.everything:
            assert time.monotonic() < deadline, f"{text!r} never came:\n{self.everything}"
            if not self.pump() and not self.child.isalive():
                while self.pump():
                    continue
                assert text in self.everything, f"{text!r} never came:\n{self.everything}"
        return self.shown

    def type(self, text):
        self.child.send(text)

    def resize(self, columns, rows):
        self.child.setwinsize(rows, columns)
        self.screen.resize(rows, columns)

    def end(self, seconds=30.0):
        """The exit code, when the program has ended by itself."""
        deadline = time.monotonic() + seconds
        while self.child.isalive() or self.pump():
            self.pump()
            assert time.monotonic() < deadline, f"it does not end:\n{self.everything}"
        self.child.close()
        return self.child.exitstatus if self.child.exitstatus is not None else -self.child.signalstatus

    def close(self):
        self.child.close(force=True)


def demo(pace=0.1):
    """The demo at a pace that a test can wait for."""
    code = f"import sys; from phaseloop.demo import roles; roles.PACE = {pace}\n"
    code += "from phaseloop.cli.main import main; sys.argv = ['phaseloop', *sys.argv[1:]]; main()"
    return [sys.executable, "-c", code, "demo"]


PHASELOOP = str(Path(sys.executable).with_name("phaseloop"))
