"""The prompts of the model roles: fixed instructions from files, then what is asked now."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from phaseloop.adapters.schema_shapes import arguments_of, shape_of
from phaseloop.core.effects import JudgePlan, JudgeStep, MakePlan, RunStep
from phaseloop.core.errors import RecordUnreadable
from phaseloop.core.language import language_of
from phaseloop.core.paths import is_object
from phaseloop.core.plan import Step
from phaseloop.core.process import Activity, text_in
from phaseloop.core.tools import ToolSpec
from phaseloop.core.values import Json, Object, canonical

VALUE_BYTES = 8192  # a larger value is cut to its head: architecture section 8, contract section 2
HEAD_BYTES = 2048

WORDS: dict[str, dict[str, str]] = {
    "en": {
        "finished": "These steps are finished. Do not repeat them:",
        "failure": "Why a new plan is wanted. Plan only what remains:",
        "pending": "Planned and not started. Keep a step by giving it the same id, change it, or drop it:",
        "later": "Later phases, which you do not plan:",
        "broken": "Tools that do not work now. Do not use them:",
        "feedback": "A person asks for this change:",
        "findings": "Your last plan was refused. Mend each of these:",
        "outputs": "The plan must make these outputs, each by one step with `produces`:",
        "activities": "Declared activities. Each is carried out by exactly one step with its `activityId`:",
        "number": "Number new steps from {first}. At most {count} steps. Reply with the JSON object only.",
        "hint": "Likely tool: {tool}",
        "writes": "Already done by an earlier try. Do not do it again:",
        "again": "The last try was not accepted. Do this differently: {hint}",
        "json": "Answer with JSON of this shape and nothing else: {shape}",
        "deep": "The step failed. Find the cause; put into `suggestion` what would help, if only a new plan.",
        "none": "none",
    },
    "zh": {
        "finished": "以下步骤已经成功完成，不要重复执行：",
        "failure": "需要重新规划的原因如下。请只规划剩余未完成的部分：",
        "pending": "此前规划但尚未开始的步骤。沿用同一 id 表示保留，也可以修改或放弃：",
        "later": "后续阶段，不在本次规划范围内：",
        "broken": "目前不可用的工具，不要使用：",
        "feedback": "用户要求作如下修改：",
        "findings": "上一份计划被拒绝。请逐条修正：",
        "outputs": "计划必须产出以下内容，每项由一个带 `produces` 的步骤产出：",
        "activities": "已声明的活动。每个活动由恰好一个带 `activityId` 的步骤执行：",
        "number": "新步骤从 {first} 开始编号，最多 {count} 步。只输出 JSON 对象。",
        "hint": "可能用到的工具：{tool}",
        "writes": "之前的尝试已经完成以下操作，不要再做：",
        "again": "上一次尝试未被接受。请改为：{hint}",
        "json": "只用如下形状的 JSON 回答，不要有任何其他文字：{shape}",
        "deep": "该步骤失败了。请找出原因；在 `suggestion` 中说明怎样可以解决，或说明必须修改计划。",
        "none": "无",
    },
}


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a model reads first: instructions, the same for all requests of a role, then the request."""

    instructions: str
    user: str

    def as_record(self) -> Json:
        """The prompt as the log keeps it."""
        return {"instructions": self.instructions, "user": self.user}


def recorded_prompt(record: Json) -> Prompt:
    """The prompt of an attempt that began before. Raises `RecordUnreadable`."""
    if is_object(record):
        instructions, user = record.get("instructions"), record.get("user")
        if isinstance(instructions, str) and isinstance(user, str):
            return Prompt(instructions, user)
    raise RecordUnreadable("the recorded prompt", "it has no instructions and no user text")


@cache
def instructions(role: str, language: str) -> str:
    """The fixed text of a role (`prompts/<role>.md`, `prompts/<role>.zh.md`)."""
    name = f"{role}.zh.md" if language == "zh" else f"{role}.md"
    return files("phaseloop.adapters").joinpath("prompts", name).read_text(encoding="utf-8").strip()


def plan_prompt(request: MakePlan) -> Prompt:
    """What the planner reads: only the current phase, later ones by name (behaviours 2.4)."""
    language = language_of(request.goal)
    words = WORDS[language]
    sections = [
        section("TOOLS", "\n".join(map(tool_line, request.tools)) or words["none"]),
        section("BROKEN_TOOLS", f"{words['broken']} {', '.join(request.broken_tools)}", request.broken_tools),
        section("PHASE", f"{request.phase_name}\n{request.instruction}".strip()),
        section("OUTPUTS", f"{words['outputs']}\n{_outputs(request)}", request.outputs),
        section("ACTIVITIES", _listed(words["activities"], map(activity_line, request.activities))),
        section("LATER_PHASES", f"{words['later']} {', '.join(request.later_phases)}", request.later_phases),
        section("USER_INPUT", request.goal),
        *(section(f"INPUT {name}", shown(request.inputs[name])) for name in sorted(request.inputs)),
        *(section(f"ARTIFACT {name}", shown(request.artifacts[name])) for name in sorted(request.artifacts)),
        section("FINISHED", _listed(words["finished"], _finished(request)), request.finished),
        section("PENDING", _listed(words["pending"], map(step_line, request.pending))),
        section("FAILURE", f"{words['failure']}\n{request.failure}", request.failure),
        section("FEEDBACK", f"{words['feedback']}\n{request.feedback}", request.feedback),
        section("FINDINGS", _listed(words["findings"], _findings(request))),
        words["number"].format(first=f"s{first_free(request)}", count=request.max_steps),
    ]
    return Prompt(instructions("planner", language), "\n\n".join(filter(None, sections)))


def step_prompt(request: RunStep) -> Prompt:
    """What the executor reads: the namespaces it may see, then its one step (article 003 section 6.1)."""
    language = language_of(request.goal or request.step.action)
    words, step = WORDS[language], request.step
    task = [step.action]
    if step.tool_hint:
        task.append(words["hint"].format(tool=step.tool_hint))
    if step.output_schema:
        task.append(words["json"].format(shape=canonical(shape_of(step.output_schema))))
    context = {name.strip("[]"): value for name, value in request.context.items()}
    sections = [
        section("GOAL", request.goal if "USER_INPUT" not in context else ""),
        section("INSTRUCTION", request.instruction),
        *(section(name, shown(value)) for name, value in context.items()),
        section("FINISHED_WRITES", _listed(words["writes"], request.finished_writes)),
        section("STEP", "\n".join(task)),
        words["again"].format(hint=request.hint) if request.hint else "",
    ]
    return Prompt(instructions("executor", language), "\n\n".join(filter(None, sections)))


def verdict_prompt(request: JudgeStep | JudgePlan) -> Prompt:
    """What the critic reads: goal, task, result, and always the tool calls as evidence."""
    language = language_of(request.goal)
    words = WORDS[language]
    if isinstance(request, JudgeStep):
        task, result = request.step.action, shown(request.output)
        failure = f"{words['deep']}\n{request.failure}" if request.failure else ""
    else:
        task, failure = "", ""
        result = "\n".join(f"{done.id} {done.action}: {shown(done.output)}" for done in request.results)
    evidence = "\n".join(f"{n}. {shown(call)}" for n, call in enumerate(request.evidence, 1))
    sections = [
        section("GOAL", request.goal),
        section("TASK", task),
        section("RESULT", result or words["none"]),
        section("EVIDENCE", evidence or words["none"]),
        section("FAILURE", failure),
    ]
    return Prompt(instructions("critic", language), "\n\n".join(filter(None, sections)))


def section(name: str, text: str, wanted: object = True) -> str:
    """A named part of a prompt; nothing when it is empty or its subject is."""
    return f"[{name}]\n{text}" if text.strip() and wanted else ""


def shown(value: Json, limit: int = VALUE_BYTES) -> str:
    """A value as prompt text; a large one as its head, its size and a handle to the whole."""
    text = value if isinstance(value, str) else canonical(value)
    raw = text.encode("utf-8", "replace")
    if len(raw) <= limit:
        return text
    handle = hashlib.sha256(raw).hexdigest()[:16]
    head = raw[: min(limit, HEAD_BYTES)].decode("utf-8", "ignore")
    return f"{head}… [cut: {len(raw)} bytes in all, sha256:{handle}]"


def fitting(value: Json, limit: int = VALUE_BYTES) -> Json:
    """`value` itself while it is small enough for a prompt, else the text that stands for it."""
    if isinstance(value, str):
        return shown(value, limit)
    return value if len(canonical(value).encode("utf-8", "replace")) <= limit else shown(value, limit)


def tool_line(tool: ToolSpec) -> str:
    """A tool as the planner sees it: name, class, arguments, what it gives."""
    kind = "read" if tool.reads else "write"
    line = f"- {tool.name} ({kind}): {' '.join(tool.description.split())}"
    line += f"\n  arguments: {arguments_of(tool.input_schema)}"
    return f"{line}\n  gives: {canonical(shape_of(tool.output_schema))}" if tool.output_schema else line


def activity_line(activity: Activity) -> str:
    """A declared activity: id, type, title, and what its declaration already fixes."""
    line = f"- {activity.activity_id} ({activity.type.value}): {text_in(activity.title, 'en')}"
    made = f", produces {activity.produces}" if activity.produces else ""
    optional = ", optional" if activity.optional else ""
    fixed = {key: activity.config[key] for key in ("tool", "args", "instruction", "check") if key in activity.config}
    return line + made + optional + (f", {canonical(fixed)}" if fixed else "")


def step_line(step: Step) -> str:
    """A planned step in the form of a plan."""
    body: dict[str, Json] = {"id": step.id, "action": step.action, "tool_hint": step.tool_hint}
    body["depends_on"] = list(step.depends_on)
    if step.call:
        body["call"] = {"tool": step.call.tool, "args": dict(step.call.args)}
    return f"- {canonical(body)}"


def earlier_steps(request: MakePlan) -> tuple[str, ...]:
    """The ids of the finished and the pending steps, which a new plan may name."""
    return (*(done.id for done in request.finished), *(step.id for step in request.pending))


def first_free(request: MakePlan) -> int:
    """The first step number that is neither finished nor pending."""
    return 1 + max((int(name[1:]) for name in earlier_steps(request) if name[1:].isdecimal()), default=0)


def _listed(heading: str, lines: Iterable[str]) -> str:
    body = "\n".join(lines)
    return f"{heading}\n{body}" if body else ""


def _finished(request: MakePlan) -> list[str]:
    return [f"- {done.id} {done.action}: {shown(done.output, HEAD_BYTES)}" for done in request.finished]


def _findings(request: MakePlan) -> list[str]:
    return [
        "- " + ": ".join(filter(None, (found.where, f"{found.message} {found.mend}".strip())))
        for found in request.findings
    ]


def _outputs(request: MakePlan) -> str:
    schemas: Mapping[str, Object] = request.schemas
    return "\n".join(
        f"- {name}: {canonical(shape_of(schemas[name]))}" if name in schemas else f"- {name}"
        for name in request.outputs
    )
