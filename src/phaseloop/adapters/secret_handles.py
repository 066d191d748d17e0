"""Secrets as handles: resolved at the tool's door, masked in what comes back (contract section 3)."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from phaseloop.adapters.tool_values import is_array, is_object
from phaseloop.core.errors import WrongUse
from phaseloop.core.values import Json

_HANDLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SECRET_NAME = re.compile(r"(?:KEY|TOKEN|SECRET|PASSWORD)$", re.IGNORECASE)
MIN_LENGTH = 8  # shorter values that nobody declared occur in ordinary text too often to be masked


@dataclass(frozen=True, slots=True)
class Secret:
    """A secret by name. Arguments carry `${NAME}`; only the tool receives the value.

    Without `value` it is the environment variable of that name. `tools` limits which tools may receive
    it; empty means any. The value never appears in `repr`.
    """

    name: str
    value: str | None = field(default=None, repr=False)
    tools: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise WrongUse(f"secret name {self.name!r} must be letters, digits and underscores, as in API_KEY")


class Secrets:
    """Every secret value this process knows, and which of them arguments may ask for."""

    def __init__(
        self, declared: Iterable[Secret | str], environment: Mapping[str, str], masked: Mapping[str, str]
    ) -> None:
        """`masked` are more values to mask, by name. Raises `WrongUse` for a declared one without a value."""
        self._declared: dict[str, Secret] = {}
        likely = {name: text for name, text in environment.items() if _SECRET_NAME.search(name)} | dict(masked)
        values = {name: text for name, text in likely.items() if len(text) >= MIN_LENGTH}
        for given in declared:
            secret = Secret(given) if isinstance(given, str) else given
            value = environment.get(secret.name, "") if secret.value is None else secret.value
            if not value:
                raise WrongUse(f"secret {secret.name} has no value: set the environment variable {secret.name}")
            self._declared[secret.name] = Secret(secret.name, value, secret.tools)
            values[secret.name] = value
        known = [(text, name) for name, text in values.items()]
        self._known = sorted(known, key=lambda pair: (-len(pair[0]), pair[1]))

    def resolve(self, tool: str, value: Json) -> Json:
        """`value` with every `${NAME}` replaced that is declared for `tool`; other text stays as it is."""
        if not self._declared:
            return value
        if isinstance(value, str):
            return _HANDLE.sub(lambda hit: self._value(tool, hit), value)
        if is_array(value):
            return [self.resolve(tool, item) for item in value]
        if is_object(value):
            return {key: self.resolve(tool, item) for key, item in value.items()}
        return value

    def mask(self, value: Json) -> tuple[Json, bool]:
        """`value` with every known secret replaced by `[secret:NAME]`, and whether there was one."""
        if isinstance(value, str):
            masked = self.mask_text(value)
            return masked, masked != value
        if is_array(value):
            masks = [self.mask(item) for item in value]
            return [item for item, _ in masks], any(hit for _, hit in masks)
        if is_object(value):
            pairs = {self.mask_text(key): self.mask(item) for key, item in value.items()}
            hit = any(hit for _, hit in pairs.values()) or pairs.keys() != value.keys()
            return {key: item for key, (item, _) in pairs.items()}, hit
        return value, False

    def mask_text(self, text: str) -> str:
        """`text` with every known secret replaced; the longest first, so that none is left in part."""
        for secret, name in self._known:
            if secret in text:
                text = text.replace(secret, f"[secret:{name}]")
        return text

    def _value(self, tool: str, hit: re.Match[str]) -> str:
        secret = self._declared.get(hit[1])
        allowed = secret is not None and (not secret.tools or tool in secret.tools)
        return str(secret.value) if secret is not None and allowed else hit[0]
