"""Reads a function's docstring: its summary and what it says about each parameter."""

import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_PARAMETERS = frozenset(
    {"args", "arguments", "parameters", "params", "keyword args", "keyword arguments", "other parameters"}
)
_KEPT = frozenset({"example", "examples", "note", "notes", "warning", "warnings"})
_DROPPED = frozenset({"returns", "return", "yields", "raises", "attributes", "see also", "references"})
_SECTIONS = _PARAMETERS | _KEPT | _DROPPED
_GOOGLE_ENTRY = re.compile(r"\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)")
_NUMPY_ENTRY = re.compile(r"\*{0,2}(\w+(?:\s*,\s*\*{0,2}\w+)*)\s*(?::.*)?$")
_SPHINX_FIELD = re.compile(r":(\w+)([^:]*):\s*(.*)")


@dataclass(frozen=True, slots=True)
class Docstring:
    """The text before the first section, and one line of text for each parameter."""

    text: str = ""
    parameters: dict[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class _Line:
    indent: int
    text: str


def parse_docstring(raw: str | None) -> Docstring:
    """Understands the google, numpy and sphinx styles, also mixed; notes and examples stay in the text."""
    lines = [_Line(len(line) - len(line.lstrip()), line.strip()) for line in inspect.cleandoc(raw or "").split("\n")]
    summary: list[str] = []
    parameters: dict[str, str] = {}
    at = 0
    while at < len(lines):
        title, style, start = _heading(lines, at)
        if style:
            end = _section_end(lines, start, lines[at].indent, style)
            if title in _PARAMETERS:
                parameters.update(_entries(lines[start:end], style))
            elif title in _KEPT:
                summary += [line.text for line in lines[at:end]]
            at = end
        elif lines[at].text.startswith(":") and _SPHINX_FIELD.match(lines[at].text):
            end = _field_end(lines, at)
            parameters.update(_sphinx(lines[at:end]))
            at = end
        else:
            summary.append(lines[at].text)
            at += 1
    return Docstring(_paragraphs(summary), {name: text for name, text in parameters.items() if text})


def _heading(lines: list[_Line], at: int) -> tuple[str, str, int]:
    """The section title at this line, its style and where its body starts; style is empty for plain text."""
    text = lines[at].text
    if text.endswith(":") and text[:-1].lower() in _SECTIONS:
        return text[:-1].lower(), "google", at + 1
    underlined = at + 1 < len(lines) and re.fullmatch(r"-{3,}", lines[at + 1].text)
    if underlined and text.lower() in _SECTIONS:
        return text.lower(), "numpy", at + 2
    return "", "", at


def _section_end(lines: list[_Line], start: int, indent: int, style: str) -> int:
    at = start
    while at < len(lines):
        line = lines[at]
        left = style == "google" and line.text and line.indent <= indent
        if left or _heading(lines, at)[1] or line.text.startswith(":param"):
            break
        at += 1
    return at


def _field_end(lines: list[_Line], at: int) -> int:
    end = at + 1
    while end < len(lines) and lines[end].text and lines[end].indent > lines[at].indent:
        end += 1
    return end


def _entries(body: list[_Line], style: str) -> Iterator[tuple[str, str]]:
    filled = [line for line in body if line.text]
    margin = min((line.indent for line in filled), default=0)
    names: list[str] = []
    text: list[str] = []
    for line in filled:
        entry = (_GOOGLE_ENTRY if style == "google" else _NUMPY_ENTRY).match(line.text)
        if line.indent == margin and entry:
            yield from ((name, " ".join(text)) for name in names)
            names = [name.strip(" *") for name in entry[1].split(",")]
            text = [entry[2]] if style == "google" and entry[2] else []
        else:
            text.append(line.text)
    yield from ((name, " ".join(text)) for name in names)


def _sphinx(lines: list[_Line]) -> Iterator[tuple[str, str]]:
    found = _SPHINX_FIELD.match(lines[0].text)
    if found and found[1] in {"param", "parameter", "arg", "argument", "key", "keyword"} and found[2].split():
        yield (
            found[2].split()[-1].lstrip("*"),
            " ".join([found[3], *(line.text for line in lines[1:])]).strip(),
        )


def _paragraphs(lines: list[str]) -> str:
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()
