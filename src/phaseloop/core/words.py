"""What people say: answers to gates, pause, cancel and the like, and what policies say in their name."""

from dataclasses import dataclass, field
from typing import TypeAlias

from phaseloop.core.run_events import Who
from phaseloop.core.tools import ToolSpec
from phaseloop.core.values import Json, Object


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer to version `version` of a gate; `key` makes a repeat harmless."""

    gate_id: str
    version: int
    outcome: str
    by: Who
    value: Json = None
    comment: str = ""
    key: str = ""


@dataclass(frozen=True, slots=True)
class Pause:
    by: Who
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Resume:
    by: Who
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Cancel:
    by: Who
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Reopen:
    """A failed run goes on with more room; `limits` maps a counter to how much is added."""

    by: Who
    reason: str = ""
    limits: Object = field(default_factory=dict[str, Json])


@dataclass(frozen=True, slots=True)
class RaiseLimit:
    by: Who
    kind: str
    limit: float


@dataclass(frozen=True, slots=True)
class AddNote:
    by: Who
    text: str


@dataclass(frozen=True, slots=True)
class CatalogueMoved:
    tools: tuple[ToolSpec, ...]


Word: TypeAlias = Answered | Pause | Resume | Cancel | Reopen | RaiseLimit | AddNote | CatalogueMoved
