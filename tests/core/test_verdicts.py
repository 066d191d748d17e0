"""Scores, bands and caps (contract section 7)."""

import pytest

from phaseloop.core.answers import Verdict
from phaseloop.core.limits import Limits
from phaseloop.core.plan import Finding, Severity, Step
from phaseloop.core.plan_events import ActivityCompleted, ActivityFailed, ActivityStarted, ResultJudged
from phaseloop.core.process import Activity, ActivityType, Definition, Phase
from phaseloop.core.run_events import LimitReached
from phaseloop.core.statuses import RunStatus
from phaseloop.core.verdicts import rule_findings, rule_score
from tests.core.player import TOOLS, Failed, Player, World, plan, read, think, write

JUDGED = Definition(
    "judged",
    phases=(Phase("p1", auto_advance=True),),
    activities=(Activity("work", ActivityType.LLM, config={"judge": True}),),
)
HINTS = {"normal": None, "write": "book", "read": "look"}
BANDS = [  # class, score, what follows
    *[("normal", s, a) for s, a in ((3.9, "replan"), (4.0, "retry"), (6.9, "retry"), (7.0, "accept"))],
    *[("write", s, a) for s, a in ((4.9, "replan"), (5.0, "retry"), (7.9, "retry"), (8.0, "accept"))],
    *[("read", s, a) for s, a in ((2.9, "replan"), (3.0, "retry"), (5.9, "retry"), (6.0, "accept"))],
]


def judged(scores, hint=None, tools=TOOLS, limits=None, outputs=None, **world):
    """A run of one declared step whose verdicts are `scores`, one an attempt; the last one stays."""
    told = list(scores)

    def judge(effect):
        if effect.id.startswith("judge/plan"):
            return 10
        score = told.pop(0) if len(told) > 1 else told[0]
        return (
            score if isinstance(score, Verdict) else Verdict(score, issues=(f"issue {score} {len(told)}",), by="model")
        )

    def plans(request):
        if request.version > 1:
            return plan(*[Step(s.id, s.action, activity_id=s.activity_id) for s in request.pending] or [work(hint)])
        return plan(work(hint))

    player = Player(World(plan=plans, judge=judge, **world), JUDGED, tools, limits=limits)
    player.run()
    return player


def work(hint):
    return Step("a", "Work", activity_id="work", tool_hint=hint)


def first_action(player):
    return next(e.action for e in player.of(ResultJudged) if e.scope == "step" and e.action != "ask")


@pytest.mark.parametrize(("kind", "score", "action"), BANDS)
def test_the_band_of_a_step_by_its_strongest_effect(kind, score, action):
    player = judged([score, 10], HINTS[kind], tools=() if kind == "normal" else TOOLS)
    assert first_action(player) == action


def test_three_retries_then_a_replan_and_the_cap_is_said():
    player = judged([5, 5.1, 5.2, 5.3, 9], "book")
    starts = [e.attempt for e in player.of(ActivityStarted) if e.step_id == "s1"]
    assert starts == [1, 2, 3, 4]
    actions = [e.action for e in player.of(ResultJudged) if e.scope == "step" and e.action != "ask"]
    assert actions == ["retry", "retry", "retry", "replan", "accept"]
    assert [(e.kind, e.limit, e.value) for e in player.of(LimitReached)] == [("step_retries", 3, 3)]
    assert player.state.status is RunStatus.COMPLETED


def test_a_retry_tells_what_the_verdict_asked_for():
    player = judged([Verdict(5, issues=("too short",), by="model"), 10], "book")
    assert [e.hint for e in player.of(ActivityStarted)] == ["", "too short"]


def test_the_same_issue_without_a_better_score_is_not_tried_again():
    stuck = Verdict(5, issues=("same",), by="model")
    player = judged([stuck, stuck, 10], "book")
    actions = [e.action for e in player.of(ResultJudged) if e.scope == "step" and e.action != "ask"]
    assert actions == ["retry", "replan", "accept"]


def test_two_replans_and_then_the_run_fails_below_four():
    player = judged([1], "book")
    assert player.state.replans == 2
    assert player.state.status is RunStatus.FAILED
    assert player.of(LimitReached)[-1].kind == "task_replans"


def test_at_the_cap_four_is_enough_to_be_done_with_a_warning():
    player = judged([4.0], "book")
    assert player.state.status is RunStatus.COMPLETED
    assert player.state.warnings
    assert player.of(ResultJudged)[-2].action == "note"


def test_at_the_cap_the_best_output_counts_not_the_last_one():
    outputs = iter(["good", "bad", "bad", "bad", "bad", "bad"])
    limits = Limits(replans=0, step_retries=1)
    player = judged([6, 1], "book", limits=limits, step=lambda e: next(outputs))
    assert player.of(ActivityCompleted)[0].output == "good"
    assert player.state.status is RunStatus.COMPLETED


def test_a_finished_write_is_never_tried_again_but_accepted_with_issues_or_replanned_after():
    def step(effect):
        yield ("call", "book", {"room": "1"})
        return "booked"

    player = judged([2, 10], "book", step=step, limits=Limits(replans=1))
    assert [e.action for e in player.of(ResultJudged) if e.scope == "step"][:2] == ["ask", "replan"]
    assert player.of(ActivityCompleted)[0].step_id == "s1"
    assert len(player.world.sent) == 1


def test_a_step_that_broke_is_never_accepted_whatever_a_critic_says():
    limits = Limits(deep_reflection=True)
    player = Player(
        World(
            plan=lambda r: plan(read("a"), think("z", "a")),
            tool=lambda *a: Failed("down"),
            judge=lambda e: Verdict(10, by="model"),
        ),
        limits=limits,
    )
    state = player.run()
    assert state.status is RunStatus.FAILED
    assert {e.step_id for e in player.of(ActivityCompleted)} <= {""}
    assert player.of(ActivityFailed)


def test_a_step_without_a_result_is_not_done_at_the_cap():
    limits = Limits(deep_reflection=True, replans=1, step_retries=0)
    player = Player(World(step=lambda e: Exception("no"), judge=lambda e: Verdict(6, by="model")), limits=limits)
    state = player.run()
    assert state.status is RunStatus.FAILED
    assert not player.of(ActivityCompleted)


@pytest.mark.parametrize(
    ("code", "score"), [("error", 0), ("empty", 2), ("check", 3), ("schema", 4), ("length", 5), ("soft", 5)]
)
def test_each_kind_of_finding_has_its_score_and_the_lowest_counts(code, score):
    assert rule_score([Finding(code, "x")]) == score
    assert rule_score([Finding("length", "x"), Finding(code, "x")]) == min(5, score)
    assert rule_score([]) == 10


def test_an_output_that_is_empty_or_short_is_found():
    state = Player(limits=Limits(min_result_chars=5)).state
    for nothing in (None, "", "  ", [], {}):
        assert [f.code for f in rule_findings(state, nothing, ())] == ["empty"]
    assert rule_findings(state, "four", ()) == (
        Finding("length", "the result has 4 characters, fewer than 5", severity=Severity.NOTE),
    )
    assert rule_findings(state, "fives", ()) == rule_findings(state, 0, ()) == rule_findings(state, False, ()) == ()


def test_a_bound_write_that_a_check_finds_weak_is_accepted_with_the_issue():
    def checks(checks, output):
        return (Finding("soft", "weak"),)

    step = write("a", room="1")
    schema = Step("a", "Book", call=step.call, output_schema={"type": "object"})
    player = Player(World(plan=lambda r: plan(schema), checks=checks))
    state = player.run()
    assert state.status is RunStatus.COMPLETED
    assert state.warnings == ("s1: weak",)
    assert len(player.world.sent) == 1


def test_a_bound_step_that_broke_after_a_weak_result_has_nothing_to_go_on_with():
    tries = []

    def tool(name, args, key):
        tries.append(key)
        return {"n": 1} if len(tries) == 1 else Failed("down")

    step = Step("a", "Look", call=read("a").call, output_schema={"type": "object"})
    world = World(plan=lambda r: plan(step), tool=tool, checks=lambda c, o: (Finding("soft", "weak"),))
    player = Player(world, limits=Limits(replans=0))
    assert player.run().status is RunStatus.FAILED
    assert [e.action for e in player.of(ResultJudged)] == ["retry", "abort"]
