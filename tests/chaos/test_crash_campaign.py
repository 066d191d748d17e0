"""A run with writes, gates and a re-plan is killed, failed, frozen and overtaken; nothing is lost or done twice.

Effects are counted by a process outside. `python -m tests.chaos.campaign` prints the figures of everything.
"""

import sys

import pytest

from tests.chaos.campaign import (
    IN_WRITES,
    Campaign,
    Fault,
    Judged,
    Plan,
    Report,
    campaign,
    failing_commits,
    kills,
    kills_in_recovery,
    kills_in_writes,
)
from tests.chaos.kernel import kernel_campaign
from tests.chaos.kill import why_not
from tests.chaos.ledger import running_ledger
from tests.chaos.mutations import MUTATIONS

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="kills and freezes need Linux")


@pytest.fixture(scope="module")
def running():
    with campaign() as crash:
        yield crash


def expect_sound(report: Report) -> None:
    print(report)
    assert not report.bad, f"{report}\n" + "\n".join(map(str, report.bad[:3]))


def test_a_sample_of_all_faults_loses_nothing_and_repeats_no_write(running: Campaign):
    assert running.points > 150
    expect_sound(running.run("every 16th point", kills(running.points, 16, 5)))
    expect_sound(running.run("three kills each", kills_in_recovery(running.points, 3)))
    expect_sound(running.run("a commit is lost", failing_commits(running.commits, Fault.COMMIT_LOST, 25)))
    expect_sound(running.run("a commit is kept", failing_commits(running.commits, Fault.COMMIT_KEPT, 25)))
    expect_sound(running.run_two_at_once(range(1, 2)))
    expect_sound(running.run_frozen(IN_WRITES[:1]))


@pytest.mark.slow
def test_a_kill_at_every_point_loses_nothing_and_repeats_no_write(running: Campaign):
    report = running.run("a kill at every point", kills(running.points))
    expect_sound(report)
    trials = report.trials
    assert sum(trial.kills for trial in trials) >= running.points - 15
    assert sum(trial.asked for trial in trials) >= 5, "writes without a hook must have been in doubt"
    named = running.run("killed after the idempotent write", [Plan(((Fault.KILL, 0),), 1, "", "upsert:after")])
    expect_sound(named)
    assert sum(trial.again for trial in named.trials) >= 1, "the idempotent write must have been sent again"


@pytest.mark.slow
def test_kills_while_it_recovers_lose_nothing_and_repeat_no_write(running: Campaign):
    expect_sound(running.run("three kills each", kills_in_recovery(running.points, 60)))


@pytest.mark.slow
@pytest.mark.parametrize("fault", [Fault.COMMIT_LOST, Fault.COMMIT_KEPT])
def test_a_commit_that_fails_is_unknown_and_the_run_goes_on(running: Campaign, fault):
    expect_sound(running.run(f"n-th {fault}", failing_commits(running.commits, fault)))


@pytest.mark.slow
def test_two_drivers_at_once_do_every_write_once(running: Campaign):
    report = running.run_two_at_once(range(1, 21))
    expect_sound(report)
    assert sum(trial.fenced for trial in report.trials) >= 5, "the two must have met"


@pytest.mark.slow
def test_a_driver_frozen_inside_a_write_is_fenced_when_it_thaws(running: Campaign):
    expect_sound(running.run_frozen(IN_WRITES))


def test_kills_in_the_middle_of_writes_repeat_none(running: Campaign):
    expect_sound(running.run("killed in writes", kills_in_writes("", seeds=1)))


@pytest.mark.slow
@pytest.mark.parametrize("mutation", MUTATIONS)
def test_the_campaign_sees_writes_that_are_done_twice(running: Campaign, mutation):
    plans = kills_in_writes(mutation)
    report = running.run(f"with {mutation}", plans)
    print(report)
    assert sum(len(trial.twice) for trial in report.trials) >= len(plans) // 2, str(report)


@pytest.mark.slow
@pytest.mark.skipif(bool(why_not()), reason=why_not() or "can")
def test_a_kill_before_a_storage_call_loses_nothing_and_repeats_no_write():
    with running_ledger() as ledger:
        report = kernel_campaign(ledger, 30)
    expect_sound(report)
    assert sum(trial.kills for trial in report.trials) >= 28


def test_a_report_counts_what_happened():
    sound = Judged("a", (-9, 0), again=1, asked=1)
    spoiled = Judged("b", (-9, 0), lost=("ship x",), twice=("pay x",))
    report = Report("some", (sound, spoiled, Judged("c", (0,))), 1.0)
    assert report.bad == [spoiled]
    assert str(report) == (
        "some: 3 points, 2 kills, 1 exactly once, 1 same key again (idempotent), 1 asked, 1 lost, 1 twice; 1 bad; 1 s"
    )
