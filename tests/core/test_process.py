import pytest

from phaseloop.core.plan import ActivityType
from phaseloop.core.process import FLAT, Activity, Definition, Phase, phase_activities, text_in


@pytest.mark.parametrize(
    ("text", "language", "shown"),
    [
        ("Design", "zh", "Design"),
        ({"en": "Design", "zh": "设计"}, "zh", "设计"),
        ({"en": "Design"}, "zh", "Design"),
        ({}, "en", ""),
    ],
)
def test_a_text_is_shown_in_the_language_or_in_one_it_has(text, language, shown):
    assert text_in(text, language) == shown


def test_a_phase_has_the_activities_that_name_it_in_declared_order():
    phases = (Phase("p1"), Phase("p2"))
    activities = tuple(Activity(i, ActivityType.LLM, phase) for i, phase in (("b", "p1"), ("a", "p1"), ("c", "p2")))
    definition = Definition("d", phases=phases, activities=activities)
    assert [a.activity_id for a in phase_activities(definition, phases[0])] == ["b", "a"]


def test_one_flat_phase_takes_activities_without_a_phase():
    phase = Phase("only")
    definition = Definition("d", phases=(phase,), activities=(Activity("a", ActivityType.LLM),))
    assert [a.activity_id for a in phase_activities(definition, phase)] == ["a"]


def test_a_bare_goal_is_one_phase_without_a_gate():
    (phase,) = FLAT.phases
    assert phase.exit_human_activity_id is None
    assert phase.auto_advance
