"""Gates in words and the commands that answer them."""

from dataclasses import replace
from datetime import UTC

import pytest

from phaseloop.cli.gate_keys import keys_of
from phaseloop.cli.gate_words import (
    answer_commands,
    begun_phases,
    did,
    due,
    fate,
    gate_name,
    gate_title,
    positive,
    recommended,
)
from phaseloop.cli.screen import Screen
from phaseloop.core.run_events import PhaseBlocked
from phaseloop.core.view_rows import Clock, GateState
from phaseloop.core.views import view
from tests.gate_world import GATES, at_gate
from tests.sales_story import Story, opening


@pytest.mark.parametrize(
    ("name", "commands"),
    [
        ("confirm", ["human_intent confirm", 'human_intent revise --comment "..."']),
        ("plan", ["human_plan approve", 'human_plan reject --comment "..."']),
        ("select", ["choose_route select --value '[\"safe\"]'", 'choose_route none_of_these --comment "..."']),
        ("form", ["fill_in submit --set email=... --set copies=2", 'fill_in revise --comment "..."']),
        ("tool", ["s1 approve", 's1 reject --comment "..."']),
        ("doubt", ["s1 happened", "s1 run_it", "s1 abandon", "s1 cancel"]),
        ("advance", ["design advance", 'design revise --comment "..."']),
        (
            "blocked",
            ["integrate override", 'integrate return_to --value \'"design"\' --comment "..."', "integrate cancel"],
        ),
    ],
)
def test_the_exact_commands_are_told(name, commands):
    shown, gate = at_gate(name)
    assert answer_commands("r1", shown, gate) == [f"phaseloop answer r1 {command}" for command in commands]


def test_a_gate_goes_by_its_activity_while_only_one_such_is_open():
    shown, gate = at_gate("tool")
    assert gate_name(shown, gate) == "s1"
    twins = replace(shown, gates=(*shown.gates, replace(gate, id="g10")))
    assert gate_name(twins, gate) == "g9"


def test_a_gate_without_a_title_goes_by_its_activity_and_titles_may_have_languages():
    _, gate = at_gate("confirm")
    assert gate_title(replace(gate, title=""), "en") == "human_intent"
    assert gate_title(replace(gate, title={"en": "Right?", "zh": "对吗？"}), "zh") == "对吗？"


def test_only_a_person_can_tell_about_doubt_and_a_blocked_phase():
    assert positive(at_gate("doubt")[1]) == positive(at_gate("blocked")[1]) == ""
    assert positive(at_gate("select")[1]) == "select"


def test_the_only_option_is_the_recommended_one_and_two_recommended_ones_are_none():
    _, gate = at_gate("select")
    assert recommended(gate) == "safe"
    both = [{**option, "recommended": True} for option in gate.payload["options"]]
    assert recommended(replace(gate, payload={"options": both})) == ""
    assert recommended(replace(gate, payload={"options": [{"id": "one"}]})) == "one"
    assert recommended(replace(gate, payload={"options": "broken"})) == ""


def test_what_became_of_a_gate_is_told_with_who_and_how_long():
    _, gate = at_gate("plan")
    closed = replace(gate, state=GateState.ANSWERED, outcome="approve", user="Kai", edits=2, waited=Clock(74_000))
    assert fate(closed, Screen()) == "Kai approved with 2 changes, 1 m 14 s waiting"
    assert (
        fate(replace(closed, user="", by="timeout", edits=0), Screen()) == "at the deadline approved, 1 m 14 s waiting"
    )
    assert fate(replace(closed, state=GateState.AUTO, rule="x > 1"), Screen(language="zh")) == "自动通过，x > 1"
    assert did("never_heard", "en") == "answered never_heard"


def test_no_two_keys_of_a_gate_are_the_same_letter():
    for name in GATES:
        letters = [key.letter for key in keys_of(at_gate(name)[1], "en")]
        assert len(letters) == len(set(letters)), name


def test_a_run_whose_first_phase_is_blocked_is_sent_back_nowhere():
    _, gate = at_gate("blocked")
    story = Story().tell(0, opening().history[0].event, PhaseBlocked("understand"), GATES["blocked"])
    shown = view(story.history)
    assert begun_phases(shown) == []
    assert not [command for command in answer_commands("r1", shown, gate) if "return_to" in command]


def test_a_deadline_of_another_day_names_the_day():
    _, gate = at_gate("plan")
    tomorrow = replace(gate, timeout_at=gate.opened_at + 86_400_000)
    assert due(tomorrow, Screen(zone=UTC)) == "12-01 14:04"
    assert due(gate, Screen()) == ""
