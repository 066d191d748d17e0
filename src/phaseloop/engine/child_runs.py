"""The runs of SUBPROCESS activities: begun once, driven with the run they belong to, read when they end."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from phaseloop.core.answers import Begin
from phaseloop.core.effects import StartChild
from phaseloop.core.state import RunFacts
from phaseloop.engine.host import Host
from phaseloop.engine.perform import ChildOutcome
from phaseloop.engine.results import run_result


@dataclass(frozen=True, slots=True)
class ChildRuns:
    """`begin` says what a child starts with, from its effect and the run above, whose person it acts for."""

    host: Host
    new_id: Callable[[], str]
    begin: Callable[[StartChild, RunFacts], Begin]

    async def drive(self, run_id: str, effect: StartChild, parent_run_id: str) -> ChildOutcome:
        """Drive the child until it stops. Raises `DefinitionRefused` and machinery errors."""
        if not await self.host.log.read(run_id):
            parent, _ = await self.host.load(parent_run_id)
            begin = self.begin(effect, parent.facts)
            by = parent.facts.by or begin.by
            below = replace(begin, by=by, parent_run_id=parent_run_id, parent_step_id=effect.step.id)
            await self.host.begin(run_id, below)
        state = await self.host.resume(run_id)
        result = run_result(run_id, state)
        status = result.status if state.over else "waiting"
        return ChildOutcome(status, dict(result.artifacts), result.value, result.reason)
