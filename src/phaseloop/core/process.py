"""Process definitions: phases, their activities, artefact contracts and gates (article 002 section 5)."""

from dataclasses import dataclass, field
from enum import StrEnum

from phaseloop.core.plan import ActivityType
from phaseloop.core.tools import Risk
from phaseloop.core.values import Json, Object

Text = str | dict[str, str]
"""A text, or the same text by language: `{"en": "Design", "zh": "设计"}`."""


class GateMode(StrEnum):
    """The four ways to ask a person (behaviours 2.7)."""

    CONFIRM = "confirm"
    SELECT = "select"
    FORM = "form"
    APPROVE = "approve"


class GateKind(StrEnum):
    """Why a person is asked. Contract section 9."""

    EXIT = "exit"
    ACTIVITY = "activity"
    TOOL_APPROVAL = "tool_approval"
    IN_DOUBT = "in_doubt"
    ADVANCE = "advance"
    BLOCKED = "blocked"


class NoMatchPolicy(StrEnum):
    """What a deadline or an unmatched reply does (behaviours 2.7)."""

    WAIT = "wait"
    ASK_AGAIN = "ask_again"
    DEFAULT = "default"
    APPROVE = "approve"
    REJECT = "reject"
    ESCALATE = "escalate"
    CANCEL = "cancel"


@dataclass(frozen=True, slots=True)
class Option:
    """One choice of a `select` gate."""

    id: str
    label: str
    description: str = ""
    recommended: bool = False


@dataclass(frozen=True, slots=True)
class GateConfig:
    """How a HUMAN activity asks. `auto_pass` is the article's boolean, already parsed (002 section 4.3)."""

    human_mode: GateMode = GateMode.CONFIRM
    title: Text = ""
    prompt: Text = ""
    options: tuple[Option, ...] = ()
    schema: Object | None = None
    approvers: tuple[str, ...] = ()
    required: int = 1
    separation_of_duties: bool = False
    auto_pass: bool = False
    auto_pass_when: str = ""
    auto_pass_modes: tuple[str, ...] = ()
    timeout_seconds: float | None = None
    no_match_policy: NoMatchPolicy = NoMatchPolicy.WAIT
    default_outcome: str = ""
    max_asks: int = 2
    escalate_to: str = ""
    reminder_seconds: float | None = None
    risk_level: Risk = Risk.NORMAL


@dataclass(frozen=True, slots=True)
class Activity:
    """A declared node of a phase. `config` is as written; `gate` is it parsed, for HUMAN."""

    activity_id: str
    type: ActivityType
    phase_ref: str = ""
    title: Text = ""
    config: Object = field(default_factory=dict[str, Json])
    gate: GateConfig | None = None
    optional: bool = False
    produces: str | None = None


@dataclass(frozen=True, slots=True)
class Phase:
    """A stretch of work with entry condition, activities, artefact contract and gate: six attributes (002 2.1)."""

    phase_id: str
    display_name: Text = ""
    order: int = 1
    classification: str = ""
    entry_condition: str = ""
    start_activity_id: str = ""
    exit_human_activity_id: str | None = None
    produced_outputs: tuple[str, ...] = ()
    auto_advance: bool = False
    plan_from: str | None = None
    tools: tuple[str, ...] | None = None
    instruction: str = ""


@dataclass(frozen=True, slots=True)
class Definition:
    """A whole process. No phases means one flat phase (002 section 7)."""

    definition_id: str
    version: str = "1"
    title: Text = ""
    phases: tuple[Phase, ...] = ()
    activities: tuple[Activity, ...] = ()
    artifacts: dict[str, Json] = field(default_factory=dict[str, Json])
    inputs: dict[str, Json] = field(default_factory=dict[str, Json])
    limits: Object = field(default_factory=dict[str, Json])
    phase_granularity: str = "declared"


FLAT_PHASE = Phase("phase_default", {"en": "Work", "zh": "执行"}, auto_advance=True)
FLAT = Definition("flat", phases=(FLAT_PHASE,))
"""A bare goal: one phase, no exit gate (contract section 10)."""


def text_in(text: Text, language: str) -> str:
    """`text` in `language`, else in any language it has."""
    if isinstance(text, str):
        return text
    return text.get(language) or next(iter(text.values()), "")


def phase_activities(definition: Definition, phase: Phase) -> tuple[Activity, ...]:
    """The declared activities of `phase`, in declared order; all of them when there is one flat phase."""
    flat = len(definition.phases) <= 1
    return tuple(a for a in definition.activities if a.phase_ref == phase.phase_id or (flat and not a.phase_ref))
