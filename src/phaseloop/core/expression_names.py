"""Which names a CEL expression needs, found by reading its words; what they mean is decided at the edge."""

import re

_WORDS = re.compile(
    r"""(?P<comment>//[^\n]*)
    |(?P<string>[bB]?[rR][bB]?(?:"[^"\n]*"|'[^'\n]*')
        |[rRbB]{0,2}(?:\"{3}(?:\\.|[^\\])*?\"{3}|'{3}(?:\\.|[^\\])*?'{3}
        |"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'))
    |(?P<name>[A-Za-z_]\w*)
    |(?P<number>\d[\w.]*)
    |(?P<sign>\S)""",
    re.VERBOSE | re.DOTALL | re.ASCII,
)
_MACROS = frozenset({"all", "exists", "exists_one", "map", "filter"})
_RESERVED = (
    "true false null in as break const continue else for function if import let loop package namespace "
    "return var void while"
)
_TYPES = "bool bytes double int uint string list map null_type type"
_NOT_NAMES = frozenset(f"{_RESERVED} {_TYPES}".split())
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*", re.ASCII)


def is_name(text: str) -> bool:
    """Whether `text` can stand in an expression as a name."""
    return _IDENTIFIER.fullmatch(text) is not None and text not in _NOT_NAMES


def _words(expression: str) -> list[tuple[str, str]]:
    found = [(str(hit.lastgroup), hit.group()) for hit in _WORDS.finditer(expression)]
    edge = [("", "")] * 3  # so that neighbours may be looked at without a test
    return [*edge, *(word for word in found if word[0] != "comment"), *edge]


def _roots(words: list[tuple[str, str]]) -> list[int]:
    """Places of names that are neither a field nor a function nor a word of the language."""
    return [
        i
        for i, (kind, text) in enumerate(words)
        if kind == "name" and words[i - 1][1] != "." and words[i + 1][1] != "(" and text not in _NOT_NAMES
    ]


def variables_in(expression: str) -> tuple[str, ...]:
    """Names that a macro such as `items.exists(i, i > 3)` binds itself."""
    words = _words(expression)
    bound: dict[str, None] = {}
    for i in range(3, len(words) - 3):
        if words[i][1] in _MACROS and words[i - 1][1] == "." and words[i + 1][1] == "(":
            while words[i + 2][0] == "name" and words[i + 3][1] == ",":
                bound[words[i + 2][1]] = None
                i += 2
    return tuple(bound)


def names_in(expression: str) -> tuple[str, ...]:
    """The names an expression takes from outside, in order of appearance: `s1` and `artifact` are such."""
    words, bound = _words(expression), variables_in(expression)
    names = dict.fromkeys(words[i][1] for i in _roots(words))
    return tuple(name for name in names if name not in bound)


def fields_in(expression: str, root: str) -> tuple[str, ...]:
    """What is read from `root` directly: `x` in `artifact.x` and in `artifact["x"]`."""
    words = _words(expression)
    fields: dict[str, None] = {}
    for i in _roots(words):
        if words[i][1] != root:
            continue
        (_, sign), (kind, text), (_, after) = words[i + 1 : i + 4]
        if sign == "." and kind == "name" and after != "(":
            fields[text] = None
        elif sign == "[" and kind == "string":
            fields[text.strip("rRbB").strip("\"'")] = None
    return tuple(fields)
