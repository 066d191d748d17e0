"""Puts the parts together: the only module that knows all of them. `App` is the library's front door."""

import asyncio
import getpass
import os
import secrets as random_bytes
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from ulid import ULID

from phaseloop.adapters.cel_conditions import CelConditions
from phaseloop.adapters.contracts import JsonSchemaContracts
from phaseloop.adapters.definitions import EdgeRules, builtin_definitions, load_definition
from phaseloop.adapters.local_tools import LocalTool, tool
from phaseloop.adapters.sqlite_log import SqliteLog, open_store
from phaseloop.adapters.toolbox import Toolbox
from phaseloop.core.answers import Answered, Begin, Cancel, Pause, Resume
from phaseloop.core.definition_rules import children_of
from phaseloop.core.effects import StartChild
from phaseloop.core.errors import AnswerRefused, WrongUse
from phaseloop.core.granularity import assess
from phaseloop.core.limits import CriticPower, Limits
from phaseloop.core.process import FLAT, Definition
from phaseloop.core.run_events import Who
from phaseloop.core.state import GateState, RunState
from phaseloop.core.values import Json, Object
from phaseloop.engine.desk import ToolLayer
from phaseloop.engine.edge_checks import EdgeChecks
from phaseloop.engine.host import Host
from phaseloop.engine.perform import ChildOutcome, Edge
from phaseloop.engine.ports import Recorded
from phaseloop.engine.results import RunResult, run_result
from phaseloop.engine.rule_registry import RuleRegistry
from phaseloop.roles.offline import OfflineCritic, OfflineExecutor, OfflinePlanner
from phaseloop.roles.protocols import Critic, Executor, Planner, Roles

DEFAULT_STORE = ".phaseloop/runs.db"
ProcessLike = Definition | str | Path | Mapping[str, Json] | None


def now() -> int:
    """Milliseconds since 1970 UTC."""
    return time.time_ns() // 1_000_000


def me(via: str = "library") -> Who:
    """Who acts: `PHASELOOP_USER`, else the user of the operating system (contract section 10)."""
    return Who(os.environ.get("PHASELOOP_USER") or getpass.getuser(), via)


@dataclass(frozen=True, slots=True)
class Run:
    """A run that was started."""

    id: str


class App:
    """Starts, drives, follows and answers runs on one store.

    `model` and `critic_model` are pydantic-ai models or their names (`provider:name`); without them the
    deterministic offline roles run. `planner`, `executor` and `critic` may be any objects with the method
    of their protocol. Use it as an async context manager, or call `close`.

    Raises `StoreUnusable`, `WrongUse`.
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
        secrets: Sequence[str] = (),
    ) -> None:
        self.model: Any = model or os.environ.get("PHASELOOP_MODEL") or None
        self.critic_model: Any = critic_model or os.environ.get("PHASELOOP_CRITIC_MODEL") or self.model
        self.store_url = store or os.environ.get("PHASELOOP_STORE") or DEFAULT_STORE
        self.limits = limits or Limits()
        self.roles = self._roles(planner, executor, critic)
        self.judged_by_model = critic is None and self.critic_model is not None
        self.processes = {**builtin_definitions(), **{p.definition_id: p for p in processes}}
        self._mcp = _mcp_tools(mcp)
        local = [t if isinstance(t, LocalTool) else tool(t) for t in tools]
        self.toolbox = Toolbox(local, self._mcp, secrets=secrets, result_bytes=self.limits.result_bytes)
        self.store: SqliteLog = open_store(self.store_url)
        self.conditions = CelConditions()
        self.contracts = JsonSchemaContracts()
        self._checks = EdgeChecks(self.contracts, self.conditions)
        self._rules = RuleRegistry(self.conditions, rules or {})
        self.worker = f"{os.getpid()}-{random_bytes.token_hex(3)}"
        self.host = Host(self.store, self.store.runs, self.store.leases, self._edge, now, self.worker)
        self._driving: dict[str, asyncio.Task[RunState]] = {}
        self._started = False

    def _roles(self, planner: Planner | None, executor: Executor | None, critic: Critic | None) -> Roles:
        if self.model is not None or self.critic_model is not None:
            from phaseloop.adapters import model_roles as models  # noqa: PLC0415 - imports seconds of libraries

            if self.model is not None:
                planner = planner or models.ModelPlanner(self.model)
                executor = executor or models.ModelExecutor(self.model)
            critic = critic or models.ModelCritic(self.critic_model)
        return Roles(planner or OfflinePlanner(), executor or OfflineExecutor(), critic or OfflineCritic())

    @property
    def offline(self) -> bool:
        """Whether no model is configured and the deterministic roles run."""
        return isinstance(self.roles.planner, OfflinePlanner)

    # ---- life

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.close()

    async def open(self) -> None:
        """Connect the MCP servers; done by the first run otherwise."""
        if self._mcp is not None and not self._started:
            await self._mcp.start()
        self._started = True

    async def close(self) -> None:
        """Stop driving (runs rest where they are), disconnect, let go of the store."""
        for task in self._driving.values():
            task.cancel()
        await asyncio.gather(*self._driving.values(), return_exceptions=True)
        await self.host.close()
        if self._mcp is not None and self._started:
            await self._mcp.close()
        self.store.close()

    # ---- runs

    def new_id(self) -> str:
        """A run id: a ULID."""
        return str(ULID())

    def process(self, process: ProcessLike) -> Definition:
        """A definition by itself, by id, by file or as a document. Raises `DefinitionRefused`."""
        if process is None:
            return FLAT
        if isinstance(process, Definition):
            return process
        if isinstance(process, str) and process in self.processes:
            return self.processes[process]
        known = {name: children_of(definition) for name, definition in self.processes.items()}
        edge = EdgeRules(self.conditions.compile_error, self.contracts.schema_error)
        return load_definition(process, known=known, edge=edge)

    async def start(
        self,
        goal: str,
        *,
        process: ProcessLike = None,
        inputs: Object | None = None,
        mode: str = "normal",
        by: Who | None = None,
        title: str = "",
    ) -> Run:
        """Begin a run and drive it in the background; its first events are durable when this returns."""
        await self.open()
        begin = self.begin(goal, process=process, inputs=inputs, mode=mode, by=by, title=title)
        run_id = self.new_id()
        await self.host.begin(run_id, begin)
        self._drive(run_id)
        return Run(run_id)

    def begin(
        self,
        goal: str,
        *,
        process: ProcessLike = None,
        inputs: Object | None = None,
        mode: str = "normal",
        by: Who | None = None,
        title: str = "",
    ) -> Begin:
        """What a run starts with: definition, limits and tools as they are now (contract section 3)."""
        if not goal.strip() and process is None:
            raise WrongUse("a run needs a goal; the text is empty")
        definition = self.process(process)
        complexity = assess(definition, goal, None, unclear=False)
        power = CriticPower.ADVISES if self.judged_by_model else CriticPower.STEERS
        light = complexity.level == 1 and self.judged_by_model
        limits = replace(self.limits, critic=power, critic_sees_plan=self.limits.critic_sees_plan and not light)
        return Begin(
            goal=goal,
            definition=definition,
            limits=limits,
            tools=self.toolbox.catalogue(),
            title=title,
            mode=mode,
            inputs=inputs or {},
            by=by or me(),
            complexity={
                "level": f"L{complexity.level}",
                "score": complexity.score,
                "reasons": list(complexity.reasons),
            },
            roles=self.role_names(),
        )

    def role_names(self) -> dict[str, Json]:
        """Which roles run, by name, for the log."""
        roles = self.roles
        parts = {"planner": roles.planner, "executor": roles.executor, "critic": roles.critic}
        return {name: getattr(part, "name", None) or type(part).__name__ for name, part in parts.items()}

    def _drive(self, run_id: str) -> "asyncio.Task[RunState]":
        task = self._driving.get(run_id)
        if task is None or task.done():
            task = asyncio.ensure_future(self.host.resume(run_id))
            self._driving[run_id] = task
        return task

    async def result(self, run_id: str) -> RunResult:
        """Wait until the run is over or rests, and return what it came to. At a gate: `status="waiting"`.

        Raises `RunUnknown`, `Fenced`, `LogBroken`.
        """
        if (task := self._driving.get(run_id)) is not None:
            await asyncio.shield(task)
        state, _ = await self.host.load(run_id)
        return run_result(run_id, state)

    async def resume(self, run_id: str) -> RunResult:
        """Drive a run that rests until it stops again; a paused one is resumed first."""
        await self.open()
        state, _ = await self.host.load(run_id)
        if state.status == "paused":
            await self.host.receive(run_id, Resume(me()))
        self._drive(run_id)
        return await self.result(run_id)

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

        Raises `AnswerRefused` with what would be taken; the gate stays open then.
        """
        state, _ = await self.host.load(run_id)
        gate = state.gates.get(gate_id)
        if gate is None:
            raise AnswerRefused(gate_id, f"run {run_id} has no such gate", 404)
        self._check_answer(state, gate, outcome, value)
        at = gate.asked.version if version is None else version
        word = Answered(gate_id, at, outcome, by or me(), value, comment, key or f"{gate_id}/{at}/{ULID()}")
        await self.host.receive(run_id, word)
        if drive:
            self._drive(run_id)

    def _check_answer(self, state: RunState, gate: GateState, outcome: str, value: Json) -> None:
        """Schemas of forms, edited artefacts, edited arguments and in-doubt results, checked at the edge."""
        payload = gate.asked.payload
        shown = payload.get("artefact")
        schema: Json = payload.get("schema") if outcome in ("submit", "approve", "happened") else None
        if outcome in ("confirm", "approve") and isinstance(shown, dict) and value is not None:
            schema = state.facts.definition.artifacts.get(str(shown.get("name")))
        checked = payload.get("values") if outcome == "submit" and value is None else value
        if not isinstance(schema, dict) or not schema or (checked is None and outcome != "submit"):
            return
        if findings := self.contracts.check(schema, checked):
            why = "; ".join(f"{f.where or 'value'}: {f.message}" for f in findings)
            raise AnswerRefused(gate.asked.request_id, why)

    async def cancel(self, run_id: str, reason: str = "", by: Who | None = None) -> None:
        """End a run for good; writes whose end is not known are listed."""
        await self.host.receive(run_id, Cancel(by or me(), reason))

    async def pause(self, run_id: str, reason: str = "", by: Who | None = None) -> None:
        """Nothing new starts; calls in flight end and are recorded."""
        await self.host.receive(run_id, Pause(by or me(), reason))

    def run_sync(self, goal: str, **options: Any) -> RunResult:
        """Start a run and wait until it is over or waits for a person. Options as for `start`."""

        async def whole() -> RunResult:
            run = await self.start(goal, **options)
            return await self.result(run.id)

        return asyncio.run(whole())

    # ---- the edge of one run

    def _edge(self, run_id: str, started: RunState | Begin) -> Edge:
        layer = ToolLayer(self.toolbox, self.store.locks, self.store.breakers, self.worker, run_id)
        return Edge(self.roles, layer, self.conditions, self._checks, self._rules, _Children(self), now, run_id)


@dataclass(frozen=True, slots=True)
class _Children:
    """Runs of SUBPROCESS activities, driven by the same host."""

    app: App

    def new_id(self) -> str:
        return self.app.new_id()

    async def drive(self, run_id: str, effect: StartChild, parent_run_id: str) -> ChildOutcome:
        if not await self.app.store.read(run_id):
            begin = self.app.begin(effect.goal, process=effect.definition_id, inputs=effect.inputs)
            begin = replace(begin, parent_run_id=parent_run_id, parent_step_id=effect.step.id)
            await self.app.host.begin(run_id, begin)
        state = await self.app.host.resume(run_id)
        result = run_result(run_id, state)
        status = result.status if state.over else "waiting"
        return ChildOutcome(status, dict(result.artifacts), result.value, result.reason)


def _mcp_tools(path: str | Path | None) -> Any:
    """The MCP servers of a configuration file, not connected yet."""
    if path is None:
        return None
    from phaseloop.adapters.mcp_config import load_mcp_config  # noqa: PLC0415
    from phaseloop.adapters.mcp_tools import McpTools  # noqa: PLC0415 - imports a second of libraries

    return McpTools(load_mcp_config(Path(path)), Path(".phaseloop"))
