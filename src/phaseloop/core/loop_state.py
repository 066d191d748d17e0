"""The inner loop of a phase as article 003 section 6.2 draws it, with the two back edges it leaves out."""

from collections.abc import Iterable

from phaseloop.core.events import Event
from phaseloop.core.plan_events import ResultJudged
from phaseloop.core.statuses import LoopState

PLANNING, EXECUTING, REFLECTING = LoopState.PLANNING, LoopState.EXECUTING, LoopState.REFLECTING
REPLANNING, DONE, FAILED = LoopState.REPLANNING, LoopState.DONE, LoopState.FAILED

LOOP_MOVES: dict[LoopState, dict[str, LoopState]] = {
    PLANNING: {"PlanUpdated": EXECUTING, "PlanRefused": PLANNING, "PhaseFailed": FAILED},
    EXECUTING: {
        "ActivityCompleted": REFLECTING,
        "ActivityFailed": REFLECTING,
        "ResultJudged": REFLECTING,
        "ReplanJudged": REPLANNING,
        "PhaseCompleted": DONE,
        "PhaseFailed": FAILED,
    },
    REFLECTING: {
        "ActivityStarted": EXECUTING,
        "ActivityCompleted": REFLECTING,
        "ActivityFailed": REFLECTING,
        "ResultJudged": REFLECTING,
        "ReplanJudged": REPLANNING,
        "ChangesWanted": REPLANNING,
        "PhaseCompleted": DONE,
        "PhaseFailed": FAILED,
    },
    REPLANNING: {
        "PlanUpdated": EXECUTING,
        "PlanRefused": REPLANNING,
        "PhaseCompleted": DONE,
        "PhaseFailed": FAILED,
    },
    DONE: {"PhaseStarted": PLANNING, "PhaseReopened": PLANNING},
    FAILED: {"RunReopened": REPLANNING},
}
"""By event; `ReplanJudged` is a `ResultJudged` whose action is replan, `ChangesWanted` a person's revise or reject."""


def next_loop_state(before: LoopState, event: Event) -> LoopState:
    """The loop's state after an event; events that are not its own change nothing."""
    name = type(event).__name__
    if isinstance(event, ResultJudged) and event.action == "replan":
        name = "ReplanJudged"
    if name == "GateResolved" and getattr(event, "outcome", "") in ("revise", "reject", "none_of_these"):
        name = "ChangesWanted"
    if name == "PhaseStarted":
        return PLANNING
    return LOOP_MOVES[before].get(name, before)


def loop_state(events: Iterable[Event]) -> LoopState:
    """Where the inner loop of the current phase stands after a history."""
    state = PLANNING
    for event in events:
        state = next_loop_state(state, event)
    return state
