"""Histories that no engine would write: random facts over a few ids, for properties that must hold anyway."""

import dataclasses
from typing import Any, get_type_hints

from hypothesis import strategies as st

from phaseloop.core.events import EVENT_TYPES
from phaseloop.core.plan import Step
from phaseloop.core.run_events import PhaseRow, RunStarted, Who
from phaseloop.engine.ports import Recorded

STEPS = ("s1", "s2", "s3", "s4")
WORDS = ("", "计划 plan", "\x1b[31mred\x1b[0m\n\ttwo", "a" * 300)
PHASES = tuple(PhaseRow(f"p{n}", {"en": f"Phase {n}", "zh": f"阶段{n}"}, n) for n in (1, 2, 3))


@st.composite
def plans(draw: Any) -> tuple[Step, ...]:
    names = draw(st.lists(st.sampled_from(STEPS), unique=True, max_size=4))
    steps = []
    for n, name in enumerate(names):
        needs = draw(st.lists(st.sampled_from(names[:n]), unique=True)) if n else []
        steps.append(Step(name, draw(st.sampled_from(WORDS)), depends_on=tuple(needs)))
    return tuple(steps)


POOLS = {
    "phase_id": st.sampled_from(("p1", "p2", "p3")),
    "from_phase_id": st.sampled_from(("p1", "p2")),
    "to_phase_id": st.sampled_from(("p2", "p3")),
    "step_id": st.sampled_from(("", *STEPS)),
    "activity_id": st.sampled_from((*STEPS, "gate1")),
    "first_activity_id": st.sampled_from(("", *STEPS)),
    "request_id": st.sampled_from(("g1", "g2")),
    "call_id": st.sampled_from(("c1", "c2", "c3")),
    "role": st.sampled_from(("planner", "executor", "critic")),
    "action": st.sampled_from(("accept", "note", "ask", "retry", "replan", "veto", "abort")),
    "next": st.sampled_from(("retry", "replan", "abort")),
    "reason": st.sampled_from(("human", "suspended", "replan", "initial", "")),
    "outcome": st.sampled_from(("approve", "reject", "select", "cancel", "unheard_of")),
    "outcomes": st.just(("approve", "reject", "return_to", "cancel")),
    "steps": plans(),
    "by": st.sampled_from((Who("kai", "cli"),)),
    "score": st.floats(0, 10),
    "title": st.sampled_from(WORDS),
    "message": st.sampled_from(WORDS),
    "display_name": st.sampled_from(WORDS),
    "drive": st.integers(1, 3),
    "kind": st.sampled_from(("tokens", "task_replans", "seconds", "odd")),
}
TEXT_BY = {"ResultJudged", "GateResolved", "PhaseAdvanced", "ToolCallFinished"}


def one_of_type(event_type: type) -> st.SearchStrategy[Any]:
    hints = get_type_hints(event_type)
    parts: dict[str, st.SearchStrategy[Any]] = {}
    for field in dataclasses.fields(event_type):
        required = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        if field.name == "by" and event_type.__name__ in TEXT_BY:
            parts[field.name] = st.sampled_from(("user", "auto_pass", "timeout"))
        elif field.name == "kind" and hints[field.name] is not str:
            parts[field.name] = st.sampled_from(hints[field.name])
        elif field.name in POOLS:
            parts[field.name] = POOLS[field.name]
        elif required:
            parts[field.name] = st.sampled_from(WORDS) if hints[field.name] is str else st.from_type(hints[field.name])
    return st.builds(event_type, **parts)


LATER = st.one_of([one_of_type(t) for t in EVENT_TYPES if t.__name__ not in ("RunStarted", "SnapshotTaken")])


@st.composite
def any_history(draw: Any, longest: int = 40) -> list[Recorded]:
    """A history that starts with `run_started`; times never go back."""
    phases = PHASES if draw(st.booleans()) else ()
    title = draw(st.sampled_from(WORDS))
    events = [RunStarted("goal", title, phases=phases), *draw(st.lists(LATER, max_size=longest))]
    at, history = 1_000_000, []
    for seq, event in enumerate(events, 1):
        at += draw(st.integers(0, 5000))
        history.append(Recorded("r1", seq, at, event))
    return history
