"""The conversation at a gate, without a terminal."""

import io

import pytest

from phaseloop.adapters.contracts import JsonSchemaContracts
from phaseloop.cli.gate_prompt import GateAnswer, Talk, ask_gate
from phaseloop.cli.screen import Screen
from phaseloop.core.gates import OUTCOMES
from phaseloop.core.view_run import open_gates
from phaseloop.core.views import view
from tests.gate_world import GATES, OPTIONS, PLAN, at_gate
from tests.sales_story import Story, opening, waiting


class Person:
    """Types lines, saves files in an editor, looks at pages."""

    def __init__(self, *lines, saves=()):
        self.output = io.StringIO()
        self.pages = []
        self.opened = []
        self._saves = list(saves)
        self._lines = io.StringIO("".join(f"{line}\n" for line in lines))

    def edit(self, text):
        self.opened.append(text)
        saved = self._saves.pop(0)
        return saved(text) if callable(saved) else saved

    def talk(self):
        return Talk(self._lines, self.output, self.edit, self.pages.append, JsonSchemaContracts().check)

    def answer(self, name, language="en"):
        shown, gate = at_gate(name)
        return ask_gate(shown, gate, Screen(language=language), self.talk())

    @property
    def heard(self):
        return self.output.getvalue()


@pytest.mark.parametrize(
    ("name", "lines", "answer"),
    [
        ("confirm", ["y"], GateAnswer("confirm")),
        ("confirm", ["confirm"], GateAnswer("confirm")),
        ("confirm", ["c", "for mobile too"], GateAnswer("revise", None, "for mobile too")),
        ("plan", ["a", ""], GateAnswer("approve")),
        ("plan", ["A", "fine, but hurry"], GateAnswer("approve", None, "fine, but hurry")),
        ("plan", ["reject", "", "smaller"], GateAnswer("reject", None, "smaller")),
        ("plan", ["b", "9", "2", "again"], GateAnswer("return_to", "plan", "again")),
        ("plan", ["b", "understand", "again"], GateAnswer("return_to", "understand", "again")),
        ("select", ["1"], GateAnswer("select", ["fast"])),
        ("select", ["safe"], GateAnswer("select", ["safe"])),
        ("select", ["the fast way"], GateAnswer("select", ["fast"])),
        ("select", ["u", ""], GateAnswer("select", ["safe"])),
        ("select", ["u", "9", "1"], GateAnswer("select", ["fast"])),
        ("select", ["o", "", "a third way"], GateAnswer("other", "a third way")),
        ("select", ["n", "too slow"], GateAnswer("none_of_these", None, "too slow")),
        ("tool", ["a", ""], GateAnswer("approve")),
        ("tool", ["c", "wrong address"], GateAnswer("reject", None, "wrong address")),
        ("doubt", ["h", "", ], GateAnswer("happened")),
        ("doubt", ["h", "{oops", "{}", '{"id": 7}'], GateAnswer("happened", {"id": 7})),
        ("doubt", ["r"], GateAnswer("run_it")),
        ("doubt", ["a"], GateAnswer("abandon")),
        ("advance", ["g"], GateAnswer("advance")),
        ("blocked", ["o"], GateAnswer("override")),
        ("votes", ["批准", ""], GateAnswer("approve")),
    ],
)  # fmt: skip
def test_a_letter_a_name_or_a_number_gives_the_answer(name, lines, answer):
    assert Person(*lines).answer(name, "zh" if name == "votes" else "en") == answer


def test_nowhere_to_send_a_run_back_to_is_told_and_the_question_stays():
    person = Person("b", "o")
    shown = view(Story().tell(0, opening().history[0].event, GATES["blocked"]).history)
    assert ask_gate(shown, open_gates(shown)[0], Screen(), person.talk()) == GateAnswer("override")
    assert "No phase has begun yet." in person.heard


def test_stopping_the_run_is_asked_twice():
    assert Person("s", "y").answer("confirm") == GateAnswer("cancel")
    assert Person("s", "", "s", "no", "y").answer("confirm") == GateAnswer("confirm")


def test_enter_alone_decides_nothing():
    assert Person("", "", "", "y").answer("confirm") == GateAnswer("confirm")


def test_the_end_of_input_leaves_the_gate_open_at_any_prompt():
    for lines in ([], ["c"], ["s"], ["l"]):
        person = Person(*lines)
        assert person.answer("confirm") is None
        assert "the question stays open" in person.heard
    assert Person("f", "a@b.c").answer("form") is None


def test_an_unknown_word_lists_what_can_be_said():
    person = Person("maybe", "y")
    person.answer("confirm")
    assert "maybe is none of: y yes, that is right, c no, let me explain" in person.heard


def test_a_question_mark_explains_the_gate_and_each_field():
    person = Person("?", "f", "?", "a@b.c", "", "?", "", "", "", "")
    assert person.answer("form") == GateAnswer("submit", {"copies": 2, "email": "a@b.c"})
    assert "f  fill in and continue  (submit)" in person.heard
    assert "Where the report goes." in person.heard
    assert "No description." in person.heard


def test_a_form_asks_field_by_field_and_enter_takes_the_default():
    person = Person("f", "", "a@b.c", "many", "3", "perhaps", "yes", "one, two", "{", '{"a": 1}', "blue", "2")
    values = {
        "copies": 3,
        "email": "a@b.c",
        "urgent": True,
        "tags": ["one", "two"],
        "limits": {"a": 1},
        "colour": "green",
    }
    assert person.answer("form") == GateAnswer("submit", values)
    for complaint in ("This is needed.", "many is not a whole number.", "perhaps is neither yes nor no."):
        assert complaint in person.heard
    assert "blue is none of: red, green" in person.heard
    assert "Copies (optional) [2] ›" in person.heard


def test_what_the_schema_refuses_is_asked_again_and_the_rest_is_kept():
    person = Person("f", "a@b.c", "0", "", "", "", "", "4")
    assert person.answer("form") == GateAnswer("submit", {"copies": 4, "email": "a@b.c"})
    assert "/copies" in person.heard


def test_an_approval_with_fields_asks_them_and_says_nothing_when_all_stay_as_they_were():
    shown = view(waiting().history)
    gate = open_gates(shown)[0]
    assert ask_gate(shown, gate, Screen(), Person("a", "", "").talk()) == GateAnswer("approve")
    changed = ask_gate(shown, gate, Screen(), Person("a", "2", "go").talk())
    assert changed == GateAnswer("approve", {"audience": "company"}, "go")


def test_v_shows_the_artefact_in_a_pager_without_control_characters():
    person = Person("v", "y")
    person.answer("confirm")
    assert person.pages == ["title: page\n"]


def test_v_and_e_are_no_keys_where_there_is_nothing_to_see():
    person = Person("v", "e", "g")
    assert person.answer("advance") == GateAnswer("advance")
    assert "v is none of" in person.heard


def test_a_plan_is_edited_as_yaml_and_comes_back_as_the_value():
    edit = lambda text: text.replace("Draw the page", "Draw the small page")  # noqa: E731
    person = Person("e", saves=[edit])
    answer = person.answer("plan")
    assert answer.outcome == "approve"
    assert answer.value["steps"][1]["action"] == "Draw the small page"
    assert answer.value["steps"][0] == PLAN["steps"][0]
    assert person.opened[0].startswith("# The answer to: Approve the plan\n")
    assert "# outcome: one of: approve, reject, return_to, cancel" in person.opened[0]


def test_mistakes_in_the_file_come_back_as_comments_at_their_lines():
    wrong = lambda text: text.replace("- '1'", "- '9'").replace("comment: ''", "comment: late")  # noqa: E731
    right = lambda text: text.replace("- '9'", "- '1'")  # noqa: E731
    person = Person("e", saves=[wrong, right])
    answer = person.answer("plan")
    lines = person.opened[1].splitlines()
    at = next(n for n, line in enumerate(lines) if line.startswith("#! "))
    assert "step 2 waits for 9, which no earlier step is" in lines[at]
    assert "depends_on" in lines[at + 1]
    assert answer == GateAnswer("approve", None, "late")


def test_arguments_of_a_call_are_edited_and_checked_against_the_tool():
    bad = lambda text: text.replace("a@b.c", "7").replace("'7'", "7")  # noqa: E731
    good = lambda text: text.replace("to: 7", "to: x@y.z")  # noqa: E731
    answer = Person("e", saves=[bad, good]).answer("tool")
    assert (answer.outcome, answer.value["to"]) == ("approve", "x@y.z")


def test_a_file_left_alone_or_emptied_answers_nothing():
    person = Person("e", "e", "y", saves=[lambda text: text, "# nothing\n"])
    assert person.answer("confirm") == GateAnswer("confirm")
    assert person.heard.count("Nothing was changed.") == 2


def test_an_editor_that_cannot_be_run_is_told_and_the_question_stays():
    def broken(text):
        raise OSError("no such editor")

    person = Person("e", "y", saves=[broken])
    assert person.answer("confirm") == GateAnswer("confirm")
    assert "The editor could not be run: no such editor" in person.heard


def test_the_core_knows_every_outcome_that_a_person_can_give():
    known = {outcome for outcomes in OUTCOMES.values() for outcome in outcomes}
    assert known >= {
        "confirm",
        "revise",
        "select",
        "other",
        "none_of_these",
        "submit",
        "approve",
        "reject",
        "return_to",
    }
    assert {option["id"] for option in OPTIONS} == {"fast", "safe"}
    assert set(GATES) == {"confirm", "plan", "select", "form", "tool", "doubt", "advance", "blocked", "votes"}


def test_chinese_questions_are_asked_in_chinese():
    person = Person("c", "也要支持手机")
    assert person.answer("confirm", "zh") == GateAnswer("revise", None, "也要支持手机")
    assert "你的答复 ›" in person.heard
    assert "需要修改什么 ›" in person.heard
