"""The live view: pictures for every size, their pace, and following a run with them."""

import asyncio
import io
import re
from dataclasses import replace
from datetime import UTC

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from phaseloop.cli.frame import flowed, frame
from phaseloop.cli.frame_head import Picture
from phaseloop.cli.live import FRAME_SECONDS, LiveView, Pacer, live_on
from phaseloop.cli.pulse import at_gate, at_rest
from phaseloop.cli.screen import Kind, Screen, console_for
from phaseloop.core.plan import Step
from phaseloop.core.plan_events import PlanUpdated
from phaseloop.core.run_events import PhaseStarted, RunCompleted, RunStarted
from phaseloop.core.views import view
from tests.any_history import any_history
from tests.sales_story import RUN, START, Story, begun, done, live, opening, waiting

NOW = START + 166_000
TAILS = {"s5": '<path class="area" d="M0 198'}
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e]")

PICTURE = """\
● Sales dashboard page for the Q3 review                                                    r_8f3c21
  tokens 18k/120k ━┄┄┄┄┄  cost $0.15/$1.50 ━┄┄┄┄┄  time 1 m 32 s/20 m ┄┄┄┄┄┄  replans 1/2

  ✓ Understand ─»─ ✓ Plan ─◇─ ● Design ─◇─ ○ Integrate ─◇─ ○ Deploy ─◇

  ✓ Understand  2 steps  14 s  » passed automatically, confidence >= 0.9
  ✓ Plan        2 steps  24 s  ◇ Kai approved with 1 change, 1 m 14 s waiting
  ● Design  plan 2, 6 steps
  ✓        Read the design tokens                         files.read          10   2 s   300  $0.001
  │ ✓      Describe the sales tables                      warehouse.describe  10   6 s   640  $0.002
  │ │╌✗    Generate the whole page in one pass            model                3  24 s  9.8k  $0.091
  │ │      ⇄ Replan 1/2  score 3 < 4   =2  -2  +4
  │ ├─┬─╮
  │ ● │ │  Trend chart                                    model                   11 s
  │ │ ↻ │  Region filter  attempt 2                       model                5  18 s  4.3k  $0.038
  │ │ │ ✓  Totals that match the ledger                   warehouse.query      9   6 s  1.9k  $0.012
  ├─┴─┴─╯
  ○        Compose and check the page                     compose-page

  s5  <path class="area" d="M0 198

  p pause   d detach, the run goes on   w open in browser   q stop"""

NARROW_CHINESE = """\
● Sales dashboard page for the Q3 review            r_8f3c21
  Token 18k/120k  费用 $0.15/$1.50  用时 1 分 32 秒/20 分
  重规划 1/2

  ✓ 理解 ─»─ ✓ 规划 ─◇─ ● 设计 ─◇─ ○ 集成 ─◇─ ○ 部署 ─◇

  ✓ 理解  2 个步骤  14 秒  » 自动通过，confidence >= 0.9
  ✓ 规划  2 个步骤  24 秒  ◇ Kai 已批准（含 1 处修改），等…
  ● 设计  计划 2，6 个步骤
  ✓        Read the design tokens                  10   2 秒
  │ ✓      Describe the sales tables               10   6 秒
  │ │╌✗    Generate the whole page in one pass      3  24 秒
  │ │      ⇄ 第 1/2 次重规划  得分 3 < 4   =2  -2  +4
  │ ├─┬─╮
  │ ● │ │  Trend chart                                 11 秒
  │ │ ↻ │  Region filter  第 2 次                   5  18 秒
  │ │ │ ✓  Totals that match the ledger             9   6 秒
  ├─┴─┴─╯
  ○        Compose and check the page"""


def drawn(story, screen, *, tails=None, keys=False, now=NOW):
    return [line.plain for line in frame(Picture(RUN, view(story.history), now, tails or {}, keys), screen)]


def test_a_hundred_columns_look_as_in_the_picture():
    assert "\n".join(drawn(live(), Screen(width=100, height=40), tails=TAILS, keys=True)) == PICTURE


def test_sixty_columns_in_chinese_give_up_columns_and_not_the_rail():
    assert "\n".join(drawn(live(), Screen(width=60, height=40, language="zh"))) == NARROW_CHINESE


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("width", [60, 100, 200])
def test_no_line_is_wider_than_the_terminal(width, language):
    lines = drawn(live(), Screen(width=width, height=60, language=language), tails={"s5": "宽" * 300}, keys=True)
    assert max(cell_len(line) for line in lines) <= width
    assert any("Trend chart" in line for line in lines)


@pytest.mark.parametrize("height", range(3, 30))
def test_the_height_less_two_rows_is_kept_and_the_running_step_stays_in_sight(height):
    lines = drawn(live(), Screen(width=100, height=height), tails=TAILS, keys=True)
    assert len(lines) <= height - 2
    if height >= 12:
        assert any("Trend chart" in line for line in lines)


def test_finished_phases_fold_first_then_finished_steps():
    twenty_three = drawn(live(), Screen(width=100, height=23), tails=TAILS, keys=True)
    assert any("2 finished phases" in line for line in twenty_three)
    assert any("Read the design tokens" in line for line in twenty_three)
    twenty = drawn(live(), Screen(width=100, height=20), tails=TAILS, keys=True)
    assert "  … 4 more" in twenty
    assert not any("Read the design tokens" in line for line in twenty)


def test_rows_that_do_not_fit_are_counted():
    steps = tuple(Step(f"s{n}", f"Work {n}") for n in range(1, 9))
    story = Story().tell(0, RunStarted("g"), PhaseStarted("p"), PlanUpdated("p", 1, "g", steps))
    lines = drawn(story, Screen(width=60, height=9))
    assert len(lines) == 7
    assert lines[-1] == "  … 5 more"


def test_the_ascii_picture_is_ascii_and_keeps_its_columns():
    plain = drawn(live(), Screen(width=100, height=40, ascii_only=True), keys=True)
    assert all(line.isascii() for line in plain)
    signs = drawn(live(), Screen(width=100, height=40), keys=True)
    assert [len(line) for line in plain] == [len(line) for line in signs]
    assert "  | +-+-+" in plain


def test_a_stream_without_chinese_gets_question_marks_and_no_error():
    lines = drawn(Story().tell(0, RunStarted("写报告")), Screen(encoding="ascii", ascii_only=True))
    assert lines[0].startswith("> ???")


def test_a_run_of_one_phase_has_no_track():
    story = Story().tell(0, RunStarted("g"), PhaseStarted("p"))
    assert not any("─" in line for line in drawn(story, Screen()))


def test_a_track_that_is_too_long_is_centred_on_the_current_phase():
    line = next(line for line in drawn(live(), Screen(width=60, height=40)) if "Design ─" in line)
    assert line.startswith("  … ")
    assert "● Design" in line


def test_a_meter_near_its_limit_warns_and_one_over_it_alarms():
    def styles(tokens):
        shown = view(live().history)
        shown = replace(shown, meters=replace(shown.meters, tokens=tokens))
        line = frame(Picture(RUN, shown, NOW), Screen(width=100, height=40))[1]
        return {str(span.style) for span in line.spans}

    assert not styles(90_000) & {"bold yellow", "bold red"}
    assert "bold yellow" in styles(97_000)
    assert "bold red" in styles(121_000)


def test_an_open_gate_is_named_under_its_phase():
    assert "  ◆ Approve the page design" in drawn(waiting(), Screen(width=100, height=40))


def test_a_placeholder_holds_the_place_of_the_first_activity():
    lines = drawn(opening(), Screen(width=100, height=40), now=START + 114_000)
    assert lines[-2:] == ["  ● Design  planning", "  ○  s1"]


def test_keys_flow_into_as_few_lines_as_they_need():
    assert flowed(["p pause", "q stop"], 80) == ["p pause   q stop"]
    assert flowed(["p pause", "q stop"], 10) == ["p pause", "q stop"]


@settings(max_examples=60, deadline=None)
@given(any_history(), st.integers(20, 120), st.integers(3, 40), st.sampled_from(["en", "zh"]))
def test_any_history_fits_any_terminal_and_holds_no_control_characters(history, width, height, language):
    screen = Screen(width=width, height=height, language=language)
    picture = Picture("r1", view(history), history[-1].at, {"s1": "\x1b[0m\ttail"}, keys=True)
    lines = [line.plain for line in frame(picture, screen)]
    assert len(lines) <= max(1, height - 2)
    assert max(cell_len(line) for line in lines) <= width
    assert not [line for line in lines if CONTROL.search(line)]


class FakeTime:
    def __init__(self):
        self.seconds = 0.0

    def __call__(self):
        return self.seconds


def pacer(**more):
    drawings = []
    steady = FakeTime()
    made = Pacer(RUN, lambda: Screen(width=100, height=40), drawings.append, lambda: NOW, steady, **more)
    return made, drawings, steady


def test_a_picture_is_drawn_at_most_eight_times_a_second():
    paced, drawings, steady = pacer()
    for n in range(1, 58):
        paced.show(view(live().history[:n]))
        steady.seconds += FRAME_SECONDS / 10
    assert 2 <= len(drawings) <= 6
    assert len(drawings) == paced.frames


def test_a_picture_that_did_not_change_is_not_drawn_again():
    paced, drawings, steady = pacer()
    shown = view(live().history)
    for _ in range(10):
        paced.show(shown)
        steady.seconds += 1
    assert len(drawings) == 1
    paced.tails["s5"] = "news"
    assert paced.show(shown)


async def endless(history):
    for recorded in history:
        yield recorded
    await asyncio.Event().wait()


def test_following_ends_at_a_gate_and_shows_its_last_picture_without_keys():
    paced, drawings, _ = pacer(keys=True)
    shown = asyncio.run(LiveView(paced).follow(endless(waiting().history), at_gate))
    assert shown.focus_id == "g3"
    assert not any("p pause" in line.plain for line in drawings[-1])


def test_following_goes_on_from_an_earlier_view():
    history = waiting().history
    paced, _, _ = pacer()
    shown = asyncio.run(LiveView(paced).follow(endless(history[40:]), at_gate, view(history[:40])))
    assert shown == view(history)


def test_an_ended_run_ends_the_following_at_once():
    paced, _, _ = pacer()
    shown = asyncio.run(LiveView(paced).follow(endless(live().tell(200, RunCompleted()).history), at_rest))
    assert shown.over


def test_a_key_that_leaves_ends_the_following_and_others_do_not():
    keys = iter(["p", "", "d"])
    pressed = []

    async def on_key(key):
        pressed.append(key)
        return key == "d"

    paced, _, _ = pacer(keys=True)
    follower = LiveView(paced, pressed=lambda: next(keys, ""), on_key=on_key)
    shown = asyncio.run(follower.follow(endless(live().history), at_rest))
    assert pressed == ["p", "d"]
    assert shown.seq == 3


def test_on_a_terminal_the_last_picture_stays_in_the_scrollback():
    stream = io.StringIO()
    screen = Screen(Kind.LIVE, width=100, height=60)
    console = console_for(screen, stream)
    console.size = (100, 60)
    story = live().tell(170, done("s5"), begun("s8"), RunCompleted())
    with live_on(console, screen, RUN, lambda: NOW) as shown:
        asyncio.run(shown.follow(endless(story.history), at_rest))
    written = stream.getvalue()
    assert "Sales dashboard page" in written
    assert "\x1b[?1049h" not in written  # never the alternate screen: the scrollback stays
    assert written.rstrip("\n").splitlines()[-1].strip()


def test_the_zone_moves_times_of_day_only():
    assert drawn(live(), Screen(zone=UTC)) == drawn(live(), Screen())
