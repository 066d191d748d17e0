"""A plan for one phase: steps that name what they need, and which of them code can run."""

from dataclasses import dataclass, field
from enum import StrEnum

from phaseloop.core.values import Json, Object

MAX_STEPS = 8  # above this neighbours are merged or the plan is refused: article 000 section 6, article 003 section 3.2


class ActivityType(StrEnum):
    """What carries an activity out (article 002 section 5.1)."""

    RULE = "RULE"
    TOOL = "TOOL"
    LLM = "LLM"
    HUMAN = "HUMAN"
    SUBPROCESS = "SUBPROCESS"


@dataclass(frozen=True, slots=True)
class Call:
    """The tool call of a bound step; `args` holds literals, `$ref` and `$tmpl`."""

    tool: str
    args: Object = field(default_factory=dict[str, Json])


@dataclass(frozen=True, slots=True)
class Step:
    """One item of a plan: bound when it has a `call`, else open. Contract section 5.

    In a planner's reply `id` is a label; the core maps it to `s<n>`.
    """

    id: str
    action: str
    tool_hint: str | None = None
    depends_on: tuple[str, ...] = ()
    produces: str | None = None
    activity_id: str | None = None
    call: Call | None = None
    each: Object | None = None
    only_if: str | None = None
    output_schema: Object | None = None
    type: ActivityType = ActivityType.LLM

    @property
    def bound(self) -> bool:
        """Whether the engine runs it without a model."""
        return self.call is not None


@dataclass(frozen=True, slots=True)
class Plan:
    """The article's plan object (003 section 3.1) plus `result`, which composes the run's result."""

    goal: str
    steps: tuple[Step, ...]
    constraints: tuple[str, ...] = ()
    result: Json = None


class Severity(StrEnum):
    """An error refuses the plan, a question goes to the planner once, a note is kept."""

    ERROR = "error"
    QUESTION = "question"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong with a plan, a result or a definition, where, and how to mend it."""

    code: str
    message: str
    where: str = ""
    mend: str = ""
    severity: Severity = Severity.ERROR
