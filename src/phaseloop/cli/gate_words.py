"""Gates in words: their names, what became of them, what a deadline does, the commands that answer them."""

import json
import shlex

from phaseloop.cli.figures import compact, duration, moment, printable
from phaseloop.cli.payload import list_in, options_of, properties_of, required_of, values_of
from phaseloop.cli.screen import Screen
from phaseloop.cli.texts import TEXTS, counted, say
from phaseloop.core.process import GateKind, text_in
from phaseloop.core.view_rows import GateState, PhaseState, elapsed
from phaseloop.core.view_run import GateView, View, open_gates

POSITIVE = ("approve", "confirm", "select", "submit", "advance", "happened", "override")
"""Outcomes that let a run go on, the usual one of each gate first (behaviours 2.7)."""
WITH_COMMENT = frozenset({"reject", "revise", "return_to", "none_of_these"})
"""Outcomes that mean nothing without a word of why."""


NOTE = ' --comment "..."'


def gate_title(gate: GateView, language: str) -> str:
    """What the gate asks, as its definition calls it, else its activity."""
    return printable(text_in(gate.title, language)) or printable(gate.activity_id) or gate.id


def gate_name(view: View, gate: GateView) -> str:
    """The name an answer may use: the activity id while exactly one such gate is open, else the gate id."""
    same = [other for other in open_gates(view) if other.activity_id == gate.activity_id]
    return gate.activity_id if gate.activity_id and len(same) <= 1 else gate.id


def did(outcome: str, language: str, edits: int = 0) -> str:
    """An outcome as a verb in the past: `approved`, `approved with 1 change`."""
    key = f"did_{outcome}"
    word = say(language, key) if key in TEXTS else say(language, "did", outcome=printable(outcome))
    if not edits:
        return word
    changes = counted(language, "change_one", "changes", edits)
    return say(language, "with_changes", did=word, changes=changes)


def fate(gate: GateView, screen: Screen) -> str:
    """What became of a gate: `Kai approved with 1 change, 1 m 14 s waiting`."""
    language = screen.language
    comma = "，" if language == "zh" else ", "
    if gate.state is GateState.AUTO:
        rule = printable(gate.rule)
        return say(language, "passed_auto") + (comma + rule if rule else "")
    word = did(gate.outcome, language, gate.edits)
    who = printable(gate.user) or door(gate.by, language)
    told = say(language, "who_did", who=who, did=word) if who else word
    waited = elapsed(gate.waited, 0)
    return told + (comma + say(language, "waited", t=duration(waited, language)) if waited >= 1000 else "")


def door(by: str, language: str) -> str:
    """Who resolved a gate when no person did."""
    keys = {"timeout": "by_deadline", "no_match": "by_policy", "testimony": "by_record"}
    return say(language, keys[by]) if by in keys else ""


def policy(gate: GateView, language: str, *, card: bool = False) -> str:
    """What the deadline does, in words; `card` is the fuller wording."""
    key = ("polc_" if card else "pol_") + gate.no_match_policy
    return say(language, key) if key in TEXTS else printable(gate.no_match_policy)


def due(gate: GateView, screen: Screen) -> str:
    """The clock time of the deadline, with its day when that is not the day of the question; or nothing."""
    if gate.timeout_at is None:
        return ""
    asked = gate.opened_at if gate.waited.since is None else gate.waited.since
    return moment(gate.timeout_at, screen.zone, beside=asked)


def begun_phases(view: View) -> list[str]:
    """The phases a run may be sent back to: those that have begun."""
    ahead = (PhaseState.PENDING, PhaseState.BLOCKED, PhaseState.SKIPPED)
    return [phase.phase_id for phase in view.phases if phase.state not in ahead]


def deadline(gate: GateView, screen: Screen) -> str:
    """`until 14:35 then stop`, or nothing without a deadline."""
    if gate.timeout_at is None:
        return ""
    at = due(gate, screen)
    return say(screen.language, "p_until", t=at, policy=policy(gate, screen.language))


def recommended(gate: GateView) -> str:
    """The option to take by default: the recommended one, or the only one; empty when there is neither."""
    options = options_of(gate)
    best = [str(option["id"]) for option in options if option.get("recommended")]
    return best[0] if len(best) == 1 else str(options[0]["id"]) if len(options) == 1 else ""


def positive(gate: GateView) -> str:
    """The outcome that lets the run go on; empty when only a person can tell (in doubt, blocked)."""
    if gate.kind in (GateKind.IN_DOUBT, GateKind.BLOCKED):
        return ""
    return next((outcome for outcome in POSITIVE if outcome in gate.outcomes), "")


def _filled(gate: GateView) -> list[str]:
    """`--set K=V` for each value the gate needs, with what it would take by default."""
    if gate.kind == GateKind.TOOL_APPROVAL:
        return []
    words: list[str] = []
    for name, spec in properties_of(gate).items():
        value = values_of(gate).get(name, spec.get("default"))
        if value is None and name in required_of(gate):
            value = next(iter(list_in(spec, "enum")), "...")
        if value is not None:
            words += ["--set", f"{name}={compact(value)}"]
    return words


def answer_commands(run_id: str, view: View, gate: GateView) -> list[str]:
    """The exact commands that answer a gate: the way on, and the way back with a comment."""
    start = ["phaseloop", "answer", run_id, gate_name(view, gate)]
    commands: list[str] = []
    forward = positive(gate)
    for outcome in (forward,) if forward else gate.outcomes:
        if outcome == "return_to" and not begun_phases(view):
            continue
        words = [*start, outcome]
        if outcome == "select":
            words += ["--value", json.dumps([recommended(gate) or "..."])]
        if outcome == "return_to":
            words += ["--value", json.dumps(begun_phases(view)[-1])]
        if outcome in ("approve", "submit"):
            words += _filled(gate)
        commands.append(shlex.join(words) + (NOTE if outcome in WITH_COMMENT else ""))
    back = next((outcome for outcome in gate.outcomes if outcome in WITH_COMMENT), "")
    if forward and back:
        commands.append(shlex.join([*start, back]) + NOTE)
    return commands
