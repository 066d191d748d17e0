"""The conversation at a gate: a letter chooses the outcome, then one field per prompt."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TextIO

from phaseloop.cli.answer_draft import after_edit, draft_of, given_value, judge_of
from phaseloop.cli.answer_file import Check, as_yaml, is_empty, read_back, with_faults, written
from phaseloop.cli.figures import printable, printable_lines
from phaseloop.cli.gate_fields import Field, FieldRefused, field_hint, fields_of, read_value, shown_default
from phaseloop.cli.gate_keys import EDIT, HELP, LATER, VIEW, Key, can_edit, can_view, keys_of
from phaseloop.cli.gate_words import WITH_COMMENT, begun_phases, gate_title, recommended
from phaseloop.cli.payload import artefact_of, options_of, schema_of, values_of
from phaseloop.cli.screen import Screen, shown
from phaseloop.cli.terminal_lines import Lines
from phaseloop.cli.texts import say
from phaseloop.core.errors import PhaseloopError
from phaseloop.core.process import GateKind, text_in
from phaseloop.core.values import Json
from phaseloop.core.view_run import GateView, View


@dataclass(frozen=True, slots=True)
class GateAnswer:
    """What a person said. `value` as the core takes it: chosen ids, form values, edited artefact, phase id."""

    outcome: str
    value: Json = None
    comment: str = ""


@dataclass(frozen=True, slots=True)
class Talk:
    """The person's side: where lines come from and go to, their editor and pager, and the schema check.

    `edit` returns the text as saved and raises `OSError` when no editor can be run.
    """

    lines: Lines
    output: TextIO
    edit: Callable[[str], str]
    page: Callable[[str], None]
    check: Check

    def ask(self, question: str) -> str | None:
        """One line, without the blanks around it; `None` when there will be no more."""
        self.output.write(question)
        self.output.flush()
        line = self.lines.readline()
        return line.strip() if line else None

    def say(self, text: str) -> None:
        """One line to the person."""
        self.output.write(text + "\n")


class Left(PhaseloopError):
    """The person went away in the middle of an answer: end of input."""


class GatePrompt:
    """Asks one gate. Nothing is decided by Enter alone; what is left unsaid leaves the gate open."""

    def __init__(self, view: View, gate: GateView, screen: Screen, talk: Talk) -> None:
        self.view = view
        self.gate = gate
        self.screen = screen
        self.talk = talk
        self.language = screen.language
        self.keys = keys_of(gate, screen.language)

    def ask(self) -> GateAnswer | None:
        """The answer, or `None` when the person leaves it for later. `KeyboardInterrupt` passes through."""
        try:
            while True:
                line = self._line("q_action")
                if line == LATER:
                    break
                answer = self._taken(line) if line else None
                if answer is not None:
                    return answer
        except Left:
            self.talk.say("")
        self._tell("q_later")
        return None

    def _line(self, key: str, hint: str = "") -> str:
        """One answer line to the question `key`. Raises `Left` at the end of input."""
        question = say(self.language, key) + (f" ({hint})" if hint else "")
        line = self.talk.ask(shown(f"  {question} › ", self.screen))
        if line is None:
            raise Left
        return line

    def _tell(self, key: str, **values: object) -> None:
        self.talk.say(shown("  " + say(self.language, key, **values), self.screen))

    def _taken(self, line: str) -> GateAnswer | None:
        """What one line at the first prompt leads to."""
        gate, word = self.gate, line.casefold()
        if word == HELP or (word == VIEW and can_view(gate)):
            self._help() if word == HELP else self._view()
            return None
        if word == EDIT and can_edit(gate):
            return self._edit()
        option = self._option(line)
        if option:
            return GateAnswer("select", [option])
        key = next((k for k in self.keys if k.outcome and word in (k.letter, k.outcome, k.label.casefold())), None)
        if key is not None:
            return self._completed(key)
        names = ", ".join(f"{k.letter} {k.label}" for k in self.keys)
        self._tell("q_unknown", text=printable(line), keys=names)
        return None

    def _help(self) -> None:
        for text in (text_in(self.gate.prompt, self.language), self.gate.consequence):
            for line in printable_lines(text):
                self.talk.say(shown("  " + line, self.screen))
        for key in self.keys:
            name = f"  ({key.outcome})" if key.outcome else ""
            self.talk.say(shown(f"  {key.letter}  {key.label}{name}", self.screen))
        self.talk.say(shown(f"  {LATER}  {say(self.language, 'k_later')}", self.screen))

    def _view(self) -> None:
        _, value = artefact_of(self.gate)
        text = value if isinstance(value, str) else as_yaml(value)
        self.talk.page("\n".join(printable_lines(text)) + "\n")

    def _option(self, line: str) -> str:
        """The option a number or an id names; a letter that is a key is no option."""
        if "select" not in self.gate.outcomes:
            return ""
        options = options_of(self.gate)
        ids = [str(option["id"]) for option in options]
        labels = [str(option.get("label", "")).casefold() for option in options]
        if line.isascii() and line.isdigit() and 1 <= int(line) <= len(ids):
            return ids[int(line) - 1]
        if line in ids:
            return line
        return ids[labels.index(line.casefold())] if line.casefold() in labels else ""

    def _completed(self, key: Key) -> GateAnswer | None:
        """The outcome with all it needs."""
        outcome = key.outcome
        if outcome == "cancel":
            sure = self._line("q_stop").casefold() in ("y", "yes", "是")
            return GateAnswer("cancel") if sure else None
        if outcome == "return_to" and not begun_phases(self.view):
            self._tell("q_no_phase")
            return None
        if outcome in WITH_COMMENT:
            value = self._phase() if outcome == "return_to" else None
            return GateAnswer(outcome, value, self._comment())
        if outcome == "select":
            return GateAnswer("select", [self._choice()])
        if outcome == "other":
            return GateAnswer("other", self._needed("q_other"))
        if outcome == "happened":
            return GateAnswer("happened", self._result())
        return self._agreed(outcome)

    def _agreed(self, outcome: str) -> GateAnswer:
        """A yes: the fields the gate asks for, and an optional note where one is read."""
        value: Json = None
        fields = [] if self.gate.kind in (GateKind.TOOL_APPROVAL, GateKind.IN_DOUBT) else self._fields()
        if fields:
            value = given_value(self.gate, outcome, self._form(fields))
        comment = self._line("c_note", say(self.language, "c_optional")) if outcome == "approve" else ""
        return GateAnswer(outcome, value, comment)

    def _fields(self) -> list[Field]:
        return fields_of(schema_of(self.gate), values_of(self.gate))

    def _needed(self, key: str, told: str = "q_needed") -> str:
        while not (line := self._line(key)):
            self._tell(told)
        return line

    def _comment(self) -> str:
        return self._needed("q_comment", "q_comment_needed")

    def _choice(self) -> str:
        """One option; Enter takes the recommended one."""
        best = recommended(self.gate)
        while True:
            line = self._line("q_choose", best) or best
            option = self._option(line) if line else ""
            if option:
                return option
            ids = ", ".join(str(option["id"]) for option in options_of(self.gate))
            self._tell("q_choice", text=printable(line), choices=ids)

    def _phase(self) -> str:
        """A phase that has begun, by number or id."""
        begun = begun_phases(self.view)
        hint = ", ".join(f"{n} {phase}" for n, phase in enumerate(begun, 1))
        while True:
            line = self._line("q_phase", hint)
            if line in begun:
                return line
            if line.isascii() and line.isdigit() and 1 <= int(line) <= len(begun):
                return begun[int(line) - 1]
            self._tell("q_choice", text=printable(line), choices=", ".join(begun))

    def _result(self) -> Json:
        """What a call in doubt returned, as JSON; Enter is nothing."""
        while True:
            line = self._line("q_result")
            try:
                value = json.loads(line) if line else None
            except ValueError as error:
                self._tell("q_json", why=error)
                continue
            schema = schema_of(self.gate)
            findings = self.talk.check(schema, value) if schema and line else ()
            if not findings:
                return value
            self.talk.say(shown("  " + printable(findings[0].message), self.screen))

    def _form(self, fields: Sequence[Field]) -> dict[str, Json]:
        """The values of all fields; those the schema refuses are asked again."""
        values = dict(values_of(self.gate))
        asked = list(fields)
        while asked:
            for field in asked:
                self._ask_field(field, values)
            findings = self.talk.check(schema_of(self.gate), values)
            for finding in findings:
                self.talk.say(shown(f"  {printable(finding.where)} {printable(finding.message)}".rstrip(), self.screen))
            wrong = {finding.where.strip("/").partition("/")[0] for finding in findings}
            asked = [field for field in fields if field.name in wrong] or (list(fields) if findings else [])
        return values

    def _ask_field(self, field: Field, values: dict[str, Json]) -> None:
        """One prompt: Enter takes the default, `?` shows the description."""
        default = shown_default(field)
        hints = [field_hint(field, self.language), f"[{default}]" if default else ""]
        question = f"{field.title} ({field_hint(field, self.language)})" if hints[0] else field.title
        while True:
            line = self.talk.ask(shown(f"  {question} {hints[1]}".rstrip() + " › ", self.screen))
            if line is None:
                raise Left
            if line == HELP:
                self.talk.say(shown("  " + (field.description or say(self.language, "q_no_help")), self.screen))
                continue
            if not line:
                if field.required and not field.has_default:
                    self._tell("q_needed")
                    continue
                if field.has_default:
                    values[field.name] = field.default
                return
            try:
                values[field.name] = read_value(field, line, self.language)
            except FieldRefused as refused:
                self.talk.say(shown(f"  {refused}", self.screen))
                continue
            return

    def _edit(self) -> GateAnswer | None:
        """The answer as a file in the person's editor, again and again until it can be taken or is emptied."""
        outcomes = self.gate.outcomes
        text = first = written(draft_of(self.gate), gate_title(self.gate, self.language), outcomes, self.language)
        judge = judge_of(self.gate, self.view, self.talk.check, self.language)
        while True:
            try:
                saved = self.talk.edit(text)
            except OSError as error:
                self._tell("q_no_editor", why=error)
                return None
            if is_empty(saved) or saved in (text, first):
                self._tell("q_edited_same")
                return None
            draft, faults = read_back(saved, outcomes, self.language, judge)
            if draft is not None:
                return GateAnswer(draft.outcome, after_edit(self.gate, draft), draft.comment)
            text = with_faults(saved, faults)


def ask_gate(view: View, gate: GateView, screen: Screen, talk: Talk) -> GateAnswer | None:
    """Ask a person about `gate`; `None` leaves it open."""
    return GatePrompt(view, gate, screen, talk).ask()
