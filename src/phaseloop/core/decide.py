"""What an answer means: the facts that follow from it, then those that follow from the state alone."""

from collections.abc import Callable
from typing import Any

from phaseloop.core import reactions
from phaseloop.core.answers import Answer
from phaseloop.core.asks import Ask, ChildWanted, ModelCallWanted, Ruling, Serve, ToolCallWanted, Wait
from phaseloop.core.automatic import automatic
from phaseloop.core.events import Event
from phaseloop.core.ledger import rule_tool
from phaseloop.core.machine import evolve_all
from phaseloop.core.model_calls import rule_model
from phaseloop.core.state import RunState
from phaseloop.core.statuses import ActivityStatus
from phaseloop.core.words import Answered, Cancel, Word

React = Callable[[RunState, Any, int], tuple[Event, ...]]


def react(state: RunState, answer: Answer, at: int) -> tuple[Event, ...]:
    """The facts of the answer itself. Raises `AnswerRefused` for words that cannot be taken."""
    return reactions.REACT[type(answer)](state, answer, at)


def decide(state: RunState, answer: Answer | None, at: int) -> tuple[tuple[Event, ...], RunState]:
    """The facts of `answer` and their closure, and the state after them. For drivers.

    `answer` is `None` when somebody else appended: only the closure is wanted.
    """
    events: list[Event] = list(react(state, answer, at)) if answer is not None else []
    state = evolve_all(state, events, at)
    while more := automatic(state, at):
        events += more
        state = evolve_all(state, more, at)
    return tuple(events), state


def receive(state: RunState, word: Word, at: int) -> tuple[Event, ...]:
    """The facts of a person's word, for whoever receives it; what follows is the driver's (contract section 3)."""
    return react(state, word, at)


def rule(state: RunState, ask: Ask) -> Ruling:
    """What the one who asked may do now. Pure: the same state gives the same ruling."""
    match ask:
        case ToolCallWanted():
            return rule_tool(state, ask)
        case ModelCallWanted():
            return rule_model(state, ask)
        case ChildWanted():
            step = state.steps.get(ask.step_id)
            if step is None or not step.active or step.attempt != ask.attempt:
                return Serve("failed", "the step is over")
            if step.status is ActivityStatus.RUNNING and step.child_run_id and not ask.parked:
                return Serve("ok", step.child_run_id)
            return Wait()


__all__ = ["Answered", "Cancel", "decide", "react", "receive", "rule"]
