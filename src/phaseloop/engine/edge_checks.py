"""Runs the checks of a step's output with what is handed in for JSON Schema and for conditions."""

from collections.abc import Sequence

from phaseloop.core.effects import Check
from phaseloop.core.plan import Finding
from phaseloop.core.values import Json
from phaseloop.engine.ports import Conditions, Contracts


class EdgeChecks:
    """The `Checks` port over a `Contracts` and a `Conditions`."""

    def __init__(self, contracts: Contracts, conditions: Conditions) -> None:
        self._contracts = contracts
        self._conditions = conditions

    def run(self, checks: Sequence[Check], output: Json) -> tuple[Finding, ...]:
        """All findings, in the order of `checks`.

        A broken schema gives findings with the code `schema`, an expression that is false or cannot be
        evaluated one with the code `check`. The expression sees `output` and the names of its check.
        """
        findings: list[Finding] = []
        for check in checks:
            if check.schema is not None:
                findings += self._contracts.check(check.schema, output, check.name)
            if check.expression:
                findings += self._holds(check, output)
        return tuple(findings)

    def _holds(self, check: Check, output: Json) -> tuple[Finding, ...]:
        holds, why = self._conditions.evaluate(check.expression, {**check.names, "output": output})
        if holds:
            return ()
        subject = f"check {check.name}" if check.name else "a check"
        if holds is None:
            message = f"{subject} cannot be evaluated ({check.expression}): {why}"
            return (Finding("check", message, check.name, "mend the expression or what it reads"),)
        return (Finding("check", f"{subject} does not hold: {check.expression}", check.name, "make it true"),)
