"""One command line for every generated file: write it, or with `--check` say that it is stale."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]


def write_or_check(module: str, path: Path, render: Callable[[], str], arguments: Sequence[str]) -> int:
    """Write `render()` to `path`; with `--check` write nothing and return 1 when `path` differs.

    `module` is the name after `python -m`, for the sentence that says how to mend a stale file.
    """
    if arguments not in ([], ["--check"]):
        print(f"usage: python -m {module} [--check], not {' '.join(arguments)!r}", file=sys.stderr)
        return 2
    text = render()
    if not arguments:
        path.write_text(text, encoding="utf-8")
        return 0
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return 0
    print(f"{path.relative_to(ROOT)} is stale; run: python -m {module}", file=sys.stderr)
    return 1
