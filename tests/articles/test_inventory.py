"""Every behaviour of the three articles has a test, or a reason why it has none yet (contract section 11)."""

import ast
import json
import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
INVENTORY = json.loads((Path(__file__).parent / "inventory.json").read_text(encoding="utf-8"))
COUNTS = {"000": 45, "002": 40, "003": 51}
ID_IN_NAME = re.compile(r"test_(000|002|003)_(\d\d)_\w+")


def functions_of(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
    }


def named_tests():
    """All tests with an inventory id in their name, as `file::name` below tests/."""
    found = {}
    for path in TESTS.rglob("test_*.py"):
        for name in functions_of(path):
            if hit := ID_IN_NAME.fullmatch(name):
                place = f"{path.relative_to(TESTS).as_posix()}::{name}"
                found.setdefault(f"{hit[1]}-{hit[2]}", set()).add(place)
    return found


def test_the_inventory_has_exactly_136_ids():
    expected = [f"{article}-{n:02d}" for article, count in COUNTS.items() for n in range(1, count + 1)]
    assert list(INVENTORY) == expected
    assert len(expected) == 136


def test_every_id_says_what_it_is_in_words_of_its_own():
    says = [entry["says"] for entry in INVENTORY.values()]
    assert all(len(text) >= 15 for text in says)
    assert len(set(says)) == len(says)


@pytest.mark.parametrize("key", list(INVENTORY))
def test_every_id_has_a_test_or_a_reason(key):
    entry = INVENTORY[key]
    assert set(entry) <= {"says", "test", "later", "rest"}
    assert ("test" in entry) != ("later" in entry)
    assert len(entry.get("later", entry.get("rest", "a reason of some length"))) >= 15
    assert "rest" not in entry or "test" in entry


def test_every_listed_test_exists_and_has_the_id_in_its_name():
    found = named_tests()
    listed = {key: entry["test"] for key, entry in INVENTORY.items() if "test" in entry}
    missing = {key: place for key, place in listed.items() if place not in found.get(key, ())}
    assert listed
    assert not missing


def test_no_test_with_an_id_in_its_name_is_listed_as_missing():
    stale = {key for key in named_tests() if "test" not in INVENTORY.get(key, {})}
    assert not stale
