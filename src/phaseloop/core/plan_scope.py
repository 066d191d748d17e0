"""What a plan is checked against, and the plan joined with it for the rules."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from phaseloop.core.paths import parse_path, path_text, read
from phaseloop.core.plan import MAX_STEPS, Plan, Step
from phaseloop.core.plan_references import step_needs
from phaseloop.core.process import Activity
from phaseloop.core.references import ITEM, Reference, references
from phaseloop.core.schemas import UNKNOWN, Place, follow, json_type
from phaseloop.core.tools import ToolSpec
from phaseloop.core.values import Json, Object


@dataclass(frozen=True, slots=True)
class PlanScope:
    """What a plan of one phase may use and must make.

    `request` is the person's goal and the inputs as text. `tools` are allowed in this phase, `all_tools`
    exist at all. `outputs` must be made by steps, `gate_outputs` by the phase's gate. `finished` and `failed`
    are earlier steps by id (`failed`: also dropped ones). `approved`: a person approved this plan.
    `whole_request`: no other phase carries out a part of the request.
    """

    request: str = ""
    phase_id: str = ""
    tools: tuple[ToolSpec, ...] = ()
    all_tools: frozenset[str] = frozenset()
    activities: tuple[Activity, ...] = ()
    other_activities: frozenset[str] = frozenset()
    start_activity_id: str = ""
    outputs: tuple[str, ...] = ()
    gate_outputs: tuple[str, ...] = ()
    artifacts: Mapping[str, Json] = field(default_factory=dict[str, Json])
    inputs: Mapping[str, Json] = field(default_factory=dict[str, Json])
    schemas: Mapping[str, Object] = field(default_factory=dict[str, Object])
    finished: Mapping[str, Step] = field(default_factory=dict[str, Step])
    failed: Mapping[str, Step] = field(default_factory=dict[str, Step])
    max_steps: int = MAX_STEPS
    approved: bool = False
    whole_request: bool = True


@dataclass(frozen=True, slots=True)
class PlanView:
    """A plan and its scope with the look-ups that every rule needs; made by `view_of`."""

    plan: Plan
    scope: PlanScope
    tools: Mapping[str, ToolSpec]
    activities: Mapping[str, Activity]
    steps: Mapping[str, Step]
    pending: tuple[Step, ...]
    needs: Mapping[str, tuple[str, ...]]
    waits: Mapping[str, frozenset[str]]

    def tool_of(self, step: Step) -> ToolSpec | None:
        """The tool of a bound step, when the phase has it."""
        return self.tools.get(step.call.tool) if step.call else None

    def produced_by(self, step: Step) -> str | None:
        """The artefact a step makes: its own word, else its activity's."""
        activity = self.activities.get(step.activity_id or "")
        return step.produces or (activity.produces if activity else None)

    def output_schema(self, label: str) -> Json:
        """The schema of a step's output, when it or its tool declares one; a list of them under `each`."""
        step = self.steps[label]
        tool = self.tool_of(step)
        schema = step.output_schema or (tool.output_schema if tool else None)
        return {"type": "array", "items": schema or {}} if step.each is not None else schema

    def place(self, reference: Reference, step: Step | None = None) -> Place:
        """What is known of the value a reference names; `step` is the one that uses it.

        Sources that are not there are the business of another rule: nothing is known of them.
        """
        try:
            path = parse_path(reference.path)
        except ValueError:
            return UNKNOWN
        if reference.kind == ITEM:
            return self._item_place(path_text(path), step)
        if reference.kind == "step":
            known = reference.source in self.steps
            return follow(self.output_schema(reference.source), path, reference.source) if known else UNKNOWN
        return self._value_place(reference)

    def _item_place(self, path: str, step: Step | None) -> Place:
        """The first element stands for all; of an empty list nothing is known, for nobody reads it."""
        source = next(iter(references(step.each if step else None)), None)
        if source is None or source.kind == ITEM:
            return UNKNOWN
        first = Reference(source.source, f"{source.path}[0]")
        if source.kind != "step" and self.place(first).impossible:
            return UNKNOWN
        return self.place(Reference(first.source, first.path + path))

    def _value_place(self, reference: Reference) -> Place:
        """Artefacts and inputs are there already, so their own value tells."""
        space = self.scope.artifacts if reference.kind == "artifact" else self.scope.inputs
        if reference.name not in space:
            return UNKNOWN
        try:
            value = read(space[reference.name], parse_path(reference.path), reference.source)
        except LookupError as reason:
            return Place(impossible=str(reason.args[0]))
        return Place({"type": json_type(value)})


def view_of(plan: Plan, scope: PlanScope) -> PlanView:
    """Join a plan with its scope; of two steps with one label the first counts."""
    steps = dict(scope.finished)
    for step in plan.steps:
        steps.setdefault(step.id, step)
    pending = tuple(step for step in plan.steps if step.id not in scope.finished)
    return PlanView(
        plan,
        scope,
        tools={tool.name: tool for tool in scope.tools},
        activities={activity.activity_id: activity for activity in scope.activities},
        steps=steps,
        pending=pending,
        needs={step.id: step_needs(step, steps) for step in pending},
        waits=_closure({step.id: step.depends_on for step in pending}),
    )


def _closure(edges: Mapping[str, tuple[str, ...]]) -> dict[str, frozenset[str]]:
    """For each label everything it waits for, directly or not; cycles end where they close."""
    reached: dict[str, frozenset[str]] = {}
    for label, direct in edges.items():
        seen: set[str] = set()
        todo = list(direct)
        while todo:
            if (next_label := todo.pop()) not in seen:
                seen.add(next_label)
                todo += edges.get(next_label, ())
        reached[label] = frozenset(seen)
    return reached
