"""Activity rules on definitions that were built in code, without a file."""

from phaseloop.core.activity_rules import check_activities
from phaseloop.core.plan import ActivityType
from phaseloop.core.process import FLAT_PHASE, Activity, Definition


def test_a_gate_without_a_parsed_config_is_checked_as_a_plain_confirmation():
    definition = Definition("d", phases=(FLAT_PHASE,), activities=(Activity("ask", ActivityType.HUMAN),))
    assert list(check_activities(definition)) == []


def test_a_model_activity_may_have_a_title_in_place_of_an_instruction():
    titled = Activity("a", ActivityType.LLM, title={"en": "Do it"})
    silent = Activity("b", ActivityType.LLM)
    definition = Definition("d", phases=(FLAT_PHASE,), activities=(titled, silent))
    assert [finding.where for finding in check_activities(definition)] == ["activities[1].config.instruction"]


def test_an_activity_without_a_phase_is_left_to_the_rule_about_phases():
    stray = Activity("a", ActivityType.TOOL, "nowhere", config={"tool": "t"}, produces="x")
    assert list(check_activities(Definition("d", phases=(FLAT_PHASE,), activities=(stray,)))) == []
