"""Why a model gave no usable reply, in one sentence without secrets."""

import os
import re
from collections.abc import Iterable

from phaseloop.core.errors import ModelFailed

SECRET_NAMES = re.compile(r"KEY|TOKEN|SECRET|PASSWORD", re.IGNORECASE)
KEY_SHAPES = re.compile(
    r"\b(?:sk|pk|rk|gsk|xai|AIza|ghp|hf|r8)[-_]?[A-Za-z0-9_\-]{12,}|\bBearer\s+\S+|(?<=://)[^/\s:@]+:[^/\s@]+(?=@)",
    re.IGNORECASE,
)
MIN_SECRET = 8  # a shorter value of such a variable ("none", "test") also occurs in ordinary words
MAX_CHARS = 300


class ModelStopped(ModelFailed):
    """A model, or the way to it, gave nothing that can be used; the message says what and why.

    `kind`: error, timeout, max_rounds or loop_detected, as `StepRaised` has it.
    """

    def __init__(self, reason: str, kind: str = "error") -> None:
        super().__init__(reason, kind)
        self.reason = reason
        self.kind = kind

    def __str__(self) -> str:
        return self.reason


def sentence(text: str, secrets: Iterable[str] | None = None) -> str:
    """`text` on one line, short, with everything that looks like a key replaced by `***`.

    `secrets` are values to hide; without it, those of the environment whose names say so.
    """
    line = " ".join(text.split())
    for secret in _environment_secrets() if secrets is None else secrets:
        if len(secret) >= MIN_SECRET:
            line = line.replace(secret, "***")
    line = KEY_SHAPES.sub("***", line)
    return line if len(line) <= MAX_CHARS else line[:MAX_CHARS] + "…"


def _environment_secrets() -> list[str]:
    return [value for name, value in os.environ.items() if SECRET_NAMES.search(name)]
