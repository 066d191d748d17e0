"""The linter as a whole: which rules there are, in which order findings come."""

import re
from dataclasses import replace
from pathlib import Path

import phaseloop.core.lint as lint_module
from phaseloop.core.lint import lint
from phaseloop.core.plan import Step
from tests.core import (
    test_lint_activities,
    test_lint_calls,
    test_lint_goal,
    test_lint_identity,
    test_lint_structure,
)
from tests.core.plan_world import MAIL, OPEN, REFUND, SCOPE, fields, plan, ref

CASES = {
    code
    for module in (
        test_lint_structure,
        test_lint_activities,
        test_lint_calls,
        test_lint_identity,
        test_lint_goal,
    )
    for code in module.CASES
}


def test_every_code_of_the_rules_has_a_case():
    folder = Path(lint_module.__file__).parent
    text = "".join(path.read_text() for path in folder.glob("lint*.py"))
    written = set(re.findall(r'(?:Finding|_finding)\(\s*"([a-z-]+)"', text))
    written |= {"unknown-dependency", "unknown-reference", "unknown-input", "unknown-artifact"}
    written |= {"unknown-tool", "tool-not-allowed", "unknown-hint"}
    assert written == CASES


def test_findings_come_for_the_plan_first_and_then_in_the_order_of_its_steps():
    found = lint(plan(replace(OPEN, id="z", action=""), replace(OPEN, id="a", action="")), SCOPE)
    assert [finding.where for finding in found if finding.code == "empty-action"] == ["z", "a"]
    found = lint(plan(replace(OPEN, id="z", action="")), SCOPE)
    assert found[0].code == "few-steps"


def test_a_good_plan_has_nothing_to_mend():
    report = Step("s5", "Write two sentences about it", depends_on=("s3", "s4"), output_schema=fields(text="string"))
    assert lint(plan(REFUND, MAIL, report, result={"done": ref("s5", "text")}), SCOPE) == ()
