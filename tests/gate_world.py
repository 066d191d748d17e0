"""Gates of every kind and mode, for cards, prompts and commands."""

from phaseloop.core.gate_events import GateOpened
from phaseloop.core.process import GateKind, GateMode
from phaseloop.core.view_run import GateView, View, open_gates
from phaseloop.core.views import view
from tests.sales_story import opening

FORM = {
    "type": "object",
    "properties": {
        "email": {"type": "string", "title": "E-mail", "description": "Where the report goes.", "format": "email"},
        "copies": {"type": "integer", "title": "Copies", "minimum": 1, "default": 1},
        "urgent": {"type": "boolean"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "limits": {"type": "object"},
        "colour": {"anyOf": [{"$ref": "#/$defs/Colour"}, {"type": "null"}], "title": "Colour"},
    },
    "required": ["email"],
    "$defs": {"Colour": {"type": "string", "enum": ["red", "green"]}},
}
PLAN = {
    "goal": "ship it",
    "steps": [
        {"id": "1", "action": "Read the tokens", "tool_hint": "files.read", "depends_on": []},
        {"id": "2", "action": "Draw the page", "tool_hint": None, "depends_on": ["1"]},
    ],
}
OPTIONS = [
    {"id": "fast", "label": "The fast way", "description": "two steps", "recommended": False},
    {"id": "safe", "label": "The safe way", "description": "five steps", "recommended": True},
]

GATES = {
    "confirm": GateOpened(
        "g9",
        1,
        GateKind.EXIT,
        "human_intent",
        GateMode.CONFIRM,
        "Confirm the intent",
        "Is this what you want?",
        {
            "artefact": {"name": "confirmedIntent", "value": {"title": "page"}},
            "score": 8.5,
            "issues": ["the audience is guessed"],
        },
        ("confirm", "revise", "cancel"),
        is_exit_gate=True,
    ),
    "plan": GateOpened(
        "g9",
        1,
        GateKind.EXIT,
        "human_plan",
        GateMode.APPROVE,
        "Approve the plan",
        payload={"artefact": {"name": "approvedPlan", "value": PLAN}},
        outcomes=("approve", "reject", "return_to", "cancel"),
        is_exit_gate=True,
    ),
    "select": GateOpened(
        "g9",
        1,
        GateKind.ACTIVITY,
        "choose_route",
        GateMode.SELECT,
        "Choose a route",
        payload={"options": OPTIONS},
        outcomes=("select", "other", "none_of_these", "cancel"),
    ),
    "form": GateOpened(
        "g9",
        1,
        GateKind.ACTIVITY,
        "fill_in",
        GateMode.FORM,
        "Fill in",
        payload={"schema": FORM, "values": {"copies": 2}},
        outcomes=("submit", "revise", "cancel"),
    ),
    "tool": GateOpened(
        "g9",
        1,
        GateKind.TOOL_APPROVAL,
        "s1",
        GateMode.APPROVE,
        "Run mail.send?",
        "its address is not from the request",
        {
            "tool": "mail.send",
            "args": {"to": "a@b.c", "text": "x" * 200},
            "schema": {"type": "object", "properties": {"to": {"type": "string"}}},
        },
        ("approve", "reject", "cancel"),
        step_id="s1",
        call_id="c1",
        consequence="mail.send is called once with these arguments.",
    ),
    "doubt": GateOpened(
        "g9",
        1,
        GateKind.IN_DOUBT,
        "s1",
        GateMode.SELECT,
        "Did mail.send happen?",
        payload={"tool": "mail.send", "args": {"to": "a@b.c"}, "schema": {"type": "object", "required": ["id"]}},
        outcomes=("happened", "run_it", "abandon", "cancel"),
        step_id="s1",
        call_id="c1",
    ),
    "advance": GateOpened(
        "g9",
        1,
        GateKind.ADVANCE,
        "design",
        GateMode.CONFIRM,
        "Design is finished",
        outcomes=("advance", "revise", "return_to", "cancel"),
    ),
    "blocked": GateOpened(
        "g9",
        1,
        GateKind.BLOCKED,
        "integrate",
        GateMode.SELECT,
        "Integrate cannot start yet",
        payload={"condition": "generatedComponent != null", "missing": ["generatedComponent"]},
        outcomes=("override", "return_to", "cancel"),
        phase_id="integrate",
    ),
    "votes": GateOpened(
        "g9",
        1,
        GateKind.EXIT,
        "release",
        GateMode.APPROVE,
        "发布",
        outcomes=("approve", "reject", "cancel"),
        required=2,
    ),
}


def at_gate(name: str) -> tuple[View, GateView]:
    """A run in its third phase with this gate open."""
    shown = view(opening().tell(120, GATES[name]).history)
    return shown, open_gates(shown)[0]
