"""Plain JSON values: their canonical text and their digest."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any, TypeAlias

Json: TypeAlias = Any
"""`None`, `bool`, `int`, `float`, `str`, `list` or `dict[str, ...]` of those; nothing else."""

Object: TypeAlias = Mapping[str, Any]
"""A JSON object. Never changed in place."""


_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode


def canonical(value: Json) -> str:
    """The one text of a value: sorted keys, no blanks, no escapes for Unicode."""
    return _encode(value)


def digest(*parts: Json) -> str:
    """Sixteen hexadecimal digits that stand for the canonical text of `parts`."""
    return hashlib.blake2b(canonical(parts).encode(), digest_size=8).hexdigest()


def size(value: Json) -> int:
    """Bytes of the canonical text in UTF-8."""
    return len(canonical(value).encode())
