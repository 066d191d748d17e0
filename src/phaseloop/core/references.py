"""References from a step's arguments to earlier outputs, artefacts and inputs (contract section 5)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from operator import is_not

from phaseloop.core.errors import UnresolvedReference
from phaseloop.core.paths import is_list, is_object, parse_path, path_text, read
from phaseloop.core.values import Json, canonical

REF, TEMPLATE, PATH = "$ref", "$tmpl", "path"
ITEM = "item"
RESERVED = frozenset((ITEM, "artifact", "input"))
"""Sources that are no steps, so no step may be labelled like them."""

_TOKEN = re.compile(r'\{\{|\}\}|\{([^{}:"]+)(?::((?:[^{}"]|"(?:[^"\\]|\\.)*")*))?\}|[{}]')
_SHOWN_NAMES = 12
_LEAVES = (str, int, float, bool, type(None))


@dataclass(frozen=True, slots=True)
class Reference:
    """Where a value comes from: `source` is a step label, `artifact.NAME`, `input.NAME` or `item`."""

    source: str
    path: str = ""

    @property
    def kind(self) -> str:
        """`artifact`, `input`, `item` or `step`."""
        if self.source == ITEM:
            return ITEM
        head, dot, _ = self.source.partition(".")
        return head if dot and head in RESERVED else "step"

    @property
    def name(self) -> str:
        """The name of the artefact or input; of other sources the source itself."""
        return self.source.partition(".")[2] if self.kind in ("artifact", "input") else self.source

    def __str__(self) -> str:
        try:
            return self.source + path_text(parse_path(self.path))
        except ValueError:
            return f"{self.source}:{self.path}"


@dataclass(frozen=True, slots=True)
class Values:
    """What references may name: outputs by step id, artefacts and inputs by name, the element of `each`."""

    steps: Mapping[str, Json] = field(default_factory=dict[str, Json])
    artifacts: Mapping[str, Json] = field(default_factory=dict[str, Json])
    inputs: Mapping[str, Json] = field(default_factory=dict[str, Json])
    item: Json = None


def resolve(value: Json, values: Values) -> Json:
    """`value` with every reference and template replaced, at any depth; without any it is returned as it is.

    Raises `UnresolvedReference` when a source or path is not there; `null` is a value.
    """
    if is_object(value):
        if REF in value:
            if fault := _form_fault(value):
                raise UnresolvedReference(str(value[REF]), fault)
            return _look_up(str(value[REF]), _path_of(value), values)
        if TEMPLATE in value:
            return _fill(value, values)
        filled: dict[str, Json] = {}
        for key, part in value.items():
            if type(part) not in _LEAVES and (new := resolve(part, values)) is not part:
                filled[key] = new
        return {**value, **filled} if filled else value
    if is_list(value):
        items = [part if type(part) in _LEAVES else resolve(part, values) for part in value]
        return items if any(map(is_not, items, value)) else value
    return value


def _look_up(source: str, path: str, values: Values) -> Json:
    try:
        found = values.steps[source] if source in values.steps else _outside(source, values)
        return read(found, parse_path(path), source)
    except (LookupError, ValueError) as reason:
        raise UnresolvedReference(str(Reference(source, path)), str(reason.args[0])) from None


def _outside(source: str, values: Values) -> Json:
    """The value of a source that is no step with an output. Raises `LookupError`."""
    if source == ITEM:
        return values.item
    reference = Reference(source)
    space = {"artifact": values.artifacts, "input": values.inputs}.get(reference.kind, values.steps)
    if reference.kind != "step" and reference.name in space:
        return space[reference.name]
    there = ", ".join(list(space)[:_SHOWN_NAMES]) or "none"
    what = {"artifact": "artefact", "input": "input"}.get(reference.kind, "finished step")
    raise LookupError(f"there is no {what} {reference.name!r}; there are: {there}")


def _fill(form: Mapping[str, Json], values: Values) -> str:
    if fault := _form_fault(form):
        raise UnresolvedReference(str(form[TEMPLATE]), fault)
    out: list[str] = []
    for part in _template_parts(form[TEMPLATE]):
        if isinstance(part, str):
            out.append(part)
        else:
            value = _look_up(part.source, part.path, values)
            out.append(value if isinstance(value, str) else canonical(value))
    return "".join(out)


@lru_cache(maxsize=4096)
def _template_parts(text: str) -> tuple[str | Reference, ...]:
    parts: list[str | Reference] = []
    at = 0
    for hit in _TOKEN.finditer(text):
        parts.append(text[at : hit.start()])
        at = hit.end()
        parts.append(Reference(hit[1].strip(), (hit[2] or "").strip()) if hit[1] else hit[0][0])
    return tuple(part for part in (*parts, text[at:]) if part != "")


@lru_cache(maxsize=4096)
def _template_fault(text: str) -> str:
    if any(hit[0] in "{}" or (hit[1] is not None and not hit[1].strip()) for hit in _TOKEN.finditer(text)):
        return "a brace in it is neither a reference like {s1:path} nor doubled"
    return ""


def _path_of(form: Mapping[str, Json]) -> str:
    path = form.get(PATH, "")
    if isinstance(path, str):
        return path
    return f"[{path}]" if isinstance(path, int) else "" if path is None else str(path)


def _form_fault(form: Mapping[str, Json]) -> str:
    """Why an object with `$ref` or `$tmpl` is no reference; empty when it is one."""
    head = REF if REF in form else TEMPLATE
    if len(form) > (head == REF and PATH in form) + 1:
        extra = ", ".join(repr(key) for key in form if key not in (head, PATH))
        return f"an object with {head!r} may hold no other field, it has {extra or repr(PATH)}"
    if head == REF:
        return "" if isinstance(form[REF], str | int) else f"{REF!r} must be the name of a source"
    text = form[TEMPLATE]
    return _template_fault(text) if isinstance(text, str) else f"{TEMPLATE!r} must be a text"


def _forms(value: Json) -> list[dict[str, Json]]:
    """Every reference and template inside `value`, in order of appearance."""
    found: list[dict[str, Json]] = []
    _collect_forms(value, found)
    return found


def _collect_forms(value: Json, found: list[dict[str, Json]]) -> None:
    if is_object(value):
        if REF in value or TEMPLATE in value:
            found.append(value)
            return
        for part in value.values():
            if type(part) not in _LEAVES:
                _collect_forms(part, found)
    elif is_list(value):
        for part in value:
            if type(part) not in _LEAVES:
                _collect_forms(part, found)


def references(value: Json) -> tuple[Reference, ...]:
    """Every reference inside `value`, in order of appearance, those in templates included. Never raises."""
    found: list[Reference] = []
    for form in _forms(value):
        if REF in form:
            found.append(Reference(str(form[REF]), _path_of(form)))
        elif isinstance(form[TEMPLATE], str):
            found += [part for part in _template_parts(form[TEMPLATE]) if isinstance(part, Reference)]
    return tuple(found)


def step_references(value: Json) -> tuple[str, ...]:
    """The labels of the steps that `value` refers to, each once, in order of appearance."""
    return tuple(dict.fromkeys(r.source for r in references(value) if r.kind == "step"))


def is_literal(value: Json) -> bool:
    """Whether no reference and no template stands inside `value`."""
    return not _forms(value)


def faults(value: Json) -> tuple[str, ...]:
    """One sentence for each reference or template inside `value` that no values could ever resolve."""
    found: list[str] = []
    for form in _forms(value):
        if fault := _form_fault(form):
            found.append(f"{canonical(form)}: {fault}")
            continue
        for reference in references(form):
            try:
                parse_path(reference.path)
            except ValueError as reason:
                found.append(f"{canonical(form)}: {reason}")
    return tuple(found)


def rename(value: Json, mapping: Mapping[str, str]) -> Json:
    """`value` with the step labels in its references and templates replaced, all at once."""
    if is_object(value):
        if REF in value:
            label = mapping.get(str(value[REF]))
            return value if label is None else {**value, REF: label}
        if TEMPLATE in value:
            text = value[TEMPLATE]
            return {**value, TEMPLATE: _rename_template(text, mapping)} if isinstance(text, str) else value
        return {key: rename(part, mapping) for key, part in value.items()}
    if is_list(value):
        return [rename(part, mapping) for part in value]
    return value


def _rename_template(text: str, mapping: Mapping[str, str]) -> str:
    def renamed(hit: re.Match[str]) -> str:
        label = mapping.get(hit[1].strip()) if hit[1] else None
        if label is None:
            return hit[0]
        return "{" + label + (f":{hit[2]}" if hit[2] is not None else "") + "}"

    return _TOKEN.sub(renamed, text)
