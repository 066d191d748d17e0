"""From a gate to a draft answer and back: what is edited, what is wrong with it, what the core gets."""

from collections.abc import Callable, Sequence
from typing import Any

from phaseloop.cli.answer_file import Check, Draft, plan_faults
from phaseloop.cli.gate_words import WITH_COMMENT, begun_phases, positive, recommended
from phaseloop.cli.payload import artefact_of, list_in, object_of, options_of, schema_of, values_of
from phaseloop.cli.texts import say
from phaseloop.core.plan import Finding
from phaseloop.core.process import GateKind, GateMode
from phaseloop.core.values import Json
from phaseloop.core.view_run import GateView, View


def draft_of(gate: GateView) -> Draft:
    """What an editor starts from: the way on, with what the gate shows as its value."""
    outcome = positive(gate) or (gate.outcomes[0] if gate.outcomes else "")
    return Draft(outcome, _shown(gate))


def _shown(gate: GateView) -> Json:
    """The value an answer may change: arguments, form values, the chosen option, the artefact."""
    if gate.kind == GateKind.TOOL_APPROVAL:
        return values_of(gate)
    if gate.kind in (GateKind.IN_DOUBT, GateKind.ADVANCE, GateKind.BLOCKED):
        return None
    if gate.mode == GateMode.SELECT:
        return [recommended(gate)] if recommended(gate) else []
    if gate.mode == GateMode.FORM:
        return values_of(gate)
    name, value = artefact_of(gate)
    return value if name else values_of(gate) or None


def given_value(gate: GateView, outcome: str, values: dict[str, Json]) -> Json:
    """What the core gets for the fields of a form: put into the artefact that is judged, if that is an object.

    A yes with every field as it was is an answer without a value: what was shown stands.
    """
    name, value = artefact_of(gate)
    if outcome == "submit" or not name:
        return values
    if values == values_of(gate):
        return None
    return {**object_of(value), **values}


def after_edit(gate: GateView, draft: Draft) -> Json:
    """The value of an edited answer; one that was left as shown is no value where the core keeps what it showed."""
    keeps = draft.outcome in ("approve", "confirm", "advance", "override", "run_it", "abandon", "cancel")
    return None if (keeps or draft.outcome in WITH_COMMENT) and draft.value == _shown(gate) else draft.value


def judge_of(gate: GateView, view: View, check: Check, language: str) -> Callable[[Draft], Sequence[Finding]]:
    """Says what keeps a draft from being taken, before the core is asked."""

    def judge(draft: Draft) -> list[Finding]:
        if draft.outcome in WITH_COMMENT and not draft.comment.strip():
            return [Finding("comment", say(language, "q_comment_needed"), "comment")]
        if draft.outcome == "return_to":
            begun = begun_phases(view)
            return [] if draft.value in begun else [_no_choice(draft.value, begun, language)]
        if draft.outcome == "select":
            return _unknown_options(gate, draft.value, language)
        if draft.outcome in ("approve", "confirm", "submit", "happened") and draft.value is not None:
            return [*check(schema_of(gate), draft.value), *_plan(gate, draft)]
        return []

    return judge


def _no_choice(value: Json, choices: Sequence[str], language: str) -> Finding:
    return Finding("choice", say(language, "q_choice", text=value, choices=", ".join(choices)))


def _unknown_options(gate: GateView, value: Json, language: str) -> list[Finding]:
    ids = [str(option["id"]) for option in options_of(gate)]
    chosen: list[Any] = list_in({"value": value}, "value") or [value]
    return [_no_choice(one, ids, language) for one in chosen if one not in ids]


def _plan(gate: GateView, draft: Draft) -> list[Finding]:
    """An artefact that is a plan must stay one."""
    _, value = artefact_of(gate)
    return plan_faults(draft.value) if list_in(object_of(value), "steps") else []
