"""Records `tests/histories/five-phase.jsonl`, the whole demo as a log: `python -m tests.golden`.

One retry, one re-plan, bound and open steps, one gate revised, one passed by its rule, and one crash: the
first driver is dropped in the middle of a model call and another one goes on.
"""

import asyncio
import contextlib
import sys
import tempfile
from pathlib import Path

from phaseloop.cli.demoing import demo_policy
from phaseloop.core.run_events import Who
from phaseloop.demo.roles import demo_app
from phaseloop.demo.story import GOALS
from phaseloop.engine.ports import Recorded
from phaseloop.engine.results import run_result
from tests.engine import histories

RUN_ID = "01JZ0000000000000000000000"
KAI = Who("kai", "cli")


async def record() -> list[Recorded]:
    """Run the demo, drop its driver once, and return the history."""
    with tempfile.TemporaryDirectory() as folder:
        async with demo_app("memory:", Path(folder), "en", pace=0.02) as app:
            await app.host.begin(RUN_ID, app.begin(GOALS["en"], process="sales-page", by=KAI))
            await crash_in_the_retry(app)
            policy = demo_policy("en")
            while not (state := await app.host.resume(RUN_ID)).over:
                gate = run_result(RUN_ID, state).waiting_for[0]
                outcome, value, comment = policy(gate)
                await app.answer(RUN_ID, gate.gate_id, outcome, value=value, comment=comment, by=KAI, drive=False)
            return await app.store.read(RUN_ID)


async def crash_in_the_retry(app) -> None:
    """Drive to the plan gate, answer it, then drop the driver while the second design plan runs."""
    state = await app.host.resume(RUN_ID)
    gate = run_result(RUN_ID, state).waiting_for[0]
    await app.answer(RUN_ID, gate.gate_id, "confirm", by=KAI, drive=False)
    driving = asyncio.ensure_future(app.host.resume(RUN_ID))
    async for recorded in app.follow(RUN_ID):
        if type(recorded.event).__name__ == "ResultJudged" and recorded.event.action == "retry":
            break
    driving.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await driving


def main() -> int:
    """Record the history anew; histories are never edited by hand afterwards."""
    from phaseloop.core.machine import fold

    history = asyncio.run(record())
    histories.save("five-phase", history, fold(history))
    print(f"{len(history)} events")
    return 0


if __name__ == "__main__":
    sys.exit(main())
