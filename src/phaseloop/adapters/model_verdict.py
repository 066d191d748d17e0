"""A critic model's reply as a verdict, whatever fields it left out or contradicted (behaviours C21)."""

import math
import re

from phaseloop.core.answers import Verdict
from phaseloop.core.paths import is_list, is_object
from phaseloop.core.values import Json, canonical

TOP = 10.0
SCORE_WHEN_REFUSED, SCORE_WHEN_PASSED = 5.0, 8.0
"""What a missing score counts as. A `passed` that contradicts the score lies on the far side of these."""
YES = frozenset({"true", "yes", "y", "1", "pass", "passed", "是", "通过", "对"})
NO = frozenset({"false", "no", "n", "0", "fail", "failed", "否", "不通过", "未通过", "不", "错"})
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
PASSED_KEYS = ("passed", "pass", "is_passed", "ok", "success", "通过")
SCORE_KEYS = ("score", "rating", "points", "评分", "分数", "得分")
ISSUE_KEYS = ("issues", "issue", "problems", "errors", "问题")
SUGGESTION_KEYS = ("suggestion", "suggestions", "advice", "建议")


def is_verdict(value: Json) -> bool:
    """Whether a value holds at least one of the two fields that decide."""
    return is_object(value) and (
        _score(_first(value, SCORE_KEYS)) is not None or _passed(_first(value, PASSED_KEYS)) is not None
    )


def verdict_of(value: Json, by: str) -> Verdict:
    """The verdict in `value`, for which `is_verdict` holds. The score decides; `passed` is recorded.

    A missing score counts as 5 when not passed and 8 when passed; what was missing, out of range or
    contradicting stands in `format_issue`.
    """
    notes: list[str] = []
    score, passed = _score(_first(value, SCORE_KEYS)), _passed(_first(value, PASSED_KEYS))
    if score is None:
        score = SCORE_WHEN_PASSED if passed else SCORE_WHEN_REFUSED
        notes.append(f"no score: taken as {score:g}")
    elif not 0 <= score <= TOP:
        fitted = _fitted(score)
        notes.append(f"score {score:g} is not on the scale of 0 to 10: taken as {fitted:g}")
        score = fitted
    if passed is None:
        passed = score > SCORE_WHEN_REFUSED
        notes.append("no `passed`")
    elif (passed and score <= SCORE_WHEN_REFUSED) or (not passed and score >= SCORE_WHEN_PASSED):
        notes.append(f"passed is {str(passed).lower()}, but the score is {score:g}")
    issues = tuple(_texts(_first(value, ISSUE_KEYS)))
    suggestion = " ".join(_texts(_first(value, SUGGESTION_KEYS)))
    return Verdict(score, passed, issues, suggestion, by, "; ".join(notes))


def _first(value: dict[str, Json], keys: tuple[str, ...]) -> Json:
    lowered = {str(key).lower(): item for key, item in value.items()}
    return next((lowered[key] for key in keys if lowered.get(key) is not None), None)


def _score(value: Json) -> float | None:
    """A number, or the first number in a text such as `8/10`, `8分` or `80%`."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value) if math.isfinite(value) else None
    hit = NUMBER.search(value) if isinstance(value, str) else None
    if hit is None:
        return None
    return float(hit[0]) / (TOP if "%" in value else 1)


def _fitted(score: float) -> float:
    """A score of 0 to 100 on the scale of 10; anything else at the nearer end, never higher than said."""
    if TOP < score <= TOP * TOP:
        return score / TOP
    return 0.0


def _passed(value: Json) -> bool | None:
    if isinstance(value, bool):
        return value
    word = str(value).strip().lower() if isinstance(value, str | int) else ""
    return True if word in YES else False if word in NO else None


def _texts(value: Json) -> list[str]:
    if value is None or value == "":
        return []
    items = value if is_list(value) else [value]
    return [item if isinstance(item, str) else _text(item) for item in items if item not in (None, "", {}, [])]


def _text(item: Json) -> str:
    if is_object(item):
        told = next((item[key] for key in ("issue", "description", "message", "text", "问题") if key in item), None)
        if isinstance(told, str):
            return told
    return canonical(item)
