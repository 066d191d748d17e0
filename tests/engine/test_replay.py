from dataclasses import fields, replace

import pytest

from phaseloop.core.call_events import ToolCallFinished, ToolCallStarted
from phaseloop.core.gate_events import GateAnswered, GateOpened
from phaseloop.core.machine import fold
from phaseloop.core.plan_events import ActivityCompleted, ActivityStarted, PlanUpdated, ResultJudged
from phaseloop.core.run_events import RunCompleted
from phaseloop.engine.ports import Recorded
from phaseloop.engine.replay import Difference, replay
from tests.engine import histories
from tests.engine.run_rig import RUN, run
from tests.engine.run_stories import STORIES

ALONE = {
    "BreakerClosed",
    "BreakerOpened",
    "CatalogueChanged",
    "DriveStarted",
    "HistoryDiverged",
    "LimitRaised",
    "NoteAdded",
    "PlanRefused",
    "ToolCallFinished",
}
"""Facts from outside that nothing need depend on: without one of them a log may be that of another sound run.

The end of a call is one where its step went on without looking at it.
"""


def played(name):
    """A story's log, its child's, and the state that the host has."""

    async def play():
        rig = await STORIES[name]()
        known = await rig.history(), await rig.history("child-1"), await rig.state()
        await rig.close()
        return known

    return run(play)


def place(history, kind, number=0):
    """The place of the n-th event of a class."""
    return [k for k, recorded in enumerate(history) if isinstance(recorded.event, kind)][number]


def changed(history, k, **fields_):
    """The history with fields of one event changed."""
    copy = list(history)
    copy[k] = replace(copy[k], event=replace(copy[k].event, **fields_))
    return copy


def without(history, k):
    """The history without one event, numbered anew, the times left to their events."""
    kept = [*history[:k], *history[k + 1 :]]
    return [replace(recorded, seq=seq) for seq, recorded in enumerate(kept, 1)]


def moved(history, k, to):
    events = [recorded for n, recorded in enumerate(history) if n != k]
    events.insert(to, history[k])
    return [replace(r, seq=seq, at=history[seq - 1].at) for seq, r in enumerate(events, 1)]


@pytest.mark.parametrize("name", STORIES)
def test_a_real_run_is_decided_again_without_a_difference(name):
    history, child, state = played(name)
    for log in (history, child):
        again = replay(log)
        assert again.difference is None, str(again.difference)
        assert again.events == len(log)
        assert 0 <= again.decisions <= len(log)
        assert again.state == fold(log)
    assert replay(history).state == state


@pytest.mark.parametrize("name", histories.names())
def test_a_recorded_history_is_decided_again_and_folds_to_the_recorded_state(name):
    history, known = histories.load(name), histories.states()[name]
    again = replay(history)
    assert again.difference is None, str(again.difference)
    assert (len(history), again.state.status) == (known["events"], known["status"])
    assert histories.digest_of(again.state) == known["state"]
    assert histories.digest_of(fold(history)) == known["state"]


def test_histories_of_the_main_things_that_can_happen_are_recorded():
    assert len(histories.names()) >= 12
    assert set(histories.states()) == set(histories.names())


@pytest.fixture(scope="module")
def judged():
    return histories.load("judged-and-planned-again")


@pytest.fixture(scope="module")
def reads():
    return histories.load("parallel-reads")


@pytest.fixture(scope="module")
def gated():
    return histories.load("revised-gate")


def difference_of(history) -> Difference:
    found = replay(history).difference
    assert found is not None, "the tampering was not seen"
    return found


def test_a_changed_score_is_found_in_its_event(judged):
    k = place(judged, ActivityCompleted)
    found = difference_of(changed(judged, k, score=7.0))
    assert (found.seq, found.field) == (k + 1, "score")
    assert str(found) == f"event {k + 1}, activity_completed: score is 7.0 in the log, decided again it is 10.0"


def test_a_changed_action_is_found_in_its_event(judged):
    k = place(judged, ResultJudged)
    assert judged[k].event.action == "replan"
    found = difference_of(changed(judged, k, action="accept"))
    assert (found.seq, found.field) == (k + 1, "action")


def test_a_changed_key_is_found_in_its_event(reads):
    k = place(reads, ToolCallStarted, 2)
    found = difference_of(changed(reads, k, key=reads[k].event.key + "0"))
    assert (found.seq, found.field) == (k + 1, "key")


def test_changed_arguments_of_a_bound_call_are_found_in_its_start(reads):
    k = place(reads, ToolCallStarted, 2)
    found = difference_of(changed(reads, k, args={"left": "y"}))
    assert (found.seq, found.field) in {(k + 1, "key"), (k + 1, "args")}


def test_a_changed_result_is_found_where_it_is_used(reads):
    k = place(reads, ToolCallFinished)
    found = difference_of(changed(reads, k, result={"q": "other"}))
    assert found.seq == place(reads, ToolCallStarted, 2) + 1


def test_a_plan_with_a_step_that_the_linter_would_refuse_is_found(reads):
    k = place(reads, PlanUpdated)
    steps = reads[k].event.steps
    found = difference_of(changed(reads, k, steps=(replace(steps[0], depends_on=("s9",)), *steps[1:])))
    assert found.seq == k + 1
    assert "plan_updated" in str(found)


def test_a_moved_gate_is_found_where_it_was_and_where_it_is(gated):
    k = place(gated, GateOpened)
    found = difference_of(moved(gated, k, k - 3))
    assert found.seq == k - 2
    assert str(found) == f"event {k - 2}, gate_opened: nothing before it leads to it"
    assert difference_of(moved(gated, k, k + 1)).seq == k + 1


def test_an_answer_by_somebody_who_may_not_is_found(gated):
    k = place(gated, GateAnswered)
    found = difference_of(changed(gated, k, outcome="approve"))
    assert found.seq == k + 1
    assert "'approve' is no outcome here" in str(found)


def test_a_gap_in_the_numbers_is_found(reads):
    found = difference_of([*reads[:5], *reads[6:]])
    assert (found.seq, found.field) == (7, "seq")
    assert "events are missing or out of order" in str(found)


def test_an_event_of_another_run_is_found(reads):
    copy = [*reads[:3], replace(reads[3], run_id="run-2"), *reads[4:]]
    assert (difference_of(copy).seq, difference_of(copy).field) == (4, "run_id")


def test_a_changed_time_inside_one_decision_is_found(reads):
    k = place(reads, ActivityStarted)
    copy = [*reads[:k], replace(reads[k], at=reads[k].at + 5000), *reads[k + 1 :]]
    assert (difference_of(copy).seq, difference_of(copy).field) == (k + 1, "at")


def test_a_log_that_ends_inside_a_decision_is_found(reads):
    k = place(reads, RunCompleted)
    found = difference_of(reads[:k])
    assert (found.seq, found.found) == (k + 1, None)
    assert "run_completed of the same decision is missing" in str(found)


def test_an_event_that_nothing_leads_to_is_found(reads):
    extra = Recorded(RUN, 0, reads[6].at, GateOpened("g1", 1, "exit", "x", "confirm"))
    copy = [replace(r, seq=n) for n, r in enumerate([*reads[:6], extra, *reads[6:]], 1)]
    assert difference_of(copy).seq == 7


def test_an_empty_log_is_an_empty_run():
    again = replay([])
    assert (again.events, again.decisions, again.difference) == (0, 0, None)


def test_a_dropped_event_is_found_unless_the_log_is_as_sound_without_it():
    """Most at the very place, the others where somebody first needs them."""
    places = []
    for name in histories.names():
        history = histories.load(name)
        for k in range(len(history)):
            found = replay(without(history, k)).difference
            if found is None:
                dropped = type(history[k].event).__name__
                assert dropped in ALONE, f"{name}: nobody misses event {k + 1}, {dropped}"
            else:
                places.append(found.seq - (k + 1))
    assert min(places) >= -2
    assert places.count(0) > 0.8 * len(places) > 300


SET_BY_THE_CORE = (
    (ActivityStarted, ("activity_id", "step_id", "title", "attempt", "hint")),
    (ToolCallStarted, ("call_id", "key", "read_only", "fallback_of", "activity_id")),
    (GateOpened, ("request_id", "version", "title", "prompt", "consequence", "required")),
    (ActivityCompleted, ("activity_id", "score", "duration_ms", "status")),
    (PlanUpdated, ("plan_version", "reason", "trigger", "approved_by", "kept", "added", "dropped")),
    (RunCompleted, ("status", "score", "warnings", "result")),
)


def other(value):
    """Another value of the same kind."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    return f"{value}x" if isinstance(value, str) else ("x",)


@pytest.mark.parametrize("name", ["crash-in-a-write-that-happened", "given-plan", "replanned", "revised-gate"])
def test_a_field_that_the_core_sets_cannot_be_changed_unseen(name):
    history = histories.load(name)
    tried = 0
    for k, recorded in enumerate(history):
        for kind, names in SET_BY_THE_CORE:
            for field in names if isinstance(recorded.event, kind) else ():
                found = replay(changed(history, k, **{field: other(getattr(recorded.event, field))})).difference
                assert found is not None, f"{name}: event {k + 1}, {kind.__name__}.{field} was changed unseen"
                assert found.seq == k + 1, f"{name}: event {k + 1}, {kind.__name__}.{field}: {found}"
                tried += 1
    assert tried


def test_the_fields_that_are_checked_exist():
    for kind, names in SET_BY_THE_CORE:
        assert set(names) <= {field.name for field in fields(kind)}
