"""Rows: one JSON line each with where and how it was measured, and a table for people."""

import json
import os
import platform
import resource
import sqlite3
import time
from dataclasses import dataclass, field
from importlib import metadata

VERSIONS = ("msgspec", "pydantic-ai-slim")


def versions():
    """What the figures depend on."""
    return {
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "phaseloop": metadata.version("phaseloop"),
        **{name: metadata.version(name) for name in VERSIONS},
    }


class Watch:
    """Wall and CPU seconds of a stretch of work; CPU is of all threads of this process."""

    def __enter__(self):
        self._wall, self._cpu = time.perf_counter(), time.process_time()
        return self

    def __exit__(self, *raised):
        self.wall, self.cpu = time.perf_counter() - self._wall, time.process_time() - self._cpu


def loop_ms(rounds=5):
    """Milliseconds of a fixed Python loop, the least of some: how fast this machine was just now."""
    found = []
    for _ in range(rounds):
        start, total = time.thread_time(), 0
        for n in range(200_000):
            total += n % 7
        found.append(time.thread_time() - start)
    return min(found) * 1e3


@dataclass
class Row:
    """One measurement. `figures` are its numbers by name with unit; `bars` say which of them must not be
    above (`<=`) or below (`>=`) what."""

    bench: str
    name: str
    n: int
    figures: dict[str, float]
    bars: dict[str, str] = field(default_factory=dict)
    seed: int | None = None
    wall: float = 0.0
    cpu: float = 0.0
    notes: str = ""
    versions: dict[str, str] = field(default_factory=versions)

    def misses(self, slack=1.0):
        """The bars that are not held, in words. `slack` 2 allows twice the cost, for machines that are not quiet."""
        return [
            f"{self.name}: {figure} is {self.figures[figure]:.4g}, the bar is {bar}"
            for figure, bar in self.bars.items()
            if not _holds(self.figures[figure], bar, slack)
        ]

    def line(self):
        """The row as one line of JSON."""
        one, five, quarter = os.getloadavg()
        return json.dumps(
            {
                "bench": self.bench,
                "name": self.name,
                "n": self.n,
                "figures": {name: _short(value) for name, value in self.figures.items()},
                "bars": self.bars,
                "holds": not self.misses(),
                "seed": self.seed,
                "wall_s": _short(self.wall),
                "cpu_s": _short(self.cpu),
                "load": [one, five, quarter],
                "cores": os.cpu_count(),
                "python_loop_ms": _short(loop_ms()),
                "notes": self.notes,
                "versions": self.versions,
            },
            ensure_ascii=False,
        )


def _holds(value, bar, slack):
    sign, limit = bar.split()
    return value <= float(limit) * slack if sign == "<=" else value >= float(limit) / slack


def _short(value):
    return float(f"{value:.5g}")


def table(rows):
    """The rows for people: a line a figure, with its bar and whether it is held."""
    lines = [f"{'':<52} {'figure':>12}   bar"]
    for row in rows:
        lines.append(f"{row.bench}: {row.name} (n={row.n})" + (f", {row.notes}" if row.notes else ""))
        for figure, value in row.figures.items():
            bar = row.bars.get(figure, "")
            verdict = "" if not bar else ("" if _holds(value, bar, 1.0) else "  MISSED")
            lines.append(f"    {figure:<48} {value:>12,.4g}   {bar}{verdict}")
    return "\n".join(lines)


def resident_mb():
    """Resident memory of this process now, in MB."""
    with open("/proc/self/statm", encoding="ascii") as statm:
        return int(statm.read().split()[1]) * resource.getpagesize() / 1e6


def percentile(values, share):
    """The value below which `share` of the values lie."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
