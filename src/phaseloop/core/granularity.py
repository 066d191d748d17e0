"""How complex a task is, and how many phases it gets for that (article 002 section 7, behaviours 2.11)."""

import re
from dataclasses import dataclass, replace
from itertools import pairwise

from phaseloop.core.plan import ActivityType
from phaseloop.core.process import Activity, Definition, GateMode, Phase, Text, text_in
from phaseloop.core.values import Json

LEVELS = ((3, 1), (7, 2), (12, 3), (18, 4))  # highest score of each level; above is 5
PER_GATE, PER_CHILD, PER_WRITE, WHEN_UNCLEAR = 2, 3, 2, 2
_PARTS = re.compile("[，。、；;,]")  # what separates tasks in a goal: article 000 section 2


@dataclass(frozen=True, slots=True)
class Complexity:
    """`level` 1 to 5, the `score` it comes from, and what that score is made of."""

    level: int
    score: int
    reasons: tuple[str, ...] = ()

    def recorded(self) -> dict[str, Json]:
        """As it stands in `run_started`."""
        return {"level": f"L{self.level}", "score": self.score, "reasons": list(self.reasons)}


def assess(definition: Definition, goal: str, estimated_steps: int | None, unclear: bool) -> Complexity:
    """A + 2·H + 3·S + 2·W + (2 if the intent is unclear): activities, gates, sub-processes, writes.

    Without declared activities A is `estimated_steps`, and without an estimate the parts of `goal`.
    A gate counts unless it always passes by itself; a TOOL counts as a write when it says `sideEffect`.
    """
    declared = definition.activities
    steps = len(declared) or estimated_steps or _parts(goal)
    gates = sum(1 for activity in declared if _asks(activity, definition))
    children = sum(1 for activity in declared if activity.type is ActivityType.SUBPROCESS)
    writes = sum(1 for activity in declared if activity.config.get("sideEffect") is True)
    parts = (
        (steps, 1, "activities" if declared else "steps"),
        (gates, PER_GATE, "gates"),
        (children, PER_CHILD, "sub-processes"),
        (writes, PER_WRITE, "writes"),
        (int(unclear), WHEN_UNCLEAR, "unclear intent"),
    )
    reasons = tuple(f"{what}: {count} × {weight}" for count, weight, what in parts if count)
    score = sum(count * weight for count, weight, _ in parts)
    return Complexity(next((level for top, level in LEVELS if score <= top), 5), score, reasons)


def phase_count(definition: Definition, complexity: Complexity) -> int:
    """How many phases the definition asks for: all that are declared, the complexity's level, or a number."""
    wanted = definition.phase_granularity
    if wanted == "auto":
        return complexity.level
    return int(wanted) if wanted.isdecimal() else len(definition.phases)


def merge_phases(definition: Definition, level: int) -> Definition:
    """The definition with `level` phases where that drops no decision of a person, else with more.

    The first phases stay; those from `level` on become one, as in L4 (delivery: integrate and deploy).
    """
    kept = max(level, 1) - 1
    groups: list[list[Phase]] = [[phase] for phase in definition.phases[: kept + 1]]
    for left, right in pairwise(definition.phases[kept:]):
        if _may_merge(definition, groups[-1], left, right):
            groups[-1].append(right)
        else:
            groups.append([right])
    home = {phase.phase_id: group[0].phase_id for group in groups for phase in group}
    activities = tuple(replace(a, phase_ref=home.get(a.phase_ref, a.phase_ref)) for a in definition.activities)
    return replace(definition, phases=tuple(_merged(group) for group in groups), activities=activities)


def _may_merge(definition: Definition, group: list[Phase], left: Phase, right: Phase) -> bool:
    """Never across a decision that must come first, nor across the making of a plan (behaviours 2.11)."""
    approvals = {
        activity.activity_id: activity.phase_ref
        for activity in definition.activities
        if activity.gate is not None and activity.gate.human_mode is GateMode.APPROVE
    }
    made_here = {name for phase in group for name in phase.produced_outputs}
    return (
        left.auto_advance
        and left.phase_id not in approvals.values()
        and right.start_activity_id not in approvals
        and right.plan_from not in made_here
    )


def _merged(group: list[Phase]) -> Phase:
    """Entry and start of the first phase, gate of the last, all outputs; inner gates stay activities."""
    first, last = group[0], group[-1]
    if first is last:
        return first
    open_to_all = any(phase.tools is None for phase in group)
    tools = dict.fromkeys(tool for phase in group for tool in phase.tools or ())
    return replace(
        first,
        display_name=_joined([phase.display_name or phase.phase_id for phase in group]),
        classification=last.classification,
        exit_human_activity_id=last.exit_human_activity_id,
        produced_outputs=tuple(dict.fromkeys(name for phase in group for name in phase.produced_outputs)),
        auto_advance=last.auto_advance,
        tools=None if open_to_all else tuple(tools),
        instruction="\n".join(phase.instruction for phase in group if phase.instruction),
    )


def _joined(names: list[Text]) -> Text:
    languages = dict.fromkeys(language for name in names if isinstance(name, dict) for language in name)
    if not languages:
        return " + ".join(text_in(name, "") for name in names)
    return {language: " + ".join(text_in(name, language) for name in names) for language in languages}


def _parts(goal: str) -> int:
    return max(1, sum(1 for part in _PARTS.split(goal) if part.strip()))


def _asks(activity: Activity, definition: Definition) -> bool:
    """Whether a person has to answer, as far as the definition alone tells."""
    gate = activity.gate
    if gate is None:
        return activity.type is ActivityType.HUMAN
    held = any(
        phase.exit_human_activity_id == activity.activity_id and not phase.auto_advance for phase in definition.phases
    )
    free = gate.auto_pass and not gate.auto_pass_modes and not gate.auto_pass_when
    return not free or held or gate.human_mode is GateMode.APPROVE
