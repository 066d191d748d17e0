"""Labels of a planner's steps, and the other ways in which planners name them."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from phaseloop.core.values import Json

_NUMBER = re.compile(r"(?:[#$]|no\.?|step|task|s|t)?[\s_#:.-]*(\d+)(?:\.0)?", re.IGNORECASE)


def label_of(raw: Json) -> str:
    """The label in a step's `id`: a number n becomes `step<n>`, a text stays; empty when there is none."""
    if isinstance(raw, float) and raw.is_integer():
        raw = int(raw)
    if isinstance(raw, bool) or not isinstance(raw, str | int):
        return ""
    text = str(raw).strip()
    return f"step{int(text)}" if text.isdecimal() else text


@dataclass(frozen=True, slots=True)
class Aliases:
    """Finds the step that a name means: a label, a number, a tool's name or the text of an action."""

    labels: tuple[str, ...]
    exact: frozenset[str]
    loose: tuple[Mapping[str, str], ...]
    texts: Mapping[str, str]

    def step(self, name: Json, *, by_text: bool = True) -> str | None:
        """The label that `name` means, or `None` when it means no step or may mean several.

        `by_text` lets an action or a tool stand for its step.
        """
        label = label_of(name)
        if not label or label in self.exact:
            return label or None
        folded = label.casefold()
        keys = (folded, number) if (number := _number(label)) else (folded,)
        maps = (*self.loose, self.texts) if by_text else self.loose
        return next((names[key] for names in maps for key in keys if key in names), None)


def aliases_of(raw_labels: Sequence[str], texts: Sequence[Collection[str]], known: Collection[str]) -> Aliases:
    """Labels for all steps, made up where there is none, and their aliases.

    `raw_labels` are those of the draft in order, `texts` are each step's action and tool names, `known`
    are ids of earlier steps. A label goes before a number, and a step of the draft
    before an earlier one. Steps without any number in
    their labels may be named by their place.
    """
    taken = {*raw_labels, *known}
    labels: list[str] = []
    for place, label in enumerate(raw_labels, 1):
        fresh = label or f"step{place}"
        while not label and fresh in taken:
            fresh = f"new_{fresh}"
        taken.add(fresh)
        labels.append(fresh)
    numbers = _unique((_number(label), label) for label in labels)
    if not numbers:
        numbers = {str(place): label for place, label in enumerate(labels, 1)}
    return Aliases(
        labels=tuple(labels),
        exact=frozenset((*labels, *known)),
        loose=(
            _unique((label.casefold(), label) for label in dict.fromkeys(labels)),
            _unique((label.casefold(), label) for label in known),
            numbers,
            _unique((_number(label), label) for label in known),
        ),
        texts=_unique((text.casefold(), label) for label, own in zip(labels, texts, strict=True) for text in set(own)),
    )


def _number(label: str) -> str:
    """The number in a label that is little more than one, such as `S1` or `step 1`."""
    hit = _NUMBER.fullmatch(label.strip())
    return str(int(hit[1])) if hit else ""


def _unique(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The pairs whose key stands for one label only."""
    found: dict[str, str | None] = {}
    for key, label in pairs:
        found[key] = label if found.get(key, label) == label else None
    return {key: label for key, label in found.items() if key and label}
