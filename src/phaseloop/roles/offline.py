"""Roles that need no model and no network: the same request always gets the same answer."""

from collections.abc import Sequence
from dataclasses import dataclass

from phaseloop.core.answers import Verdict
from phaseloop.core.effects import JudgePlan, JudgeStep, MakePlan, RunStep
from phaseloop.core.errors import PhaseloopError
from phaseloop.core.language import is_chinese
from phaseloop.core.limits import SCORE_EMPTY, SCORE_ERROR, SCORE_OK, SCORE_SOFT
from phaseloop.core.plan import Plan
from phaseloop.core.tools import ToolSpec
from phaseloop.core.values import Json
from phaseloop.roles.article import (
    ALL_GOOD,
    MIN_LEN,
    MOSTLY_GOOD,
    NO_RESULTS,
    REPLAN_THRESHOLD,
    TOO_THIN,
    trim,
)
from phaseloop.roles.instance import minimal_instance
from phaseloop.roles.offline_plan import Remainder, revision_steps, steps_from_activities, steps_from_goal
from phaseloop.roles.protocols import Desk

_ENGLISH = {
    NO_RESULTS: "There is no result at all; plan again",
    ALL_GOOD: "All results are good",
    TOO_THIN: "Some results fall short; plan again",
    MOSTLY_GOOD: "Most results are good; may be delivered",
}


class OfflinePlanner:
    """Plans by rule: the declared activities in declared order, else the pieces of the goal.

    The goal is split as it stands and never gets feedback added to it (behaviours C6): a comment, a
    failure and what the linter found become constraints. Finished steps are not planned again; when all
    are finished and something was wrong, new steps revise the outputs.
    """

    async def plan(self, request: MakePlan, desk: Desk) -> Plan:
        """The plan of the phase, or on a re-plan what is left of it. Steps without an id yet have a label."""
        declared = bool(request.activities) or any(step.activity_id for step in request.finished)
        wanted = steps_from_activities(request) if declared else steps_from_goal(request)
        left = Remainder(list(request.finished), list(request.pending)).rest(wanted)
        if not left and (request.failure or request.feedback):
            left = revision_steps(request)
        return Plan(request.goal, tuple(left), _constraints(request))


class OfflineExecutor:
    """Answers an open step with article 000's fixed text, or with the smallest value its schema allows.

    A read tool that the step hints at is called if it needs no arguments.
    """

    async def run(self, request: RunStep, desk: Desk) -> Json:
        """The output of the step. Raises `PhaseloopError` when the tool fails or the schema cannot be met."""
        text = _done(request)
        if request.step.output_schema is not None:
            return minimal_instance(request.step.output_schema, text, {"goal": request.goal})
        tool = _argumentless_read(request.step.tool_hint, desk.tools)
        if tool is None:
            return text
        result = await desk.call(tool, {})
        if result.outcome != "ok":
            raise PhaseloopError(f"tool {tool} of step {request.step.id} {result.outcome}: {result.value}")
        return {"text": text, "value": result.value}


@dataclass(frozen=True, slots=True)
class OfflineCritic:
    """Article 000's heuristic on the scale of 0 to 10: a text is good from `min_len` characters on.

    What is not a text is good unless it is empty. `threshold` is the share of good results below which
    a plan does not pass.
    """

    min_len: int = MIN_LEN
    threshold: float = REPLAN_THRESHOLD

    async def judge(self, request: JudgeStep | JudgePlan, desk: Desk) -> Verdict:
        """The verdict; its issues name each result that falls short and why."""
        if isinstance(request, JudgePlan):
            return self._judge_plan(request)
        return self._judge_step(request)

    def _judge_plan(self, request: JudgePlan) -> Verdict:
        chinese = is_chinese(request.goal)
        if not request.results:
            return Verdict(0.0, False, (_said(NO_RESULTS, chinese),), _said(NO_RESULTS, chinese))
        flaws = [(result.id, self._flaw(result.output, chinese)) for result in request.results]
        issues = tuple(f"{step_id}: {flaw}" for step_id, flaw in flaws if flaw)
        share = (len(flaws) - len(issues)) / len(flaws)
        passed = not share < self.threshold
        if not issues:
            return Verdict(10.0)
        return Verdict(round(10 * share, 1), passed, issues, _said(MOSTLY_GOOD if passed else TOO_THIN, chinese))

    def _judge_step(self, request: JudgeStep) -> Verdict:
        chinese = is_chinese(request.goal)
        if request.failure:
            suggestion = "换一种做法重新规划此步骤" if chinese else "plan this step in another way"
            return Verdict(SCORE_ERROR, False, (f"{request.step.id}: {request.failure}",), suggestion)
        flaw = self._flaw(request.output, chinese)
        if not flaw:
            return Verdict(SCORE_OK)
        suggestion = "补充更具体的产出" if chinese else "give a fuller output"
        score = SCORE_EMPTY if _is_empty(request.output) else SCORE_SOFT
        return Verdict(score, False, (f"{request.step.id}: {flaw}",), suggestion)

    def _flaw(self, output: Json, chinese: bool) -> str:
        """What is wrong with `output`, or nothing."""
        if _is_empty(output):
            return "产出为空" if chinese else "the output is empty"
        if not isinstance(output, str) or (length := len(trim(output))) >= self.min_len:
            return ""
        if chinese:
            return f"产出不足{self.min_len}字（实际{length}字）"
        return f"the output has {length} characters, fewer than {self.min_len}"


def _constraints(request: MakePlan) -> tuple[str, ...]:
    chinese = is_chinese(request.goal)
    said = [("反馈：" if chinese else "Feedback: ", request.feedback)]
    said.append(("上次失败：" if chinese else "Failed before: ", request.failure))
    said += [("计划检查：" if chinese else "Plan check: ", finding.message) for finding in request.findings]
    return tuple(dict.fromkeys(label + text for label, text in said if text))


def _done(request: RunStep) -> str:
    number, action = request.step.id.removeprefix("s"), request.step.action
    if is_chinese(request.goal):
        return f"完成[{number}]: {action} -> 产出{number}"
    return f"Done[{number}]: {action} -> output {number}"


def _argumentless_read(hint: str | None, tools: Sequence[ToolSpec]) -> str | None:
    for tool in tools:
        if tool.name == hint and tool.reads and not tool.input_schema.get("required"):
            return tool.name
    return None


def _is_empty(output: Json) -> bool:
    if isinstance(output, str):
        return not trim(output)
    return output is None or output == [] or output == {}


def _said(text: str, chinese: bool) -> str:
    return text if chinese else _ENGLISH[text]
