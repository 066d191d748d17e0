"""Real runs for tests: a host on a store in memory, scripted roles, tools in Python, a clock that counts."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from phaseloop.adapters.cel_conditions import CelConditions
from phaseloop.adapters.contracts import JsonSchemaContracts
from phaseloop.adapters.sqlite_log import SqliteLog, open_store
from phaseloop.core.answers import Begin
from phaseloop.core.effects import StartChild
from phaseloop.core.limits import Limits
from phaseloop.core.process import FLAT, Definition
from phaseloop.core.run_events import Who
from phaseloop.core.state import RunState, open_gates
from phaseloop.core.tools import EffectClass, ToolSpec
from phaseloop.core.values import digest
from phaseloop.core.words import Answered, Word
from phaseloop.engine.desk import ToolLayer
from phaseloop.engine.edge_checks import EdgeChecks
from phaseloop.engine.host import Host
from phaseloop.engine.perform import ChildOutcome, Edge
from phaseloop.engine.ports import Recorded, Returned
from phaseloop.engine.results import run_result
from phaseloop.engine.rule_registry import RuleRegistry
from phaseloop.roles.protocols import ModelReply, Roles

RUN = "run-1"
ANN = Who("ann", "cli")
QUICK = Limits(backoff_seconds=(0.0, 0.0, 0.0))
Behaviour = Callable[[Any, str, int], Returned | Awaitable[Returned]]
"""What a tool does with arguments, key and the number of this call of it, from 1."""


def read(name: str, **more: Any) -> ToolSpec:
    return ToolSpec(name, effect=EffectClass.READ, **more)


def write(name: str, **more: Any) -> ToolSpec:
    return ToolSpec(name, effect=EffectClass.WRITE, **more)


def echo(args: Any, key: str, n: int) -> Returned:
    return Returned("ok", dict(args))


@dataclass
class FakeTools:
    """The `Tools` port over a table of behaviours; tools without one give their arguments back."""

    specs: Sequence[ToolSpec]
    behaviours: dict[str, Behaviour] = field(default_factory=dict)
    verified: dict[str, tuple[bool | None, Any]] = field(default_factory=dict)
    calls: Counter = field(default_factory=Counter)
    keys: list[str] = field(default_factory=list)

    def catalogue(self):
        return tuple(self.specs)

    async def call(self, tool, args, key):
        self.calls[tool] += 1
        self.keys.append(key)
        result = self.behaviours.get(tool, echo)(args, key, self.calls[tool])
        return result if isinstance(result, Returned) else await result

    async def verify(self, tool, args, key):
        return self.verified.get(tool, (None, None))


@dataclass
class Rig:
    """One store, one host at a time. `crash` forgets the host and all its tasks, as a dead process does."""

    roles: Roles
    tools: FakeTools
    definition: Definition = FLAT
    limits: Limits = QUICK
    children: dict[str, Definition] = field(default_factory=dict)
    inputs: dict[str, Any] = field(default_factory=dict)
    store: SqliteLog = field(default_factory=lambda: open_store("memory:"))
    now: int = 1_800_000_000_000
    hosts: int = 0
    host: Host = None

    def __post_init__(self):
        self.new_host()

    def clock(self):
        self.now += 1
        return self.now

    def new_host(self):
        self.hosts += 1
        store = self.store
        self.host = Host(store, store.runs, store.leases, self.edge, self.clock, f"worker-{self.hosts}")

    def edge(self, run_id, _):
        layer = ToolLayer(self.tools, self.store.locks, self.store.breakers, self.host.worker, run_id)
        conditions = CelConditions()
        checks = EdgeChecks(JsonSchemaContracts(), conditions)
        rules = RuleRegistry(conditions)
        return Edge(self.roles, layer, conditions, checks, rules, Children(self), self.clock, run_id)

    def begin(self, goal: str) -> Begin:
        return Begin(goal, self.definition, self.limits, self.tools.catalogue(), inputs=self.inputs, by=ANN)

    async def drive(self, goal: str = "", run_id: str = RUN) -> RunState:
        if goal:
            return await self.host.drive(run_id, self.begin(goal))
        return await self.host.resume(run_id)

    async def crash_when(self, ready: Callable[[], bool], goal: str = "") -> None:
        """Drive until `ready`, then die; the next host finds what is in the log."""
        task = asyncio.ensure_future(self.drive(goal))
        await until(lambda: ready() or task.done())
        assert not task.done(), "the run ended before the crash"
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await self.host.close()
        self.new_host()

    async def state(self, run_id: str = RUN) -> RunState:
        return (await self.host.load(run_id))[0]

    async def say(self, word: Word, run_id: str = RUN) -> RunState:
        return await self.host.receive(run_id, word)

    async def answer(self, outcome: str, value: Any = None, comment: str = "", run_id: str = RUN) -> str:
        """Answer the oldest open gate; its id."""
        gate_id, gate = open_gates(await self.state(run_id))[0]
        await self.say(Answered(gate_id, gate.asked.version, outcome, ANN, value, comment), run_id)
        return gate_id

    async def history(self, run_id: str = RUN) -> list[Recorded]:
        return await self.store.read(run_id)

    async def until_a_gate_is_open(self) -> None:
        """Let the driver run until somebody is asked."""
        while not open_gates(await self.state()):  # noqa: ASYNC110 - a row is waited for, not an event
            await asyncio.sleep(0)

    async def close(self):
        await self.host.close()
        self.store.close()


@dataclass(frozen=True)
class Children:
    """Sub-processes as runs of the same host."""

    rig: Rig

    def new_id(self):
        return "child-1"

    async def drive(self, run_id: str, effect: StartChild, parent_run_id: str) -> ChildOutcome:
        rig = self.rig
        if not await rig.store.read(run_id):
            definition = rig.children[effect.definition_id]
            begin = replace(rig.begin(effect.goal), definition=definition, inputs=effect.inputs)
            begin = replace(begin, parent_run_id=parent_run_id, parent_step_id=effect.step.id)
            await rig.host.begin(run_id, begin)
        state = await rig.host.resume(run_id)
        result = run_result(run_id, state)
        status = result.status if state.over else "waiting"
        return ChildOutcome(status, dict(result.artifacts), result.value, result.reason)


def model_turn(desk: Any, text: str, calls: Sequence[tuple[str, Any]] = (), prompt: Any = None) -> Awaitable[Any]:
    """One model request of a scripted executor, answered with `text` and the digests of `calls`."""

    async def send() -> ModelReply:
        return ModelReply({"text": text}, tuple(digest(tool, args) for tool, args in calls))

    return desk.model("executor", "scripted", f"question {desk.replies + 1}", send, prompt)


async def until(ready: Callable[[], Any]) -> None:
    """Let the others run until it is so."""
    while not ready():  # noqa: ASYNC110 - what is waited for is a count or a row, not an event
        await asyncio.sleep(0)


def run(story: Callable[[], Awaitable[Any]]) -> Any:
    """Run one story in a loop of its own."""
    return asyncio.run(story())
