"""Every threshold and cap of a run, in one frozen class. Contract section 7."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from phaseloop.core.tools import EffectClass


class CriticPower(StrEnum):
    """What a critic's score may do: nothing, be recorded and veto, or steer retry and re-plan."""

    NONE = "none"
    ADVISES = "advises"
    STEERS = "steers"


@dataclass(frozen=True, slots=True)
class Band:
    """Scores at or above `accept` pass, at or above `retry` are tried again, below are re-planned."""

    retry: float
    accept: float


@dataclass(frozen=True, slots=True)
class Limits:
    """Caps live in code (article 003 section 5.4); a run may start with lower ones, only a person raises them."""

    transport_attempts: int = 4
    backoff_seconds: tuple[float, ...] = (1.0, 2.0, 4.0)
    step_retries: int = 3
    replans: int = 2
    lint_reasks: int = 1
    revisions_per_gate: int = 5
    rounds: int = 5
    plan_steps: int = 8
    max_parallel: int = 8
    equal_reads: int = 3
    idle_drives: int = 5
    step_seconds: float = 300.0
    model_seconds: float = 120.0
    result_bytes: int = 4_000_000
    plan_accept: float = 6.0
    warn_below: float = 7.0
    done_at_cap: float = 4.0
    normal: Band = Band(4, 7)
    write: Band = Band(5, 8)
    read: Band = Band(3, 6)
    critic: CriticPower = CriticPower.STEERS
    critic_sees_plan: bool = True
    deep_reflection: bool = False
    min_result_chars: int = 0

    def band(self, effect: EffectClass | None) -> Band:
        """The band of a step by the strongest effect it may have; `None` for a step without tools."""
        if effect is None:
            return self.normal
        return self.read if effect is EffectClass.READ else self.write


SCORE_OK, SCORE_SOFT, SCORE_SCHEMA, SCORE_CHECK, SCORE_EMPTY, SCORE_ERROR = 10.0, 5.0, 4.0, 3.0, 2.0, 0.0


LOWERABLE = (
    "step_retries",
    "replans",
    "revisions_per_gate",
    "rounds",
    "plan_steps",
    "max_parallel",
    "step_seconds",
    "model_seconds",
    "result_bytes",
)
"""Caps that a definition may lower and never raise."""


def lowered(limits: Limits, wanted: Mapping[str, object]) -> Limits:
    """`limits` with the caps of a definition where they are lower; `stepRetries` and `step_retries` are one name."""
    lower: dict[str, Any] = {}
    for name in LOWERABLE:
        head, *rest = name.split("_")
        value = wanted.get(head + "".join(word.title() for word in rest), wanted.get(name))
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < getattr(limits, name):
            lower[name] = type(getattr(limits, name))(value)
    return replace(limits, **lower)
