"""The person's editor and pager."""

import io
import sys

import pytest

from phaseloop.cli.programs import edit_in_editor, show_in_pager

APPEND = "import sys; open(sys.argv[1], 'a', encoding='utf-8').write('加一行')"


def editor(tmp_path, code):
    script = tmp_path / "editor.py"
    script.write_text(code, encoding="utf-8")
    return f"'{sys.executable}' '{script}'"


def test_the_editor_gets_the_text_and_gives_it_back_as_saved(tmp_path):
    assert edit_in_editor("计划\n", {"EDITOR": editor(tmp_path, APPEND)}) == "计划\n加一行"


def test_visual_goes_before_editor(tmp_path):
    env = {"VISUAL": editor(tmp_path, APPEND), "EDITOR": "/nowhere"}
    assert edit_in_editor("a", env) == "a加一行"


def test_an_editor_that_is_not_there_or_fails_is_an_os_error(tmp_path):
    with pytest.raises(OSError, match="nowhere"):
        edit_in_editor("a", {"EDITOR": "/nowhere/editor"})
    with pytest.raises(OSError, match="ended with code 3"):
        edit_in_editor("a", {"EDITOR": editor(tmp_path, "raise SystemExit(3)")})


def test_without_a_terminal_the_text_is_written_straight_out():
    output = io.StringIO()
    show_in_pager("page\n", {"PAGER": "less"}, output)
    assert output.getvalue() == "page\n"
