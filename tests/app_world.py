"""Applications for acceptance tests: short plans, gates, and tools that note what they really did."""

import asyncio
import inspect
from collections import Counter
from dataclasses import dataclass, field

from phaseloop import App, Limits, Plan, Step, tool
from phaseloop.core.plan import Call
from phaseloop.roles.scripted import ScriptedCritic, ScriptedExecutor, ScriptedPlanner

QUICK = Limits(backoff_seconds=(0.0, 0.0, 0.0))


def bound(label, tool_name, args, after=(), **more):
    return Step(label, f"{tool_name} for {label}", tool_name, tuple(after), call=Call(tool_name, args), **more)


def opened(label, after=(), hint=None, **more):
    return Step(label, f"do {label}", hint, tuple(after), **more)


def plan(*steps, goal="the goal", **more):
    return Plan(goal, tuple(steps), **more)


def app(store, plans=(), outputs=(), verdicts=(), tools=(), **more):
    """An application of scripted roles; without plans the offline planner plans."""
    roles = {"critic": ScriptedCritic(dict(verdicts))}
    if plans:
        roles["planner"] = ScriptedPlanner(plans)
    if outputs:
        roles["executor"] = ScriptedExecutor(outputs)
    return App(store=str(store), tools=tools, **{"limits": QUICK, **roles, **more})


def gate_process(mode="approve", activity=None, phase=None, **config):
    """One phase that ends at a gate."""
    return {
        "definitionId": "gated",
        "phases": [
            {
                "phaseId": "work",
                "order": 1,
                "exitHumanActivityId": "sign_off",
                "autoAdvance": True,
                "producedOutputs": [],
                **(phase or {}),
            }
        ],
        "activities": [
            {
                "activityId": "sign_off",
                "type": "HUMAN",
                "phaseRef": "work",
                "config": {"humanMode": mode, **config},
                **(activity or {}),
            }
        ],
    }


@dataclass
class World:
    """What tools did outside: each effect once in `done`, in order."""

    done: list = field(default_factory=list)
    open_now: int = 0
    most_open: int = 0
    hold: asyncio.Event | None = None

    @property
    def counts(self):
        return Counter(self.done)

    async def effect(self, what):
        self.done.append(what)
        self.open_now += 1
        self.most_open = max(self.most_open, self.open_now)
        try:
            await (self.hold.wait() if self.hold else asyncio.sleep(0))
        finally:
            self.open_now -= 1

    def tools(self):
        world = self

        @tool(effect="read")
        async def look(what: str = "it") -> str:
            """Look at something."""
            await world.effect(f"look {what}")
            return f"seen {what}"

        @tool(effect="write")
        async def pay(to: str, amount: int = 1) -> str:
            """Pay somebody."""
            await world.effect(f"pay {to} {amount}")
            return f"paid {to} {amount}"

        @tool(effect="write", approval=True)
        async def wipe(what: str) -> str:
            """Delete something for good."""
            await world.effect(f"wipe {what}")
            return f"wiped {what}"

        return [look, pay, wipe]


async def history(app_, run_id):
    return [recorded.event for recorded in await app_.store.read(run_id)]


async def events_named(app_, run_id, name):
    return [event for event in await history(app_, run_id) if type(event).__name__ == name]


def only_gate(result):
    assert result.status == "waiting", result
    assert len(result.waiting_for) == 1, result.waiting_for
    return result.waiting_for[0].gate_id


async def until(ready, seconds=10.0):
    """Wait for something that another task does; fails loudly when it never comes."""
    async with asyncio.timeout(seconds):
        while not (holds := ready()) or (inspect.isawaitable(holds) and not await holds):  # noqa: ASYNC110 - any condition, also of another process
            await asyncio.sleep(0.005)


async def rested(made, run_id):
    """The result of a run once it no longer waits for a person."""
    results = []

    async def goes_on():
        results.append(await made.result(run_id))
        return results[-1].status != "waiting"

    await until(goes_on)
    return results[-1]
