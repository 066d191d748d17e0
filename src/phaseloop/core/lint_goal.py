"""Plan rules about the request: what a person said must come back in the plan. Questions, never refusals."""

import re
from collections.abc import Iterator

from phaseloop.core.grounding import folded, leaves
from phaseloop.core.plan import Finding, Severity, Step
from phaseloop.core.plan_scope import PlanView
from phaseloop.core.references import step_references
from phaseloop.core.values import canonical

_QUOTED = re.compile(
    r"""(?<!\w)"([^"\n]{1,200})"(?!\w)|(?<!\w)'([^'\n]{1,200})'(?!\w)|(?<!\w)`([^`\n]{1,200})`"""
    r"""|“([^”\n]{1,200})”|‘([^’\n]{1,200})’|「([^」\n]{1,200})」|『([^』\n]{1,200})』|«([^»\n]{1,200})»"""
)
_POLITE = re.compile(
    r"\b(?:if (?:possible|needed|necessary|any|so|you (?:can|could|would|want|like|please))|what if|as if)\b"
)
_CONDITION = re.compile(
    r"\b(?:if|unless|otherwise|in case|provided that|only when|wenn|sonst|es sei denn)\b"
    r"|如果|假如|要是|倘若|除非|否则|若(?!干)"
)


def goal(view: PlanView) -> Iterator[Finding]:
    """Reads nobody uses, quoted words nobody uses, a condition nobody checks."""
    yield from _unused_reads(view)
    if view.scope.whole_request and view.pending:
        yield from _unused_literals(view)
        yield from _conditions(view)


def _unused_reads(view: PlanView) -> Iterator[Finding]:
    used = set(step_references(view.plan.result))
    for step in view.pending:
        used.update(view.needs[step.id])
        if not step.bound:
            used.update(step.depends_on)
    for step in view.pending[:-1]:
        tool = view.tool_of(step)
        if tool is None or not tool.reads or step.id in used:
            continue
        if not view.produced_by(step) and not step.activity_id:
            text = f"nobody uses what step {step.id!r} reads with {tool.name!r}"
            mend = f"refer to {step.id!r} where its value is needed, or leave the step out"
            yield Finding("unused-read", text, step.id, mend, Severity.QUESTION)


def _said_by(step: Step) -> Iterator[str]:
    yield step.action
    yield step.only_if or ""
    if step.call:
        yield from (str(leaf) for leaf in leaves(step.call.args))


def _unused_literals(view: PlanView) -> Iterator[Finding]:
    scope = view.scope
    quoted = ["".join(groups) for groups in _QUOTED.findall(scope.request)]
    if not quoted:
        return
    steps = [*scope.finished.values(), *view.pending]
    said = folded("\n".join([*(text for step in steps for text in _said_by(step)), canonical(view.plan.result)]))
    given = {folded(str(name)) for name in scope.inputs} | {folded(str(v)) for v in leaves(dict(scope.inputs))}
    for literal in dict.fromkeys(quoted):
        words = folded(literal).strip(" .,;:!?。，；：！？")
        if words and words not in given and words not in said:
            text = f"the request says {literal!r}, but no step uses it"
            mend = "use it in the step it belongs to, exactly as it is written"
            yield Finding("unused-literal", text, "", mend, Severity.QUESTION)


def _conditions(view: PlanView) -> Iterator[Finding]:
    asked = _CONDITION.search(_POLITE.sub(" ", folded(view.scope.request)))
    steps = [*view.scope.finished.values(), *view.pending]
    if asked is None or any(step.only_if for step in steps):
        return
    if any(_CONDITION.search(folded(step.action)) for step in steps if not step.bound):
        return
    text = f"the request has a condition ({asked[0]!r}), but no step has an only_if"
    mend = "give the steps that hang on it an only_if, such as s1.qty < 10"
    yield Finding("condition-missing", text, "", mend, Severity.QUESTION)
