"""What the engine needs from a planner, an executor and a critic. Any object with the method will do."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from phaseloop.core.answers import Verdict
from phaseloop.core.call_events import Usage
from phaseloop.core.effects import JudgePlan, JudgeStep, MakePlan, RunStep
from phaseloop.core.plan import Plan
from phaseloop.core.tools import ToolSpec
from phaseloop.core.values import Json


@dataclass(frozen=True, slots=True)
class CallResult:
    """How a tool call ended. `outcome`: ok, failed, or retry (the tool asks for other arguments)."""

    outcome: str
    value: Json = None


@dataclass(frozen=True, slots=True)
class ModelReply:
    """A model's reply as JSON. `calls` are the `digest(tool, args)` of the tool calls in it, in order."""

    reply: Json
    calls: tuple[str, ...] = ()
    usage: Usage = Usage()
    cost_usd: float = 0.0
    finish: str = ""
    drift: tuple[str, ...] = ()


class Desk(Protocol):
    """The one door through which a role reaches a model or a tool, so that it stands in the log.

    A desk belongs to one effect. After a crash the role is entered again with a new desk that serves
    what the log holds (contract section 4).
    """

    @property
    def tools(self) -> tuple[ToolSpec, ...]:
        """The tools this effect may call."""
        ...

    @property
    def replies(self) -> int:
        """How many model requests were answered so far, recorded ones included."""
        ...

    async def call(self, tool: str, args: Json, *, i: int | None = None) -> CallResult:
        """Call a tool through ledger, locks, budgets and gates; `i` is its place in the last reply."""
        ...

    async def model(
        self,
        role: str,
        model: str,
        fingerprint: str,
        send: Callable[[], Awaitable[ModelReply]],
        prompt: Json = None,
    ) -> Json:
        """The reply to the next request: from the log, else from `send`, recorded before it is returned.

        `prompt` is the rendered first prompt. Raises `ModelFailed` when the recorded request failed.
        """
        ...


class Planner(Protocol):
    """Thinks; never acts."""

    async def plan(self, request: MakePlan, desk: Desk) -> Plan: ...


class Executor(Protocol):
    """Carries out one open step and returns its output as JSON."""

    async def run(self, request: RunStep, desk: Desk) -> Json: ...


class Critic(Protocol):
    """Judges; changes nothing."""

    async def judge(self, request: JudgeStep | JudgePlan, desk: Desk) -> Verdict: ...


@dataclass(frozen=True, slots=True)
class Roles:
    """The three roles of a run."""

    planner: Planner
    executor: Executor
    critic: Critic


def role_names(roles: Roles) -> dict[str, Json]:
    """Which roles run, by name, for the log: a role's own `name`, such as its model's, else its class."""
    parts = {"planner": roles.planner, "executor": roles.executor, "critic": roles.critic}
    return {name: getattr(part, "name", None) or type(part).__name__ for name, part in parts.items()}
