"""Plan rules about bound steps: arguments against the tool's schema, references against producers."""

from collections.abc import Iterator
from dataclasses import dataclass

from phaseloop.core.paths import is_list, is_object, shown
from phaseloop.core.plan import Finding, Step
from phaseloop.core.plan_scope import PlanView
from phaseloop.core.references import ITEM, REF, TEMPLATE, Reference, faults, references
from phaseloop.core.schemas import inlined, json_type, may_fit, type_text, types_of
from phaseloop.core.values import Json

_DEEPEST = 12


def calls(view: PlanView) -> Iterator[Finding]:
    """References that can resolve, `each` where it is allowed, arguments that the tool takes."""
    for step in view.pending:
        value = [step.call.args if step.call else None, step.each]
        yield from _references(view, value, step)
        yield from _each(view, step)
        tool = view.tool_of(step)
        if step.call and tool:
            checker = _Arguments(view, step, tool.input_schema, tool.name)
            yield from checker.call(step.call.args)
    yield from _references(view, view.plan.result, None)


def _references(view: PlanView, value: Json, step: Step | None) -> Iterator[Finding]:
    where = step.id if step else ""
    who = f"step {step.id!r}" if step else "the plan's result"
    for fault in faults(value):
        text = f"{who} has a reference that cannot be read: {fault}"
        yield Finding("bad-reference", text, where, 'write {"$ref": "s1", "path": "orders[0].id"}')
    for reference in dict.fromkeys(references(value)):
        if reference.kind == ITEM and (step is None or step.each is None):
            text = f"{who} uses item without an each"
            yield Finding("item-outside-each", text, where, "give the step an each, or name the step it means")
        elif reference.kind in ("artifact", "input"):
            yield from _outside(view, reference, who, where)
        place = view.place(reference, step)
        if place.impossible:
            text = f"{who} refers to {reference}, which cannot exist: {place.impossible}"
            yield Finding("missing-field", text, where, "name a field that is there, or the step that has it")


def _outside(view: PlanView, reference: Reference, who: str, where: str) -> Iterator[Finding]:
    is_input = reference.kind == "input"
    space = view.scope.inputs if is_input else view.scope.artifacts
    if reference.name in space:
        return
    what = "input" if is_input else "artefact"
    makers = [step.id for step in view.pending if view.produced_by(step) == reference.name]
    there = ", ".join(space) or "none"
    mend = f"name the step that makes it: {makers[0]!r}" if makers and not is_input else f"there are: {there}"
    text = f"{who} refers to {what} {reference.name!r}, which this phase does not see"
    yield Finding(f"unknown-{reference.kind}", text, where, mend)


def _each(view: PlanView, step: Step) -> Iterator[Finding]:
    if step.each is None:
        return
    source = next(iter(references(step.each)), None) if REF in step.each else None
    if source is None or source.kind == ITEM:
        text = f"the each of step {step.id!r} is {shown(step.each)}, not a reference to a list"
        yield Finding("bad-each", text, step.id, 'write "each": {"$ref": "s1", "path": "orders"}')
        return
    tool = view.tool_of(step)
    if step.call is None:
        text = f"step {step.id!r} has an each but no call to repeat"
        yield Finding("bad-each", text, step.id, "give the step a call, or leave the each out")
    elif tool and not tool.reads and not view.scope.approved:
        text = f"step {step.id!r} repeats {tool.name!r}, which changes things, for each of {source}"
        yield Finding("write-each", text, step.id, "plan one step a write, or let a person approve the plan")
    types = types_of(view.place(source).schema, None)
    if not may_fit(types, frozenset(("array",))):
        text = f"the each of step {step.id!r} needs a list, but {source} is {type_text(types or frozenset())}"
        yield Finding("bad-each", text, step.id, "refer to a field that is a list")


@dataclass(frozen=True, slots=True)
class _Arguments:
    """Checks the arguments of one call; only what is certain is said."""

    view: PlanView
    step: Step
    root: Json
    tool: str

    def call(self, args: Json) -> Iterator[Finding]:
        schema = inlined(self.root, self.root)
        if is_object(args) and is_object(schema):
            yield from self._fields(args, schema, "", closed=schema.get("additionalProperties", False) is False)

    def _fields(self, value: Json, schema: dict[str, Json], name: str, *, closed: bool) -> Iterator[Finding]:
        properties = schema.get("properties")
        known = properties if is_object(properties) else {}
        for key in schema.get("required", ()):
            if key not in value:
                yield self._finding("missing-argument", f"lacks {name + key!r}", f"add {name + key!r} to the arguments")
        for key, part in value.items():
            if key in known:
                yield from self._value(part, known[key], name + key)
            elif closed and known and not schema.get("patternProperties"):
                mend = "the tool takes " + ", ".join(known)
                yield self._finding("unknown-argument", f"has {name + key!r}, which the tool does not take", mend)

    def _value(self, value: Json, schema: Json, name: str, depth: int = 0) -> Iterator[Finding]:
        schema = inlined(schema, self.root)
        if not is_object(schema) or depth > _DEEPEST:
            return
        wanted = types_of(schema, self.root)
        if is_object(value) and (REF in value or TEMPLATE in value):
            yield from self._reference(value, wanted, name)
        elif wanted is not None and not _is_of(json_type(value), wanted):
            text = f"gives {name!r} {shown(value)}, which is not {type_text(wanted)}"
            yield self._finding("argument-type", text, f"give {type_text(wanted)}")
        else:
            yield from self._inside(value, schema, name, depth)

    def _reference(self, form: dict[str, Json], wanted: frozenset[str] | None, name: str) -> Iterator[Finding]:
        types: frozenset[str] | None = frozenset(("string",))
        said = "a text made from a template"
        if REF in form:
            reference = references(form)[0]
            types = types_of(self.view.place(reference, self.step).schema, None)
            said = f"{reference}, which is {type_text(types or frozenset())}"
        if not may_fit(types, wanted):
            need = type_text(wanted or frozenset())
            text = f"gives {name!r} {said}; the tool wants {need}"
            yield self._finding("reference-type", text, f"refer to a field that is {need}")

    def _inside(self, value: Json, schema: dict[str, Json], name: str, depth: int) -> Iterator[Finding]:
        allowed = [schema["const"]] if "const" in schema else schema.get("enum")
        if is_list(allowed) and not any(_equal(value, choice) for choice in allowed):
            choices = ", ".join(map(shown, allowed))
            yield self._finding("argument-value", f"gives {name!r} {shown(value)}", f"give one of {choices}")
        for word in ("anyOf", "oneOf"):
            if is_list(branches := schema.get(word)):
                found = [list(self._value(value, branch, name, depth + 1)) for branch in branches]
                if found and all(found):
                    yield min(found, key=len)[0]
        if is_object(value):
            yield from self._fields(value, schema, f"{name}.", closed=schema.get("additionalProperties") is False)
        elif is_list(value) and is_object(items := schema.get("items")):
            for place, part in enumerate(value):
                yield from self._value(part, items, f"{name}[{place}]", depth + 1)

    def _finding(self, code: str, text: str, mend: str) -> Finding:
        return Finding(code, f"step {self.step.id!r} calls {self.tool!r} and {text}", self.step.id, mend)


def _is_of(kind: str, wanted: frozenset[str]) -> bool:
    return kind in wanted or (kind == "integer" and "number" in wanted)


def _equal(left: Json, right: Json) -> bool:
    return bool(left == right) and isinstance(left, bool) == isinstance(right, bool)
