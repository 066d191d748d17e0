"""What a person gives with `phaseloop answer`: the gate they mean and the value they say."""

import json
from pathlib import Path
from typing import Any

from phaseloop.core.errors import AnswerRefused, WrongUse
from phaseloop.core.paths import is_object
from phaseloop.core.state import GateState, RunState, open_gates
from phaseloop.core.values import Json


def find_gate(state: RunState, name: str) -> tuple[str, GateState]:
    """A gate by its id, by `{run}.{gate}`, or by its activity while exactly one such gate is open.

    Raises `AnswerRefused` and says which gates are open.
    """
    gate_id = name.rpartition(".")[2]
    if gate_id in state.gates:
        return gate_id, state.gates[gate_id]
    meant = [(gid, gate) for gid, gate in open_gates(state) if gate.asked.activity_id == name]
    if len(meant) == 1:
        return meant[0]
    known = ", ".join(f"{gid} ({gate.asked.activity_id})" for gid, gate in open_gates(state)) or "none"
    raise AnswerRefused(name, f"no open gate of this name; open: {known}", 404)


def answer_value(gate: GateState, outcome: str, value: str | None, fields: dict[str, Any], plan: Path | None) -> Json:
    """The value of an answer, from `--value`, `--set` over what the gate shows, or `--plan`."""
    if plan is not None:
        return _document(plan)
    if fields:
        payload = gate.asked.payload
        shown = payload.get("values") or payload.get("args")
        return {**(shown if is_object(shown) else {}), **fields}
    if value is None:
        return gate.asked.payload.get("values") if outcome == "submit" else None
    try:
        return json.loads(value)
    except ValueError:
        return value


def _document(path: Path) -> Json:
    import yaml  # noqa: PLC0415 - only when a plan file is given

    try:
        return yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError) as error:
        raise WrongUse(f"{path} cannot be read: {error}") from error
