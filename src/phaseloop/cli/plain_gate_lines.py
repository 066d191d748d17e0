"""The words of turning points at gates."""

from collections.abc import Callable
from typing import Any

from phaseloop.cli.figures import printable
from phaseloop.cli.gate_words import deadline, did, door, gate_title
from phaseloop.cli.plain_words import Line, quote, said
from phaseloop.cli.screen import Screen
from phaseloop.cli.texts import TEXTS, counted, say
from phaseloop.core.events import Event
from phaseloop.core.gate_events import GateAnswered, GateExpired, GateOpened, GateResolved, GateTimedOut
from phaseloop.core.view_gate_changes import gate_of
from phaseloop.core.view_run import View


def _gate_id(request_id: str, view: View) -> str:
    gate = gate_of(view, request_id)
    return printable(gate.activity_id or gate.id) if gate else printable(request_id)


def _gate_opened(event: GateOpened, view: View, run_id: str, screen: Screen) -> Line:
    gate = gate_of(view, event.request_id)
    if gate is None:
        return ""
    told = say(screen.language, "p_gate_waiting", gate=_gate_id(gate.id, view))
    kind = f"kind={gate.kind}" if gate.kind not in ("exit", "activity") else f"mode={gate.mode}"
    titled = quote(gate_title(gate, screen.language), screen) if gate.kind == "in_doubt" else ""
    return said(told, kind, titled, deadline(gate, screen))


def _gate_resolved(event: GateResolved, view: View, run_id: str, screen: Screen) -> Line:
    language, name = screen.language, _gate_id(event.request_id, view)
    if event.by == "auto_pass":
        return said(say(language, "p_gate_auto", gate=name), printable(event.rule))
    who = printable(event.user) or door(event.by, language)
    word = did(event.outcome, language)
    told = say(language, "by_who", did=word, who=who) if event.user else said(word, who)
    edits = counted(language, "change_one", "changes", event.edits) if event.edits else ""
    comment = quote(event.comment, screen) if event.comment else ""
    return said(say(language, "p_gate_answered", gate=name, did=told), edits, comment)


def _gate_answered(event: GateAnswered, view: View, run_id: str, screen: Screen) -> Line:
    """A single vote decides and is told by the gate's end; of several, each is told."""
    gate = gate_of(view, event.request_id)
    if gate is None or gate.required <= 1:
        return ""
    told = say(screen.language, "p_vote", gate=_gate_id(gate.id, view), who=printable(event.by.id))
    votes = say(screen.language, "c_votes", n=len(gate.votes), m=gate.required)
    return said(told, did(event.outcome, screen.language), votes)


def _gate_timed_out(event: GateTimedOut, view: View, run_id: str, screen: Screen) -> Line:
    key = f"pol_{event.policy}"
    word = say(screen.language, key) if key in TEXTS else printable(event.policy)
    return say(screen.language, "p_gate_deadline", gate=_gate_id(event.request_id, view), policy=word)


def _gate_expired(event: GateExpired, view: View, run_id: str, screen: Screen) -> Line:
    told = say(screen.language, "p_gate_over", gate=_gate_id(event.request_id, view))
    return said(told, printable(event.reason))


TELLERS: dict[type[Event], Callable[[Any, View, str, Screen], Line]] = {
    GateOpened: _gate_opened,
    GateAnswered: _gate_answered,
    GateResolved: _gate_resolved,
    GateTimedOut: _gate_timed_out,
    GateExpired: _gate_expired,
}
