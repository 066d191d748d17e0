"""Checks at the edge: schemas and expressions, in the order in which they were asked for."""

from phaseloop.adapters.cel_conditions import CelConditions
from phaseloop.adapters.contracts import JsonSchemaContracts
from phaseloop.core.effects import Check
from phaseloop.core.plan import Finding
from phaseloop.engine.edge_checks import EdgeChecks


class FixedConditions:
    def __init__(self, answer):
        self.answer = answer
        self.seen = []

    def evaluate(self, expression, names):
        self.seen.append((expression, dict(names)))
        return self.answer


class FixedContracts:
    def __init__(self, *findings):
        self.findings = findings
        self.seen = []

    def check(self, schema, value, where=""):
        self.seen.append((schema, value, where))
        return self.findings


def test_without_checks_nothing_is_found():
    assert EdgeChecks(FixedContracts(), FixedConditions((False, ""))).run((), 1) == ()


def test_a_schema_is_checked_under_the_name_of_its_check():
    contracts = FixedContracts(Finding("schema", "no", "plan/x"))
    found = EdgeChecks(contracts, FixedConditions((True, ""))).run((Check("plan", schema={}),), {"x": 1})
    assert found == (Finding("schema", "no", "plan/x"),)
    assert contracts.seen == [({}, {"x": 1}, "plan")]


def test_an_expression_sees_the_output_and_the_names_of_its_check():
    conditions = FixedConditions((True, ""))
    check = Check("c", expression="output > a", names={"a": 1, "output": "stale"})
    assert EdgeChecks(FixedContracts(), conditions).run((check,), 2) == ()
    assert conditions.seen == [("output > a", {"a": 1, "output": 2})]


def test_a_false_expression_is_a_finding():
    found = EdgeChecks(FixedContracts(), FixedConditions((False, ""))).run((Check("c", expression="x"),), 1)
    assert [(f.code, f.where, f.message) for f in found] == [("check", "c", "check c does not hold: x")]


def test_an_expression_without_a_value_is_a_finding_that_says_why():
    found = EdgeChecks(FixedContracts(), FixedConditions((None, "no x"))).run((Check("", expression="x"),), 1)
    assert [(f.code, f.message) for f in found] == [("check", "a check cannot be evaluated (x): no x")]


def test_both_libraries_together_find_everything_in_order():
    checks = (
        Check("shape", schema={"required": ["a"]}),
        Check("sum", expression="output.b == limit", names={"limit": 3}),
        Check("fine", expression="output.b < limit", names={"limit": 3}),
    )
    found = EdgeChecks(JsonSchemaContracts(), CelConditions()).run(checks, {"b": 2})
    assert [(f.code, f.where) for f in found] == [("schema", "shape"), ("check", "sum")]
