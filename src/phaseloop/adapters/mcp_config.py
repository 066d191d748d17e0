"""Reads `mcp.json`: which MCP servers there are, how to reach them and which of them are trusted."""

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from phaseloop.adapters.tool_options import did_you_mean
from phaseloop.adapters.tool_values import is_array, is_object
from phaseloop.core.errors import WrongUse
from phaseloop.core.values import Object

_VARIABLE = re.compile(r"\$\{(\w+)(?::-([^}]*))?\}")
_SERVER_NAME = re.compile(r"[A-Za-z0-9_-]{1,40}")
_KEYS = frozenset({"command", "args", "env", "cwd", "url", "headers", "type", "disabled", "timeout", "trusted"})
_TYPES = {"stdio": "command", "http": "url", "streamable-http": "url", "streamableHttp": "url"}
_SECRET = re.compile(r"(?:KEY|TOKEN|SECRET|PASSWORD|AUTHORIZATION)$", re.IGNORECASE)
_TIMEOUT = 30.0  # seconds, as for every tool: contract section 10
_LONGEST_TIMEOUT = 3_600.0


@dataclass(frozen=True, slots=True)
class McpServer:
    """One entry of `mcpServers`, variables filled in. Exactly one of `command` and `url` is set.

    `timeout_seconds` is the time-out of a call. A `trusted` server's annotations are believed and its
    results are taken as trusted text (contract section 8).
    """

    name: str
    command: str = ""
    args: tuple[str, ...] = ()
    env: dict[str, str] = field(default_factory=dict[str, str], repr=False)
    cwd: str = ""
    url: str = ""
    headers: dict[str, str] = field(default_factory=dict[str, str], repr=False)
    timeout_seconds: float = _TIMEOUT
    trusted: bool = False

    def secrets(self) -> Mapping[str, str]:
        """What of its environment and headers must never be shown, by name."""
        headers = {name.replace("-", "_"): text for name, text in self.headers.items()}
        known = {name: text for name, text in (self.env | headers).items() if _SECRET.search(name)}
        return {name: text.removeprefix("Bearer ") for name, text in known.items()}


def load_mcp_config(path: Path, environment: Mapping[str, str] = os.environ) -> tuple[McpServer, ...]:
    """The servers of the file that are not disabled. Raises `WrongUse` naming file, entry and mend."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise WrongUse(f"{path} cannot be read: {error}") from error
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        raise WrongUse(f"{path} is not JSON: {error.msg} in line {error.lineno}, column {error.colno}") from error
    return parse_mcp_config(document, str(path), environment)


def parse_mcp_config(document: Any, source: str, environment: Mapping[str, str]) -> tuple[McpServer, ...]:
    """As `load_mcp_config`, from the parsed document; `source` stands in the messages."""
    entries = document.get("mcpServers") if is_object(document) else None
    if not is_object(entries):
        raise WrongUse(f'{source}: expected {{"mcpServers": {{"name": {{"command": …}} or {{"url": …}}}}}}')
    servers: list[McpServer] = []
    for name, entry in entries.items():
        where = f"{source}: server {name!r}"
        if not is_object(entry):
            raise WrongUse(f"{where} must be an object, not {entry!r}")
        if not _SERVER_NAME.fullmatch(name):
            raise WrongUse(f"{where}: its name must be 1 to 40 letters, digits, '_' or '-'")
        reader = _Entry(where, entry, environment)
        if not reader.flag("disabled"):
            servers.append(reader.server(name))
    return tuple(servers)


class _Entry:
    """Reads one entry, with errors that say where."""

    def __init__(self, where: str, entry: Object, environment: Mapping[str, str]) -> None:
        self._where = where
        self._entry = entry
        self._environment = environment

    def server(self, name: str) -> McpServer:
        self._check_keys()
        return McpServer(
            name=name,
            command=self._text("command"),
            args=tuple(self._filled(f"args[{n}]", text) for n, text in enumerate(self._list("args"))),
            env=self._table("env"),
            cwd=self._text("cwd"),
            url=self._url(),
            headers=self._table("headers"),
            timeout_seconds=self._seconds(),
            trusted=self.flag("trusted"),
        )

    def flag(self, key: str) -> bool:
        value = self._entry.get(key, False)
        if not isinstance(value, bool):
            raise WrongUse(f"{self._where}: {key} must be true or false, not {value!r}")
        return value

    def _check_keys(self) -> None:
        """Other clients' keys are ignored, but a misspelt one of ours must not silently do nothing."""
        for key in self._entry.keys() - _KEYS:
            hint = did_you_mean(key, _KEYS)
            if "did you mean" in hint:
                raise WrongUse(f"{self._where}: unknown key {key!r}{hint}")
        command, url = "command" in self._entry, "url" in self._entry
        if command and url:
            raise WrongUse(
                f"{self._where} has both command and url; keep command for a local server (stdio),"
                " or url for a remote one (HTTP)"
            )
        if not command and not url:
            raise WrongUse(f"{self._where} has neither command nor url")
        kind = self._entry.get("type", "stdio" if command else "http")
        if _TYPES.get(kind) != ("command" if command else "url"):
            raise WrongUse(f'{self._where}: type {kind!r} does not fit; use "stdio" with command, "http" with url')

    def _url(self) -> str:
        url = self._text("url")
        if "url" in self._entry and not url.startswith(("http://", "https://")):
            raise WrongUse(f"{self._where}: url must start with http:// or https://, not {url!r}")
        return url

    def _text(self, key: str) -> str:
        value = self._entry.get(key, "")
        if not isinstance(value, str) or (key in self._entry and not value.strip()):
            raise WrongUse(f"{self._where}: {key} must be text, not {value!r}")
        return self._filled(key, value)

    def _list(self, key: str) -> list[str]:
        value = self._entry.get(key, [])
        if not is_array(value) or not all(isinstance(item, str) for item in value):
            raise WrongUse(f"{self._where}: {key} must be a list of texts, not {value!r}")
        return list(value)

    def _table(self, key: str) -> dict[str, str]:
        value = self._entry.get(key, {})
        if not is_object(value):
            raise WrongUse(f"{self._where}: {key} must be an object of texts, not {value!r}")
        for name, text in value.items():
            if not isinstance(text, str):
                raise WrongUse(f"{self._where}: {key}.{name} must be text, not {text!r}; write it in quotes")
        return {name: self._filled(f"{key}.{name}", text) for name, text in value.items()}

    def _seconds(self) -> float:
        value = self._entry.get("timeout", _TIMEOUT)
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not 0 < value <= _LONGEST_TIMEOUT:
            raise WrongUse(f"{self._where}: timeout must be seconds above 0 and at most 3600, not {value!r}")
        return float(value)

    def _filled(self, key: str, text: str) -> str:
        """`text` with `${VAR}` and `${VAR:-default}` filled in; as in a shell, empty takes the default."""

        def fill(hit: re.Match[str]) -> str:
            value = self._environment.get(hit[1])
            if hit[2] is not None:
                return value or hit[2]
            if value is None:
                raise WrongUse(
                    f"{self._where}: {key} needs the environment variable {hit[1]}, which is not set;"
                    f" set it or write ${{{hit[1]}:-default}}"
                )
            return value

        return _VARIABLE.sub(fill, text)
