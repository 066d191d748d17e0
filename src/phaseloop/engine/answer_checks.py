"""Checks of an answer that need JSON Schema: form values, edited artefacts and arguments, results of calls."""

from phaseloop.core.errors import AnswerRefused
from phaseloop.core.gate_events import GateOpened
from phaseloop.core.paths import is_object
from phaseloop.core.plan import Finding
from phaseloop.core.process import Definition
from phaseloop.core.state import GateState
from phaseloop.core.statuses import GateStatus
from phaseloop.core.values import Json, Object
from phaseloop.engine.ports import Contracts

MAX_NAMED = 5  # faults in one message; a person mends the first ones anyway


def check_answer(contracts: Contracts, definition: Definition, gate: GateState, outcome: str, value: Json) -> None:
    """Refuse a value that does not fit its schema; the gate stays open.

    Whether the outcome may be given at all, and by whom, is the core's business. Raises `AnswerRefused`.
    """
    if gate.status is not GateStatus.OPEN:
        return
    schema = _schema(definition, gate.asked, outcome)
    checked = gate.asked.payload.get("values") if outcome == "submit" and value is None else value
    if not schema or (checked is None and outcome != "submit"):
        return
    if findings := contracts.check(schema, checked):
        more = f"; and {len(findings) - MAX_NAMED} more" if len(findings) > MAX_NAMED else ""
        raise AnswerRefused(gate.asked.request_id, "; ".join(map(_said, findings[:MAX_NAMED])) + more)


def _said(finding: Finding) -> str:
    return f"{finding.where or 'value'}: {finding.message}"


def _schema(definition: Definition, asked: GateOpened, outcome: str) -> Object:
    """What the value of this outcome must fit: behaviours 2.7, row Validation."""
    shown = asked.payload.get("artefact")
    schema: Json = asked.payload.get("schema") if outcome in ("submit", "approve", "happened") else None
    if outcome in ("confirm", "approve") and is_object(shown):
        schema = definition.artifacts.get(str(shown.get("name")))
    return schema if is_object(schema) else {}
