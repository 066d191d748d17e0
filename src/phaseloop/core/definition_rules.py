"""Checks a definition before it may start a run: every finding says where, what and how to mend it.

The rules are behaviours 2.13 and contract sections 5, 6 and 9. What needs a library (does a condition
compile, is a schema a schema) is found at the edge and handed in.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

from phaseloop.core.activity_rules import check_activities
from phaseloop.core.definition_fields import nearest, shown
from phaseloop.core.expression_names import fields_in, is_name, names_in
from phaseloop.core.paths import is_object
from phaseloop.core.plan import ActivityType, Finding, Severity
from phaseloop.core.process import Activity, Definition, Phase

GRANULARITIES = ("declared", "auto", "1", "2", "3", "4", "5")
ROOTS = frozenset({"artifact", "input", "mode"})  # bound in every expression beside the bare names

Known = Mapping[str, Collection[str]]
"""Definition ids that a SUBPROCESS may name, each with the ids it starts itself."""


def check_definition(
    definition: Definition, *, known: Known | None = None, extra: Sequence[Finding] = ()
) -> tuple[Finding, ...]:
    """Everything that is wrong with `definition`, errors and notes, `extra` ones from the edge last.

    `known` are the definitions that can be started; without it only starting oneself is refused.
    """
    return (
        *_unique(definition),
        *_ends(definition),
        *_references(definition),
        *_outputs(definition),
        *_conditions(definition),
        *_plans(definition),
        *_values(definition),
        *check_activities(definition),
        *_children(definition, known),
        *_handed_over(definition),
        *extra,
    )


def children_of(definition: Definition) -> tuple[str, ...]:
    """The definitions that `definition` starts as sub-processes."""
    return tuple(child for _, child in _started(definition))


def expressions_of(definition: Definition) -> tuple[tuple[str, str], ...]:
    """Every CEL expression with its place, for the compiler at the edge."""
    found = [
        (f"phases[{i}].entryCondition", phase.entry_condition)
        for i, phase in enumerate(definition.phases)
        if phase.entry_condition
    ]
    for i, activity in enumerate(definition.activities):
        for key in ("check", "only_if"):
            expression = activity.config.get(key)
            if activity.gate is None and isinstance(expression, str) and expression.strip():
                found.append((f"activities[{i}].config.{key}", expression))
        if activity.gate is not None and activity.gate.auto_pass_when:
            found.append((f"activities[{i}].config.autoPassWhen", activity.gate.auto_pass_when))
    return tuple(found)


def _in_order(definition: Definition) -> list[tuple[int, Phase]]:
    return sorted(enumerate(definition.phases), key=lambda entry: entry[1].order)


def _unique(definition: Definition) -> Iterator[Finding]:
    ids = [(f"phases[{i}].phaseId", phase.phase_id) for i, phase in enumerate(definition.phases)]
    orders = [(f"phases[{i}].order", phase.order) for i, phase in enumerate(definition.phases)]
    activities = [(f"activities[{i}].activityId", a.activity_id) for i, a in enumerate(definition.activities)]
    for code, what, entries in (
        ("duplicate_phase", "phase id", ids),
        ("duplicate_order", "order", orders),
        ("duplicate_activity", "activity id", activities),
    ):
        counts = Counter(value for _, value in entries)
        seen: set[str | int] = set()
        for where, value in entries:
            if counts[value] > 1 and value in seen:
                yield Finding(code, f"{what} {value} is used {counts[value]} times", where, f"give it its own {what}")
            seen.add(value)


def _ends(definition: Definition) -> Iterator[Finding]:
    """Start and exit exist, lie in their phase, and the exit asks a person."""
    if not definition.activities:
        return
    by_id = {activity.activity_id: activity for activity in definition.activities}
    for i, phase in enumerate(definition.phases):
        start, end = phase.start_activity_id, phase.exit_human_activity_id
        if start:
            yield from _end(f"phases[{i}].startActivityId", start, phase, by_id, definition)
        elif any(a.phase_ref == phase.phase_id and a.activity_id != end for a in definition.activities):
            message = f"phase {phase.phase_id} declares activities and names none as its start"
            yield Finding(
                "start_missing", message, f"phases[{i}].startActivityId", "name the activity that comes first"
            )
        if end is None:
            continue
        place = f"phases[{i}].exitHumanActivityId"
        yield from _end(place, end, phase, by_id, definition)
        if end in by_id and by_id[end].type is not ActivityType.HUMAN:
            message = f"exit activity {end} is of type {by_id[end].type}; an exit asks a person"
            yield Finding("exit_not_human", message, place, f"give {end} the type HUMAN, or name another activity")
        if end == start:
            message = f"activity {end} is both start and exit of phase {phase.phase_id}"
            yield Finding("start_is_exit", message, place, "name two activities, or leave one of them out")


def _end(
    where: str, wanted: str, phase: Phase, by_id: Mapping[str, Activity], definition: Definition
) -> Iterator[Finding]:
    if wanted not in by_id:
        meant = nearest(wanted, by_id)
        mend = f"did you mean {meant}?" if meant else f"declare {wanted} under activities"
        yield Finding("activity_unknown", f"activity {wanted} of phase {phase.phase_id} does not exist", where, mend)
        return
    home = by_id[wanted].phase_ref
    if home != phase.phase_id and (home or len(definition.phases) > 1):
        message = f"activity {wanted} belongs to phase {home or '(none)'}, not to {phase.phase_id}"
        yield Finding("activity_elsewhere", message, where, f"give {wanted} the phaseRef {phase.phase_id}")


def _references(definition: Definition) -> Iterator[Finding]:
    phases = [phase.phase_id for phase in definition.phases]
    for i, activity in enumerate(definition.activities):
        where = f"activities[{i}].phaseRef"
        if activity.phase_ref and activity.phase_ref not in phases:
            meant = nearest(activity.phase_ref, phases)
            mend = f"did you mean {meant}?" if meant else "one of " + ", ".join(phases)
            message = f"activity {activity.activity_id} belongs to phase {activity.phase_ref}, which does not exist"
            yield Finding("phase_ref_unknown", message, where, mend)
        elif not activity.phase_ref and len(phases) > 1:
            message = f"activity {activity.activity_id} belongs to no phase"
            yield Finding("phase_ref_absent", message, where, "add phaseRef with one of " + ", ".join(phases))


def _outputs(definition: Definition) -> Iterator[Finding]:
    makers: dict[str, str] = {}
    for i, phase in _in_order(definition):
        for k, name in enumerate(phase.produced_outputs):
            where = f"phases[{i}].producedOutputs[{k}]"
            if name in makers:
                message = f"output {name} is made by phase {makers[name]} and by phase {phase.phase_id}"
                yield Finding("output_made_twice", message, where, "let one phase make it, or give it another name")
            makers.setdefault(name, phase.phase_id)
            if name in ROOTS or name in definition.inputs:
                message = f"output {name} has the name of an input or of a word that conditions use"
                yield Finding("output_name_taken", message, where, "give the output another name")
            elif not is_name(name):
                message = f"output {name} cannot be named in a condition"
                mend = "use letters, digits and _ only, as in approvedPlan"
                yield Finding("output_name_odd", message, where, mend, Severity.NOTE)


def _conditions(definition: Definition) -> Iterator[Finding]:
    """An entry condition reads what is final before its phase starts: earlier outputs and inputs."""
    earlier: set[str] = set(definition.inputs)
    everything = earlier | {name for phase in definition.phases for name in phase.produced_outputs}
    for i, phase in _in_order(definition):
        where, condition = f"phases[{i}].entryCondition", phase.entry_condition
        needed = [name for name in names_in(condition) if name not in ROOTS]
        needed += [name for name in fields_in(condition, "artifact") if name not in needed]
        for name in needed:
            if name in phase.produced_outputs:
                message = f"phase {phase.phase_id} waits for {name}, which it makes itself"
                mend = "leave the condition out, or wait for an output of an earlier phase"
                yield Finding("condition_on_own_output", message, where, mend)
            elif name in everything - earlier:
                message = f"phase {phase.phase_id} waits for {name}, which a later phase makes"
                yield Finding("condition_on_later_output", message, where, "wait for an output of an earlier phase")
            elif name not in earlier:
                meant = nearest(name, sorted(earlier))
                mend = f"did you mean {meant}?" if meant else f"declare {name} under inputs, or leave it out"
                message = f"{name} is neither an input nor an output of an earlier phase"
                yield Finding("condition_unknown_name", message, where, mend)
        earlier |= set(phase.produced_outputs)


def _plans(definition: Definition) -> Iterator[Finding]:
    earlier: set[str] = set()
    for i, phase in _in_order(definition):
        if phase.plan_from is not None and phase.plan_from not in earlier:
            meant = nearest(phase.plan_from, sorted(earlier))
            mend = f"did you mean {meant}?" if meant else "name an output of an earlier phase"
            message = f"phase {phase.phase_id} takes its plan from {phase.plan_from}, which no earlier phase makes"
            yield Finding("plan_from_unknown", message, f"phases[{i}].planFrom", mend)
        earlier |= set(phase.produced_outputs)


def _values(definition: Definition) -> Iterator[Finding]:
    made = {name for phase in definition.phases for name in phase.produced_outputs}
    for name, schema in definition.artifacts.items():
        if not isinstance(schema, dict):
            message = f"the schema of artefact {name} is {shown(schema)}; it must be an object"
            yield Finding(
                "schema_not_object",
                message,
                f"artifacts.{name}",
                'write a JSON Schema such as {"type": "object"}',
            )
        if name not in made:
            meant = nearest(name, sorted(made))
            mend = f"did you mean {meant}?" if meant else "add it to producedOutputs of a phase, or remove it"
            yield Finding(
                "artifact_unmade", f"no phase makes artefact {name}", f"artifacts.{name}", mend, Severity.NOTE
            )
    if definition.phase_granularity not in GRANULARITIES:
        message = f"phaseGranularity is {shown(definition.phase_granularity)}"
        yield Finding("granularity_unknown", message, "phaseGranularity", "one of " + ", ".join(GRANULARITIES))


def _started(definition: Definition) -> list[tuple[int, str]]:
    return [
        (i, child)
        for i, activity in enumerate(definition.activities)
        if activity.type is ActivityType.SUBPROCESS
        and isinstance(child := activity.config.get("definitionId"), str)
        and child
    ]


def _children(definition: Definition, known: Known | None) -> Iterator[Finding]:
    """Sub-processes exist, and none of them leads back to one already started."""
    graph = {**(known or {}), definition.definition_id: children_of(definition)}
    for i, child in _started(definition):
        where = f"activities[{i}].config.definitionId"
        if known is not None and child not in graph:
            meant = nearest(child, graph)
            mend = f"did you mean {meant}?" if meant else "known are: " + ", ".join(sorted(graph))
            yield Finding("subprocess_unknown", f"definition {child} does not exist", where, mend)
        elif loop := _loop(child, graph, (definition.definition_id,)):
            message = "sub-processes start each other without end: " + " → ".join(loop)
            yield Finding("subprocess_recursive", message, where, "break the circle")


def _loop(start: str, graph: Known, path: tuple[str, ...]) -> tuple[str, ...]:
    """The way from `path` over `start` back to something in it, or nothing."""
    if start in path:
        return (*path, start)
    for child in sorted(graph.get(start, ())):
        if found := _loop(child, graph, (*path, start)):
            return found
    return ()


def _handed_over(definition: Definition) -> Iterator[Finding]:
    """What a sub-process is given is known before its phase starts; anything else would be null."""
    earlier: set[str] = set(definition.inputs)
    known: dict[str, frozenset[str]] = {}
    for _, phase in _in_order(definition):
        known[phase.phase_id] = frozenset(earlier)
        earlier |= set(phase.produced_outputs)
    for i, activity in enumerate(definition.activities):
        inputs = activity.config.get("inputs")
        if activity.type is not ActivityType.SUBPROCESS or not is_object(inputs):
            continue
        there = known.get(activity.phase_ref, frozenset(definition.inputs))
        for name, source in inputs.items():
            if source not in there:
                meant = nearest(str(source), sorted(there))
                mend = f"did you mean {meant}?" if meant else "name an input or an output of an earlier phase"
                message = f"{name} is taken from {source}, which is neither an input nor made earlier"
                yield Finding("handed_over_unknown", message, f"activities[{i}].config.inputs.{name}", mend)
