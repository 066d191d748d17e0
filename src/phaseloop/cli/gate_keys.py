"""What a person can press at a gate: a letter for each outcome, and what it is called there."""

from dataclasses import dataclass

from phaseloop.cli.payload import artefact_of, schema_of
from phaseloop.cli.texts import TEXTS, say
from phaseloop.core.process import GateKind, GateMode
from phaseloop.core.view_run import GateView

_LETTERS = {
    "approve": "a",
    "confirm": "y",
    "submit": "f",
    "select": "u",
    "advance": "g",
    "override": "o",
    "happened": "h",
    "run_it": "r",
    "abandon": "a",
    "reject": "c",
    "revise": "c",
    "other": "o",
    "none_of_these": "n",
    "return_to": "b",
    "cancel": "s",
}
VIEW, EDIT, LATER, HELP = "v", "e", "l", "?"


@dataclass(frozen=True, slots=True)
class Key:
    """A letter, the outcome it gives (empty for view, edit, later), and its label."""

    letter: str
    outcome: str
    label: str


def label_of(gate: GateView, outcome: str, language: str) -> str:
    """What an outcome is called at this gate."""
    key = f"k_{outcome}"
    if gate.kind == GateKind.TOOL_APPROVAL:
        key = {"approve": "k_run", "reject": "k_refuse"}.get(outcome, key)
    elif outcome == "revise" and (gate.mode != GateMode.CONFIRM or gate.kind == GateKind.ADVANCE):
        key = "k_reject"
    return say(language, key) if key in TEXTS else outcome


def can_view(gate: GateView) -> bool:
    """Whether there is something to look at in a pager."""
    return artefact_of(gate)[0] != ""


def can_edit(gate: GateView) -> bool:
    """Whether an answer has more to it than its outcome."""
    return can_view(gate) or bool(schema_of(gate)) or gate.kind == GateKind.TOOL_APPROVAL


def keys_of(gate: GateView, language: str) -> list[Key]:
    """The keys of a gate, in the order they are shown: ways on, ways back, looking, leaving."""
    outcomes = [outcome for outcome in gate.outcomes if outcome != "cancel"]
    keys = [Key(_LETTERS.get(name, name), name, label_of(gate, name, language)) for name in outcomes]
    if can_view(gate):
        keys.append(Key(VIEW, "", say(language, "k_view")))
    if can_edit(gate):
        keys.append(Key(EDIT, "", say(language, "k_edit")))
    if "cancel" in gate.outcomes:
        keys.append(Key(_LETTERS["cancel"], "cancel", say(language, "k_cancel")))
    return keys
