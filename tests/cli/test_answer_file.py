"""An answer as a YAML file."""

import pytest

from phaseloop.cli.answer_file import (
    FAULT,
    Draft,
    Fault,
    as_yaml,
    is_empty,
    plan_faults,
    read_back,
    with_faults,
    written,
)
from phaseloop.core.plan import Finding

OUTCOMES = ("approve", "reject")


def back(text, judge=lambda draft: ()):
    return read_back(text, OUTCOMES, "en", judge)


def test_what_is_written_reads_back_as_it_was():
    draft = Draft("approve", {"文本": "two\nlines", "when": "2026-11-30", "n": [1, None, True]}, "a: comment")
    text = written(draft, "Approve", OUTCOMES, "zh")
    assert back(text) == (draft, ())
    assert "two" in text
    assert "\\u" not in text


def test_a_date_stays_the_text_it_is():
    draft, _ = back("outcome: approve\nvalue: {day: 2026-11-30}\n")
    assert draft.value == {"day": "2026-11-30"}


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("outcome: [approve\n", 1, "This is not YAML"),
        ("just text", 0, "must be a mapping"),
        ("outcome: maybe\n", 0, "maybe is none of: approve, reject"),
        ("outcome: approve\nvalue: 1\nwhy: not\n", 2, "why is not known here"),
        ("outcome: approve\nvalue: !!set {a}\n", 0, "This is not YAML"),
        ("comment: hello\n", 0, "is none of"),
    ],
)
def test_a_file_that_is_no_answer_says_where_and_why(text, line, message):
    draft, faults = back(text)
    assert draft is None
    assert faults[0].line == line
    assert message in faults[0].message


def test_a_fault_of_the_value_stands_at_the_line_of_its_part():
    text = "outcome: approve\nvalue:\n  steps:\n  - id: a\n  - id: b\n    need~x: 1\n"
    for where, line in (("/steps/1", 4), ("/steps/1/need~0x", 5), ("/steps/9", 2), ("", 1), ("/gone/x", 1)):
        _, faults = back(text, lambda draft, where=where: [Finding("c", "bad", where, "mend it")])
        assert faults == (Fault(line, "bad (mend it)"),)
    _, faults = back(text + "comment: x\n", lambda draft: [Finding("c", "bad", "comment")])
    assert faults[0].line == 6


def test_faults_are_written_before_their_lines_and_go_away_with_the_next_reading():
    once = with_faults("a: 1\nb: 2\n", [Fault(1, "wrong\nhere"), Fault(99, "at the end")])
    assert once == f"a: 1\n{FAULT}wrong here\nb: 2\n{FAULT}at the end\n"
    assert with_faults(once, []) == "a: 1\nb: 2\n"


def test_only_comments_mean_nothing_to_send():
    assert is_empty("# a\n\n  # b\n")
    assert not is_empty("# a\noutcome: approve\n")


def test_a_plan_that_cannot_run_says_why():
    def codes(steps):
        return [finding.code for finding in plan_faults({"steps": steps})]

    assert codes([{"id": "1", "action": "x"}, {"id": "2", "action": "y", "depends_on": ["1"]}]) == []
    assert codes([]) == ["plan_steps"]
    assert codes([{"id": str(n), "action": "x"} for n in range(9)]) == ["plan_steps"]
    assert codes([{"id": "1", "action": "x"}, {"id": "1", "action": "x"}]) == ["plan_id"]
    assert codes([{"action": " "}]) == ["plan_id", "plan_action"]
    assert codes([{"id": "1", "action": "x", "depends_on": ["2"]}, {"id": "2", "action": "x"}]) == ["plan_order"]


def test_yaml_keeps_the_order_of_a_value_and_reads_like_one():
    assert as_yaml({"b": 1, "a": "x\ny"}) == "b: 1\na: |-\n  x\n  y\n"
