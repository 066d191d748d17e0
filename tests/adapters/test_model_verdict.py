import pytest

from phaseloop.adapters.model_verdict import is_verdict, verdict_of


@pytest.mark.parametrize(
    ("reply", "score", "passed", "issue"),
    [
        ({"passed": True, "score": 8}, 8, True, ""),
        ({"passed": False, "score": 7}, 7, False, ""),
        ({"passed": False, "score": 5}, 5, False, ""),
        ({"passed": True}, 8, True, "no score: taken as 8"),
        ({"passed": False}, 5, False, "no score: taken as 5"),
        ({"passed": True, "score": None}, 8, True, "no score: taken as 8"),
        ({"passed": True, "score": True}, 8, True, "no score: taken as 8"),
        ({"score": 9}, 9, True, "no `passed`"),
        ({"score": 2}, 2, False, "no `passed`"),
        ({"passed": True, "score": 3}, 3, True, "passed is true, but the score is 3"),
        ({"passed": False, "score": 9}, 9, False, "passed is false, but the score is 9"),
        ({"passed": "yes", "score": "8/10"}, 8, True, ""),
        ({"passed": "不通过", "score": "3分"}, 3, False, ""),
        ({"passed": "true", "score": "80%"}, 8, True, ""),
        ({"Passed": True, "Score": 8}, 8, True, ""),
        ({"passed": True, "score": 85}, 8.5, True, "score 85 is not on the scale of 0 to 10: taken as 8.5"),
        ({"passed": False, "score": -2}, 0, False, "score -2 is not on the scale of 0 to 10: taken as 0"),
        ({"passed": False, "score": 5000}, 0, False, "score 5000 is not on the scale of 0 to 10: taken as 0"),
    ],
)
def test_the_score_decides_and_what_is_odd_is_told(reply, score, passed, issue):
    assert is_verdict(reply)
    verdict = verdict_of(reply, "model")
    assert (verdict.score, verdict.passed, verdict.format_issue) == (score, passed, issue)


@pytest.mark.parametrize(
    "reply", [{}, {"issues": ["x"]}, [1], "fine", None, {"score": "good"}, {"score": float("nan")}]
)
def test_a_reply_without_score_and_passed_is_no_verdict(reply):
    assert not is_verdict(reply)


@pytest.mark.parametrize(
    ("given", "issues"),
    [
        (None, ()),
        ("", ()),
        ("too short", ("too short",)),
        (["a", "", None, "b"], ("a", "b")),
        ([{"issue": "late"}, {"where": "s1"}], ("late", '{"where":"s1"}')),
    ],
)
def test_issues_are_texts_whatever_their_form(given, issues):
    assert verdict_of({"score": 5, "issues": given}, "model").issues == issues


def test_suggestions_in_a_list_become_one_text():
    assert verdict_of({"score": 5, "suggestion": ["a", "b"]}, "model").suggestion == "a b"
