"""The command line in this process: arguments in; exit code, output and notices out."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from phaseloop.cli.main import main

BIN = Path(sys.executable).with_name("phaseloop")


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    err: str

    @property
    def lines(self):
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def result(self):
        return self.lines[-1]["result"]


@dataclass
class CommandLine:
    """`phaseloop` in a folder of its own, without any setting of the machine."""

    monkeypatch: pytest.MonkeyPatch
    capfd: pytest.CaptureFixture
    folder: Path

    def __call__(self, *arguments):
        self.monkeypatch.setattr(sys, "argv", ["phaseloop", *map(str, arguments)])
        self.capfd.readouterr()
        try:
            main()
            code = 0
        except SystemExit as ended:
            code = ended.code or 0
        out, err = self.capfd.readouterr()
        return Ended(code, out, err)

    def file(self, name, text):
        path = self.folder / name
        path.write_text(text if isinstance(text, str) else json.dumps(text), encoding="utf-8")
        return str(path)


def prepared(monkeypatch, capfd, folder):
    for name in ("PHASELOOP_MODEL", "PHASELOOP_CRITIC_MODEL", "PHASELOOP_STORE", "PHASELOOP_LANG", "LC_ALL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PHASELOOP_USER", "kai")
    monkeypatch.setenv("LANG", "en_US.UTF-8")
    monkeypatch.chdir(folder)
    return CommandLine(monkeypatch, capfd, folder)
