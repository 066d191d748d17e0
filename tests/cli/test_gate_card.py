"""The card of a gate."""

from datetime import UTC

import pytest
from rich.cells import cell_len

from phaseloop.cli.frame_head import Picture
from phaseloop.cli.gate_card import card_lines, gate_screen
from phaseloop.cli.screen import Screen
from phaseloop.core.view_run import open_gates
from phaseloop.core.views import view
from tests.gate_world import GATES, at_gate
from tests.sales_story import RUN, waiting

PICTURE = """\
◆ Sales dashboard page for the Q3 review                                                    r_8f3c21
  tokens 38k/120k ━━┄┄┄┄  cost $0.32/$1.50 ━┄┄┄┄┄  time 2 m 17 s/20 m ━┄┄┄┄┄  replans 1/2

  ✓ Understand ─»─ ✓ Plan ─◇─ ◆ Design ─◆─ ○ Integrate ─◇─ ○ Deploy ─◇

  ╭─ ◆ Approve the page design ────────────────────────────────────────────────────────────────────╮
  │                                                                                                │
  │  Integrate will add a route and write 3 files to the shop repository.                          │
  │  generatedComponent  17.6 KB                                                                   │
  │                                                                                                │
  │  ? Who may open it › My team   Whole company   Anyone with the link                            │
  │    Note              optional                                                                  │
  │                                                                                                │
  │  a approve   c ask for changes   v view file   e edit answer in $EDITOR   s stop the run       │
  │                                                                                                │
  ╰───────────────────────────────────────────────────────────── no answer by 14:35: stop the run ─╯"""


def card(name, **screen):
    shown, gate = at_gate(name)
    return "\n".join(line.plain for line in card_lines(shown, gate, Screen(zone=UTC, **screen)))


def test_a_waiting_run_looks_as_in_the_picture():
    shown = view(waiting().history)
    lines = gate_screen(Picture(RUN, shown, shown.at), open_gates(shown)[0], Screen(width=100, zone=UTC))
    assert "\n".join(line.plain for line in lines) == PICTURE


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("width", [30, 60, 100, 200])
@pytest.mark.parametrize("name", GATES)
def test_no_card_is_wider_than_the_terminal_and_every_card_is_a_box(name, width, language):
    shown, gate = at_gate(name)
    lines = [line.plain for line in card_lines(shown, gate, Screen(width=width, language=language))]
    assert len({cell_len(line) for line in lines}) == 1
    assert cell_len(lines[0]) <= width


def test_a_card_shows_what_is_judged_with_its_score_and_issues():
    text = card("confirm")
    assert "confirmedIntent  17 B, score 8.5" in text
    assert "! the audience is guessed" in text
    assert "y yes, that is right   c no, let me explain" in text


def test_a_plan_is_shown_step_by_step_with_its_order():
    text = card("plan")
    assert "1  Read the tokens  files.read" in text
    assert "2  Draw the page  < 1" in text


def test_options_are_numbered_and_the_recommended_one_is_marked():
    assert " 2  The safe way  five steps  recommended" in card("select")
    assert "推荐" in card("select", language="zh")


def test_a_tool_question_shows_the_call_and_names_its_answers():
    text = card("tool")
    assert "Tool  mail.send" in text
    assert "to    a@b.c" in text
    assert "a run it   c do not run it" in text
    assert "mail.send is called once with these arguments." in text


def test_a_form_shows_what_is_needed_and_what_is_filled_in():
    text = card("form")
    assert "? E-mail   needed" in text
    assert "Copies   2" in text
    assert "Colour › red   green" in text


def test_a_call_in_doubt_a_finished_and_a_blocked_phase_say_what_is_the_matter():
    assert "It is unknown whether this call took effect." in card("doubt")
    assert "h it happened   r run it again   a give it up" in card("doubt")
    assert "Design is finished." in card("advance")
    assert "g go on   c ask for changes   b send back" in card("advance")
    assert "Integrate cannot start yet: generatedComponent is missing." in card("blocked")
    assert "集成 还不能开始：缺少 generatedComponent。" in card("blocked", language="zh")


def test_votes_are_counted_where_several_are_needed():
    assert "0 of 2 votes" in card("votes")


def test_an_ascii_card_is_ascii():
    assert card("plan", ascii_only=True).isascii()
