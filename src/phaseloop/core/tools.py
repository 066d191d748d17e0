"""What the core knows of a tool: its schema, its effect class and its rules. Never the function itself."""

import re
from dataclasses import dataclass, field
from enum import StrEnum

from phaseloop.core.paths import is_object
from phaseloop.core.values import Json, Object


class EffectClass(StrEnum):
    """What a repeat does: nothing (read), nothing with the same key (idempotent), damage (write)."""

    READ = "read"
    IDEMPOTENT = "idempotent"
    WRITE = "write"


class Risk(StrEnum):
    """How much a wrong call costs; a high risk always asks a person."""

    LOW = "low"
    NORMAL = "normal"
    HIGH = "high"


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the planner, the linter and the ledger see it.

    `conflict_key` is a template over the arguments such as `"calendar:{email}"`; empty means `name`.
    `identity` names the arguments that say *whom* a write touches (an id, an address, an amount).
    Architecture section 4, contract section 8.
    """

    name: str
    description: str = ""
    effect: EffectClass = EffectClass.WRITE
    input_schema: Object = field(default_factory=dict[str, Json])
    output_schema: Object | None = None
    conflict_key: str = ""
    timeout_seconds: float = 30.0
    fallback: str = ""
    category: str = ""
    risk: Risk = Risk.NORMAL
    verify: bool = False
    repeatable: bool = False
    poll: bool = False
    untrusted: bool = False
    approval: bool = False
    exclusive_reads: bool = False
    identity: tuple[str, ...] = ()
    source: str = "function"

    @property
    def reads(self) -> bool:
        """Whether a call changes nothing."""
        return self.effect is EffectClass.READ

    @property
    def writes(self) -> bool:
        """Whether a blind repeat may do harm."""
        return self.effect is EffectClass.WRITE


def conflict_key(tool: ToolSpec, args: Json) -> str:
    """The resource a call touches: the tool's template filled from `args`, else its default."""
    if not tool.conflict_key:
        return tool.name if tool.source == "function" else tool.source
    values = args if is_object(args) else {}
    return re.sub(r"\{(\w+)\}", lambda hit: str(values.get(hit[1], "")), tool.conflict_key)
