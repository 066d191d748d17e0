"""The person's own programs: their editor and their pager."""

import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TextIO


def edit_in_editor(text: str, env: Mapping[str, str]) -> str:
    """`text` as the person saved it in `$VISUAL`, `$EDITOR` or `vi`. Raises `OSError` when none can be run."""
    command = shlex.split(env.get("VISUAL") or env.get("EDITOR") or "vi")
    handle, name = tempfile.mkstemp(prefix="phaseloop-answer-", suffix=".yaml")
    path = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        ended = subprocess.run([*command, name], check=False)
        if ended.returncode != 0:
            raise OSError(f"{command[0]} ended with code {ended.returncode}")
        return path.read_text(encoding="utf-8")
    finally:
        path.unlink(missing_ok=True)


def show_in_pager(text: str, env: Mapping[str, str], output: TextIO) -> None:
    """`text` in `$PAGER`, else in `less`, else straight to `output`."""
    command = shlex.split(env.get("PAGER") or "less")
    if not command or shutil.which(command[0]) is None or not output.isatty():
        output.write(text)
        output.flush()
        return
    subprocess.run(command, input=text.encode("utf-8"), check=False)
