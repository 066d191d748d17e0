"""Roles that answer from a script, for tests and demonstrations.

An answer is a value, an exception to raise, or a callable of the request and the desk, which may be
asynchronous and may call tools. Which answer is given depends on the request alone, so a role that is
entered again after a crash says the same as before.
"""

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeGuard

from phaseloop.core.answers import Verdict
from phaseloop.core.effects import JudgePlan, JudgeStep, MakePlan, RunStep
from phaseloop.core.errors import WrongUse
from phaseloop.core.limits import SCORE_OK
from phaseloop.core.plan import Plan
from phaseloop.core.values import Json
from phaseloop.roles.protocols import Desk

ANY = "*"
"""The key for whatever no other key of a script names."""

Answer: TypeAlias = Any
"""A value, an exception, `Attempts`, or a callable of request and desk."""

Script: TypeAlias = Sequence[Answer] | Mapping[str, Answer] | Callable[..., Answer]
"""Answers in order, answers by key, or one callable for all requests."""


@dataclass(frozen=True, slots=True, init=False)
class Attempts:
    """Answers to the first, second, ... attempt at the same thing; more attempts than answers is an error."""

    answers: tuple[Answer, ...]

    def __init__(self, *answers: Answer) -> None:
        object.__setattr__(self, "answers", answers)


class ScriptedPlanner:
    """Plans from a script.

    A list holds the plans of version 1, 2, ... of each phase; a mapping holds, by phase id, one answer or
    such a list. `Attempts` answers the first asking of a version and the one after a refusal.
    """

    def __init__(self, plans: Script) -> None:
        self._plans = plans

    async def plan(self, request: MakePlan, desk: Desk) -> Plan:
        """The scripted plan. Raises what the script holds, or `WrongUse` where it holds nothing."""
        script: Script = self._plans
        place = f"the planner's script has no answer for phase {request.phase_id!r}"
        if _is_mapping(script):
            script = _keyed(script, (request.phase_id,), place)
        where = f"{place}, version {request.version}"
        answer = _at(script, request.version, where) if _is_list(script) else script
        plan = await _given(answer, request, desk, request.attempt, where)
        if not isinstance(plan, Plan):
            raise WrongUse(f"the planner's script holds {plan!r} where a Plan is needed")
        return plan


class ScriptedExecutor:
    """Carries out steps from a script.

    A list holds the outputs of steps s1, s2, ...; a mapping holds them by step id, activity id or action.
    """

    def __init__(self, answers: Script) -> None:
        self._answers = answers

    async def run(self, request: RunStep, desk: Desk) -> Json:
        """The scripted output. Raises what the script holds, or `WrongUse` where it holds nothing."""
        step = request.step
        where = f"the executor's script has no answer for step {step.id!r} ({step.action})"
        answer: Answer = self._answers
        if _is_mapping(answer):
            answer = _keyed(answer, (step.id, step.activity_id, step.action), where)
        elif _is_list(answer):
            answer = _at(answer, _number(step.id, where), where)
        return await _given(answer, request, desk, request.attempt, where)


class ScriptedCritic:
    """Judges from a script; a bare number is a verdict with that score.

    A list holds the verdicts on version 1, 2, ... of a plan. A mapping holds verdicts by phase id, step id,
    activity id or action, or by `plan`, `step` and `deep`. What is not scripted gets `otherwise`.
    """

    def __init__(self, verdicts: Script, otherwise: Verdict | float | None = SCORE_OK) -> None:
        """With `otherwise=None` a request that is not scripted is an error."""
        self._verdicts = verdicts
        self._otherwise = otherwise

    async def judge(self, request: JudgeStep | JudgePlan, desk: Desk) -> Verdict:
        """The scripted verdict. Raises what the script holds, or `WrongUse` where it holds nothing."""
        subject, keys, number = _subject(request)
        where = f"the critic's script has no answer for {subject}"
        answer: Answer = self._verdicts
        if _is_list(answer):
            on_plan = isinstance(request, JudgePlan)
            answer = _at(answer, number, where) if on_plan else self._unscripted(where)
        elif _is_mapping(answer):
            known = any(key in answer for key in (*keys, ANY))
            answer = _keyed(answer, keys, where) if known else self._unscripted(where)
        return _verdict(await _given(answer, request, desk, number, where))

    def _unscripted(self, where: str) -> Answer:
        if self._otherwise is None:
            raise WrongUse(where)
        return self._otherwise


def _subject(request: JudgeStep | JudgePlan) -> tuple[str, tuple[str | None, ...], int]:
    """What is judged in words, the keys it may stand under, and which try it is."""
    if isinstance(request, JudgePlan):
        return f"the plan of phase {request.phase_id!r}", (request.phase_id, "plan"), request.version
    step = request.step
    keys = (step.id, step.activity_id, step.action, request.scope)
    return f"step {step.id!r} (scope {request.scope})", keys, request.attempt


def _verdict(answer: Answer) -> Verdict:
    if isinstance(answer, Verdict):
        return answer
    if isinstance(answer, int | float) and not isinstance(answer, bool):
        return Verdict(float(answer))
    raise WrongUse(f"the critic's script holds {answer!r} where a Verdict or a score is needed")


def _is_mapping(script: Answer) -> TypeGuard[Mapping[str, Answer]]:
    return isinstance(script, Mapping)


def _is_error(answer: Answer) -> TypeGuard[BaseException | type[BaseException]]:
    return isinstance(answer, BaseException) or (inspect.isclass(answer) and issubclass(answer, BaseException))


def _is_list(script: Answer) -> TypeGuard[Sequence[Answer]]:
    return isinstance(script, Sequence) and not isinstance(script, str | bytes)


def _keyed(script: Mapping[str, Answer], keys: Sequence[str | None], where: str) -> Answer:
    for key in (*keys, ANY):
        if key is not None and key in script:
            return script[key]
    raise WrongUse(f"{where}; its keys are {', '.join(map(repr, script)) or 'none'}")


def _at(answers: Sequence[Answer], number: int, where: str) -> Answer:
    if not 1 <= number <= len(answers):
        raise WrongUse(f"{where}; it holds {len(answers)}")
    return answers[number - 1]


def _number(step_id: str, where: str) -> int:
    hit = re.fullmatch(r"s(\d+)", step_id)
    if hit is None:
        raise WrongUse(f"{where}: a list is read by step number, so script this one by its id")
    return int(hit[1])


async def _given(answer: Answer, request: object, desk: Desk, attempt: int, where: str) -> Any:
    """What `answer` comes to for this attempt."""
    if isinstance(answer, Attempts):
        answer = _at(answer.answers, attempt, f"{where}, attempt {attempt}")
    if _is_error(answer):
        raise answer
    if not callable(answer):
        return answer
    value = answer(request, desk)
    return await value if inspect.isawaitable(value) else value
