"""Values of answers against their schemas."""

from dataclasses import replace

import pytest

from phaseloop.adapters.contracts import JsonSchemaContracts
from phaseloop.core.errors import AnswerRefused
from phaseloop.core.gate_events import GateOpened
from phaseloop.core.process import Definition, GateKind, GateMode
from phaseloop.core.state import GateState
from phaseloop.core.statuses import GateStatus
from phaseloop.engine.answer_checks import check_answer

SCHEMA = {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}
DEFINITION = Definition("d", artifacts={"offer": SCHEMA})


def gate(kind=GateKind.EXIT, **payload):
    return GateState(GateOpened("g1", 1, kind, "a", GateMode.CONFIRM, payload=payload), 0)


SHOWN = gate(artefact={"name": "offer", "value": {"n": 1}})
FORM = gate(schema=SCHEMA, values={"n": 2})
DOUBT = gate(GateKind.IN_DOUBT, schema=SCHEMA)


def check(asked, outcome, value):
    check_answer(JsonSchemaContracts(), DEFINITION, asked, outcome, value)


@pytest.mark.parametrize(
    ("asked", "outcome", "value"),
    [
        (SHOWN, "confirm", None),
        (SHOWN, "confirm", {"n": 3}),
        (SHOWN, "revise", "anything"),
        (FORM, "submit", None),
        (FORM, "submit", {"n": 3}),
        (DOUBT, "happened", None),
        (DOUBT, "run_it", "anything"),
        (gate(), "approve", 7),
    ],
)
def test_what_fits_or_has_no_schema_is_taken(asked, outcome, value):
    check(asked, outcome, value)


@pytest.mark.parametrize(
    ("asked", "outcome", "value"),
    [
        (SHOWN, "confirm", {"n": "x"}),
        (SHOWN, "approve", {}),
        (FORM, "submit", {}),
        (gate(schema=SCHEMA, values={}), "submit", None),
        (DOUBT, "happened", 5),
        (gate(GateKind.TOOL_APPROVAL, schema=SCHEMA), "approve", {"n": None}),
    ],
)
def test_what_does_not_fit_is_refused_with_its_place(asked, outcome, value):
    with pytest.raises(AnswerRefused, match="g1: ") as refused:
        check(asked, outcome, value)
    assert refused.value.status == 422


def test_a_closed_gate_is_left_to_the_core():
    check(replace(FORM, status=GateStatus.RESOLVED), "submit", {})


def test_many_faults_are_cut_to_a_sentence():
    wide = {"type": "object", "properties": {f"f{n}": {"type": "integer"} for n in range(9)}}
    with pytest.raises(AnswerRefused, match="and 4 more"):
        check(gate(schema=wide, values={}), "submit", {f"f{n}": "x" for n in range(9)})
