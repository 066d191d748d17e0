"""Plan, act, judge and stop at gates, on one durable log."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from phaseloop.adapters.local_tools import tool
    from phaseloop.adapters.secret_handles import Secret
    from phaseloop.adapters.tool_errors import NothingSent, RetryWithOtherArguments, ToolError
    from phaseloop.compose import App, Run
    from phaseloop.core.answers import Verdict
    from phaseloop.core.errors import PhaseloopError
    from phaseloop.core.limits import Limits
    from phaseloop.core.plan import Plan, Step
    from phaseloop.core.process import Definition as Process
    from phaseloop.engine.results import RunResult
    from phaseloop.roles.orchestrator import Orchestrator
    from phaseloop.roles.protocols import Critic, Desk, Executor, Planner

_HOMES = {
    "App": "compose",
    "Critic": "roles.protocols",
    "Desk": "roles.protocols",
    "Executor": "roles.protocols",
    "Limits": "core.limits",
    "NothingSent": "adapters.tool_errors",
    "Orchestrator": "roles.orchestrator",
    "PhaseloopError": "core.errors",
    "Plan": "core.plan",
    "Planner": "roles.protocols",
    "Process": "core.process",
    "RetryWithOtherArguments": "adapters.tool_errors",
    "Run": "compose",
    "RunResult": "engine.results",
    "Secret": "adapters.secret_handles",
    "Step": "core.plan",
    "ToolError": "adapters.tool_errors",
    "Verdict": "core.answers",
    "tool": "adapters.local_tools",
}
__all__ = [
    "App",
    "Critic",
    "Desk",
    "Executor",
    "Limits",
    "NothingSent",
    "Orchestrator",
    "PhaseloopError",
    "Plan",
    "Planner",
    "Process",
    "RetryWithOtherArguments",
    "Run",
    "RunResult",
    "Secret",
    "Step",
    "ToolError",
    "Verdict",
    "tool",
]


def __getattr__(name: str) -> Any:
    """Public names are imported when they are first used: `import phaseloop` costs nothing."""
    if name not in _HOMES:
        raise AttributeError(f"module 'phaseloop' has no attribute {name!r}")
    home = importlib.import_module(f"phaseloop.{_HOMES[name]}")
    return getattr(home, "Definition" if name == "Process" else name)


def __dir__() -> list[str]:
    """Only what is public."""
    return sorted(__all__)
