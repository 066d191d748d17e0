"""Two faults put into the engine on purpose, to see that the campaign can fail."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from phaseloop.core.decide import decide
from phaseloop.core.moves import CALL_MOVES
from phaseloop.core.statuses import CallStatus
from phaseloop.engine.driver import Driver


def forget_doubt() -> None:
    """A new drive takes a write that was sent and not ended for one that was never sent."""
    CALL_MOVES[CallStatus.STARTED]["DriveStartedOverWrite"] = CallStatus.READY


def release_early() -> None:
    """Rulings leave before the append that they follow from is durable."""
    append = Driver._append

    async def release_then_append(self: Any, messages: Sequence[Any]) -> bool:
        at, before = self._clock(), self.state
        for message, _ in messages:
            _, self.state = decide(self.state, message, at)
        for message, future in messages:
            self._release(message, future)
        self.state = before
        for _ in range(20):
            await asyncio.sleep(0)
        return await append(self, messages)

    Driver._append = release_then_append  # type: ignore[method-assign]


MUTATIONS: dict[str, Callable[[], None]] = {"forget_doubt": forget_doubt, "release_early": release_early}
