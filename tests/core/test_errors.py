import pytest

from phaseloop.core import errors
from phaseloop.core.plan import Finding


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (errors.IllegalMove("PlanUpdated", "the run", "failed"), "PlanUpdated is not allowed while the run is failed"),
        (errors.LogConflict("r", 3), "run r already has an event at 3"),
        (errors.LogBroken("disk full"), "disk full"),
        (errors.Fenced("r", 1, 2), "drive 1 of run r lost the run to drive 2"),
        (errors.RunUnknown("r"), "no run r"),
        (errors.UnresolvedReference("s1.a", "it has b"), "s1.a"),
        (errors.StoreUnusable("x.db", "it is newer"), "x.db"),
        (errors.Stuck("r", "nothing to do"), "nothing to do"),
        (errors.RecordUnreadable("reply 1", "no parts"), "reply 1"),
        (errors.AnswerRefused("g1", "already answered", 409), "already answered"),
    ],
)
def test_an_error_says_the_value_and_what_is_wrong(error, words):
    assert words in str(error)


def test_a_refused_definition_names_each_finding_with_its_place():
    refused = errors.DefinitionRefused("d.json", (Finding("x", "no phases", "phases"), Finding("y", "no id")))
    assert str(refused) == "definition d.json is refused: phases: no phases; no id"
