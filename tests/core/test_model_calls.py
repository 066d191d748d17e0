"""Model calls: served from the record or live (contract section 4)."""

import pytest

from phaseloop.core.answers import ModelReplied, StepReturned
from phaseloop.core.asks import Go, ModelCallWanted, Serve, Wait
from phaseloop.core.call_events import HistoryDiverged, ModelCallFinished, ModelCallStarted, Usage
from phaseloop.core.decide import rule
from phaseloop.core.errors import IllegalMove
from phaseloop.core.machine import evolve
from phaseloop.core.words import Pause
from tests.core.player import ANN, Player, World, plan, think

SCOPE = "step/s1/1"


def waits(*, planned=True):
    player = Player(World(plan=lambda r: plan(think("a"))))
    player.drive()
    if planned:
        player.reconcile()
        player.turn(player.ready())
    return player


def ask(player, n=1, scope=SCOPE, fingerprint="f", prompt=None):
    wanted = ModelCallWanted(scope, n, "executor", "m", fingerprint, "s1", 1, prompt)
    player.post(wanted)
    return rule(player.state, wanted)


def test_a_request_beyond_the_record_is_live_and_recorded_with_its_first_prompt_only():
    player = waits()
    assert ask(player, prompt={"p": 1}) == Go(f"{SCOPE}/m1", "c1")
    player.post(ModelReplied(SCOPE, 1, {"r": 1}, usage=Usage(3, 4), cost_usd=0.5))
    assert ask(player, 2, prompt={"p": 2}) == Go(f"{SCOPE}/m2", "c2")
    assert [e.prompt for e in player.of(ModelCallStarted)] == [{"p": 1}, None]
    stats = player.state.stats
    assert (stats.model_calls, stats.tokens_in, stats.tokens_out, stats.cost_usd) == (1, 3, 4, 0.5)
    assert player.state.phase.stats == stats


def test_a_recorded_reply_is_served_after_a_crash_and_another_question_is_one_fact():
    player = waits()
    ask(player)
    player.post(ModelReplied(SCOPE, 1, {"r": 1}))
    player.drive()
    assert ask(player) == Serve("ok", {"r": 1})
    assert not player.of(HistoryDiverged)
    assert ask(player, fingerprint="other") == Serve("ok", {"r": 1})
    assert ask(player, fingerprint="third") == Serve("ok", {"r": 1})
    assert [(e.what, e.recorded, e.asked) for e in player.of(HistoryDiverged)] == [("other question", "f", "other")]


def test_a_request_that_a_crash_cut_short_is_sent_again_under_its_key():
    player = waits()
    first = ask(player)
    player.drive()
    again = ask(player)
    assert (first.key, again.key) == (f"{SCOPE}/m1",) * 2
    assert again.call_id == "c2"


def test_a_failed_request_is_recorded_and_served_as_failed():
    player = waits()
    ask(player)
    player.post(ModelReplied(SCOPE, 1, None, ok=False, error="rate limit"))
    assert ask(player) == Serve("failed", "rate limit")


def test_who_is_over_hears_so_and_its_late_reply_is_nobodys():
    player = waits()
    ask(player)
    player.post(StepReturned("s1", 1, "done"))
    assert player.post(ModelReplied(SCOPE, 1, {})) == ()
    assert rule(player.state, ModelCallWanted(SCOPE, 1, "executor", "m")) == Serve("failed", "the step is over")
    for scope in ("step/s9/1", "judge/s1/1/step", "judge/plan/p9/1", "plan/p9/1/1"):
        assert ask(waits(), scope=scope) == Serve("failed", "the step is over")


@pytest.mark.parametrize("n", [1, 3])
def test_a_reply_that_was_not_asked_for_gives_no_fact(n):
    assert waits().post(ModelReplied(SCOPE, n, {})) == ()


def test_planner_and_critic_have_scopes_of_their_own():
    player = waits(planned=False)
    assert isinstance(ask(player, scope="plan/phase_default/1/1"), Go)
    player = waits()
    player.post(StepReturned("s1", 1, "done"))
    assert isinstance(ask(player, scope="judge/plan/phase_default/1"), Go)


def test_while_paused_a_live_request_waits_and_one_in_flight_is_recorded():
    player = waits()
    ask(player)
    player.word(Pause(ANN))
    player.post(ModelReplied(SCOPE, 1, {"r": 1}))
    assert len(player.of(ModelCallFinished)) == 1
    assert ask(player, 2) == Wait()


def test_replies_have_no_gaps():
    state = waits().state
    with pytest.raises(IllegalMove):
        evolve(state, ModelCallStarted("c1", "executor", "m", SCOPE, 2, "k"), 1)
    with pytest.raises(IllegalMove):
        evolve(state, ModelCallFinished("c1", SCOPE, 2), 1)
