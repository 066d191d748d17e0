"""Published call graphs (NESTFUL, Apache-2.0) as bound plans through the real driver: are all arguments exact?"""

import asyncio
import json
import re
from dataclasses import dataclass
from pathlib import Path

from bench.stage import FixedPlanner, Tools, begin, edge
from bench.virtual import MemoryLocks, MemoryLog, NoBreakers, VirtualLoop
from phaseloop.core.plan_text import normalise
from phaseloop.core.tools import EffectClass, ToolSpec
from phaseloop.engine.desk import ToolLayer
from phaseloop.engine.driver import Driver
from phaseloop.roles.protocols import Roles

DATA = Path(__file__).parents[1] / "tests" / "data" / "nestful_dags.jsonl"
_NAMED = re.compile(r"\{(\d+):([^{}]*)\}")
_UNRESOLVED = re.compile(r"\bvar\d+\.\w+")  # how the publishers write references before they are made into ours


def load():
    """The graphs, as they are published."""
    return [json.loads(line) for line in DATA.read_text(encoding="utf-8").splitlines()]


@dataclass
class Outcome:
    """What one graph came to. `wrong` are the calls whose arguments were not what the tokens say.

    `broken_result` and `broken_argument` say what is wrong with the gold itself.
    """

    graph_id: str
    calls: int
    wrong: list[str]
    broken_result: str = ""
    broken_argument: str = ""


def uses(value):
    """Every (step number, path) that a value of the gold asks for, in templates too."""
    if isinstance(value, dict):
        if "$ref" in value:
            yield str(value["$ref"]), value.get("path", "")
        elif "$tmpl" in value:
            yield from _NAMED.findall(value["$tmpl"])
        else:
            for part in value.values():
                yield from uses(part)
    elif isinstance(value, list):
        for part in value:
            yield from uses(part)


def keys_of(path):
    """`a[0].b` as keys and places; written here once more, so that our own reader is not its own judge."""
    for name, place in re.findall(r"([^.\[\]]+)|\[(\d+)\]", path):
        yield name or int(place)


def put(node, keys, token):
    """`node` with a token at the end of `keys`, unless something deeper is there already."""
    if not keys:
        return token if node is None else node
    key, *rest = keys
    if isinstance(key, int):
        made = list(node) if isinstance(node, list) else []
        made += [None] * (key + 1 - len(made))
    else:
        made = dict(node) if isinstance(node, dict) else {}
        made.setdefault(key, None)
    made[key] = put(made[key], rest, token)
    return made


def outputs_of(graph):
    """For each step an output with a token of its own at every path that anybody asks for."""
    found = {str(step["id"]): None for step in graph["steps"]}
    asked = [use for value in (*(s["args"] for s in graph["steps"]), graph["final"]) for use in uses(value)]
    for number, path in sorted(set(asked), key=lambda use: -len(use[1])):
        if number in found:
            found[number] = put(found[number], list(keys_of(path)), f"token/{number}/{path}")
    return {number: output if output is not None else f"output/{number}" for number, output in found.items()}


def filled(value, outputs):
    """The arguments that the tokens call for."""
    if isinstance(value, dict):
        if "$ref" in value:
            return read(outputs[str(value["$ref"])], value.get("path", ""))
        if "$tmpl" in value:
            return _NAMED.sub(lambda hit: text(read(outputs[hit[1]], hit[2])), value["$tmpl"])
        return {key: filled(part, outputs) for key, part in value.items()}
    if isinstance(value, list):
        return [filled(part, outputs) for part in value]
    return value


def read(output, path):
    for key in keys_of(path):
        output = output[key]
    return output


def text(value):
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, separators=(",", ":"))


def draft_of(graph, with_result=True):
    """The graph as a planner would write it."""
    steps = [
        {
            "id": step["id"],
            "action": f"Call {step['tool']}",
            "depends_on": step["deps"],
            "call": {"tool": step["tool"], "args": step["args"]},
        }
        for step in graph["steps"]
    ]
    return {"goal": graph["request"], "steps": steps, **({"result": graph["final"]} if with_result else {})}


async def _drive(graph, with_result):
    names = [str(step["id"]) for step in graph["steps"]]
    outputs = outputs_of(graph)
    asked = {}

    def act(number):
        async def call(tool, args):
            asked[number] = args
            return outputs[number]

        return call

    # one tool a step, so that a call says by its tool which step it is
    tool_of = {number: f"{graph['steps'][n]['tool']}_{number}" for n, number in enumerate(names)}
    acts = {tool_of[number]: act(number) for number in names}

    async def perform(tool, args):
        return await acts[tool](tool, args)

    named = {**graph, "steps": [{**s, "tool": tool_of[str(s["id"])]} for s in graph["steps"]]}
    plan, _ = normalise(draft_of(named, with_result))
    specs = tuple(ToolSpec(name, effect=EffectClass.READ, input_schema={"type": "object"}) for name in tool_of.values())
    layer = ToolLayer(Tools(specs, perform), MemoryLocks(), NoBreakers(), "bench", "r")
    driver = Driver("r", MemoryLog(), edge("r", Roles(FixedPlanner(plan), None, None), layer).perform, lambda: 0, "b")
    state = await driver.drive(begin(specs, graph["request"], plan_steps=len(names), replans=0))
    return state, asked, outputs


def check(graph):
    """Drive one graph and compare every call's arguments with the tokens.

    A gold whose own result names no step is refused by the linter; its steps are then driven without it.
    """
    broken = ""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        state, asked, outputs = runner.run(_drive(graph, with_result=True))
        if state.status != "completed":
            broken = state.failure
            state, asked, outputs = runner.run(_drive(graph, with_result=False))
    wrong = []
    for step in graph["steps"]:
        number = str(step["id"])
        if number not in asked or asked[number] != filled(step["args"], outputs):
            wrong.append(f"step {number}: {asked.get(number)}")
    if state.status != "completed":
        wrong.append(f"the run is {state.status}: {state.failure}")
    unresolved = _UNRESOLVED.search(json.dumps([step["args"] for step in graph["steps"]]))
    return Outcome(graph["id"], len(graph["steps"]), wrong, broken, unresolved[0] if unresolved else "")
