"""Finds the run that a command means."""

from phaseloop.core.errors import RunUnknown, WrongUse
from phaseloop.engine.ports import Runs

MANY = 100_000  # runs that are looked at for the letters of one


async def whole_id(runs: Runs, letters: str) -> str:
    """A run by its id or the letters that only its id begins or ends with. Raises `RunUnknown`, `WrongUse`."""
    if await runs.run_row(letters):
        return letters
    begins = letters.upper()
    found = [row.run_id for row in await runs.list_runs(limit=MANY) if begins and _is_part(row.run_id, begins)]
    if len(found) > 1:
        raise WrongUse(f"{len(found)} runs begin or end with {letters}: write more letters")
    if not found:
        raise RunUnknown(letters)
    return found[0]


def _is_part(run_id: str, letters: str) -> bool:
    """Ids of one day begin alike: their ends tell them apart."""
    return run_id.startswith(letters) or run_id.endswith(letters)
