"""Peers run in an environment of their own under `.bench/`, made from a lock file with hashes."""

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.report import Row

ROOT = Path(__file__).parents[1]
HOME = ROOT / ".bench"
PEERS = ("langgraph",)


def environment(name):
    """The Python of the peer's environment, which is made where it is missing or its lock file has changed."""
    lock = ROOT / "requirements" / f"bench-{name}.txt"
    home = HOME / name
    stamp = home / ".lock"
    python = home / "bin" / "python"
    if not stamp.exists() or stamp.read_text(encoding="utf-8") != lock.read_text(encoding="utf-8"):
        print(f"setting up {home.relative_to(ROOT)} from {lock.relative_to(ROOT)}", file=sys.stderr)
        shutil.rmtree(home, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(home)], check=True)
        install = [str(Path(sys.executable).parent / "uv"), "pip", "install", "--quiet", "--python", str(python)]
        subprocess.run([*install, "--require-hashes", "--no-deps", "-r", str(lock)], check=True)
        shutil.copyfile(lock, stamp)
    return python


def measured(name, runs, at_once):
    """What the peer's program printed: runs, wall and CPU seconds, bytes, versions."""
    python = environment(name)
    with tempfile.TemporaryDirectory() as folder:
        command = [str(python), "-P", str(ROOT / "bench" / "peers" / f"{name}.py"), str(runs), str(at_once), folder]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def peer_row(name, own, runs=400, at_once=200):
    """The peer on the work of the row `own`, and how many times its figures ours are."""
    said = measured(name, runs, at_once)
    rate, cpu = said["runs"] / said["wall"], said["cpu"] / said["runs"] * 1e3
    return Row(
        "overhead",
        f"{name} with its SQLite saver, durability=sync, three tool nodes, {at_once} at once",
        runs,
        {
            "runs/s": rate,
            "CPU ms a run": cpu,
            "kB a run on disk": said["bytes"] / said["runs"] / 1e3,
            "ours over theirs, runs/s": own.figures["runs/s"] / rate,
            "theirs over ours, CPU a run": cpu / own.figures["CPU ms a run"],
            "theirs over ours, bytes a run": said["bytes"] / said["runs"] / own.figures["kB a run on disk"] / 1e3,
        },
        wall=said["wall"],
        cpu=said["cpu"],
        versions=said["versions"],
    )
