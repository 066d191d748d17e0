"""The three roles of article 000, literally: deterministic, without network and without hidden state."""

from collections.abc import Sequence
from dataclasses import dataclass

from phaseloop.core.errors import WrongUse

DELIMITERS = frozenset("，。、；;,")
"""Exactly six; a full stop, a colon or a line break is none (article 000 section 2)."""

TEMPLATE = ("明确目标的边界与成功标准", "拆解为核心可执行步骤", "执行并汇总自检结果")
MIN_LEN = 8
REPLAN_THRESHOLD = 0.6
FEEDBACK_SUFFIX = "；反思反馈："

NO_RESULTS = "没有任何执行结果，需要重规划"
ALL_GOOD = "全部子任务产出达标"
TOO_THIN = "部分产出不足，建议重规划"
MOSTLY_GOOD = "大部分达标，可交付"

BLANKS = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
"""What JavaScript's `trim` removes; unlike `str.strip` that includes U+FEFF (behaviours section 6)."""


@dataclass(frozen=True, slots=True)
class SubTask:
    """One piece of a plan; ids run from 1 without gaps."""

    id: int
    description: str


@dataclass(frozen=True, slots=True)
class CriticVerdict:
    """A verdict as plain data, so that another critic can take the place. `score` is 0 to 1."""

    score: float
    needs_replan: bool
    feedback: str


def trim(text: str) -> str:
    """`text` without blanks at both ends, as JavaScript's `trim` does it."""
    return text.strip(BLANKS)


def has_delimiter(goal: str) -> bool:
    """Whether any delimiter occurs, however many pieces come out (article 000 section 2)."""
    return any(character in DELIMITERS for character in goal)


def split_goal(goal: str) -> list[str]:
    """The trimmed pieces between delimiters, empty ones dropped."""
    pieces, current = list[str](), ""
    for character in goal:
        if character in DELIMITERS:
            pieces.append(trim(current))
            current = ""
        else:
            current += character
    pieces.append(trim(current))
    return [piece for piece in pieces if piece]


def pieces_of(goal: str, template: Sequence[str] = TEMPLATE) -> list[str]:
    """What a plan for `goal` consists of; `template` when there is nothing to split or nothing left."""
    pieces = split_goal(goal) if has_delimiter(goal) else []
    return pieces or list(template)


class PlannerAgent:
    """Splits a goal at punctuation; a goal without any gets the three steps of the template."""

    def decompose(self, goal: str) -> list[SubTask]:
        """The subtasks of `goal`; never empty."""
        return [SubTask(number, text) for number, text in enumerate(pieces_of(goal), start=1)]


class WorkerAgent:
    """Answers each subtask with a fixed text; override `execute` to do real work."""

    def execute(self, subtask: SubTask, context: str) -> str:
        """The result of one subtask. `context` is empty at first and the feedback after a re-plan."""
        return f"完成[{subtask.id}]: {subtask.description} -> 产出{subtask.id}"

    def execute_all(self, plan: Sequence[SubTask], context: str) -> list[str]:
        """One result for each subtask, in the order of the plan."""
        return [self.execute(subtask, context) for subtask in plan]


class CriticAgent:
    """Scores results by their length; the thresholds are business settings (article 000 section 6).

    With `details` the feedback goes on, a line for each weak result, to say which one falls short and
    by how much; the first line stays the article's.
    """

    def __init__(
        self, min_len: int = MIN_LEN, replan_threshold: float = REPLAN_THRESHOLD, details: bool = False
    ) -> None:
        self.min_len = min_len
        self.replan_threshold = replan_threshold
        self.details = details

    def review(self, goal: str, results: Sequence[str]) -> CriticVerdict:
        """The share of results with at least `min_len` characters, blanks at the ends not counted.

        Raises `WrongUse` for a result that is no text.
        """
        if not results:
            return CriticVerdict(0.0, True, NO_RESULTS)
        lengths = [self._length(number, result) for number, result in enumerate(results, start=1)]
        good = sum(length >= self.min_len for length in lengths)
        if good == len(results):
            return CriticVerdict(1.0, False, ALL_GOOD)
        score = good / len(results)
        thin = score < self.replan_threshold
        lines = [TOO_THIN if thin else MOSTLY_GOOD]
        if self.details:
            lines += self._shortcomings(lengths)
        return CriticVerdict(score, thin, "\n".join(lines))

    def _length(self, number: int, result: object) -> int:
        if not isinstance(result, str):
            raise WrongUse(f"result {number} must be a text, not {result!r}; let the worker return str")
        return len(trim(result))

    def _shortcomings(self, lengths: Sequence[int]) -> list[str]:
        return [
            f"第{number}条不足{self.min_len}字（实际{length}字）"
            for number, length in enumerate(lengths, start=1)
            if length < self.min_len
        ]
