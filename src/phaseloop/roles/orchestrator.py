"""Article 000's bounded loop of reflection over three injected roles, for plain and for asynchronous ones."""

import inspect
from collections.abc import Awaitable, Generator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, cast, runtime_checkable

from phaseloop.core.errors import WrongUse
from phaseloop.roles.article import (
    FEEDBACK_SUFFIX,
    CriticAgent,
    CriticVerdict,
    PlannerAgent,
    SubTask,
    WorkerAgent,
)


class GoalPlanner(Protocol):
    """Turns a goal into subtasks."""

    def decompose(self, goal: str) -> Sequence[SubTask] | Awaitable[Sequence[SubTask]]: ...


@runtime_checkable
class PlanWorker(Protocol):
    """Turns subtasks into results, one each, in order; a list may hold awaitables for `arun`."""

    def execute_all(
        self, plan: Sequence[SubTask], context: str
    ) -> Sequence[str | Awaitable[str]] | Awaitable[Sequence[str]]: ...


class TaskWorker(Protocol):
    """Turns one subtask into its result; the orchestrator goes through the plan itself."""

    def execute(self, subtask: SubTask, context: str) -> str | Awaitable[str]: ...


class ResultCritic(Protocol):
    """Judges results against the goal."""

    def review(self, goal: str, results: Sequence[str]) -> CriticVerdict | Awaitable[CriticVerdict]: ...


@dataclass(frozen=True, slots=True)
class OrchestratorResult:
    """The last plan and its results, their score from 0 to 1, and whether there was a re-plan."""

    plan: list[SubTask]
    results: list[str]
    score: float
    replanned: bool


_Loop: TypeAlias = Generator[object, Any, OrchestratorResult]


class Orchestrator:
    """Plans, executes and judges, and plans again at most `max_replans` times (article 000 section 3).

    The roles are injected, each one optional. Nothing is raised for a low score; what a role raises
    comes out unchanged. There is no cap on the number of subtasks (contract section 10).
    """

    def __init__(
        self,
        planner: GoalPlanner | None = None,
        worker: PlanWorker | TaskWorker | None = None,
        critic: ResultCritic | None = None,
    ) -> None:
        """Raises `WrongUse` for a role without its method."""
        self.planner = PlannerAgent() if planner is None else planner
        self.worker = WorkerAgent() if worker is None else worker
        self.critic = CriticAgent() if critic is None else critic
        _require("planner", self.planner, "decompose")
        _require("worker", self.worker, "execute_all", "execute")
        _require("critic", self.critic, "review")

    def run(self, goal: str, max_replans: int = 1) -> OrchestratorResult:
        """Run with roles that answer at once.

        Raises `WrongUse` for a goal that is no text, a `max_replans` that is no whole number from 0, and
        an asynchronous role.
        """
        loop = self._loop(_checked_goal(goal), _checked_bound(max_replans))
        settled: object = None
        while True:
            try:
                asked = loop.send(settled)
            except StopIteration as end:
                return cast(OrchestratorResult, end.value)
            settled = _at_once(asked)

    async def arun(self, goal: str, max_replans: int = 1) -> OrchestratorResult:
        """Run with roles that may be asynchronous; the bound is the same one. Raises like `run`."""
        loop = self._loop(_checked_goal(goal), _checked_bound(max_replans))
        settled: object = None
        while True:
            try:
                asked = loop.send(settled)
            except StopIteration as end:
                return cast(OrchestratorResult, end.value)
            settled = await _in_time(asked)

    def _loop(self, goal: str, max_replans: int) -> _Loop:
        """The loop without a word on waiting: it yields what a role returned and is sent it settled."""
        plan = yield self.planner.decompose(goal)
        results = yield self._execute_all(plan, "")
        verdict = yield self.critic.review(goal, results)
        replanned, replan_count = False, 0
        while verdict.needs_replan and replan_count < max_replans:
            replan_count += 1  # first, so that nothing in the body can skip it: article 000 section 6
            replanned = True
            plan = yield self.planner.decompose(goal + FEEDBACK_SUFFIX + verdict.feedback)
            results = yield self._execute_all(plan, verdict.feedback)
            verdict = yield self.critic.review(goal, results)
        return OrchestratorResult(list(plan), list(results), verdict.score, replanned)

    def _execute_all(self, plan: Sequence[SubTask], context: str) -> object:
        worker = self.worker
        if isinstance(worker, PlanWorker):
            return worker.execute_all(plan, context)
        return [worker.execute(subtask, context) for subtask in plan]


def _require(role: str, part: object, *methods: str) -> None:
    if not any(callable(getattr(part, method, None)) for method in methods):
        raise WrongUse(f"the {role} {part!r} has no method {' or '.join(methods)}; give it one or leave the {role} out")


def _checked_goal(goal: object) -> str:
    if not isinstance(goal, str):
        raise WrongUse(f"the goal must be a text, not {goal!r}")
    return goal


def _checked_bound(max_replans: object) -> int:
    if not isinstance(max_replans, int) or max_replans < 0:
        raise WrongUse(f"max_replans must be a whole number from 0, not {max_replans!r}")
    return max_replans


def _at_once(asked: object) -> object:
    """`asked` as it is; refuses what would have to be awaited and closes it."""
    items = _items(asked)
    waiting = any(inspect.isawaitable(item) for item in items)
    if waiting:
        _close(items)
        raise WrongUse("a role is asynchronous, which run() cannot wait for; use `await arun(...)`")
    return asked


async def _in_time(asked: object) -> object:
    """`asked` awaited, then its items one after the other, in order."""
    value: object = await asked if inspect.isawaitable(asked) else asked
    items = _items(value)
    if not any(inspect.isawaitable(item) for item in items):
        return value
    try:
        return [await item if inspect.isawaitable(item) else item for item in items]
    finally:
        _close(items)


def _items(value: object) -> list[object]:
    return list(cast(Sequence[object], value)) if isinstance(value, list | tuple) else [value]


def _close(items: Sequence[object]) -> None:
    """End the coroutines nobody will await, so that Python does not warn of them."""
    for item in items:
        if inspect.iscoroutine(item):
            item.close()
