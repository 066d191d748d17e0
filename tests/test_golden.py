"""The golden history: what the five-phase demo must look like after each phase, said by hand."""

import pytest

from phaseloop.core.call_events import ToolCallStarted
from phaseloop.core.gate_events import GateResolved
from phaseloop.core.machine import evolve
from phaseloop.core.plan_events import ActivityStarted, PlanUpdated, ResultJudged
from phaseloop.core.run_events import DriveStarted, PhaseCompleted, PhaseStarted
from phaseloop.core.state import RunState, final_artifacts
from phaseloop.engine.replay import replay
from tests.engine import histories

HISTORY = histories.load("five-phase")
EVENTS = [recorded.event for recorded in HISTORY]

AFTER = {  # phase: its last plan version, its steps in plan order, re-plans of the run, final artefacts
    "phase_understand": (1, ("s1", "s2"), 0, ("confirmedIntent",)),
    "phase_plan": (1, ("s3",), 0, ("approvedPlan", "confirmedIntent")),
    "phase_design": (
        3,
        ("s4", "s5", "s6", "s7", "s10", "s11", "s12", "s13", "s14"),
        1,
        ("approvedPlan", "confirmedIntent", "generatedComponent"),
    ),
    "phase_integrate": (
        1,
        ("s15", "s16"),
        1,
        ("approvedPlan", "confirmedIntent", "generatedComponent", "integratedPage"),
    ),
    "phase_deploy": (
        1,
        ("s17", "s18"),
        1,
        ("approvedPlan", "confirmedIntent", "deploymentResult", "generatedComponent", "integratedPage"),
    ),
}


def states_after_phases():
    state = RunState()
    for recorded in HISTORY:
        state = evolve(state, recorded.event, recorded.at)
        if isinstance(recorded.event, PhaseCompleted):
            yield recorded.event.phase_id, state


STATES = dict(states_after_phases())


@pytest.mark.parametrize("phase_id", list(AFTER))
def test_the_state_after_each_phase_is_what_was_said_by_hand(phase_id):
    version, order, replans, artefacts = AFTER[phase_id]
    state = STATES[phase_id]
    assert state.phase.phase.phase_id == phase_id
    assert (state.phase.plan.version, state.phase.plan.order) == (version, order)
    assert state.replans == replans
    assert tuple(final_artifacts(state)) == artefacts


def test_the_history_is_gapless_and_replays_without_a_difference():
    assert [recorded.seq for recorded in HISTORY] == list(range(1, len(HISTORY) + 1))
    assert replay(HISTORY).difference is None


def test_it_holds_one_retry_one_replan_one_revision_one_automatic_pass_and_one_crash():
    judged = [event for event in EVENTS if isinstance(event, ResultJudged)]
    assert [event.action for event in judged if event.scope != "plan"].count("retry") == 1
    assert [event.reason for event in EVENTS if isinstance(event, PlanUpdated)].count("replan") == 1
    resolved = [event for event in EVENTS if isinstance(event, GateResolved)]
    assert [event.outcome for event in resolved if event.activity_id == "human_design_approval"] == [
        "reject",
        "approve",
    ]
    assert [event.by for event in resolved].count("auto_pass") == 1
    assert sum(isinstance(event, DriveStarted) for event in EVENTS) > sum(event.by == "user" for event in resolved)


def test_finished_steps_are_kept_and_no_write_has_two_keys_or_two_starts():
    starts = [event for event in EVENTS if isinstance(event, ToolCallStarted) and not event.read_only]
    assert [(event.tool, event.step_id) for event in starts] == [
        ("save_component", "s13"),
        ("save_component", "s14"),
        ("integrate_component", "s15"),
        ("publish_page", "s17"),
    ]
    assert len({event.key for event in starts}) == len(starts)


def test_nothing_of_a_later_phase_is_planned_before_it_starts():
    started = []
    for event in EVENTS:
        if isinstance(event, PhaseStarted):
            started.append(event.phase_id)
        if isinstance(event, PlanUpdated):
            assert event.phase_id == started[-1]


def test_open_and_bound_steps_mix():
    kinds = {event.step_id: event.type for event in EVENTS if isinstance(event, ActivityStarted) and event.step_id}
    assert {kinds[step] for step in ("s4", "s13")} == {"TOOL"}
    assert {kinds[step] for step in ("s7", "s10", "s11")} == {"LLM"}
