"""The dependency rail: which step waits for which, drawn beside the rows like a commit graph. Pure text."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

MAX_LANES = 8  # beyond it the last lane is shared: `ui/spec.md` section 4.3
MARK = "\x00"
"""Stands in a line's text where the screen puts the mark of the row's state."""

_BOXES = {
    "": " ",
    "u": "╵",
    "d": "╷",
    "l": "╴",
    "r": "╶",
    "ud": "│",
    "lr": "─",
    "ur": "╰",
    "dr": "╭",
    "ul": "╯",
    "dl": "╮",
    "udr": "├",
    "udl": "┤",
    "ulr": "┴",
    "dlr": "┬",
    "udlr": "┼",
}
_ASCII = str.maketrans({"│": "|", "─": "-", "╌": "."} | dict.fromkeys("╵╷╴╶╰╭╯╮├┤┴┬┼", "+"))


@dataclass(frozen=True, slots=True)
class RailNode:
    """A row of the list. `dead`: replaced, drawn as a short dotted branch. An empty id leaves the row free."""

    id: str = ""
    depends_on: tuple[str, ...] = ()
    dead: bool = False


@dataclass(frozen=True, slots=True)
class RailLine:
    """One text line: `row` is the index of the row it belongs to, -1 for a line that only joins lanes."""

    text: str
    row: int = -1

    @property
    def mark_at(self) -> int:
        """Where the mark stands, -1 when there is none."""
        return self.text.find(MARK)


@dataclass(frozen=True, slots=True)
class _Strand:
    """A row on its lane, which is taken from line `start` to line `end`."""

    row: int
    lane: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Edge:
    """A dependency between two rows; it changes lanes just above row `bend`."""

    source: int
    target: int
    bend: int


@dataclass(frozen=True, slots=True)
class _Graph:
    """Who needs whom, by row index; only dependencies on earlier rows count."""

    nodes: Sequence[RailNode]
    parents: Mapping[int, list[int]]
    children: Mapping[int, list[int]]

    def fork(self, row: int) -> int | None:
        """The first row that needs `row` alone: all such rows leave together just above it."""
        return min((c for c in self.children.get(row, []) if len(self.parents[c]) == 1), default=None)

    def start(self, row: int) -> int:
        """From which row on its lane is taken."""
        parents = self.parents[row]
        forked = self.fork(parents[0]) if len(parents) == 1 else None
        return row if forked is None else min(forked, row)

    def end(self, row: int) -> int:
        """Down to which row its lane is taken."""
        forked = self.fork(row)
        ends = [row] + [child - 1 for child in self.children.get(row, []) if len(self.parents[child]) > 1]
        if forked is not None:
            ends.append(forked - 1)
        dead = [r for r, parents in self.parents.items() if self.nodes[r].dead and row in parents]
        return max(ends) if len(ends) > 1 else max(ends + dead)


def _graph(nodes: Sequence[RailNode]) -> _Graph:
    index = {node.id: row for row, node in enumerate(nodes) if node.id}
    parents: dict[int, list[int]] = {}
    children: dict[int, list[int]] = {}
    for row in sorted(index.values()):
        known = {index[name] for name in nodes[row].depends_on if name in index}
        parents[row] = sorted(parent for parent in known if parent < row)
        if not nodes[row].dead:
            for parent in parents[row]:
                children.setdefault(parent, []).append(row)
    return _Graph(nodes, parents, children)


def _free(taken: Sequence[_Strand], lane: int, start: int, end: int, gap: int) -> bool:
    on_lane = [strand for strand in taken if strand.lane == lane]
    return all(strand.end + gap < start or strand.start > end + gap for strand in on_lane)


def _place(graph: _Graph) -> dict[int, _Strand]:
    """Greedy interval colouring in row order, a parent's lane first.

    Rows that do not need each other never stand directly under each other, or they would read as a chain.
    """
    strands: dict[int, _Strand] = {}
    for row in sorted(graph.parents):
        if graph.nodes[row].dead:
            continue
        wanted = sorted(strands[parent].lane for parent in graph.parents[row] if parent in strands)
        strands[row] = _strand(graph, list(strands.values()), row, wanted)
    for row in sorted(graph.parents):
        if graph.nodes[row].dead:
            base = max((strands[p].lane for p in graph.parents[row] if p in strands), default=0)
            lanes = [base + 1, base + 2, *range(MAX_LANES)]
            taken = list(strands.values())
            lane = next((lane for lane in lanes if _free(taken, lane, row, row, 0)), MAX_LANES - 1)
            strands[row] = _Strand(row, min(lane, MAX_LANES - 1), row, row)
    return strands


def _strand(graph: _Graph, taken: Sequence[_Strand], row: int, wanted: Sequence[int]) -> _Strand:
    start, end = graph.start(row), graph.end(row)
    for lane in wanted:
        if _free(taken, lane, start, end, 0):
            return _Strand(row, lane, start, end)
    for gap in (1, 0):
        for lane in range(MAX_LANES):
            if _free(taken, lane, start, end, gap):
                return _Strand(row, lane, start, end)
    return _Strand(row, MAX_LANES - 1, start, end)


def _edges(graph: _Graph) -> list[_Edge]:
    edges: list[_Edge] = []
    for row, parents in graph.parents.items():
        if not graph.nodes[row].dead:
            edges += [_Edge(parent, row, row if len(parents) > 1 else graph.start(row)) for parent in parents]
    return edges


def _passing(strands: dict[int, _Strand], row: int) -> set[int]:
    """Lanes that run through row `row` without a mark on it."""
    above = {s.lane for s in strands.values() if s.row < row <= s.end}
    below = {s.lane for s in strands.values() if s.start <= row < s.row}
    return above | below


def _row_text(strands: dict[int, _Strand], graph: _Graph, row: int, width: int) -> str:
    cells = [" "] * (2 * width - 1)
    for lane in _passing(strands, row):
        cells[2 * lane] = "│"
    own = strands.get(row)
    if own is None:
        return "".join(cells)
    if graph.nodes[row].dead and graph.parents[row]:
        base = max(strands[parent].lane for parent in graph.parents[row])
        for cell in range(2 * base + 1, 2 * own.lane):
            cells[cell] = "╌"
    cells[2 * own.lane] = MARK
    return "".join(cells)


def _link_text(strands: dict[int, _Strand], edges: Sequence[_Edge], row: int, width: int) -> str:
    """The line above row `row` where lanes fork and join, or nothing when none does."""
    bent = [edge for edge in edges if edge.bend == row]
    if all(strands[edge.source].lane == strands[edge.target].lane for edge in bent):
        return ""
    through = {s.lane for s in strands.values() if s.row < row and s.end >= row}
    through |= {s.lane for s in strands.values() if s.start < row <= s.row}
    ups = through | {strands[edge.source].lane for edge in bent}
    downs = through | {strands[edge.target].lane for edge in bent}
    arms: set[tuple[int, str]] = {(2 * lane, "u") for lane in ups} | {(2 * lane, "d") for lane in downs}
    for edge in bent:
        left, right = sorted((strands[edge.source].lane, strands[edge.target].lane))
        for cell in range(2 * left, 2 * right + 1):
            arms |= {(cell, "l")} if cell > 2 * left else set()
            arms |= {(cell, "r")} if cell < 2 * right else set()
    cells = ["".join(arm for arm in "udlr" if (cell, arm) in arms) for cell in range(2 * width - 1)]
    return "".join(_BOXES[cell] for cell in cells)


def rail(nodes: Sequence[RailNode], *, ascii_only: bool = False) -> tuple[RailLine, ...]:
    """The lines of the rail, all of one width, in row order with the joining lines between them.

    Dependencies on rows that are not in `nodes`, or stand below, are left out. With `ascii_only` the lines
    hold nothing beyond ASCII.
    """
    graph = _graph(nodes)
    strands = _place(graph)
    edges = _edges(graph)
    width = max((strand.lane + 1 for strand in strands.values()), default=1)
    lines: list[RailLine] = []
    for row in range(len(nodes)):
        link = _link_text(strands, edges, row, width)
        if link:
            lines.append(RailLine(link))
        lines.append(RailLine(_row_text(strands, graph, row, width), row))
    if not ascii_only:
        return tuple(lines)
    return tuple(RailLine(line.text.translate(_ASCII), line.row) for line in lines)
