"""LangGraph with its SQLite saver on the same work: many runs of three tool nodes. Runs in an environment of its own.

Prints one JSON object: `python -P bench/peers/langgraph.py RUNS AT_ONCE FOLDER`; `-P`, since this file bears the
name of the library.
"""

import asyncio
import json
import platform
import sys
import time
from importlib import metadata
from pathlib import Path
from typing import TypedDict

from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, StateGraph

PACKAGES = ("langgraph", "langgraph-checkpoint-sqlite", "aiosqlite")


class State(TypedDict, total=False):
    a: str
    b: str
    c: str


def node(source, target):
    """A tool without work that hands on the value of the node before."""

    async def tool(state: State):
        return {target: state.get(source, "start") if source else "start"}

    return tool


def graph(saver):
    built = StateGraph(State)
    built.add_node("one", node("", "a"))
    built.add_node("two", node("a", "b"))
    built.add_node("three", node("b", "c"))
    for before, after in ((START, "one"), ("one", "two"), ("two", "three"), ("three", END)):
        built.add_edge(before, after)
    return built.compile(checkpointer=saver)


async def measure(runs, at_once, folder):
    async with AsyncSqliteSaver.from_conn_string(str(Path(folder) / "checkpoints.db")) as saver:
        await saver.setup()
        await saver.conn.execute("PRAGMA synchronous=FULL")
        compiled = graph(saver)
        left = iter(range(runs))

        async def worker():
            for n in left:
                config = {"configurable": {"thread_id": f"run{n}"}}
                ended = await compiled.ainvoke({}, config, durability="sync")
                assert ended == {"a": "start", "b": "start", "c": "start"}, ended

        await compiled.ainvoke({}, {"configurable": {"thread_id": "warm"}}, durability="sync")
        wall, cpu = time.perf_counter(), time.process_time()
        await asyncio.gather(*(worker() for _ in range(at_once)))
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return wall, cpu


def main(runs, at_once, folder):
    wall, cpu = asyncio.run(measure(runs, at_once, folder))
    size = sum(file.stat().st_size for file in Path(folder).iterdir())
    versions = {"python": platform.python_version(), **{name: metadata.version(name) for name in PACKAGES}}
    print(json.dumps({"runs": runs, "wall": wall, "cpu": cpu, "bytes": size, "versions": versions}))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
