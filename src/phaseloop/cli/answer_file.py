"""An answer as a YAML file for an editor: written, read back, its mistakes shown at their lines."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from phaseloop.cli.figures import compact
from phaseloop.cli.payload import list_in, object_of, text_at
from phaseloop.cli.texts import say
from phaseloop.core.paths import is_object
from phaseloop.core.plan import MAX_STEPS, Finding
from phaseloop.core.values import Json, Object

Check = Callable[[Object, Json], Sequence[Finding]]
"""What in a value breaks a JSON Schema; `where` of each finding is a JSON Pointer into the value."""
FAULT = "#! "
_KEYS = ("outcome", "value", "comment")


@dataclass(frozen=True, slots=True)
class Draft:
    """An answer being written."""

    outcome: str
    value: Json = None
    comment: str = ""


@dataclass(frozen=True, slots=True)
class Fault:
    """A mistake and the line, from 0, that it stands before."""

    line: int
    message: str


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as blocks, which people can edit."""


class _Loader(yaml.SafeLoader):
    """Reads a date as the text it is: JSON has no dates."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith(":timestamp")]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def _text(dumper: Any, value: str) -> yaml.ScalarNode:
    node: yaml.ScalarNode = dumper.represent_scalar("tag:yaml.org,2002:str", value)
    node.style = "|" if "\n" in value else node.style
    return node


_Dumper.add_representer(str, _text)


def as_yaml(value: Json) -> str:
    """`value` as YAML, in its own order, nothing escaped that can be read."""
    dump: Callable[..., str] = getattr(yaml, "dump")  # noqa: B009 - the stubs leave its overloads half unknown
    return dump(value, Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=100)


def written(draft: Draft, title: str, outcomes: Sequence[str], language: str) -> str:
    """The file for `draft`: what it answers and which outcomes there are stand above it as comments."""
    head = say(language, "e_head", title=title).splitlines()
    head.append("outcome: " + say(language, "e_outcomes", names=", ".join(outcomes)))
    body = as_yaml({"outcome": draft.outcome, "comment": draft.comment, "value": draft.value})
    return "".join(f"# {line}\n" for line in head) + body


def is_empty(text: str) -> bool:
    """Whether nothing but comments is left: the person wants to send nothing."""
    return all(not line.strip() or line.lstrip().startswith("#") for line in text.splitlines())


def with_faults(text: str, faults: Sequence[Fault]) -> str:
    """`text` with each fault as a comment before its line; those of an earlier reading are taken out."""
    lines = text.splitlines()
    notes: dict[int, list[str]] = {}
    for fault in faults:
        notes.setdefault(min(max(fault.line, 0), len(lines)), []).append(fault.message)
    out: list[str] = []
    for n in range(len(lines) + 1):
        out += [FAULT + " ".join(note.split()) for note in notes.get(n, [])]
        if n < len(lines) and not lines[n].startswith(FAULT):
            out.append(lines[n])
    return "\n".join(out) + "\n"


def read_back(
    text: str, outcomes: Sequence[str], language: str, judge: Callable[[Draft], Sequence[Finding]]
) -> tuple[Draft | None, tuple[Fault, ...]]:
    """The answer in `text`, or the faults that keep it from being one.

    `judge` says what is wrong with the value; the `where` of its findings points into it.
    """
    try:
        document: Json = yaml.load(text, Loader=_Loader)
        root = yaml.compose(text, Loader=_Loader)
        json.dumps(document)
    except (yaml.YAMLError, ValueError, TypeError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        why = getattr(error, "problem", None) or str(error).partition("\n")[0]
        return None, (Fault(mark.line if mark else 0, say(language, "e_yaml", why=why)),)
    if not is_object(document):
        return None, (Fault(0, say(language, "e_object")),)
    faults = [
        Fault(_line(root, (str(key),)), say(language, "e_unknown", name=compact(key)))
        for key in document
        if key not in _KEYS
    ]
    outcome = document.get("outcome")
    if outcome not in outcomes:
        names = ", ".join(outcomes)
        faults.append(Fault(_line(root, ("outcome",)), say(language, "e_outcome", text=compact(outcome), names=names)))
    if faults:
        return None, tuple(faults)
    draft = Draft(str(outcome), document.get("value"), text_at(document, "comment"))
    found = [
        Fault(_line(root, _path(finding.where)), finding.message + (f" ({finding.mend})" if finding.mend else ""))
        for finding in judge(draft)
    ]
    return (None, tuple(found)) if found else (draft, ())


def _path(where: str) -> tuple[str, ...]:
    """Where a finding about the value, or about the comment, stands in the file."""
    if where == "comment":
        return ("comment",)
    steps = [step.replace("~1", "/").replace("~0", "~") for step in where.split("/") if step]
    return ("value", *steps)


def _line(node: Any, path: Sequence[str]) -> int:
    """The line of the deepest part of `path` that is in the file."""
    line = node.start_mark.line if node is not None else 0
    for step in path:
        if isinstance(node, yaml.MappingNode):
            pairs = [(key, value) for key, value in node.value if str(key.value) == step]
        elif isinstance(node, yaml.SequenceNode) and step.isdigit() and int(step) < len(node.value):
            pairs = [(node.value[int(step)], node.value[int(step)])]
        else:
            pairs = []
        if not pairs:
            break
        line, node = pairs[0][0].start_mark.line, pairs[0][1]
    return int(line)


def plan_faults(plan: Json) -> list[Finding]:
    """What is wrong with an edited plan: steps without words, two of one id, needs that no earlier step is."""
    steps = [object_of(step) for step in list_in(object_of(plan), "steps")]
    faults: list[Finding] = []
    if not 1 <= len(steps) <= MAX_STEPS:
        message = f"the plan has {len(steps)} steps, it takes 1 to {MAX_STEPS}"
        faults.append(Finding("plan_steps", message, "/steps", "add, merge or remove steps"))
    known: set[str] = set()
    for n, step in enumerate(steps):
        where = f"/steps/{n}"
        name = compact(step.get("id", ""))
        if not name or name in known:
            why = f"id {name} is used twice" if name else "a step has no id"
            faults.append(Finding("plan_id", why, where, "give every step an id of its own"))
        if not text_at(step, "action").strip():
            faults.append(Finding("plan_action", f"step {name} says no action", where, "say what it does"))
        for need in list_in(step, "depends_on"):
            if compact(need) not in known:
                why = f"step {name} waits for {compact(need)}, which no earlier step is"
                faults.append(Finding("plan_order", why, f"{where}/depends_on", "name earlier steps only"))
        known.add(name)
    return faults
