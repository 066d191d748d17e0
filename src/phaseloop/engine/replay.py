"""Decides a recorded run again, without a role, a model or a tool, and names the first difference."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, fields

from phaseloop.core.answers import Answer, TimerDue
from phaseloop.core.automatic import automatic
from phaseloop.core.decide import react
from phaseloop.core.errors import PhaseloopError
from phaseloop.core.events import Event
from phaseloop.core.machine import evolve_all
from phaseloop.core.state import RunState
from phaseloop.core.words import Word
from phaseloop.engine.ports import Recorded
from phaseloop.engine.replay_answers import answers_behind
from phaseloop.engine.replay_calls import Facts

SHOWN = 120  # characters of a value in a sentence
WRONG_RECORD = (PhaseloopError, LookupError, ValueError, TypeError, AttributeError)
"""What the pure core raises for facts that no run of ours can have recorded."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The first place where the log and the decision differ.

    `field` is the name of the first field that differs, or `seq`, `at` or `run_id`. `expected` is `None` when
    nothing leads to the found event, `found` when the log ends too early; `why` then says more.
    """

    seq: int
    expected: Event | None
    found: Event | None
    field: str = ""
    why: str = ""

    def __str__(self) -> str:
        found = _name(self.found) if self.found is not None else "the end of the log"
        if self.why:
            return f"event {self.seq}, {found}: {self.why}"
        if self.expected is None:
            return f"event {self.seq}, {found}: nothing before it leads to it"
        if self.found is None or type(self.found) is not type(self.expected):
            return f"event {self.seq}: the log has {found} where {_name(self.expected)} follows"
        was, now = getattr(self.found, self.field), getattr(self.expected, self.field)
        return f"event {self.seq}, {found}: {self.field} is {_shown(was)} in the log, decided again it is {_shown(now)}"


@dataclass(frozen=True, slots=True)
class Replay:
    """How far a log could be decided again. `decisions` counts answers and moves that a run makes by itself.

    `difference` is `None` when the whole log follows; `state` is the one after the last event that did.
    """

    events: int
    decisions: int
    difference: Difference | None
    state: RunState


def replay(history: Sequence[Recorded]) -> Replay:
    """Decide every event of one run again, from the first one on.

    Answers are rebuilt from the facts that they led to; what the state makes by itself must be the next fact.
    """
    events = [recorded.event for recorded in history]
    state, k, decisions, closed = RunState(), 0, 0, False
    while k < len(history):
        step = _next(state, history, events, k, closed)
        if isinstance(step, Difference):
            return Replay(k, decisions, step, state)
        facts, closed = step
        try:
            state = evolve_all(state, facts, history[k].at)
        except WRONG_RECORD as error:
            return Replay(k, decisions, Difference(k + 1, None, events[k], why=_because(error)), state)
        k += len(facts)
        decisions += 1
    missing = _unfinished(state, history) if closed else None
    return Replay(k, decisions, missing, state)


def _next(
    state: RunState, history: Sequence[Recorded], events: Sequence[Event], k: int, closed: bool
) -> tuple[Facts, bool] | Difference:
    """The facts of the next decision, and whether its closure must follow at once; or what differs.

    `closed`: the decision before was a driver's, so everything that follows from the state alone stands in
    the same append, with the same time. Words of people and timers may have been appended by whoever received
    them, without their closure, which then comes with the driver's next batch (contract section 3).
    """
    if (misplaced := _misplaced(history, k)) is not None:
        return misplaced
    moment = history[k - 1].at if closed else history[k].at
    found: list[Difference] = []
    try:
        facts = automatic(state, moment)
    except WRONG_RECORD as error:
        return Difference(history[k].seq, None, events[k], why=_because(error))
    if facts:
        if (difference := _compare(history, k, facts, moment)) is None:
            return facts, True
        if closed:
            return difference
        found.append(difference)
    for tried in _decided(state, events, k, history[k].at):
        if isinstance(tried, Difference):
            found.append(tried)
        elif (difference := _compare(history, k, tried[1], history[k].at)) is None:
            return tried[1], not isinstance(tried[0], Word | TimerDue)
        else:
            found.append(difference)
    return max(found, key=_worth, default=Difference(history[k].seq, None, events[k]))


def _decided(state: RunState, events: Sequence[Event], k: int, at: int) -> list[tuple[Answer, Facts] | Difference]:
    """What each answer that may stand behind `events[k]` leads to in this state."""
    tried: list[tuple[Answer, Facts] | Difference] = []
    try:
        for rebuilt in answers_behind(state, events, k):
            if facts := rebuilt.restore(react(state, rebuilt.answer, at)):
                tried.append((rebuilt.answer, facts))
    except WRONG_RECORD as error:
        tried.append(Difference(k + 1, None, events[k], why=_because(error)))
    return tried


def _misplaced(history: Sequence[Recorded], k: int) -> Difference | None:
    """A gap in the numbers, or an event of another run."""
    recorded = history[k]
    if recorded.seq != k + 1:
        why = f"its number follows {k}: events are missing or out of order"
        return Difference(recorded.seq, None, recorded.event, "seq", why)
    if recorded.run_id != history[0].run_id:
        why = f"it belongs to run {recorded.run_id}, not to {history[0].run_id}"
        return Difference(recorded.seq, None, recorded.event, "run_id", why)
    return None


def _compare(history: Sequence[Recorded], k: int, facts: Facts, at: int) -> Difference | None:
    """The first of `facts` that is not what the log has from `k` on."""
    for place, fact in enumerate(facts, k):
        if place >= len(history):
            return Difference(place + 1, fact, None, why=f"{_name(fact)} of the same decision is missing")
        recorded = history[place]
        if recorded.event != fact:
            return Difference(recorded.seq, fact, recorded.event, _field(fact, recorded.event))
        if recorded.at != at:
            why = f"its time is {recorded.at}, the decision that it belongs to was made at {at}"
            return Difference(recorded.seq, fact, fact, "at", why)
    return None


def _unfinished(state: RunState, history: Sequence[Recorded]) -> Difference | None:
    """A decision is one append: what follows from the state alone cannot be missing at the end."""
    facts = automatic(state, history[-1].at)
    return _compare(history, len(history), facts, history[-1].at) if facts else None


def _worth(difference: Difference) -> tuple[int, bool]:
    """The difference that says most: the latest, then one inside an event of the right kind."""
    return difference.seq, type(difference.found) is type(difference.expected)


def _field(expected: Event, found: Event) -> str:
    """The first field that differs, when it is the same kind of event."""
    if type(expected) is not type(found):
        return ""
    return next(f.name for f in fields(found) if getattr(found, f.name) != getattr(expected, f.name))


def _name(event: Event) -> str:
    """The event's name as it stands in the log."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", type(event).__name__).lower()


def _because(error: BaseException) -> str:
    text = str(error) if isinstance(error, PhaseloopError) else f"{type(error).__name__} {error}"
    return f"it cannot be decided here: {text}"


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."
