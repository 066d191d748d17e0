import pytest

from phaseloop.core.limits import LOWERABLE, Band, Limits, lowered
from phaseloop.core.tools import EffectClass


def test_the_caps_are_those_of_the_contract():
    limits = Limits()
    assert (limits.transport_attempts, limits.backoff_seconds) == (4, (1.0, 2.0, 4.0))
    assert (limits.step_retries, limits.replans, limits.lint_reasks) == (3, 2, 1)
    assert (limits.revisions_per_gate, limits.rounds, limits.plan_steps) == (5, 5, 8)
    assert (limits.max_parallel, limits.idle_drives) == (8, 5)
    assert (limits.plan_accept, limits.warn_below, limits.done_at_cap) == (6, 7, 4)


@pytest.mark.parametrize(
    ("effect", "band"),
    [
        (None, Band(4, 7)),
        (EffectClass.READ, Band(3, 6)),
        (EffectClass.IDEMPOTENT, Band(5, 8)),
        (EffectClass.WRITE, Band(5, 8)),
    ],
)
def test_side_effects_raise_the_band_and_reads_lower_it(effect, band):
    assert Limits().band(effect) == band


def test_a_definition_may_lower_caps_and_never_raise_them():
    limits = lowered(Limits(), {"stepRetries": 1, "replans": 9, "step_seconds": 20, "maxParallel": "many"})
    assert (limits.step_retries, limits.replans, limits.step_seconds, limits.max_parallel) == (1, 2, 20.0, 8)
    assert isinstance(limits.step_seconds, float)


@pytest.mark.parametrize("name", LOWERABLE)
def test_every_cap_that_may_be_lowered_is_one(name):
    assert getattr(lowered(Limits(), {name: 0}), name) == 0


def test_a_switch_is_no_number():
    assert lowered(Limits(), {"replans": False}) == Limits()
