"""The plan linter: refuses a plan before anything is spent on carrying it out (architecture section 5)."""

from collections.abc import Callable, Iterator
from typing import TypeAlias

from phaseloop.core.lint_activities import activities, outputs, tools
from phaseloop.core.lint_calls import calls
from phaseloop.core.lint_goal import goal
from phaseloop.core.lint_identity import conflicts, identity, repeats
from phaseloop.core.lint_structure import dependencies, structure
from phaseloop.core.plan import Finding, Plan, Severity
from phaseloop.core.plan_scope import PlanScope, PlanView, view_of

__all__ = ["RULES", "PlanScope", "errors", "lint"]

Rule: TypeAlias = Callable[[PlanView], Iterator[Finding]]

RULES: tuple[Rule, ...] = (
    structure,
    dependencies,
    tools,
    activities,
    calls,
    outputs,
    identity,
    repeats,
    conflicts,
    goal,
)


def lint(plan: Plan, scope: PlanScope) -> tuple[Finding, ...]:
    """Everything there is to say about a plan: first the plan as a whole, then step by step in its order.

    An error refuses the plan, a question goes to the planner once, a note is kept (contract section 5).
    """
    view = view_of(plan, scope)
    places = {step.id: place for place, step in reversed(list(enumerate(plan.steps)))}
    found = dict.fromkeys(finding for rule in RULES for finding in rule(view))
    return tuple(sorted(found, key=lambda finding: places.get(finding.where, -1)))


def errors(findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """The findings that refuse a plan."""
    return tuple(finding for finding in findings if finding.severity is Severity.ERROR)
