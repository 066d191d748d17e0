"""What the offline planner plans: steps from a goal or from declared activities, and what is left of them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from phaseloop.core.effects import FinishedStep, MakePlan
from phaseloop.core.language import is_chinese, language_of
from phaseloop.core.plan import ActivityType, Call, Step
from phaseloop.core.plan_references import rename_step
from phaseloop.core.process import Activity, text_in
from phaseloop.core.references import step_references
from phaseloop.core.tools import ToolSpec
from phaseloop.core.values import Json, Object
from phaseloop.roles.article import TEMPLATE, pieces_of

TEMPLATES = {
    "zh": TEMPLATE,
    "en": (
        "Settle the boundary of the goal and what counts as success",
        "Break it down into the core steps",
        "Carry them out and sum up the self-check",
    ),
}
JOINT = " / "
"""Joins merged pieces; not a delimiter, so a merged step is never split again (behaviours section 6)."""


def merged(pieces: Sequence[str], limit: int) -> list[str]:
    """`pieces` in at most `limit` groups of neighbours, the larger groups first (article 000 section 6)."""
    if len(pieces) <= limit:
        return list(pieces)
    size, larger = divmod(len(pieces), limit)
    groups, start = list[str](), 0
    for number in range(limit):
        end = start + size + (number < larger)
        groups.append(JOINT.join(pieces[start:end]))
        start = end
    return groups


def steps_from_goal(request: MakePlan) -> list[Step]:
    """A chain of open steps, one for each piece of the goal; the last ones make the phase's outputs.

    A piece that names an available read tool has it as its hint.
    """
    pieces = pieces_of(request.goal, TEMPLATES[language_of(request.goal)])
    actions = merged(pieces, max(1, request.max_steps))
    for name in request.outputs[len(actions) :]:
        actions.append(f"产出 {name}" if is_chinese(request.goal) else f"Produce {name}")
    makes = (*[None] * (len(actions) - len(request.outputs)), *request.outputs)
    steps = list[Step]()
    for number, (action, output) in enumerate(zip(actions, makes, strict=True), start=1):
        before = (str(number - 1),) if number > 1 else ()
        hint = _named_read(action, request)
        steps.append(Step(str(number), action, hint, before, output, output_schema=_schema(request, output)))
    return steps


def steps_from_activities(request: MakePlan) -> list[Step]:
    """Each declared activity once, in declared order, labelled by its own id; optional ones are left out.

    Gates are the engine's (contract section 5). A single output that no activity claims is made by the
    last step if that is an open one.
    """
    steps = list[Step]()
    for activity in request.activities:
        if not activity.optional and activity.type is not ActivityType.HUMAN:
            steps.append(_declared_step(activity, request, [step.id for step in steps]))
    claimed = any(activity.produces in request.outputs for activity in request.activities)
    if steps and len(request.outputs) == 1 and not claimed:
        last, output = steps[-1], request.outputs[0]
        if last.type is ActivityType.LLM and last.produces is None:
            schema = last.output_schema or _schema(request, output)
            steps[-1] = replace(last, produces=output, output_schema=schema)
    return steps


def revision_steps(request: MakePlan) -> list[Step]:
    """New steps after all finished ones: one for each output that `failure` names, else for each output."""
    named = [name for name in request.outputs if name in request.failure] or list(request.outputs)
    before = (request.finished[-1].id,) if request.finished else ()
    chinese, steps = is_chinese(request.goal), list[Step]()
    for number, output in enumerate(named or [None], start=1):
        what = output or ("产出" if chinese else "the result")
        action = f"按意见修订{what}" if chinese else f"Revise {what} as asked"
        schema = _schema(request, output)
        steps.append(Step(f"revision_{number}", action, None, before, output, output_schema=schema))
    return steps


@dataclass(slots=True)
class Remainder:
    """Sorts wanted steps into finished, pending and new ones; fills up while `rest` goes through them."""

    finished: list[FinishedStep]
    pending: list[Step]
    live: set[str] = field(init=False)
    now: dict[str, str] = field(default_factory=dict[str, str])

    def __post_init__(self) -> None:
        """What a dependency may point at: everything else belongs to a step that failed or was dropped."""
        self.live = {step.id for step in self.finished} | {step.id for step in self.pending}

    def rest(self, wanted: Sequence[Step]) -> list[Step]:
        """What is still to do, in order: pending steps under their ids, missing ones as new steps.

        A pending step is changed only where it waited for a step that is gone.
        """
        left = list[Step]()
        for step in wanted:
            if done := self._take_finished(step):
                self.now[step.id] = done.id
                continue
            waiting = self._take_pending(step)
            self.now[step.id] = waiting.id if waiting else step.id
            left.append(self._mended(waiting, step) if waiting else rename_step(step, self.now))
        last = tuple(left[-1:])
        left += [self._rewired(step, tuple(item.id for item in last)) for step in self.pending]
        return left

    def _take_finished(self, step: Step) -> FinishedStep | None:
        for index, done in enumerate(self.finished):
            if _same_work(step, done.activity_id, done.action):
                return self.finished.pop(index)
        return None

    def _take_pending(self, step: Step) -> Step | None:
        for index, waiting in enumerate(self.pending):
            if _same_work(step, waiting.activity_id, waiting.action):
                return self.pending.pop(index)
        return None

    def _mended(self, waiting: Step, wanted: Step) -> Step:
        if self.live.issuperset(waiting.depends_on):
            return waiting
        placed = rename_step(wanted, self.now)
        return replace(self._rewired(waiting, placed.depends_on), call=placed.call)

    def _rewired(self, waiting: Step, instead: tuple[str, ...]) -> Step:
        if self.live.issuperset(waiting.depends_on):
            return waiting
        kept = [label for label in waiting.depends_on if label in self.live]
        return replace(waiting, depends_on=tuple(dict.fromkeys([*kept, *instead])))


def _same_work(step: Step, activity_id: str | None, action: str) -> bool:
    if step.activity_id and activity_id:
        return step.activity_id == activity_id
    return step.action == action


def _declared_step(activity: Activity, request: MakePlan, earlier: Sequence[str]) -> Step:
    config = activity.config
    tool = str(config.get("tool") or "") if activity.type is ActivityType.TOOL else ""
    call = Call(tool, dict(config.get("args") or {})) if tool else None
    named = [label for label in step_references(call.args if call else None) if label in earlier]
    return Step(
        activity.activity_id,
        _action(activity, request.goal),
        tool_hint=tool or _only_tool(activity),
        depends_on=tuple(dict.fromkeys([*named, *earlier[-1:]])),
        produces=activity.produces,
        activity_id=activity.activity_id,
        call=call,
        output_schema=config.get("output_schema") or _schema(request, activity.produces),
        type=activity.type,
    )


def _action(activity: Activity, goal: str) -> str:
    return (
        text_in(activity.title, language_of(goal))
        or str(activity.config.get("instruction") or "")
        or activity.activity_id
    )


def _only_tool(activity: Activity) -> str | None:
    """The one tool that an LLM activity may use, as a hint; of several the executor chooses."""
    tools: list[Json] = list(activity.config.get("tools") or [])
    return str(tools[0]) if activity.type is ActivityType.LLM and len(tools) == 1 else None


def _named_read(action: str, request: MakePlan) -> str | None:
    def fits(tool: ToolSpec) -> bool:
        whole_word = rf"(?a)(?<![\w.-]){re.escape(tool.name)}(?![\w-])"
        usable = tool.reads and tool.name not in request.broken_tools
        return usable and re.search(whole_word, action) is not None

    return next((tool.name for tool in request.tools if fits(tool)), None)


def _schema(request: MakePlan, output: str | None) -> Object | None:
    return request.schemas.get(output) if output else None
