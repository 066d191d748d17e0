"""Seeded graphs of steps with durations and writes, and the shortest time in which any scheduler could end them."""

import heapq
import random
from dataclasses import dataclass

RESOURCE = "ledger"  # the one thing that all writes of a graph exclude each other on
WRITES = 0.3  # share of steps that write


@dataclass(frozen=True, slots=True)
class Node:
    """A step: its label, what it waits for, how long its tool takes (seconds), whether it writes."""

    name: str
    waits: tuple[str, ...]
    seconds: float
    writes: bool = False


Graph = tuple[Node, ...]


def _node(rng, number, waits):
    names = tuple(f"n{n}" for n in sorted(waits))
    return Node(f"n{number}", names, round(rng.uniform(0.05, 0.4), 3), rng.random() < WRITES)


def layered(rng, size) -> Graph:
    """Layers of one to a fifth of the steps, at most two where there are few; each step waits for up to three of
    the layer before."""
    nodes, before, number = [], [], 1
    while number <= size:
        width = min(rng.randint(1, max(2, size // 5)), size - number + 1)
        layer = list(range(number, number + width))
        for n in layer:
            nodes.append(_node(rng, n, rng.sample(before, min(len(before), rng.randint(1, 3)))))
        before, number = layer, number + width
    return tuple(nodes)


def scattered(rng, size) -> Graph:
    """Each step waits for none to three of any earlier ones."""
    nodes = []
    for n in range(1, size + 1):
        earlier = list(range(1, n))
        nodes.append(_node(rng, n, rng.sample(earlier, min(len(earlier), rng.randint(0, 3)))))
    return tuple(nodes)


SETS = {
    "layered 3-8": (layered, (3, 8), 600),
    "random 3-8": (scattered, (3, 8), 600),
    "layered 40": (layered, (40, 40), 150),
    "random 40": (scattered, (40, 40), 150),
}
"""Name: how the graphs are made, how many steps, how many graphs (`python -m bench sched`)."""


def graphs(name, seed, count=None) -> list[Graph]:
    """The graphs of one set; equal for an equal seed."""
    make, (least, most), whole = SETS[name]
    rng = random.Random(f"{name}/{seed}")
    return [make(rng, rng.randint(least, most)) for _ in range(count or whole)]


def heads(graph: Graph) -> dict[str, float]:
    """For each step the longest way to its start."""
    found: dict[str, float] = {}
    known = {node.name: node for node in graph}
    for node in graph:
        found[node.name] = max((found[w] + known[w].seconds for w in node.waits), default=0.0)
    return found


def tails(graph: Graph) -> dict[str, float]:
    """For each step the longest way from its end to the end of the graph."""
    found = dict.fromkeys((node.name for node in graph), 0.0)
    for node in reversed(graph):
        for waited in node.waits:
            found[waited] = max(found[waited], found[node.name] + node.seconds)
    return found


def lower_bound(graph: Graph, workers=None) -> float:
    """Seconds below which no schedule can end.

    The largest of: the longest path; all work over `workers`; and, since writes exclude each other, the
    schedule of the writes alone on one machine with their heads and tails, interruptible, by Jackson's rule
    (the available write with the longest tail first), which is the best that such a machine can do.
    """
    head, tail = heads(graph), tails(graph)
    path = max(head[node.name] + node.seconds + tail[node.name] for node in graph)
    shared = sum(node.seconds for node in graph) / workers if workers else 0.0
    return max(path, shared, _jackson([(head[n.name], n.seconds, tail[n.name]) for n in graph if n.writes]))


def _jackson(jobs):
    coming = sorted(jobs)
    ready: list[list[float]] = []  # [-tail, seconds left]
    now = longest = 0.0
    while coming or ready:
        if not ready:
            now = max(now, coming[0][0])
        while coming and coming[0][0] <= now:
            _, seconds, tail = coming.pop(0)
            heapq.heappush(ready, [-tail, seconds])
        until = coming[0][0] if coming else now + ready[0][1]
        spent = min(ready[0][1], until - now)
        now += spent
        ready[0][1] -= spent
        if ready[0][1] <= 1e-12:
            longest = max(longest, now - heapq.heappop(ready)[0])
    return longest
