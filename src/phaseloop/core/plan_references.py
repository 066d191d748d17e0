"""References of whole steps and plans: what a step needs, and new labels for all of it."""

import re
from collections.abc import Container, Mapping

from phaseloop.core.changes import replace
from phaseloop.core.plan import Call, Plan, Step
from phaseloop.core.references import rename, step_references

_CEL_TOKEN = re.compile(
    r"""[rRbB]*(?:"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
      | \d[\w.]*
      | (?P<after>\.\s*)?(?P<name>[A-Za-z_]\w*)""",
    re.VERBOSE,
)


def condition_names(expression: str) -> tuple[str, ...]:
    """The root names of a CEL expression, each once: `s1` of `s1.qty < 10`, never a field or a text."""
    hits = _CEL_TOKEN.finditer(expression)
    return tuple(dict.fromkeys(hit["name"] for hit in hits if hit["name"] and not hit["after"]))


def rename_condition(expression: str, mapping: Mapping[str, str]) -> str:
    """`expression` with root names replaced by `mapping`, all at once; texts and fields stay."""

    def renamed(hit: re.Match[str]) -> str:
        return mapping.get(hit["name"], hit[0]) if hit["name"] and not hit["after"] else hit[0]

    return _CEL_TOKEN.sub(renamed, expression)


def step_needs(step: Step, labels: Container[str]) -> tuple[str, ...]:
    """The steps whose output `step` uses: by reference, known or not, and by name in `only_if`."""
    named = step_references([step.call.args if step.call else None, step.each])
    if step.only_if is None:
        return named
    asked = (name for name in condition_names(step.only_if) if name in labels)
    return tuple(dict.fromkeys((*named, *asked)))


def rename_step(step: Step, mapping: Mapping[str, str]) -> Step:
    """`step` with its label, dependencies, references and condition under new labels."""
    return replace(
        step,
        id=mapping.get(step.id, step.id),
        depends_on=tuple(mapping.get(label, label) for label in step.depends_on),
        call=None if step.call is None else Call(step.call.tool, rename(step.call.args, mapping)),
        each=None if step.each is None else rename(step.each, mapping),
        only_if=None if step.only_if is None else rename_condition(step.only_if, mapping),
    )


def rename_plan(plan: Plan, mapping: Mapping[str, str]) -> Plan:
    """`plan` with the step labels of `mapping` replaced everywhere, its result included."""
    steps = tuple(rename_step(step, mapping) for step in plan.steps)
    return replace(plan, steps=steps, result=rename(plan.result, mapping))
