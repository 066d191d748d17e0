"""One run with everything in it that a crash could spoil, driven by a real process over a SQLite file.

`python -m tests.chaos.scenario FOLDER LEDGER LEDGER_FILE TRIAL RESTARTS` drives it until it is over and prints
`done`; every write is delivered to the ledger outside, and every question is answered by somebody who looks
there first.
"""

import asyncio
import json
import os
import random
import sys
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from phaseloop.adapters.sqlite_log import SqliteLog, open_store
from phaseloop.core.answers import Begin
from phaseloop.core.effects import MakePlan, RunStep
from phaseloop.core.errors import AnswerRefused, Fenced, LogBroken, LogConflict, StoreUnusable
from phaseloop.core.limits import CriticPower, Limits
from phaseloop.core.plan import ActivityType, Call, Plan, Step
from phaseloop.core.process import Activity, Definition, GateConfig, GateKind, GateMode, Phase
from phaseloop.core.run_events import Who
from phaseloop.core.state import RunState, open_gates
from phaseloop.core.tools import EffectClass, ToolSpec
from phaseloop.core.values import Json, digest
from phaseloop.core.words import Answered
from phaseloop.engine.desk import ToolLayer
from phaseloop.engine.host import Host
from phaseloop.engine.perform import Edge
from phaseloop.engine.ports import Returned
from phaseloop.roles.offline import OfflineCritic
from phaseloop.roles.protocols import Desk, ModelReply, Roles
from tests.chaos.faults import Fault, Points
from tests.chaos.ledger import deliver

RUN = "run-1"
ANN = Who("ann", "cli")
FENCED, BROKEN = 4, 3
READ, IDEMPOTENT = EffectClass.READ, EffectClass.IDEMPOTENT
TOOLS = (
    ToolSpec("look", effect=READ),
    ToolSpec("broken", effect=READ),
    ToolSpec("send", conflict_key="mail"),
    ToolSpec("book", conflict_key="room:{room}", approval=True),
    ToolSpec("pay", verify=True),
    ToolSpec("upsert", effect=IDEMPOTENT),
    ToolSpec("ship"),
)
WRITES = ("send ann", "send bob", "book R1", "pay x", "upsert x", "book R2", "ship x", "send all")
"""Every write that the run must deliver, once each: tool and first argument."""
DEFINITION = Definition(
    "chaos",
    phases=(Phase("work", "Work", 1, exit_human_activity_id="confirm", produced_outputs=("report",)),),
    activities=(Activity("confirm", ActivityType.HUMAN, "work", "All right?", gate=GateConfig(GateMode.CONFIRM)),),
)
LIMITS = Limits(backoff_seconds=(0.0,), critic=CriticPower.STEERS, idle_drives=50)
GOAL = "look at x, y and z, tell ann and bob, pay x, record x, book R1 and R2, ship x, tell all"


def ref(step: str) -> dict[str, str]:
    return {"$ref": step, "path": "q"}


def bound(name: str, tool: str, args: dict[str, Any], *needs: str) -> Step:
    return Step(name, f"{tool} for {name}", depends_on=needs, call=Call(tool, args))


FIRST = (
    bound("a", "look", {"q": "x"}),
    bound("b", "look", {"q": "y"}),
    Step("c", "tell everyone", "send", ("a",)),
    bound("d", "pay", {"to": ref("a"), "for": ref("b")}, "a", "b"),
    bound("e", "broken", {"q": "z"}, "b"),
    bound("f", "upsert", {"id": ref("a")}, "c", "d", "e"),
)
SECOND = (
    bound("g", "upsert", {"id": ref("s1")}, "s3", "s4"),
    bound("h", "book", {"room": "R2"}, "g"),
    bound("i", "ship", {"to": ref("s1")}, "h"),
    Step("j", "report", depends_on=("i",), produces="report"),
)
NEEDED = ("s3", "s4")  # a slow machine may not have begun them when step e fails: the second plan keeps them
THIRD = (
    Step("k", "tell all", "send", ("s10",)),
    Step("l", "report again", depends_on=("k",), produces="report"),
)
TURNS: Sequence[Sequence[tuple[str, dict[str, Any]]]] = (
    (("look", {"q": "a"}), ("look", {"q": "b"}), ("send", {"to": "ann", "text": "1"})),
    (("book", {"room": "R1"}), ("send", {"to": "bob", "text": "2"})),
    (("send", {"to": "ann", "text": "1"}),),  # a small model repeats itself
)


@dataclass(frozen=True)
class World:
    """What lies outside the process: the ledger, and the faults that hit on the way there."""

    address: str
    file: Path
    trial: str
    points: Points
    rng: random.Random = field(default_factory=random.Random)

    def delivered(self, key: str) -> bool:
        """Whether a write reached the ledger, by its key."""
        lines = self.file.read_text(encoding="utf-8").splitlines()
        return any(e["trial"] == self.trial and e["key"] == key for e in map(json.loads, lines))

    async def pause(self) -> None:
        """Let the others go first, or not."""
        for _ in range(self.rng.randrange(4)):
            await asyncio.sleep(0)


def result(tool: str, args: Json) -> Json:
    """What a tool gives back, whether it is asked, verified or told by a person."""
    return {"of": tool, **args}


@dataclass(frozen=True)
class Tools:
    """The `Tools` port: reads answer at once, writes go to the ledger."""

    world: World

    def catalogue(self) -> tuple[ToolSpec, ...]:
        return TOOLS

    async def call(self, tool: str, args: Json, key: str) -> Returned:
        world = self.world
        await world.pause()
        if tool == "broken":
            return Returned("failed", error="no such page")
        world.points.reach(f"{tool}:before")
        if tool != "look":
            deliver(world.address, {"trial": world.trial, "tool": tool, "args": args, "key": key})
        world.points.reach(f"{tool}:after")
        await world.pause()
        return Returned("ok", result(tool, args))

    async def verify(self, tool: str, args: Json, key: str) -> tuple[bool | None, Json]:
        self.world.points.reach("verify")
        happened = self.world.delivered(key)
        return happened, result(tool, args) if happened else None


@dataclass(frozen=True)
class Planner:
    """Three plans: one step of the first fails, a person wants a third."""

    points: Points

    async def plan(self, request: MakePlan, desk: Desk) -> Plan:
        self.points.reach("planner")
        steps = (FIRST, SECOND, THIRD)[request.version - 1]
        kept = tuple(step for step in request.pending if step.id in NEEDED)
        return Plan("everything", (*kept, *steps))


@dataclass(frozen=True)
class Executor:
    """An open step of four replies, two of one, and one that sends."""

    world: World

    async def run(self, request: RunStep, desk: Desk) -> Json:
        if request.step.action == "tell everyone":
            return await self._tell_everyone(request, desk)
        if request.step.action == "tell all":
            await self._turn(desk, (("send", {"to": "all", "text": "3"}),))
            await desk.call("send", {"to": "all", "text": "3"}, i=0)
            return {"told": "all"}
        await self._turn(desk, ())
        return {"report": request.step.action}

    async def _tell_everyone(self, request: RunStep, desk: Desk) -> Json:
        said: list[Json] = []
        for calls in TURNS:
            await self._turn(desk, calls, {"goal": request.goal})
            done = await asyncio.gather(*(desk.call(tool, args, i=i) for i, (tool, args) in enumerate(calls)))
            said += [[one.outcome, one.value] for one in done]
        await self._turn(desk, ())
        return said

    async def _turn(self, desk: Desk, calls: Sequence[tuple[str, Any]], prompt: Json = None) -> Json:
        n = desk.replies + 1

        async def send() -> ModelReply:
            self.world.points.reach(f"model:{n}:before")
            await self.world.pause()
            self.world.points.reach(f"model:{n}:after")
            return ModelReply({"turn": n, "calls": [list(c) for c in calls]}, tuple(digest(t, a) for t, a in calls))

        return await desk.model("executor", "scripted", digest("question", n), send, prompt)


class NoConditions:
    """The scenario has none."""

    def evaluate(self, expression: str, names: Any) -> tuple[bool | None, str]:
        return None, "there are no conditions here"


class NoChecks:
    """The scenario has none."""

    def run(self, checks: Any, output: Json) -> tuple[()]:
        return ()


@dataclass(frozen=True)
class Orders:
    """What one process is told: where to work, what shall go wrong, how many came before it.

    Each restart comes ten seconds later by the clock, so that nobody waits for a dead worker's lock.
    `patience`: how long to look before a person says that something did not happen.
    """

    folder: Path
    address: str
    ledger: Path
    trial: str = "-"
    fault: Fault = Fault.NONE
    at: int = 0
    name: str = ""
    restarts: int = 0
    seed: int = 1
    patience: float = 0.0


class Process:
    """The program: drive, answer what is asked, drive on."""

    def __init__(self, orders: Orders) -> None:
        self.orders = orders
        self.points = Points(orders.fault, orders.at, orders.name)
        rng = random.Random(orders.seed)
        self.world = World(orders.address, orders.ledger, orders.trial, self.points, rng)
        self.store: SqliteLog = open_store(
            str(orders.folder / "store.db"), clock=self.clock, fault=self.points.around_commits()
        )
        store = self.store
        self.points.quiet = store._writer._link.lock
        self.worker = f"worker-{orders.restarts}-{os.getpid()}"
        self.host = Host(store, store.runs, store.leases, self.edge, self.clock, self.worker)

    def clock(self) -> int:
        return time.time_ns() // 1_000_000 + 10_000 * self.orders.restarts

    def edge(self, run_id: str, _: RunState | Begin) -> Edge:
        layer = ToolLayer(Tools(self.world), self.store.locks, self.store.breakers, self.worker, run_id)
        roles = Roles(Planner(self.points), Executor(self.world), OfflineCritic())
        nobody: Any = None
        return Edge(roles, layer, NoConditions(), NoChecks(), nobody, nobody, self.clock, run_id)

    async def go(self) -> RunState:
        """Until the run is over. Raises `Fenced`."""
        begin = Begin(GOAL, DEFINITION, LIMITS, TOOLS, by=ANN)
        try:
            while True:
                try:
                    state = await self._turn(begin)
                except (LogBroken, LogConflict):  # unknown whether it was written: look again
                    continue
                if state.over:
                    return state
        finally:
            await self.host.close()

    async def _turn(self, begin: Begin) -> RunState:
        known = await self.store.read(RUN)
        state = await (self.host.resume(RUN) if known else self.host.drive(RUN, begin))
        for gate_id, gate in open_gates(state):
            await self._answer(state, gate_id, gate)
        return state

    async def _answer(self, state: RunState, gate_id: str, gate: Any) -> None:
        asked = gate.asked
        outcome, value, comment = "approve", None, ""
        if asked.kind is GateKind.IN_DOUBT:
            await asyncio.sleep(self.orders.patience)
            call = state.calls[asked.call_id]
            happened = self.world.delivered(f"{RUN}:{call.key}")
            outcome, value = ("happened", result(call.tool, call.args)) if happened else ("run_it", None)
        elif asked.kind is GateKind.EXIT:
            outcome, comment = ("revise", "tell all") if asked.version == 1 else ("confirm", "")
        answer = Answered(gate_id, asked.version, outcome, ANN, value, comment, f"{gate_id}/{asked.version}")
        try:
            await self.host.receive(RUN, answer)
        except AnswerRefused:  # somebody else answered: the other driver's operator
            return


def run_process(orders: Orders) -> int:
    """Do what is ordered; the exit code. What happened is in `end.jsonl` and `error.txt` of the folder."""
    code, status = 0, ""
    try:
        process = Process(orders)
        try:
            status = asyncio.run(asyncio.wait_for(process.go(), 30)).status.value
        finally:
            process.store.close()
            end = {"status": status, "points": process.points.names, "commits": process.points.commits}
            with (orders.folder / "end.jsonl").open("a") as file:
                file.write(json.dumps(end) + "\n")
    except Fenced:
        code = FENCED
    except (Exception, StoreUnusable):
        with (orders.folder / "error.txt").open("a") as file:
            file.write(traceback.format_exc())
        code = BROKEN
    return code


def main(folder: str, address: str, ledger: str, trial: str, restarts: str) -> None:
    """One process without a fault of its own: what goes wrong comes from outside."""
    code = run_process(Orders(Path(folder), address, Path(ledger), trial, restarts=int(restarts)))
    print("done" if code == 0 else f"exit {code}")
    sys.exit(code)


if __name__ == "__main__":
    main(*sys.argv[1:])
