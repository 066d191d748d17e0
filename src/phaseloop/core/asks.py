"""What a performer must have durable before it goes on, and the rulings that it gets back."""

from dataclasses import dataclass, field
from typing import TypeAlias

from phaseloop.core.values import Json, Object


@dataclass(frozen=True, slots=True)
class ModelCallWanted:
    """Request `n` of `scope`; `prompt` only with the first one (contract section 3)."""

    scope: str
    n: int
    role: str
    model: str
    fingerprint: str = ""
    step_id: str = ""
    attempt: int = 1
    prompt: Json = None


@dataclass(frozen=True, slots=True)
class ToolCallWanted:
    """Call `i` of reply `n`.

    `locked`: the conflict key whose lease is held. `rested`: after how many tries back-off was slept.
    `unavailable`: why it cannot be sent (an open breaker).
    """

    step_id: str
    attempt: int
    n: int
    i: int
    tool: str
    args: Json
    locked: str = ""
    rested: int = 0
    unavailable: str = ""


@dataclass(frozen=True, slots=True)
class ChildWanted:
    """A SUBPROCESS step asks to start its child, or to be told how it ended."""

    step_id: str
    attempt: int
    child_run_id: str
    definition_id: str
    inputs: Object = field(default_factory=dict[str, Json])
    parked: bool = False


@dataclass(frozen=True, slots=True)
class Go:
    """Act now. `call_id` names the call in reports; `tool` and `args` may be a fallback's or a person's edit."""

    key: str
    call_id: str = ""
    tool: str = ""
    args: Json = None


@dataclass(frozen=True, slots=True)
class Lock:
    """Take the lease of this conflict key, then ask again with `locked` set to it."""

    key: str


@dataclass(frozen=True, slots=True)
class Rest:
    """Sleep `seconds`, then ask again with `rested` set to `tries`: back-off is slept outside the call."""

    seconds: float
    tries: int


@dataclass(frozen=True, slots=True)
class Serve:
    """The answer is in the log."""

    outcome: str
    value: Json = None


@dataclass(frozen=True, slots=True)
class Wait:
    """Not now; the ask stays and is ruled again after every batch."""


Ask: TypeAlias = ModelCallWanted | ToolCallWanted | ChildWanted
Ruling: TypeAlias = Go | Lock | Rest | Serve | Wait
