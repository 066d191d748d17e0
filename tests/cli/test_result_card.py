"""The end card and the exit code."""

from datetime import UTC

import pytest
from rich.cells import cell_len

from phaseloop.cli.result_card import exit_code, result_card, result_text
from phaseloop.cli.screen import Screen
from phaseloop.core.gate_events import GateResolved
from phaseloop.core.run_events import RunCancelled, RunCompleted, RunFailed, RunPaused, Who
from phaseloop.core.views import view
from tests.sales_story import RUN, Story, live, waiting

KAI = Who("Kai", "cli")
DONE = RunCompleted(result={"url": "http://x/y", "rows": [1, {"a": "b\nc"}]}, warnings=("a check was soft",))

FINISHED = """\
─── ✓ Done  Sales dashboard page for the Q3 review  2 m 17 s, 38k tok, $0.32

  Result
  url: http://x/y
  rows:
  - 1
  - a: |-
      b
      c

  Warnings
  ! a check was soft

  Artefacts
  confirmedIntent  v1
  approvedPlan     v1  by Kai

  Next
  phaseloop show r_8f3c21  everything it made"""

FAILED = """\
─── ✗ 失败  Sales dashboard page for the Q3 review  1 分 46 秒，18k Token，$0.15

  停止于  Region filter
  No plan is left to try.
  ! Filter does not keep its choice after reload
  已完成的 7 个步骤会保留。

  产出物
  confirmedIntent  v1
  approvedPlan     v1  由 Kai

  接下来
  phaseloop replan r_8f3c21 --comment "..."  附说明重规划
  phaseloop retry r_8f3c21                   重试失败的步骤
  phaseloop show r_8f3c21 --events           查看经过"""


def card(story: Story, **screen) -> str:
    lines = result_card(view(story.history), RUN, Screen(zone=UTC, **screen))
    return "\n".join(line.plain for line in lines)


def finished() -> Story:
    answered = GateResolved("g3", "human_design_approval", "approve", user="Kai")
    return waiting().tell(211, answered, DONE)


def failed(code="replans_exhausted") -> Story:
    return live().tell(180, RunFailed(code, "no plan left", "No plan is left to try.", activity_id="s6"))


def test_a_finished_run_shows_result_warnings_artefacts_and_the_next_command():
    assert card(finished()) == FINISHED


def test_a_failed_run_says_where_and_why_it_stopped_what_is_kept_and_what_can_be_done():
    assert card(failed(), language="zh") == FAILED


def test_a_spent_budget_says_how_much_of_it_was_used():
    story = Story().tell(0, live().history[0].event)
    over = RunFailed("budget_exceeded", "tokens", "The token budget is used up.")
    shown = view(live().tell(180, over).history)
    assert "The token budget is used up." in card(live().tell(180, over))
    assert "phaseloop replan" not in card(live().tell(180, over))
    assert exit_code(shown) == 4
    assert exit_code(view(story.history)) == 10


def test_the_best_result_of_a_failed_run_is_shown_as_such():
    story = live().tell(180, RunFailed("contract_unmet", "no page", best_result="half a page"))
    assert "Best result so far\n  half a page" in card(story)


def test_a_cancelled_run_names_who_stopped_it_and_what_is_in_doubt():
    text = card(live().tell(180, RunCancelled(KAI, "wrong goal", ("c7",))))
    assert "by Kai" in text
    assert "wrong goal" in text
    assert "Unknown whether these calls took effect: c7" in text


def test_a_long_result_is_cut_and_says_how_to_see_the_rest():
    text = card(Story().tell(0, live().history[0].event, RunCompleted(result="\n".join("abcdefghijklmnopqrstuvwxyz"))))
    assert "… 6 more lines: phaseloop show r_8f3c21" in text
    assert "\n  t\n" in text
    assert "\n  u\n" not in text


def test_a_run_that_waits_shows_the_commands_and_one_that_is_paused_how_to_resume():
    text = card(waiting())
    assert "phaseloop answer r_8f3c21 human_design_approval approve --set audience=team" in text
    assert "phaseloop resume r_8f3c21" in card(live().tell(170, RunPaused(KAI)))


@pytest.mark.parametrize("width", [20, 60, 200])
@pytest.mark.parametrize("story", [finished, failed, waiting])
def test_no_line_is_wider_than_the_terminal(story, width):
    for language in ("en", "zh"):
        lines = card(story(), width=width, language=language).splitlines()
        assert max(cell_len(line) for line in lines) <= width


def test_control_characters_of_a_result_stay_out():
    text = card(Story().tell(0, live().history[0].event, RunCompleted(result="\x1b[31mred\x1b[0m\ttab\u202e")))
    assert "\x1b" not in text
    assert "\u202e" not in text


@pytest.mark.parametrize(
    ("story", "code"),
    [(finished, 0), (failed, 1), (waiting, 10), (lambda: live().tell(180, RunCancelled(KAI)), 3)],
)
def test_the_exit_code_says_how_it_ended(story, code):
    assert exit_code(view(story().history)) == code


def test_a_text_stays_as_it_is_and_other_results_read_as_yaml():
    assert result_text("as: is") == "as: is"
    assert result_text({"a": [1]}) == "a:\n- 1\n"
    assert result_text(7) == "7\n"
