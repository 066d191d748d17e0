"""One line per turning point."""

import asyncio
import re
from datetime import UTC

import pytest
from hypothesis import given, settings

from phaseloop.cli.plain import PlainTeller, follow_plain, waiting_lines
from phaseloop.cli.pulse import at_gate, at_rest
from phaseloop.cli.screen import Screen
from phaseloop.core.call_events import BreakerOpened, HistoryDiverged, ToolCallDoubted
from phaseloop.core.gate_events import GateAnswered, GateExpired, GateResolved, GateTimedOut
from phaseloop.core.plan import Finding, Step
from phaseloop.core.plan_events import ActivityFailed, PlanRefused, PlanUpdated, SubprocessStarted
from phaseloop.core.run_events import (
    LimitReached,
    NoteAdded,
    PhaseBlocked,
    PhaseReopened,
    PhaseStarted,
    RunCancelled,
    RunCompleted,
    RunFailed,
    RunPaused,
    RunStarted,
    Who,
)
from tests.any_history import any_history
from tests.sales_story import RUN, START, Story, begun, opening, waiting

SCREEN = Screen(zone=UTC)
KAI = Who("Kai", "cli")
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")

PICTURE = """\
14:02:11 run r_8f3c21 started  "Sales dashboard page for the Q3 review"  budget 120k tok, $1.50, 20 m, 2 replans
14:02:12 phase understand
14:02:14 plan 1  2 steps
14:02:26 gate human_intent_confirm passed automatically  confidence >= 0.9
14:02:26 phase plan
14:02:27 plan 1  2 steps
14:02:50 gate ic_user_confirm waiting  mode=approve  until 14:32 then wait
14:04:04 gate ic_user_confirm approved by Kai  1 change
14:04:05 phase design  plan 1, 4 steps
14:04:38 step s3 failed check  3/10  "No region filter, though the goal names one" (+1)
14:04:39 replan 1/2  kept 2, removed 2, added 4
14:04:56 step s6 retry  5/10  "Filter does not keep its choice after reload"
14:05:42 gate human_design_approval waiting  mode=approve  until 14:35 then stop
         answer: phaseloop answer r_8f3c21 human_design_approval approve --set audience=team
                 phaseloop answer r_8f3c21 human_design_approval reject --comment "..."
exit 10 (waiting for a person)
"""


def told(story, screen=SCREEN):
    teller = PlainTeller(RUN, screen)
    lines = [line for recorded in story.history for line in teller.tell(recorded)]
    return [*lines, *teller.rest()], teller.view


def after(story, *events):
    """The lines that `events` add to `story`."""
    before = len(told(story)[0])
    return told(story.tell(500, *events))[0][before:]


def test_a_run_up_to_its_open_gate_reads_as_in_the_picture():
    lines, view = told(waiting())
    assert "\n".join([*lines, *waiting_lines(view, RUN, SCREEN)]) + "\n" == PICTURE


def test_the_same_run_in_chinese_keeps_the_run_s_own_words():
    lines, view = told(waiting(), Screen(zone=UTC, language="zh"))
    assert lines[0] == (
        "14:02:11 运行 r_8f3c21 已开始  “Sales dashboard page for the Q3 review”  "
        "上限 120k Token，$1.50，20 分，2 次重规划"
    )
    assert "14:04:39 重规划 1/2  保留 2，移除 2，新增 4" in lines
    assert "14:04:04 关卡 ic_user_confirm Kai 已批准  1 处修改" in lines
    assert waiting_lines(view, RUN, Screen(language="zh"))[-1] == "退出码 10（等待人工处理）"


def test_a_phase_without_a_plan_at_hand_is_told_when_the_next_event_comes():
    teller = PlainTeller(RUN, SCREEN)
    story = Story().tell(0, RunStarted("g"), PhaseStarted("p"), NoteAdded("hello", KAI))
    first, second, third = story.history
    assert teller.tell(first) == ['14:02:11 run r_8f3c21 started  "g"']
    assert teller.tell(second) == []
    assert teller.tell(third) == ["14:02:11 phase p", '14:02:11 note by Kai  "hello"']


@pytest.mark.parametrize(
    ("event", "line"),
    [
        (RunPaused(KAI, "lunch"), 'run paused by Kai  "lunch"'),
        (RunCancelled(KAI), "run cancelled by Kai"),
        (RunCompleted(), "run completed  7 m 6 s, 800 tok, $0.002"),
        (
            RunFailed("contract_unmet", "no page was made"),
            'run failed  contract_unmet  "no page was made"  7 m 6 s, 800 tok, $0.002',
        ),
        (LimitReached("tokens", 120_000, 121_000), "limit tokens reached  121k of 120k"),
        (LimitReached("task_replans", 2, 2), "limit task_replans reached  2 of 2"),
        (PhaseBlocked("integrate", "x", ("page",)), "phase integrate cannot start  missing page"),
        (PhaseReopened("plan", "forgot mobile"), 'phase plan begins again  "forgot mobile"'),
        (PlanRefused("design", 1, 1, (Finding("c", "one"), Finding("c", "two"))), 'plan 1 refused  "one" (+1)'),
        (ActivityFailed("s1", "timeout", "too slow", "s1", next="retry"), 'step s1 retry  timeout  "too slow"'),
        (ActivityFailed("s1", "timeout", "too slow", "s1"), 'step s1 failed  timeout  "too slow"'),
        (SubprocessStarted("s1", "s1", "r_2", "d"), "step s1 started sub-run r_2"),
        (ToolCallDoubted("c4", "cut off"), "call c4 in doubt  cut off"),
        (BreakerOpened("search", 5, START + 3_600_000), "tool search shut off until 15:02"),
        (HistoryDiverged("s1", 2, "question"), "step s1 asked something else than its record  question  n=2"),
        (GateTimedOut("g2", "ask_again"), "gate ic_user_confirm not answered in time  ask again"),
        (GateExpired("g2", "the run ended"), "gate ic_user_confirm is over  the run ended"),
        (
            GateResolved("g2", "x", "reject", user="Li", comment="too wide"),
            'gate ic_user_confirm sent back by Li  "too wide"',
        ),
        (GateResolved("g2", "x", "reject", "timeout"), "gate ic_user_confirm sent back  at the deadline"),
        (GateResolved("g2", "x", "odd", user="Li"), "gate ic_user_confirm answered odd by Li"),
        (
            PlanUpdated("plan", 2, "g", (Step("s1", "a"),), reason="human", kept=("s1",)),
            "plan 2 for plan  kept 1, removed 0, added 0",
        ),
    ],
)
def test_every_turning_point_has_its_line(event, line):
    lines = after(opening(), event)
    assert [text.removeprefix("14:10:31 ") for text in lines] == [line]


def test_a_single_vote_is_told_by_the_end_of_the_gate_only():
    assert after(opening(), GateAnswered("g2", 1, "approve", KAI)) == []


def test_a_failure_after_a_verdict_on_the_same_attempt_is_told_once():
    lines, _ = told(waiting())
    assert sum(" s3 " in line for line in lines) == 1


def test_control_and_reordering_characters_of_content_never_reach_the_line():
    story = Story().tell(0, RunStarted("g", "\x1b[2J\u202eevil\n\ttitle\x07"))
    assert told(story)[0] == ['14:02:11 run r_8f3c21 started  "[2Jevil title"']


def test_a_stream_that_cannot_write_chinese_gets_question_marks():
    lines, _ = told(Story().tell(0, RunStarted("写报告")), Screen(zone=UTC, encoding="ascii", ascii_only=True))
    assert lines == ['14:02:11 run r_8f3c21 started  "???"']


@settings(max_examples=60, deadline=None)
@given(any_history())
def test_any_history_makes_single_lines_without_control_characters(history):
    for language in ("en", "zh"):
        teller = PlainTeller("r1", Screen(zone=UTC, language=language))
        lines = [line for recorded in history for line in teller.tell(recorded)] + teller.rest()
        lines += waiting_lines(teller.view, "r1", teller.screen)
        assert not [line for line in lines if CONTROL.search(line)]


async def endless(history):
    for recorded in history:
        yield recorded
    await asyncio.Event().wait()


def test_following_ends_when_the_run_rests_and_tells_what_was_held_back():
    lines = []
    view = asyncio.run(follow_plain(endless(waiting().history), lines.append, PlainTeller(RUN, SCREEN), at_rest))
    assert lines == PICTURE.splitlines()[:13]
    assert at_gate(view)


def test_following_ends_with_the_events_and_with_the_run():
    async def finite(history):
        for recorded in history:
            yield recorded

    lines = []
    asyncio.run(follow_plain(finite(opening().history), lines.append, PlainTeller(RUN, SCREEN), lambda view: False))
    assert lines[-1] == "14:04:05 phase design"
    lines.clear()
    ended = opening().tell(300, RunCompleted(status="completed"))
    asyncio.run(follow_plain(endless(ended.history), lines.append, PlainTeller(RUN, SCREEN), at_rest))
    assert lines[-1].startswith("14:07:11 run completed")


def test_a_gate_of_a_running_sibling_does_not_end_the_following_at_rest():
    story = opening().tell(115, PlanUpdated("design", 1, "g", (Step("s1", "a"),), reason="given"), begun("s1"))
    assert not at_rest(told(story)[1])
