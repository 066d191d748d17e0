"""What `--yes` and `--yes-safe` answer, and what they leave to a person."""

import pytest

from phaseloop.cli.policies import nobody, yes, yes_safe
from phaseloop.engine.results import WaitingFor

TWO = [{"id": "a"}, {"id": "b"}]
FORM = {"schema": {"required": ["n"]}, "values": {"n": 1}}


def gate(mode="confirm", kind="exit", **payload):
    return WaitingFor("g1", 1, kind, mode, "a", "", "", (), payload)


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        (gate(), ("confirm", None, "")),
        (gate("approve"), ("approve", None, "")),
        (gate("approve", "tool_approval"), ("approve", None, "")),
        (gate(kind="advance"), ("advance", None, "")),
        (gate("select", options=[{"id": "a"}]), ("select", ["a"], "")),
        (gate("select", options=[*TWO, {"id": "c", "recommended": True}]), ("select", ["c"], "")),
        (gate("select", options=TWO), None),
        (gate("form", **FORM), ("submit", {"n": 1}, "")),
        (gate("form", schema={"required": ["n"]}), None),
        (gate("select", "in_doubt"), None),
        (gate("select", "blocked"), None),
    ],
)
def test_yes_says_what_needs_no_knowledge(asked, answer):
    assert yes(asked) == answer
    assert nobody(asked) is None


def test_yes_safe_leaves_approvals_open():
    assert yes_safe(gate("approve")) is None
    assert yes_safe(gate()) == ("confirm", None, "")
