"""Numbers as people write them: digits, English number words and Chinese numerals."""

import re
from collections.abc import Iterator

_DIGITS = re.compile(
    r"(?<![a-z0-9_.,])(?P<digits>\d[\d,.]*)\s?(?P<scale>(?:k|thousand|million)(?![a-z])|万|千(?![克米瓦])|百|亿)?"
)
_READINGS = (
    (re.compile(r"\d+(?:\.\d+)?"), "", ""),  # 1320.5
    (re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?"), ",", ""),  # 1,320.50
    (re.compile(r"\d{1,3}(?:\.\d{3})+(?:,\d+)?"), ".", ","),  # 1.320,50
    (re.compile(r"\d+,\d{1,2}"), "", ","),  # 1320,5
)
_SCALES = {"k": 1e3, "thousand": 1e3, "million": 1e6, "万": 1e4, "亿": 1e8}
"""Scales that multiply all that went before, as in `two hundred thousand`."""
_STEPS = {"hundred": 1e2, "dozen": 12.0, "十": 10.0, "百": 1e2, "千": 1e3}
"""Scales that multiply the last digit only, as in `one thousand two hundred`."""
_NEVER_BARE = frozenset("百千万亿")
"""Signs that are no number without a digit before them, as in `千克`."""
_SMALL = """
    zero one two three four five six seven eight nine ten
    eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen
"""
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_SIGNS = "零一二三四五六七八九"
_VALUES = (
    {word: float(n) for n, word in enumerate(re.findall(r"\w+", _SMALL))}
    | {word: 10.0 * n for n, word in enumerate(re.findall(r"\w+", _TENS), 2)}
    | {sign: float(n) for n, sign in enumerate(_SIGNS)}
    | {"两": 2.0, "single": 1.0, "couple": 2.0}
)
_WORD = re.compile(r"[a-z]+|[零一二两三四五六七八九十百千万亿]|[^\sa-z-]")


def numbers_in(text: str) -> frozenset[float]:
    """Every number that `text` may mean, by value and without sign. `text` is in lower case.

    A doubtful one counts both ways: `1.234` is also 1234.
    """
    found: set[float] = set(_spelled(_WORD.findall(_DIGITS.sub(";", text))))
    for hit in _DIGITS.finditer(text):
        word = hit["scale"] or ""
        scale = _SCALES.get(word) or _STEPS.get(word, 1.0)
        found.update(reading * scale for reading in _read(hit["digits"].rstrip(".,")))
    return frozenset(found)


def number(text: str) -> float | None:
    """The number that a text of digits is, without its sign, else `None`."""
    return next(_read(text.strip().lstrip("+-")), None)


def _read(digits: str) -> Iterator[float]:
    for form, thousands, decimal in _READINGS:
        if form.fullmatch(digits):
            plain = digits.replace(thousands, "") if thousands else digits
            yield float(plain.replace(decimal, ".") if decimal else plain)


def _spelled(words: list[str]) -> Iterator[float]:
    """Sums of scaled parts, as in `one thousand two hundred` or `两千五百`."""
    total, part, inside = 0.0, 0.0, False
    for word in (*words, ""):
        value, scale = _VALUES.get(word), _SCALES.get(word)
        bare = word in _NEVER_BARE and not inside
        ends = bare or (value is None and scale is None and word not in _STEPS)
        if inside and (ends or (value is not None and part and (part % 10 or value >= 10))):
            if word == "and":
                continue
            yield total + part
            total, part, inside = 0.0, 0.0, False
        if ends:
            continue
        if value is not None:
            part += value
        elif scale is None:
            total, part = total + (part or 1.0) * _STEPS[word], 0.0
        elif total >= scale:
            total, part = total + part * scale, 0.0
        else:
            total, part = (total + part or 1.0) * scale, 0.0
        inside = True
