"""Finds the run that a command means."""

from phaseloop.core.errors import RunUnknown, WrongUse
from phaseloop.engine.ports import Runs

MANY = 100_000  # runs that are looked at for the letters one begins with


async def whole_id(runs: Runs, letters: str) -> str:
    """A run by its id or the letters that only its id begins with. Raises `RunUnknown`, `WrongUse`."""
    if await runs.run_row(letters):
        return letters
    begins = letters.upper()
    found = [row.run_id for row in await runs.list_runs(limit=MANY) if begins and row.run_id.startswith(begins)]
    if len(found) > 1:
        raise WrongUse(f"{len(found)} runs begin with {letters}: write more letters")
    if not found:
        raise RunUnknown(letters)
    return found[0]
