"""The words of the terminal in both languages."""

import re
import string
from pathlib import Path

import pytest

import phaseloop.cli
from phaseloop.cli.texts import TEXTS, counted, say
from phaseloop.core.process import NoMatchPolicy
from phaseloop.core.view_rows import RunState

SOURCES = "".join(path.read_text(encoding="utf-8") for path in Path(phaseloop.cli.__file__).parent.glob("*.py"))


def names(text):
    return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}


@pytest.mark.parametrize("key", TEXTS)
def test_both_languages_name_the_same_things(key):
    english, chinese = TEXTS[key]
    assert english.strip()
    assert chinese.strip()
    assert names(english) == names(chinese)


def test_english_is_english_and_nobody_is_shouted_at():
    for english, chinese in TEXTS.values():
        assert english.replace("…", "").isascii()
        assert not re.search(r"[!！]|\b[Pp]lease\b", english + chinese)


def test_every_text_is_used_and_every_used_text_is_there():
    built = ("did_", "pol_", "polc_", "k_", "n_")
    states = {state.value for state in RunState}
    for key in TEXTS:
        assert key.startswith(built) or key in states or f'"{key}"' in SOURCES, key
    for key in re.findall(r'say\([\w.]+, "(\w+)"', SOURCES):
        assert key in TEXTS


def test_every_policy_has_its_words_on_card_and_line():
    for policy in NoMatchPolicy:
        assert f"pol_{policy}" in TEXTS
        assert f"polc_{policy}" in TEXTS


def test_other_languages_get_english_and_one_is_singular():
    assert say("fr", "waiting") == "Waiting for you"
    assert (counted("en", "step_one", "steps", 1), counted("en", "step_one", "steps", 2)) == ("1 step", "2 steps")
