"""Write `schemas/*.schema.json` from the dataclasses of the core: `python -m tools.schemas [--check]`."""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from phaseloop.adapters.codec import CLASSES, VERSIONS
from phaseloop.adapters.wire import shape_of
from phaseloop.core.plan import Plan
from tools.generated import ROOT, write_or_check

FOLDER = ROOT / "schemas"
DIALECT = "https://json-schema.org/draft/2020-12/schema"
SHA256 = {"type": "string", "pattern": "^[0-9a-f]{64}$"}


def event_schema() -> dict[str, Any]:
    """One schema for a line of `--json` and the data of an SSE event: any event in its envelope."""
    twins = [shape_of(cls).twin for cls in CLASSES.values()]
    _, parts = msgspec.json.schema_components(twins, ref_template="#/$defs/{name}")
    defs: dict[str, Any] = {}
    for (name, cls), twin in zip(CLASSES.items(), twins, strict=True):
        defs[name] = _in_envelope(name, cls, parts.pop(twin.__name__))
    return {
        "$schema": DIALECT,
        "title": "phaseloop events",
        "description": "An event as `--json` and SSE carry it. Fields that hold their default are left out.",
        "oneOf": [{"$ref": f"#/$defs/{name}"} for name in CLASSES],
        "$defs": defs | {name: _tidy(part) for name, part in sorted(parts.items())},
    }


def plan_schema() -> dict[str, Any]:
    """The plan object of article 003 section 3.1 with the fields of contract section 5."""
    _, parts = msgspec.json.schema_components([shape_of(Plan).twin], ref_template="#/$defs/{name}")
    plan = _tidy(parts.pop("Plan"))
    return {"$schema": DIALECT, **plan, "$defs": {name: _tidy(part) for name, part in sorted(parts.items())}}


def _in_envelope(name: str, cls: type, part: Mapping[str, Any]) -> dict[str, Any]:
    head: dict[str, Any] = {
        "runId": {"type": "string"},
        "seq": {"type": "integer", "minimum": 1},
        "ts": {"type": "string", "format": "date-time"},
        "event": {"const": name},
        "v": {"const": VERSIONS.get(name, 1)},
    }
    schema = _tidy(part)
    schema["properties"] = head | schema["properties"]
    schema["required"] = [*head, *schema.get("required", [])]
    for field in shape_of(cls).shared:
        schema["properties"][field.wire] = SHA256 | {"description": f"The blob that holds `{field.name}`."}
    for field in shape_of(cls).refs:
        schema["properties"][field.name + "_ref"] = SHA256 | {
            "description": f"The blob that holds `{field.wire}`, which is then left out."
        }
    return schema


def _tidy(part: Mapping[str, Any]) -> dict[str, Any]:
    """Paragraphs on one line, and no empty list of required fields."""
    schema = dict(part)
    if text := schema.get("description"):
        schema["description"] = " ".join(str(text).split())
    if not schema.get("required"):
        schema.pop("required", None)
    return schema


FILES: Mapping[str, Callable[[], dict[str, Any]]] = {
    "events.schema.json": event_schema,
    "plan.schema.json": plan_schema,
}


def text_of(name: str) -> str:
    """What the file `name` has to say."""
    return json.dumps(FILES[name](), indent=2, ensure_ascii=False) + "\n"


def main(arguments: Sequence[str]) -> int:
    """Write the files, or with `--check` only compare; 1 when one is stale, 2 for a wrong argument."""
    codes = [write_or_check("tools.schemas", FOLDER / name, partial(text_of, name), arguments) for name in FILES]
    return max(codes)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
