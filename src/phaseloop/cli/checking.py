"""What `phaseloop check` prints: each finding by place, what is wrong and how to mend it."""

import json
from dataclasses import asdict
from pathlib import Path

from phaseloop.adapters.cel_conditions import CelConditions
from phaseloop.adapters.contracts import JsonSchemaContracts
from phaseloop.adapters.definitions import EdgeRules, built_in_children, examine_definition
from phaseloop.core.plan import Severity

# ruff: noqa: T201 - this is what it prints


def check_file(path: Path, as_json: bool) -> int:
    """Print the findings of a definition; 0 when it can be used, 2 when not."""
    edge = EdgeRules(CelConditions().compile_error, JsonSchemaContracts().schema_error)
    reading = examine_definition(path, known=built_in_children(), edge=edge)
    errors = [finding for finding in reading.findings if finding.severity is Severity.ERROR]
    for finding in reading.findings:
        if as_json:
            print(json.dumps(asdict(finding), ensure_ascii=False))
            continue
        word = "error" if finding.severity is Severity.ERROR else "note"
        print(f"{word}  {finding.where or path.name}: {finding.message} [{finding.code}]")
        if finding.mend:
            print(f"       {finding.mend}")
    if not as_json:
        name = reading.definition.definition_id if reading.definition else path.name
        print(f"{name}: {len(errors)} errors, {len(reading.findings) - len(errors)} notes")
    return 2 if errors or reading.definition is None else 0
