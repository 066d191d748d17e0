"""Carries out RULE activities: a registered Python function by its name, else a CEL condition."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

from phaseloop.core.paths import is_list
from phaseloop.core.plan import Finding
from phaseloop.core.values import Json, Object
from phaseloop.engine.ports import Conditions

Rule: TypeAlias = Callable[[Object], Any] | Callable[[Object], Awaitable[Any]]
"""A rule takes the names a condition would see: `artifact`, `input` and earlier outputs.

It returns whether all is well, or that and a message, or a list of issues (empty: all is well).
"""


class RuleRegistry:
    """The `Rules` port."""

    def __init__(self, conditions: Conditions, rules: Mapping[str, Rule] | None = None) -> None:
        self._conditions = conditions
        self._rules = dict(rules or {})

    async def evaluate(self, check: str, names: Object) -> tuple[Json, tuple[Finding, ...]]:
        """The verdict `{"passed": bool, "issues": [...]}` and a finding for each issue.

        An issue has the code `check`; a rule that raised or a condition without a value has the code
        `error`. A plain function runs in a thread, so that a slow one holds up nobody.
        """
        rule = self._rules.get(check.strip())
        if rule is None:
            return self._condition(check, names)
        try:
            answer = await self._call(rule, names)
            issues = _issues(check, answer)
        except Exception as error:  # a user's function may raise anything; the run must hear of it as a finding
            return _verdict(check, (f"rule {check} raised {type(error).__name__}: {error}",), "error")
        return _verdict(check, issues, "check")

    async def _call(self, rule: Rule, names: Object) -> Any:
        if inspect.iscoroutinefunction(rule):
            return await rule(names)
        answer = await asyncio.to_thread(rule, names)
        return await answer if inspect.isawaitable(answer) else answer

    def _condition(self, check: str, names: Object) -> tuple[Json, tuple[Finding, ...]]:
        holds, why = self._conditions.evaluate(check, names)
        if holds is None:
            return _verdict(check, (f"{check} is no registered rule and has no value: {why}",), "error")
        return _verdict(check, () if holds else (f"{check} does not hold",), "check")


def _issues(check: str, answer: Any) -> tuple[str, ...]:
    """Issues from what a rule returned. Raises `TypeError` for anything that is not an answer."""
    if isinstance(answer, bool):
        return () if answer else (f"rule {check} does not hold",)
    if is_list(answer):
        return tuple(str(issue) for issue in answer)
    match answer:
        case (bool() as passed, message):
            return () if passed else (str(message) or f"rule {check} does not hold",)
        case _:
            shape = type(answer).__name__
            raise TypeError(f"it returned {shape}; a rule returns a bool, (bool, message) or a list of issues")


def _verdict(check: str, issues: tuple[str, ...], code: str) -> tuple[Json, tuple[Finding, ...]]:
    verdict = {"passed": not issues, "issues": list(issues)}
    return verdict, tuple(Finding(code, issue, check) for issue in issues)
