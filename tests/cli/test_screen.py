"""The terminal ladder, signs and languages."""

import io

import pytest

from phaseloop.cli.marks import PHASE_MARKS, ROW_MARKS, RUN_MARKS, sign
from phaseloop.cli.screen import Kind, Screen, choose, console_for, language_of, resized, shown, this_screen, with_flags
from phaseloop.core.view_rows import PhaseState, RowState, RunState


class Stream:
    def __init__(self, terminal=True, encoding="utf-8"):
        self.encoding = encoding
        self._terminal = terminal

    def isatty(self):
        return self._terminal


XTERM = {"TERM": "xterm-256color"}


def test_a_terminal_of_sixty_columns_is_live():
    assert choose(Stream(), XTERM, (60, 20)).kind is Kind.LIVE


@pytest.mark.parametrize(
    ("stream", "env", "size"),
    [
        (Stream(terminal=False), XTERM, None),
        (Stream(), XTERM, (59, 40)),
        (Stream(), {"TERM": "dumb"}, (100, 40)),
        (Stream(), {**XTERM, "CI": "true"}, (100, 40)),
        (Stream(), {**XTERM, "CI": "1"}, (100, 40)),
    ],
)
def test_everything_less_gets_plain_lines_without_colour(stream, env, size):
    screen = choose(stream, env, size)
    assert (screen.kind, screen.colour) == (Kind.PLAIN, False)


@pytest.mark.parametrize("value", ["", "0", "false", "False"])
def test_a_ci_variable_that_says_no_is_no_ci(value):
    assert choose(Stream(), {**XTERM, "CI": value}, (100, 40)).kind is Kind.LIVE


def test_no_color_takes_the_colours_and_nothing_else():
    screen = choose(Stream(), {**XTERM, "NO_COLOR": "1"}, (100, 40))
    assert (screen.kind, screen.colour) == (Kind.LIVE, False)
    assert choose(Stream(), {**XTERM, "NO_COLOR": ""}, (100, 40)).colour


@pytest.mark.parametrize(
    ("encoding", "ascii_only"), [("utf-8", False), ("UTF8", False), ("ascii", True), (None, True), ("gbk", True)]
)
def test_a_stream_that_is_not_utf8_gets_ascii_signs(encoding, ascii_only):
    assert choose(Stream(encoding=encoding), XTERM, (100, 40)).ascii_only is ascii_only


def test_ascii_can_be_asked_for():
    assert choose(Stream(), XTERM, (100, 40), ascii_only=True).ascii_only


@pytest.mark.parametrize(
    ("env", "language"),
    [
        ({}, "en"),
        ({"LANG": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "de_DE.UTF-8"}, "en"),
        ({"LC_ALL": "C", "LANG": "zh_CN.UTF-8"}, "en"),
        ({"PHASELOOP_LANG": "zh", "LANG": "en_US.UTF-8"}, "zh"),
        ({"PHASELOOP_LANG": "en", "LC_ALL": "zh_TW"}, "en"),
        ({"PHASELOOP_LANG": "ZH-Hans"}, "zh"),
        ({"PHASELOOP_LANG": "", "LANG": "zh_CN"}, "zh"),
    ],
)
def test_the_language_comes_from_our_variable_first_then_from_the_locale(env, language):
    assert language_of(env) == language


def test_shown_text_is_what_the_stream_can_write():
    assert shown("◆ 计划 ─", Screen(ascii_only=True)) == "! 计划 -"
    assert shown("计划", Screen(encoding="ascii")) == "??"
    assert shown("计划 ─", Screen()) == "计划 ─"


def test_this_process_without_a_terminal_is_plain(monkeypatch):
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(io.BytesIO(), encoding="utf-8"))
    assert this_screen().kind is Kind.PLAIN


def test_a_plain_console_writes_no_control_characters():
    stream = io.StringIO()
    console = console_for(Screen(width=80), stream)
    console.print("[bold]not markup[/bold] :smile: 42", style="bold red")
    assert stream.getvalue() == "[bold]not markup[/bold] :smile: 42\n"


def test_a_console_without_colour_keeps_the_signs():
    stream = io.StringIO()
    console = console_for(Screen(Kind.LIVE, colour=False), stream)
    console.size = (70, 20)
    console.print("✓ done", style="green")
    assert "\x1b[3" not in stream.getvalue()
    assert resized(Screen(), console).width == 70


def test_every_state_has_a_sign_of_one_cell_and_active_states_differ_by_sign():
    for marks, states in ((ROW_MARKS, RowState), (PHASE_MARKS, PhaseState), (RUN_MARKS, RunState)):
        assert set(marks) == set(states)
        assert all(len(mark.sign) == len(mark.plain) == 1 and mark.plain.isascii() for mark in marks.values())
    told_apart = [RowState.NOT_STARTED, RowState.RUNNING, RowState.CHECKING, RowState.RETRYING, RowState.DONE]
    told_apart += [RowState.FAILED, RowState.WAITING, RowState.PAUSED, RowState.SKIPPED]
    for screen in (Screen(), Screen(ascii_only=True)):
        assert len({sign(ROW_MARKS[state], screen) for state in told_apart}) == len(told_apart)


def test_a_printed_command_carries_only_the_options_that_it_takes():
    screen = Screen(flags=" --store 'my runs.db' --model openai:x --tools mine.py")
    assert with_flags("phaseloop show r1", screen) == "phaseloop show r1 --store 'my runs.db'"
    assert with_flags("phaseloop show r1 --events", Screen(flags=" --tools mine.py")) == "phaseloop show r1 --events"
    assert with_flags("phaseloop retry r1", screen).endswith("--model openai:x --tools mine.py")
