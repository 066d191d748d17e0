"""Puts the parts together: the only module that knows all of them. `App` is the library's front door."""

import os
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self, TypedDict, Unpack

from ulid import ULID

from phaseloop.adapters.cel_conditions import CelConditions
from phaseloop.adapters.contracts import JsonSchemaContracts
from phaseloop.adapters.definitions import EdgeRules, builtin_definitions, load_definition
from phaseloop.adapters.local_tools import LocalTool, tool
from phaseloop.adapters.secret_handles import Secret
from phaseloop.adapters.sqlite_log import SqliteLog, open_store
from phaseloop.adapters.toolbox import Toolbox
from phaseloop.core.answers import Begin
from phaseloop.core.definition_rules import children_of
from phaseloop.core.effects import StartChild
from phaseloop.core.errors import AnswerRefused
from phaseloop.core.granularity import assess, merge_phases, phase_count
from phaseloop.core.limits import CriticPower, Limits, lowered
from phaseloop.core.process import FLAT, Definition
from phaseloop.core.run_events import Who
from phaseloop.core.state import RunFacts, RunState
from phaseloop.core.values import Json, Object
from phaseloop.core.words import Answered, Cancel, Pause, Reopen, Resume
from phaseloop.engine.answer_checks import check_answer
from phaseloop.engine.child_runs import ChildRuns
from phaseloop.engine.desk import ToolLayer
from phaseloop.engine.drives import Drives
from phaseloop.engine.edge_checks import EdgeChecks
from phaseloop.engine.host import Host
from phaseloop.engine.perform import Edge
from phaseloop.engine.ports import Recorded
from phaseloop.engine.results import RunResult, run_result
from phaseloop.engine.rule_registry import RuleRegistry
from phaseloop.engine.start_checks import check_goal, check_inputs, check_tools
from phaseloop.engine.surroundings import DEFAULT_STORE, me, now, run_alone, store_url, worker_name
from phaseloop.roles.offline import OfflineCritic, OfflineExecutor, OfflinePlanner
from phaseloop.roles.protocols import Critic, Executor, Planner, Roles, role_names

__all__ = ["DEFAULT_STORE", "App", "ProcessLike", "Run", "StartOptions", "me", "now"]
ProcessLike = Definition | str | Path | Mapping[str, Json] | None


class StartOptions(TypedDict, total=False):
    """How a run starts: everything but its goal. `mode` is what `autoPassModes` of a gate looks at."""

    process: ProcessLike
    inputs: Object
    mode: str
    by: Who
    title: str


@dataclass(frozen=True, slots=True)
class Run:
    """A run that was started."""

    id: str


class App:
    """Starts, drives, follows and answers runs on one store.

    `model` and `critic_model` are pydantic-ai models or their names (`provider:name`); without them the
    deterministic offline roles run. `planner`, `executor` and `critic` may be any objects with the method
    of their protocol. Use it as an async context manager, or call `close`. Raises `StoreUnusable`, `WrongUse`.
    """

    def __init__(  # noqa: PLR0913 - the public surface, all but the first by name
        self,
        model: Any = None,
        *,
        critic_model: Any = None,
        tools: Sequence[LocalTool[..., Any] | Callable[..., Any]] = (),
        mcp: str | Path | None = None,
        store: str | None = None,
        planner: Planner | None = None,
        executor: Executor | None = None,
        critic: Critic | None = None,
        rules: Mapping[str, Callable[..., Any]] | None = None,
        processes: Sequence[Definition] = (),
        limits: Limits | None = None,
        secrets: Iterable[Secret | str] = (),
    ) -> None:
        self.model: Any = model or os.environ.get("PHASELOOP_MODEL") or None
        self.critic_model: Any = critic_model or os.environ.get("PHASELOOP_CRITIC_MODEL") or self.model
        self.store_url = store_url(store)
        self.limits = limits or Limits()
        self.roles = self._roles(planner, executor, critic)
        self.judged_by_model = critic is None and self.critic_model is not None
        self.processes = {**builtin_definitions(), **{p.definition_id: p for p in processes}}
        self.mcp = _mcp_tools(mcp) if mcp is not None else None
        local: list[LocalTool[..., Any]] = [t if isinstance(t, LocalTool) else tool(t) for t in tools]
        self.toolbox = Toolbox(local, self.mcp, secrets=secrets, result_bytes=self.limits.result_bytes)
        self.store: SqliteLog = open_store(self.store_url)
        self.conditions = CelConditions()
        self.contracts = JsonSchemaContracts()
        self._checks = EdgeChecks(self.contracts, self.conditions)
        self._rules = RuleRegistry(self.conditions, rules or {})
        self.worker = worker_name()
        self.host = Host(self.store, self.store.runs, self.store.leases, self._edge, now, self.worker)
        self.drives = Drives(self.host)
        self._connected = False

    def _roles(self, planner: Planner | None, executor: Executor | None, critic: Critic | None) -> Roles:
        if self.model is not None or self.critic_model is not None:
            from phaseloop.adapters import model_roles as models  # noqa: PLC0415 - imports seconds of libraries

            if self.model is not None:
                planner = planner or models.ModelPlanner(self.model, limits=self.limits)
                executor = executor or models.ModelExecutor(self.model, limits=self.limits)
            critic = critic or models.ModelCritic(self.critic_model, limits=self.limits)
        return Roles(planner or OfflinePlanner(), executor or OfflineExecutor(), critic or OfflineCritic())

    @property
    def offline(self) -> bool:
        """Whether no model is configured and the deterministic roles run."""
        return isinstance(self.roles.planner, OfflinePlanner)

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.close()

    async def open(self) -> None:
        """Connect the MCP servers; done by the first run otherwise."""
        if self.mcp is not None and not self._connected:
            await self.mcp.start()
        self._connected = True

    async def close(self) -> None:
        """Stop driving (runs rest where they are), disconnect, let go of the store."""
        await self._rest()
        self.store.close()

    async def _rest(self) -> None:
        """Stop all that lives in this event loop."""
        await self.drives.close()
        if self.mcp is not None and self._connected:
            await self.mcp.close()
        self._connected = False

    def new_id(self) -> str:
        """A run id: a ULID."""
        return str(ULID())

    def process(self, process: ProcessLike) -> Definition:
        """A definition by itself, by id, by file or as a document. Raises `DefinitionRefused`."""
        if isinstance(process, str):
            process = self.processes.get(process, process)
        if process is None or isinstance(process, Definition):
            return process or FLAT
        known = {name: children_of(definition) for name, definition in self.processes.items()}
        edge = EdgeRules(self.conditions.compile_error, self.contracts.schema_error)
        return load_definition(process, known=known, edge=edge)

    async def start(self, goal: str, **options: Unpack[StartOptions]) -> Run:
        """Begin a run, durably, and drive it. Raises `WrongUse`, `DefinitionRefused`, `LogBroken`."""
        await self.open()
        run_id = self.new_id()
        await self.host.begin(run_id, self.begin(goal, **options))
        self.drives.drive(run_id)
        return Run(run_id)

    def begin(self, goal: str, **options: Unpack[StartOptions]) -> Begin:
        """What a run starts with: definition, limits and tools as they are now. Raises as `start`."""
        process, inputs = options.get("process"), options.get("inputs") or {}
        definition = self.process(process)
        check_goal(goal, needed=process is None and not self.offline)
        check_inputs(self.contracts, definition, inputs)
        tools = self.toolbox.catalogue()
        check_tools(definition, {tool.name for tool in tools})
        complexity = assess(definition, goal, None, unclear=False)
        if (count := phase_count(definition, complexity)) < len(definition.phases):
            definition = merge_phases(definition, count)
        power = CriticPower.ADVISES if self.judged_by_model else CriticPower.STEERS
        limits = lowered(self.limits, definition.limits)
        light = complexity.level == 1 and self.judged_by_model
        return Begin(
            goal=goal,
            definition=definition,
            limits=replace(limits, critic=power, critic_sees_plan=limits.critic_sees_plan and not light),
            tools=tools,
            title=options.get("title", ""),
            mode=options.get("mode", "normal"),
            inputs=inputs,
            by=options.get("by") or me(),
            complexity=complexity.recorded(),
            roles=role_names(self.roles),
        )

    async def result(self, run_id: str) -> RunResult:
        """Wait until the run is over or rests, and return what it came to. At a gate: `status="waiting"`.

        A run that another process drives is waited for. Raises `RunUnknown`, `LogBroken`, `StoreUnusable`.
        """
        state = await self.drives.settled(run_id)
        return run_result(run_id, state, await self.drives.waiting_child(state))

    async def resume(self, run_id: str, by: Who | None = None) -> RunResult:
        """Drive a run that rests until it stops again; a paused one is resumed first. Raises as `result`."""
        await self.open()
        state, _ = await self.host.load(run_id)
        if state.status == "paused":
            await self.host.receive(run_id, Resume(by or me()))
        self.drives.drive(await self.drives.owner(run_id))
        return await self.result(run_id)

    async def reopen(self, run_id: str, comment: str = "", by: Who | None = None) -> RunResult:
        """Give a failed run one more re-plan, with `comment` for the planner, and drive it.

        Raises `WrongUse` when it did not fail, and as `result`.
        """
        await self.open()
        await self.host.receive(run_id, Reopen(by or me(), comment, {"task_replans": 1}))
        return await self.resume(run_id)

    def follow(self, run_id: str, after: int = 0) -> AsyncIterator[Recorded]:
        """Every event of a run after `after`, live, by whichever process it is driven."""
        return self.store.follow(run_id, after)

    async def answer(  # noqa: PLR0913 - the public surface
        self,
        run_id: str,
        gate_id: str,
        outcome: str,
        *,
        value: Json = None,
        comment: str = "",
        version: int | None = None,
        by: Who | None = None,
        key: str = "",
        drive: bool = True,
    ) -> None:
        """Answer a gate and, unless `drive` is false, go on with the run.

        An answer with a `key` that was taken before changes nothing. Raises `AnswerRefused` with what would
        be taken; the gate stays open then.
        """
        state, _ = await self.host.load(run_id)
        gate = state.gates.get(gate_id)
        if gate is None:
            raise AnswerRefused(gate_id, f"run {run_id} has no such gate", 404)
        if not key or all(vote.key != key for vote in gate.votes):
            check_answer(self.contracts, state.facts.definition, gate, outcome, value)
        at = gate.asked.version if version is None else version
        word = Answered(gate_id, at, outcome, by or me(), value, comment, key or f"{gate_id}/{at}/{ULID()}")
        await self.host.receive(run_id, word)
        if drive:
            await self.open()
            self.drives.drive(await self.drives.owner(run_id))

    async def cancel(self, run_id: str, reason: str = "", by: Who | None = None) -> None:
        """End a run and those below it for good. Raises `WrongUse` when it is over already."""
        below = await self.drives.below(run_id)
        await self.host.receive(run_id, Cancel(by or me(), reason))
        for child_id in below:
            await self.host.receive(child_id, Cancel(by or me(), reason or f"run {run_id} was cancelled"))

    async def pause(self, run_id: str, reason: str = "", by: Who | None = None) -> None:
        """Nothing new starts; calls in flight end and are recorded. Raises `WrongUse` when it does not run."""
        await self.host.receive(run_id, Pause(by or me(), reason))

    def run_sync(self, goal: str, **options: Unpack[StartOptions]) -> RunResult:
        """Start a run and wait until it is over or waits for a person. Options as for `start`.

        Raises `WrongUse` where an event loop runs already, and what `start` and `result` raise.
        """

        async def whole() -> RunResult:
            try:
                run = await self.start(goal, **options)
                return await self.result(run.id)
            finally:
                await self._rest()

        return run_alone(whole)

    def _edge(self, run_id: str, started: RunState | Begin) -> Edge:
        layer = ToolLayer(self.toolbox, self.store.locks, self.store.breakers, self.worker, run_id)
        children = ChildRuns(self.host, self.new_id, self._begin_child)
        return Edge(self.roles, layer, self.conditions, self._checks, self._rules, children, now, run_id)

    def _begin_child(self, effect: StartChild, above: RunFacts) -> Begin:
        handed = StartOptions(process=effect.definition_id, inputs=effect.inputs, mode=above.mode)
        return self.begin(effect.goal, **handed)


def _mcp_tools(path: str | Path) -> Any:
    """The MCP servers of a configuration file, not connected yet."""
    from phaseloop.adapters.mcp_config import load_mcp_config  # noqa: PLC0415
    from phaseloop.adapters.mcp_tools import McpTools  # noqa: PLC0415 - imports a second of libraries

    return McpTools(load_mcp_config(Path(path)), Path(".phaseloop"))
