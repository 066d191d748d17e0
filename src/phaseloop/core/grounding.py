"""Whether a value occurs in what people said: texts by whole words, numbers by value."""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from phaseloop.core.numerals import number, numbers_in
from phaseloop.core.paths import is_list, is_object
from phaseloop.core.values import Json

_CODE_DIGITS = 5  # a text with this many digits is a number of an account or phone: separators do not count
_SHORTEST_PLURAL = 3
_FIRST_CJK = 0x2E80
_EXACT = 2**53  # beyond it a number read from a text may be off by some: such long ids are compared as texts


def folded(text: str) -> str:
    """A text ready to compare: full width and case folded, blanks joined."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def occurs(words: str, text: str) -> bool:
    """Whether `words` stand in `text` as whole words; both are folded. CJK needs no word border.

    An address with `@` must be whole. Digits of an account or phone may be grouped otherwise, several words
    may be separated by other signs, and a single word may stand in the plural.
    """
    if not words:
        return False
    if _found(words, text):
        return True
    if "@" in words:
        return False
    if words.isalpha() and len(words) >= _SHORTEST_PLURAL:
        return _found(f"{words}s", text)
    if sum(sign.isdigit() for sign in words) >= _CODE_DIGITS:
        signs = [re.escape(sign) for sign in words if sign.isalnum()]
        code = r"[\s().-]*".join(signs)
        return re.search(rf"(?<![^\W_])(?<!\d[.,]){code}(?![^\W_])(?![.,]\d)", text) is not None
    parts = re.findall(r"\w+", words)
    return len(parts) > 1 and re.search(r"\b" + r"\W+".join(parts) + r"\b", text) is not None


def _found(words: str, text: str) -> bool:
    at = text.find(words)
    while at >= 0:
        if _stands_alone(words, text, at):
            return True
        at = text.find(words, at + 1)
    return False


def _stands_alone(words: str, text: str, at: int) -> bool:
    end = at + len(words)
    before, after = text[max(at - 2, 0) : at], text[end : end + 2]
    if _joined(before[-1:], words[0]) or _joined(words[-1], after[:1]):
        return False
    if "@" in words:
        return before[-1:] not in tuple(".-_+@") and not (after[:1] in tuple(".-_@") and after[1:].isalnum())
    return not (_in_number(before, words[0]) or _in_number(words[-1] + after[:1], after[1:]))


def _in_number(left: str, right: str) -> bool:
    """Whether a decimal point or comma stands between two digits, as in `249.50`."""
    return left[1:] in (".", ",") and left[:1].isdecimal() and right.isdecimal()


def _joined(left: str, right: str) -> bool:
    """Whether two neighbours belong to one word."""
    if not (left.isalnum() and right.isalnum()):
        return False
    return ord(left) < _FIRST_CJK and ord(right) < _FIRST_CJK


def leaves(value: Json) -> Iterator[str | float]:
    """Every text and number inside a value."""
    if is_object(value):
        for part in value.values():
            yield from leaves(part)
    elif is_list(value):
        for part in value:
            yield from leaves(part)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield value


@dataclass(frozen=True, slots=True)
class Ground:
    """One source of true values, such as the request or an artefact: its texts and its numbers by value."""

    text: str
    numbers: frozenset[float]

    def holds(self, leaf: str | float) -> bool:
        """Whether the text or number occurs here; a sign does not count."""
        if not isinstance(leaf, str):
            return abs(leaf) in self.numbers or (abs(leaf) > _EXACT and occurs(str(abs(leaf)), self.text))
        value = number(leaf)
        return occurs(folded(leaf), self.text) or (value is not None and value in self.numbers)


def ground(value: Json) -> Ground:
    """The texts of `value`, folded, one a line, and its numbers, those in its texts included."""
    found = list(leaves(value))
    text = "\n".join(folded(leaf) for leaf in found if isinstance(leaf, str))
    return Ground(text, numbers_in(text) | {abs(leaf) for leaf in found if not isinstance(leaf, str)})
