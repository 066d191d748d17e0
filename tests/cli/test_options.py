"""Options that are printed again, and NAME=VALUE pairs."""

from pathlib import Path

import pytest

from phaseloop.cli.options import Means, pairs
from phaseloop.core.errors import WrongUse


def test_means_are_printed_as_they_were_given_and_quoted_where_needed():
    assert Means().flags() == ""
    means = Means("my runs.db", "openai:x", None, ("t.py", "pkg:go"), Path("m.json"))
    assert means.flags() == " --store 'my runs.db' --model openai:x --tools t.py --tools pkg:go --mcp m.json"


def test_pairs_take_json_as_json_and_anything_else_as_text():
    assert pairs(["a=1", "b=x y", 'c={"d": [true]}', "e=", "f=a=b"]) == {
        "a": 1,
        "b": "x y",
        "c": {"d": [True]},
        "e": "",
        "f": "a=b",
    }
    assert pairs(None) == {}
    for wrong in ("a", "=1"):
        with pytest.raises(WrongUse, match="NAME=VALUE"):
            pairs([wrong])
