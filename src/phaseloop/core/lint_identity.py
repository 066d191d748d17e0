"""Plan rules about writes: whom they touch must be grounded, and none may be planned twice."""

import re
from collections.abc import Iterator
from itertools import combinations

from phaseloop.core.grounding import ground, leaves
from phaseloop.core.paths import is_list, is_object, shown
from phaseloop.core.plan import Finding, Severity, Step
from phaseloop.core.plan_scope import PlanView
from phaseloop.core.references import is_literal
from phaseloop.core.schemas import inlined
from phaseloop.core.tools import ToolSpec, conflict_key
from phaseloop.core.values import Json, canonical

_NAME_PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_WORDS = """
    account accounts address addresses amount assignee assignees attendee attendees bcc beneficiary bic cc
    email emails iban id ids isbn mail mobile participant participants payee phone receiver recipient
    recipients sku to
"""
IDENTITY_WORDS = frozenset(_WORDS.split())
"""Last words of argument names that say whom or how much a write touches, unless its tool says so itself."""


def identity(view: PlanView) -> Iterator[Finding]:
    """An id, address or amount of a write must come from the request, an artefact or a reference.

    A value made up by the planner would touch the wrong thing; free text is never checked.
    """
    open_ones = list(_identities(view))
    for source in _sources(view):
        if not open_ones:
            return
        known = ground(source)
        open_ones = [one for one in open_ones if not known.holds(one[3])]
    for step, tool, name, leaf in open_ones:
        yield _invented(step, tool, name, leaf)


def _identities(view: PlanView) -> Iterator[tuple[Step, ToolSpec, str, str | float]]:
    """Every literal in an identity argument of a write that the tool's own schema does not offer."""
    for step in view.pending:
        tool = view.tool_of(step)
        if step.call is None or tool is None or tool.reads:
            continue
        for name, value in step.call.args.items():
            if is_identity(tool, name):
                for leaf in _literals(value):
                    if leaf != "" and not _offered(tool, name, leaf):
                        yield step, tool, name, leaf


def is_identity(tool: ToolSpec, name: str) -> bool:
    """Whether an argument says whom a call touches: by the tool's own word, else by the argument's name."""
    if tool.identity:
        return name in tool.identity
    words = _NAME_PART.findall(name)
    return bool(words) and words[-1].lower() in IDENTITY_WORDS


def _sources(view: PlanView) -> Iterator[Json]:
    """What people and earlier phases said, the nearest first."""
    scope = view.scope
    yield scope.request
    yield dict(scope.inputs)
    for activity in scope.activities:
        yield activity.config
    yield dict(scope.artifacts)


def _literals(value: Json) -> Iterator[str | float]:
    if is_literal(value):
        yield from leaves(value)
    elif is_list(value):
        for part in value:
            yield from _literals(part)
    elif is_object(value) and not {"$ref", "$tmpl"} & value.keys():
        for part in value.values():
            yield from _literals(part)


def _offered(tool: ToolSpec, name: str, leaf: str | float) -> bool:
    """Whether the tool's own schema lists the value, as a choice or as the default."""
    properties = tool.input_schema.get("properties")
    schema = inlined(properties.get(name), tool.input_schema) if is_object(properties) else None
    if not is_object(schema):
        return False
    items = schema.get("items")
    for part in (schema, items if is_object(items) else {}):
        choices = part.get("enum")
        if leaf in ([*choices] if is_list(choices) else []) or leaf in (
            part.get("const"),
            part.get("default"),
        ):
            return True
    return False


def _invented(step: Step, tool: ToolSpec, name: str, leaf: str | float) -> Finding:
    text = (
        f"step {step.id!r} calls {tool.name!r} with {name} {shown(leaf)}, "
        "which is neither in the request nor in an artefact or input"
    )
    return Finding("invented-identity", text, step.id, f"read {name} with an earlier step and refer to it")


def repeats(view: PlanView) -> Iterator[Finding]:
    """The same write twice: an error in one plan, a note when it is finished (the ledger answers it)."""
    finished = [step for step in view.scope.finished.values() if step.call]
    for step in view.pending:
        tool = view.tool_of(step)
        if step.call is None or tool is None or not tool.writes or tool.repeatable:
            continue
        if done := next((other for other in finished if _same_call(step, other)), None):
            text = f"step {step.id!r} repeats the finished write {done.id!r}; {tool.name!r} will not run again"
            yield Finding("write-already-done", text, step.id, "leave the step out", Severity.NOTE)
        earlier = view.pending[: view.pending.index(step)]
        if twin := next((other for other in earlier if _same_call(step, other) and _both_run(step, other)), None):
            text = f"steps {twin.id!r} and {step.id!r} are the same write: {tool.name} with equal arguments"
            yield Finding("same-write-twice", text, step.id, "keep one of them")


def _same_call(left: Step, right: Step) -> bool:
    if left.call is None or right.call is None or left.call.tool != right.call.tool:
        return False
    return canonical([left.call.args, left.each]) == canonical([right.call.args, right.each])


def _both_run(left: Step, right: Step) -> bool:
    """Two different conditions may exclude each other, as the branches of a choice do."""
    return not (left.only_if and right.only_if and left.only_if != right.only_if)


def conflicts(view: PlanView) -> Iterator[Finding]:
    """Writes that could run at once on one resource: the scheduler puts them in order, so only a note."""
    writes = [
        (step, conflict_key(tool, step.call.args))
        for step in view.pending
        if step.call and (tool := view.tool_of(step)) and tool.writes and "{" in tool.conflict_key
    ]
    for (one, key), (two, other) in combinations(writes, 2):
        if key == other and two.id not in view.waits[one.id] and one.id not in view.waits[two.id]:
            text = f"steps {one.id!r} and {two.id!r} both write to {shown(key)}; they run one after the other"
            mend = f"let {two.id!r} depend on {one.id!r} if their order matters"
            yield Finding("parallel-writes", text, two.id, mend, Severity.NOTE)
