"""The tool layer: finds a tool, resolves secrets, makes one attempt, fits and masks the result."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from phaseloop.adapters.local_calls import LocalCalls
from phaseloop.adapters.local_tools import LocalTool
from phaseloop.adapters.secret_handles import Secret, Secrets
from phaseloop.adapters.tool_options import did_you_mean, with_rules
from phaseloop.core.errors import WrongUse
from phaseloop.core.limits import Limits
from phaseloop.core.tools import ToolSpec
from phaseloop.core.values import Json, Object, canonical
from phaseloop.engine.ports import Returned

_HEAD = 2_000  # characters of a result that is too large to keep


class ToolSource(Protocol):
    """Tools that live elsewhere, such as MCP servers; never raises for a tool's mistake."""

    def catalogue(self) -> tuple[ToolSpec, ...]: ...

    def absent(self, tool: str) -> str:
        """Why a tool is not in the catalogue now, in one sentence; empty when nothing is known of it."""
        ...

    def secrets(self) -> Mapping[str, str]:
        """Values that must be masked in results, by name."""
        ...

    async def call(self, spec: ToolSpec, args: Json, key: str) -> Returned: ...


class Toolbox:
    """All tools of a process behind `engine.ports.Tools`."""

    def __init__(
        self,
        tools: Sequence[LocalTool[..., Any]],
        mcp: ToolSource | None = None,
        *,
        secrets: Iterable[Secret | str] = (),
        result_bytes: int = Limits().result_bytes,
        rules: Mapping[str, Object] | None = None,
    ) -> None:
        """`rules` maps a tool's name to what the configuration says of it; it overrides code and annotations.

        Raises `WrongUse` for two tools of one name, a rule that cannot be, a rule or fallback for a tool
        that does not exist, or a declared secret without a value.
        """
        self._mcp = mcp
        self._rules = dict(rules or {})
        self._result_bytes = result_bytes
        self._secrets = Secrets(secrets, os.environ, {} if mcp is None else mcp.secrets())
        self._calls = LocalCalls()
        self._tools: dict[str, LocalTool[..., Any]] = {}
        for tool in tools:
            if self._tools.setdefault(tool.spec.name, tool) is not tool:
                raise WrongUse(f"two tools are named {tool.spec.name!r}; give one of them another name by name=")
        self._local = {name: self._ruled(tool.spec) for name, tool in self._tools.items()}
        self._check_names()

    def catalogue(self) -> tuple[ToolSpec, ...]:
        """Every tool that can be called now, functions first; a function hides an MCP tool of its name."""
        if self._mcp is None:
            return tuple(self._local.values())
        elsewhere = [self._ruled(spec) for spec in self._mcp.catalogue() if spec.name not in self._tools]
        return (*self._local.values(), *elsewhere)

    async def call(self, tool: str, args: Json, key: str) -> Returned:
        """One attempt; the engine decides about another. Only the caller's own `CancelledError` is raised."""
        spec = self._find(tool)
        if spec is None:
            return self._masked(self._unknown(tool))
        resolved = self._secrets.resolve(tool, args)
        if tool in self._tools:
            returned = await self._calls.call(self._tools[tool], spec, resolved, key)
        elif self._mcp is not None:
            returned = await self._mcp.call(spec, resolved, key)
        else:
            returned = self._unknown(tool)
        return self._fitted(spec, self._masked(returned))

    async def verify(self, tool: str, args: Json, key: str) -> tuple[bool | None, Json]:
        """Whether a write in doubt happened, and its result; `(None, None)` when nobody can tell."""
        spec = self._find(tool)
        if spec is None or tool not in self._tools:
            return None, None
        happened, value = await self._calls.verify(self._tools[tool], spec, self._secrets.resolve(tool, args), key)
        returned = self._fitted(spec, self._masked(Returned("ok", value)), keep=True)
        return happened, returned.value

    def _find(self, name: str) -> ToolSpec | None:
        local = self._local.get(name)
        return local or next((spec for spec in self.catalogue() if spec.name == name), None)

    def _ruled(self, spec: ToolSpec) -> ToolSpec:
        rules = self._rules.get(spec.name)
        return with_rules(spec, rules) if rules else spec

    def _check_names(self) -> None:
        """A misspelt name in a rule or a fallback would silently do nothing. MCP tools may come later."""
        if self._mcp is not None:
            return
        for name in self._rules:
            if name not in self._tools:
                raise WrongUse(f"rules are given for an unknown tool {name!r}{did_you_mean(name, self._tools)}")
        for spec in self._local.values():
            if spec.fallback and spec.fallback not in self._tools:
                known = did_you_mean(spec.fallback, self._tools.keys() - {spec.name})
                raise WrongUse(f"tool {spec.name}: fallback {spec.fallback!r} is not a tool{known}")

    def _unknown(self, name: str) -> Returned:
        why = self._mcp.absent(name) if self._mcp is not None else ""
        if why:
            return Returned("failed", error=why, error_kind="unavailable", transient=True, unsent=True)
        known = did_you_mean(name, (spec.name for spec in self.catalogue()))
        return Returned("failed", error=f"there is no tool {name!r}{known}", error_kind="unknown_tool", unsent=True)

    def _masked(self, returned: Returned) -> Returned:
        value, in_value = self._secrets.mask(returned.value)
        error = self._secrets.mask_text(returned.error)
        if not in_value and error == returned.error:
            return returned
        return replace(returned, value=value, error=error, masked=True)

    def _fitted(self, spec: ToolSpec, returned: Returned, keep: bool = False) -> Returned:
        """A result above the limit: a read fails, what a write did stays done and is kept in short."""
        if returned.value is None:
            return returned
        text = canonical(returned.value)
        if len(text) * 4 <= self._result_bytes:  # a character has at most four bytes in UTF-8
            return returned
        size = len(text.encode())
        if size <= self._result_bytes:
            return returned
        if spec.reads and not keep:
            said = (
                f"{spec.name} returned {_megabytes(size)}, more than {_megabytes(self._result_bytes)};"
                " page or filter in the tool"
            )
            return replace(returned, outcome="failed", value=None, error=said, error_kind="result")
        head = returned.value if isinstance(returned.value, str) else text
        return replace(returned, value={"cut": True, "bytes": size, "head": head[:_HEAD]})


def _megabytes(size: int) -> str:
    return f"{size / 1_000_000:.1f} MB" if size >= 100_000 else f"{size} bytes"
