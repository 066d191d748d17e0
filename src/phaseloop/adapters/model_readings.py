"""How the text of a reply is read as a plan, a verdict or an output, and how it differed from the form."""

from collections.abc import Callable, Collection
from dataclasses import dataclass

from phaseloop.adapters.json_ladder import Found, find_json, head
from phaseloop.adapters.model_verdict import is_verdict, verdict_of
from phaseloop.core.answers import Verdict
from phaseloop.core.paths import is_list, is_object
from phaseloop.core.plan import Plan
from phaseloop.core.plan_text import normalise
from phaseloop.core.values import Json, Object

TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}
STEP_KEYS = ("steps", "plan", "tasks", "subtasks", "actions")


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read: a `value`, or the `problem` that kept it from being read. `drift`: what was repaired."""

    value: Plan | Verdict | Json = None
    drift: tuple[str, ...] = ()
    problem: str = ""

    @property
    def differences(self) -> tuple[str, ...]:
        """Everything in which the reply differed from the form asked for (article 003 section 6.3)."""
        return (*self.drift, self.problem) if self.problem else self.drift


Reader = Callable[[str], Reading]


def plan_reader(known: Collection[str]) -> Reader:
    """How a planner's reply is read: a plan, its fields normalised by the core.

    `known` are the ids of earlier steps, which the plan may name.
    """

    def read(text: str) -> Reading:
        found = find_json(text, _like_a_plan)
        if found is None:
            return _nothing("a plan object with steps", text)
        try:
            plan, notes = normalise(found.value, known)
        except ValueError as error:
            return Reading(None, found.drift, str(error))
        if not plan.steps:
            return Reading(None, found.drift + notes, "expected a plan with at least one step, got none")
        return Reading(plan, found.drift + notes)

    return read


def read_verdict(text: str) -> Reading:
    """The verdict in a critic's reply."""
    found = find_json(text, is_verdict)
    if found is None:
        return _nothing("a verdict object with passed and score", text)
    verdict = verdict_of(found.value, "model")
    return Reading(verdict, found.drift + ((verdict.format_issue,) if verdict.format_issue else ()))


def output_reader(schema: Object | None) -> Reader:
    """How the answer of an open step is read: as text, or as JSON when the step has an output schema."""
    if not schema:
        return lambda text: Reading(text)

    def read(text: str) -> Reading:
        found = find_json(text, lambda value: _fits(value, schema)) or _plain_text(text, schema)
        return Reading(found.value, found.drift) if found else _nothing("JSON of the step's output schema", text)

    return read


def _like_a_plan(value: Json) -> bool:
    if is_list(value):
        return bool(value) and all(is_object(item) and "action" in item for item in value)
    return is_object(value) and any(
        isinstance(value.get(key), list | dict) and value[key] and not _is_schema(value[key]) for key in STEP_KEYS
    )


def _is_schema(value: Json) -> bool:
    """Whether a field holds its own JSON Schema: the model sent back the form instead of filling it in."""
    return is_object(value) and isinstance(value.get("type"), str) and bool({"items", "properties"} & set(value))


def _fits(value: Json, schema: Object) -> bool:
    """Whether `value` is roughly of the schema; the engine's checks judge it exactly."""
    kinds = schema.get("type", "object" if "properties" in schema else None)
    names = [kinds] if isinstance(kinds, str) else kinds or []
    if names and not any(isinstance(value, TYPES.get(name, (object,))) for name in names):
        return False
    if isinstance(value, bool) and names and "boolean" not in names:
        return False
    return not is_object(value) or set(schema.get("required", ())) <= set(value)


def _plain_text(text: str, schema: Object) -> Found | None:
    return Found(text) if schema.get("type") == "string" else None


def _nothing(wanted: str, text: str) -> Reading:
    return Reading(None, (), f"expected {wanted}, got: {head(text) or 'nothing'}")
