"""The ledger: keys, reuse, waiting, serving, divergence, fallback, back-off, doubt (contract section 8)."""

from dataclasses import replace

import pytest

from phaseloop.core.answers import BreakerMoved, ModelReplied, StepRaised, ToolReturned, ToolUnsure
from phaseloop.core.asks import Go, Lock, ModelCallWanted, Rest, Serve, ToolCallWanted, Wait
from phaseloop.core.call_events import HistoryDiverged, ToolCallFinished, ToolCallReused, ToolCallStarted
from phaseloop.core.decide import rule
from phaseloop.core.errors import AnswerRefused
from phaseloop.core.gate_events import GateOpened
from phaseloop.core.ledger import NOT_RUN, stem
from phaseloop.core.limits import Limits
from phaseloop.core.plan import Call, Step
from phaseloop.core.statuses import CallStatus, RunStatus
from phaseloop.core.tools import EffectClass, Risk, ToolSpec
from phaseloop.core.values import digest
from phaseloop.core.words import Pause
from tests.core.player import ANN, TOOLS, Failed, Player, World, plan, read, think, write

ROOM = {"room": "1"}
LOG = ToolSpec("log", repeatable=True)
POLL = ToolSpec("poll", effect=EffectClass.READ, poll=True)
SPARE = ToolSpec("spare", effect=EffectClass.READ)
LAME = ToolSpec("lame", effect=EffectClass.READ, fallback="spare")
ALL = (*TOOLS, LOG, POLL, SPARE, LAME)


def open_step(script, *, hint="book", tools=ALL, steps=(), **world):
    """A run whose first step is open and runs the generator function `script`."""
    made = plan(think("a", tool_hint=hint), *steps)
    player = Player(World(plan=lambda r: made, step=lambda e: script(), **world), tools=tools)
    player.run()
    return player


def waits(step=None, tools=ALL):
    """A run with one open step under way, its performer left out: the test asks itself."""
    player = Player(World(plan=lambda r: plan(step or think("a", tool_hint="book"))), tools=tools)
    player.drive()
    player.reconcile()
    player.turn(player.ready())
    return player


def ask(player, tool, args, *, n=0, i=0, step="s1", attempt=1, **more):
    wanted = ToolCallWanted(step, attempt, n, i, tool, args, **more)
    player.post(wanted)
    return rule(player.state, wanted)


def test_the_key_of_a_write_names_tool_and_raw_arguments_and_not_step_or_attempt():
    player = waits()
    ruling = ask(player, "book", ROOM, locked="room:1")
    assert ruling == Go(f"book:{digest('book', ROOM)}:0", "c1", "book", ROOM)


def test_the_key_of_a_read_adds_step_and_attempt_and_counts_equal_ones():
    player = waits()
    first, second = (ask(player, "look", ROOM, i=i) for i in (0, 1))
    assert [r.key for r in (first, second)] == [f"{stem('look', ROOM)}:{r}:s1:1" for r in (0, 1)]


def test_a_repeatable_write_counts_the_recorded_replies_never_the_arrival():
    player = waits(think("a", tool_hint="log"))
    player.post(ModelCallWanted("step/s1/1", 1, "executor", "m", step_id="s1"))
    player.post(ModelReplied("step/s1/1", 1, {}, (digest("log", ROOM), digest("log", ROOM))))
    second = ask(player, "log", ROOM, n=1, i=1, locked="log")
    assert second.key == f"{stem('log', ROOM)}:1"
    first = ask(player, "log", ROOM, n=1, i=0, locked="log")
    assert not isinstance(first, Go), "the key is taken"
    player.post(ToolReturned("c2", "ok", 1))
    assert ask(player, "log", ROOM, n=1, i=0, locked="log").key == f"{stem('log', ROOM)}:0"


def test_a_repeatable_write_counts_those_of_other_steps():
    def script():
        yield ("call", "log", ROOM)
        return "done"

    steps = (think("b", "a", tool_hint="log"),)
    player = open_step(script, hint="log", steps=steps)
    assert [key.rsplit(":", 1)[1] for _, key, _ in player.world.sent] == ["0", "1"]


def test_a_write_asks_for_its_lock_first_and_is_started_last():
    player = waits()
    assert ask(player, "book", ROOM) == Lock("room:1")
    assert not player.of(ToolCallStarted)
    assert isinstance(ask(player, "book", ROOM, locked="room:1"), Go)


def test_a_write_of_the_same_conflict_key_waits_for_the_one_under_way():
    player = waits()
    ask(player, "book", ROOM, locked="room:1")
    other = {"room": "1", "guest": "bob"}
    assert ask(player, "book", other, i=1) == Wait()
    assert not isinstance(ask(player, "book", other, i=1, locked="room:1"), Go)
    assert ask(player, "book", {"room": "2"}, i=2) == Lock("room:2")
    player.post(ToolReturned("c1", "ok", 1))
    assert ask(player, "book", other, i=1) == Lock("room:1")


def test_reads_need_no_lock_unless_their_tool_says_so():
    alone = ToolSpec("alone", effect=EffectClass.READ, exclusive_reads=True)
    player = waits(tools=(*ALL, alone))
    assert isinstance(ask(player, "look", ROOM), Go)
    assert ask(player, "alone", ROOM, i=1) == Lock("alone")


def test_an_equal_write_under_way_makes_the_second_wait_and_then_answers_it():
    player = waits()
    ask(player, "book", ROOM, locked="room:1")
    assert ask(player, "book", ROOM, i=1) == Wait()
    player.post(ToolReturned("c1", "ok", "booked"))
    assert ask(player, "book", ROOM, i=1) == Serve("ok", "booked")
    assert player.of(ToolCallReused)[0].of == "c1"


def test_an_equal_finished_write_of_another_step_is_answered_from_the_ledger():
    def script():
        outcome, value = yield ("call", "book", ROOM)
        return value

    player = open_step(script, steps=(write("b", "a", **ROOM), think("c", "b", tool_hint="book")))
    assert len(player.world.sent) == 1
    assert [e.step_id for e in player.of(ToolCallReused)] == ["s2", "s3"]
    assert player.state.steps["s2"].output == player.state.steps["s1"].output == {"of": "book"}
    assert all(player.state.steps[s].wrote for s in ("s1", "s2", "s3"))


def test_an_equal_read_runs_three_times_in_one_attempt_and_polling_as_often_as_asked():
    def script(tool):
        for _ in range(6):
            yield ("call", tool, ROOM)
        return "done"

    assert len(open_step(lambda: script("look"), hint="look").world.sent) == 3
    assert len(open_step(lambda: script("poll"), hint="poll").world.sent) == 6


def test_a_refused_call_stays_refused_for_whoever_asks_again():
    def script():
        one = yield ("call", "put2", ROOM)
        two = yield ("call", "put2", ROOM)
        return [one, two]

    asked = ToolSpec("put2", approval=True)
    player = open_step(script, hint="put2", tools=(*ALL, asked))
    player.answer("reject", comment="no")
    state = player.run()
    assert player.world.sent == []
    assert state.steps["s1"].output == [("failed", "refused by ann: no")] * 2
    assert state.ledger[f"{stem('put2', ROOM)}:0"].outcome == "failed"


def test_an_approved_call_whose_edited_arguments_are_done_already_is_not_sent():
    def script():
        yield ("call", "book", ROOM)
        two = yield ("call", "put2", {"room": "9"})
        three = yield ("call", "put2", ROOM)
        return [two, three]

    asked = ToolSpec("put2", approval=True)
    player = open_step(script, tools=(*ALL, asked))
    player.answer("approve", {"room": "1"})
    player.run()
    assert [tool for tool, _, _ in player.world.sent] == ["book", "put2"]
    state = player.run() if not player.state.over else player.state
    assert state.status is RunStatus.COMPLETED
    assert len([1 for tool, _, _ in player.world.sent if tool == "put2"]) == 1
    assert state.steps["s1"].output[0] == state.steps["s1"].output[1]


def test_a_reply_before_the_last_is_served_and_what_it_did_not_run_is_never_run():
    player = waits()
    calls = (digest("look", {"q": 1}), digest("look", {"q": 2}))
    for n in (1, 2):
        player.post(ModelCallWanted("step/s1/1", n, "executor", "m", step_id="s1"))
        player.post(ModelReplied("step/s1/1", n, {"n": n}, calls if n == 1 else ()))
        if n == 1:
            ask(player, "look", {"q": 1}, n=1, i=0)
            player.post(ToolReturned("c2", "ok", "one"))
    assert ask(player, "look", {"q": 1}, n=1, i=0) == Serve("ok", "one")
    assert ask(player, "look", {"q": 2}, n=1, i=1) == Serve("failed", NOT_RUN)
    assert [e.what for e in player.of(HistoryDiverged)] == ["call is not in the record"]
    assert ask(player, "look", {"q": 3}, n=1, i=2) == Serve("failed", NOT_RUN)
    assert len(player.of(HistoryDiverged)) == 1, "one fact an attempt"


def test_another_call_at_a_known_place_diverges_and_is_not_run():
    player = waits()
    ask(player, "look", {"q": 1})
    player.post(ToolReturned("c1", "ok", "one"))
    assert ask(player, "look", {"q": 2}) == Serve("failed", NOT_RUN)
    assert [e.what for e in player.of(HistoryDiverged)] == ["other call at this place"]
    assert ask(player, "look", {"q": 1}) == Serve("ok", "one")


def test_who_asks_for_a_step_or_a_tool_that_is_not_there_hears_so():
    player = waits()
    assert ask(player, "look", ROOM, attempt=2) == Serve("failed", "the step is over")
    assert ask(player, "look", ROOM, step="s9") == Serve("failed", "the step is over")
    assert ask(player, "fly", ROOM) == Serve("failed", "there is no tool 'fly'")


def test_back_off_is_slept_outside_the_call_four_attempts_with_waits_of_1_2_and_4_seconds():
    player = waits()
    rests = []
    for tries in range(1, 5):
        ruling = ask(player, "look", ROOM, rested=tries - 1)
        assert isinstance(ruling, Go)
        player.post(ToolReturned(ruling.call_id, "failed", error="net", transient=True))
        after = ask(player, "look", ROOM, rested=tries - 1)
        rests.append(after)
    assert rests == [Rest(1.0, 1), Rest(2.0, 2), Rest(4.0, 3), Serve("failed", "net")]
    assert [e.next for e in player.of(ToolCallFinished)] == ["again", "again", "again", ""]
    assert [e.attempts for e in player.of(ToolCallFinished)] == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("tool", "unsent", "again"), [("book", False, ""), ("book", True, "again"), ("put", False, "again")]
)
def test_a_write_is_sent_again_only_when_nothing_left_or_a_repeat_is_harmless(tool, unsent, again):
    player = waits(think("a", tool_hint=tool))
    ruling = ask(player, tool, ROOM, locked="room:1" if tool == "book" else tool)
    player.post(ToolReturned(ruling.call_id, "failed", error="net", transient=True, unsent=unsent))
    assert player.of(ToolCallFinished)[0].next == again


def test_a_call_that_gave_up_goes_to_its_fallback_once():
    def tool(name, args, key):
        return Failed("broken") if name == "lame" else "spared"

    player = Player(World(plan=lambda r: plan(read("a", tool="lame")), tool=tool), tools=ALL)
    state = player.run()
    assert state.steps["s1"].output == "spared"
    assert [(e.tool, e.fallback_of) for e in player.of(ToolCallStarted)] == [("lame", ""), ("spare", "c1")]


def test_a_fallback_that_fails_too_fails_the_call():
    player = Player(World(plan=lambda r: plan(read("a", tool="lame")), tool=lambda *a: Failed("broken")), tools=ALL)
    player.run()
    assert {e.tool for e in player.of(ToolCallStarted)} == {"lame", "spare"}
    assert player.state.status is RunStatus.FAILED


def test_a_tool_behind_an_open_breaker_is_not_sent_and_its_fallback_leaves_with_the_same_ask():
    player = waits(think("a", tool_hint="lame"))
    ruling = ask(player, "lame", ROOM, unavailable="open until 9")
    assert (ruling.tool, ruling.call_id) == ("spare", "c2")
    off = player.of(ToolCallFinished)[0]
    assert (off.error_kind, off.attempts, off.error) == ("breaker", 0, "lame is switched off: open until 9")


def test_a_tool_behind_an_open_breaker_without_a_fallback_fails():
    player = waits()
    assert ask(player, "look", ROOM, unavailable="open") == Serve("failed", "look is switched off: open")
    player.post(BreakerMoved("spare", is_open=True))
    assert ask(player, "lame", ROOM, i=1, unavailable="open").outcome == "failed"


def test_a_fallback_of_high_risk_asks_a_person():
    tools = (ToolSpec("soft", fallback="hard", conflict_key="k"), ToolSpec("hard", risk=Risk.HIGH))
    player = Player(
        World(
            plan=lambda r: plan(write("a", tool="soft")), tool=lambda t, a, k: Failed("x") if t == "soft" else "hard"
        ),
        tools=tools,
    )
    player.run()
    assert player.of(GateOpened)[0].payload["fallbackOf"] == "c1"
    player.answer("approve")
    assert player.run().steps["s1"].output == "hard"


def crash(player):
    player.drive()
    return player


@pytest.mark.parametrize(("tool", "status"), [("look", "ready"), ("put", "ready"), ("book", "in_doubt")])
def test_a_started_call_of_an_earlier_drive_is_ready_again_or_in_doubt_by_its_effect(tool, status):
    player = waits(think("a", tool_hint=tool))
    key = {"book": "room:1", "put": "put", "look": ""}[tool]
    first = ask(player, tool, ROOM, locked=key)
    crash(player)
    assert player.state.calls["c1"].status == status
    if status == "ready":
        again = ask(player, tool, ROOM, locked=key)
        assert (again.key, again.call_id) == (first.key, "c1")
    else:
        assert player.of(GateOpened)[0].kind == "in_doubt"
        assert ask(player, tool, ROOM) == Wait()


@pytest.mark.parametrize(
    ("outcome", "value", "sent", "output"),
    [("happened", "was", 1, "was"), ("run_it", None, 2, {"of": "book"}), ("abandon", None, 1, None)],
)
def test_a_person_says_what_became_of_a_write_in_doubt(outcome, value, sent, output):
    first = [True]

    def tool(name, args, key):
        return Failed("cut", unsure=True) if first and first.pop() else {"of": name}

    player = Player(World(plan=lambda r: plan(write("a", **ROOM)), tool=tool), limits=Limits(replans=0))
    player.run()
    player.answer(outcome, value)
    state = player.run()
    assert len(player.world.sent) == sent
    assert len({key for _, key, _ in player.world.sent}) == 1, "the same key"
    assert state.steps["s1"].output == output
    assert state.status is (RunStatus.FAILED if outcome == "abandon" else RunStatus.COMPLETED)


def test_a_write_in_doubt_that_makes_an_artefact_needs_its_result_said():
    def tool(name, args, key):
        return Failed("cut", unsure=True)

    step = replace(write("a", **ROOM), produces="receipt")
    player = Player(World(plan=lambda r: plan(step), tool=tool))
    player.run()
    with pytest.raises(AnswerRefused, match="s1 makes receipt of the call's result: say it with --value"):
        player.answer("happened", None)
    player.answer("happened", {"id": 7})
    assert player.run().artifacts["receipt"].value == {"id": 7}


def test_a_late_result_ends_a_call_in_doubt_and_closes_its_question():
    player = waits()
    ask(player, "book", ROOM, locked="room:1")
    player.post(ToolUnsure("c1", "time-out"))
    assert player.gate()[1].asked.kind == "in_doubt"
    player.post(ToolReturned("c1", "ok", "late"))
    assert player.state.gates["g1"].by == "testimony"
    assert ask(player, "book", ROOM) == Serve("ok", "late")


@pytest.mark.parametrize(("word", "sent"), [((True, "was"), 1), ((False, None), 2)])
def test_the_verify_hook_speaks_before_a_person(word, sent):
    tools = (ToolSpec("pay", verify=True),)
    first = [True]

    def tool(name, args, key):
        return Failed("cut", unsure=True) if first and first.pop() else "paid"

    world = World(plan=lambda r: plan(write("a", tool="pay")), tool=tool, verify=lambda *a: word)
    player = Player(world, tools=tools)
    assert player.run().status is RunStatus.COMPLETED
    assert len(player.world.sent) == sent
    assert not player.of(GateOpened)


def test_a_verify_hook_that_cannot_tell_leaves_it_to_a_person():
    tools = (ToolSpec("pay", verify=True),)
    world = World(plan=lambda r: plan(write("a", tool="pay")), tool=lambda *a: Failed("cut", unsure=True))
    player = Player(world, tools=tools)
    player.run()
    assert player.gate()[1].asked.kind == "in_doubt"


def test_an_equal_write_waits_for_one_in_doubt_of_a_step_that_failed_and_may_run_after_run_it():
    calls = []

    def tool(name, args, key):
        calls.append(name)
        return Failed("cut", unsure=True) if len(calls) == 1 else "booked"

    def script():
        yield [("book", ROOM), ("look", {})]
        return "x"

    made = [plan(think("a", tool_hint="book")), plan(write("b", **ROOM))]
    player = Player(World(plan=lambda r: made[r.version - 1], tool=tool, step=lambda e: script()))
    player.drive()
    player.reconcile()
    player.turn(player.ready())
    ask(player, "book", ROOM, locked="room:1")
    player.post(ToolUnsure("c1", "time-out"))
    calls.append("book")
    player.post(StepRaised("s1", 1, "time-out", "timeout"))
    player.run()
    assert player.world.sent == []
    player.answer("run_it")
    state = player.run()
    assert state.status is RunStatus.COMPLETED
    assert [tool for tool, _, _ in player.world.sent] == ["book"]


def test_while_paused_nothing_is_started_and_everything_waits():
    player = waits()
    player.word(Pause(ANN))
    assert ask(player, "look", ROOM) == Wait()
    assert not player.of(ToolCallStarted)


def test_an_idempotent_call_nobody_waits_for_is_sent_again():
    player = waits(think("a", tool_hint="put"))
    ask(player, "put", ROOM, locked="put")
    player.post(ToolUnsure("c1", "time-out"))
    assert player.of(ToolCallFinished)[0].next == "again"
    assert player.state.calls["c1"].status is CallStatus.READY


def test_the_wait_between_tries_may_be_none():
    player = Player(World(plan=lambda r: plan(think("a"))), limits=Limits(backoff_seconds=()))
    player.drive()
    player.reconcile()
    player.turn(player.ready())
    ruling = ask(player, "look", ROOM)
    player.post(ToolReturned(ruling.call_id, "failed", error="net", transient=True))
    assert ask(player, "look", ROOM) == Rest(0.0, 1)


def test_a_call_of_a_tool_without_arguments_as_an_object_has_a_key_too():
    step = Step("a", "Look", call=Call("look", {}))
    player = Player(World(plan=lambda r: plan(replace(step))))
    assert player.run().status is RunStatus.COMPLETED


def test_a_call_that_went_well_has_no_use_for_its_fallback():
    player = Player(World(plan=lambda r: plan(read("a", tool="lame"))), tools=ALL)
    assert player.run().steps["s1"].output == {"of": "lame"}
    assert [e.next for e in player.of(ToolCallFinished)] == [""]


def test_an_equal_write_that_waits_for_a_person_is_asked_about_once():
    player = waits(think("a"))
    assert ask(player, "book", ROOM) == Wait()
    assert ask(player, "book", ROOM, i=1) == Wait()
    assert len(player.of(GateOpened)) == 1


def test_a_call_that_the_record_left_behind_holds_up_nobody():
    player = waits(think("a"))
    ask(player, "book", ROOM)
    player.answer("approve")
    assert player.state.calls["c1"].status is CallStatus.READY
    player.post(ModelCallWanted("step/s1/1", 1, "executor", "m", step_id="s1"))
    player.post(ModelReplied("step/s1/1", 1, {}, (digest("book", ROOM),)))
    ask(player, "book", ROOM, n=1)
    assert len(player.of(GateOpened)) == 2, "the one nobody sends is asked about anew, and does not wait for ever"
