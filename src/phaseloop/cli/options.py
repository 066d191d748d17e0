"""Options that several commands share, and what a command is given to carry a run with."""

import json
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from phaseloop.core.errors import WrongUse

StoreOption = Annotated[
    str | None, typer.Option("--store", help="Where runs are kept. PHASELOOP_STORE, else .phaseloop/runs.db")
]
ModelOption = Annotated[str | None, typer.Option("--model", "-m", help="provider:name. PHASELOOP_MODEL")]
CriticOption = Annotated[str | None, typer.Option("--critic-model", help="Another model for the critic")]
ToolsOption = Annotated[
    list[str] | None, typer.Option("--tools", "-t", help="PACKAGE[:NAME] or FILE.py[:NAME]; may be repeated")
]
McpOption = Annotated[Path | None, typer.Option("--mcp", help="An mcp.json with mcpServers")]
JsonOption = Annotated[bool, typer.Option("--json", help="As JSON, one object a line")]
AsciiOption = Annotated[bool, typer.Option("--ascii", help="Plain signs instead of box characters")]
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Answer every gate in my name, positively")]
SafeOption = Annotated[bool, typer.Option("--yes-safe", help="Like --yes, but approvals stay open")]
CommentOption = Annotated[str, typer.Option("--comment", "-c", help="What should change, or why")]
RunArgument = Annotated[str, typer.Argument(metavar="RUN", help="The run's id, or its first letters")]


@dataclass(frozen=True, slots=True)
class Means:
    """The store, the models and the tools that a command names."""

    store: str | None = None
    model: str | None = None
    critic_model: str | None = None
    tools: tuple[str, ...] = ()
    mcp: Path | None = None

    def flags(self) -> str:
        """The same options again, for a command that is printed; empty when there are none."""
        words: list[str] = []
        for flag, value in (("--store", self.store), ("--model", self.model), ("--critic-model", self.critic_model)):
            words += [flag, value] if value else []
        for source in self.tools:
            words += ["--tools", source]
        words += ["--mcp", str(self.mcp)] if self.mcp else []
        return "".join(f" {shlex.quote(word)}" for word in words)


@dataclass(frozen=True, slots=True)
class Manner:
    """How a command shows a run and who answers its gates."""

    as_json: bool = False
    ascii_only: bool = False
    yes: bool = False
    yes_safe: bool = False


def pairs(texts: list[str] | None) -> dict[str, Any]:
    """`NAME=VALUE` pairs; a value that is JSON is taken as JSON. Raises `WrongUse`."""
    found: dict[str, Any] = {}
    for text in texts or ():
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise WrongUse(f"{text!r} is not of the form NAME=VALUE")
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = value
    return found
