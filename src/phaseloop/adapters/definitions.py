"""Process definitions from JSON and YAML files, and the ones that come with phaseloop."""

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml

from phaseloop.core.definition_fields import shown
from phaseloop.core.definition_form import Reading, read_definition, write_definition
from phaseloop.core.definition_rules import Known, check_definition, children_of, expressions_of
from phaseloop.core.errors import DefinitionRefused
from phaseloop.core.paths import is_list, is_object
from phaseloop.core.plan import Finding, Severity
from phaseloop.core.process import FLAT, Definition
from phaseloop.core.values import Json

MAX_BYTES = 1_000_000  # a definition is read by people; more is a mistake or an attack
MAX_VALUES = 100_000  # YAML aliases can grow a small file without bound
MAX_DEPTH = 100
BUILT_IN = ("intent-dispatch", "component-design")

Source = str | Path | Mapping[str, Json]
"""A path, a text in JSON or YAML, or a document already read."""

Fault = Callable[[Any], str]
"""Says why an expression or a schema cannot be used, or nothing."""


@dataclass(frozen=True, slots=True)
class EdgeRules:
    """What only a library can tell: does a condition compile, is a schema a schema."""

    condition: Fault | None = None
    schema: Fault | None = None


def load_definition(source: Source, *, known: Known | None = None, edge: EdgeRules | None = None) -> Definition:
    """The definition in `source`, checked.

    `known` are the definitions a SUBPROCESS may name with what they start themselves; by default the
    built-in ones. Raises `DefinitionRefused` with every error and its mend.
    """
    reading = examine_definition(source, known=known, edge=edge)
    errors = tuple(finding for finding in reading.findings if finding.severity is Severity.ERROR)
    if reading.definition is None or errors:
        raise DefinitionRefused(_name(source), errors)
    return reading.definition


def examine_definition(source: Source, *, known: Known | None = None, edge: EdgeRules | None = None) -> Reading:
    """The definition in `source` if it can be read, and all findings, warnings too. Content never raises."""
    try:
        document = _document(source)
    except ValueError as error:
        return Reading(None, (Finding("unreadable", str(error), "", "mend the file"),))
    if fault := _not_json(document):
        return Reading(None, (Finding("not_json", fault, "", "use texts, numbers, true, false, lists, objects"),))
    reading = read_definition(document)
    if reading.definition is None:
        return reading
    children = built_in_children() if known is None else known
    extra = _edge_findings(reading.definition, edge or EdgeRules())
    return Reading(
        reading.definition,
        (*reading.findings, *check_definition(reading.definition, known=children, extra=extra)),
    )


def dump_definition(definition: Definition) -> dict[str, Json]:
    """The definition in its JSON form; `load_definition` of it gives an equal definition."""
    return write_definition(definition)


@cache
def _built_in() -> Mapping[str, Definition]:
    found = {FLAT.definition_id: FLAT}
    for name in BUILT_IN:
        text = (files("phaseloop") / "definitions" / f"{name}.json").read_text(encoding="utf-8")
        reading = read_definition(json.loads(text))
        if reading.definition is None:
            raise DefinitionRefused(name, reading.findings)
        found[name] = reading.definition
    return found


def builtin_definitions() -> dict[str, Definition]:
    """The definitions that come with phaseloop, by id: the five-phase demo, its child process, and `flat`."""
    return dict(_built_in())


def built_in_children() -> dict[str, tuple[str, ...]]:
    """Each built-in definition with the ones it starts."""
    return {name: children_of(definition) for name, definition in _built_in().items()}


def definition_schema() -> dict[str, Json]:
    """The published JSON Schema of definition files, for editors."""
    text = (files("phaseloop") / "definitions" / "definition.schema.json").read_text(encoding="utf-8")
    schema: dict[str, Json] = json.loads(text)
    return schema


def _edge_findings(definition: Definition, edge: EdgeRules) -> tuple[Finding, ...]:
    found: list[Finding] = []
    if edge.condition is not None:
        for where, expression in expressions_of(definition):
            if fault := edge.condition(expression):
                message = f"{shown(expression)} is no condition: {fault}"
                found.append(Finding("condition_not_compiled", message, where, "mend the expression"))
    if edge.schema is not None:
        schemas = [(f"artifacts.{name}", schema) for name, schema in definition.artifacts.items()]
        for i, activity in enumerate(definition.activities):
            for key in ("schema", "output_schema"):
                if key in activity.config:
                    schemas.append((f"activities[{i}].config.{key}", activity.config[key]))
        for where, schema in schemas:
            if is_object(schema) and (fault := edge.schema(schema)):
                found.append(Finding("schema_unusable", fault, where, "write a JSON Schema 2020-12"))
    return tuple(found)


def _name(source: Source) -> str:
    if isinstance(source, Path) or (isinstance(source, str) and not _is_text(source)):
        return str(source)
    if isinstance(source, Mapping) and (name := source.get("definitionId")):
        return str(name)
    return "given as text"


def _is_text(source: str) -> bool:
    """A text rather than a path: it has lines, or braces, or a key with a value."""
    return "\n" in source or "{" in source or ": " in source or not source.strip()


def _document(source: Source) -> Json:
    """Raises `ValueError` with one sentence that says where the trouble is."""
    if isinstance(source, Mapping):
        return dict(source)
    if isinstance(source, str) and _is_text(source):
        return _parsed(source, "the text", source.lstrip().startswith(("{", "[")))
    path = Path(source)
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror or error}") from error
    if len(raw) > MAX_BYTES:
        raise ValueError(f"{path} has {len(raw)} bytes; a definition has at most {MAX_BYTES}")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8 text: byte {error.start} is {raw[error.start]:#04x}") from error
    in_json = path.suffix == ".json" or (path.suffix not in (".yaml", ".yml") and text.lstrip().startswith("{"))
    return _parsed(text, str(path), in_json)


def _parsed(text: str, name: str, in_json: bool) -> Json:
    if len(text) > MAX_BYTES:
        raise ValueError(f"{name} has {len(text)} characters; a definition has at most {MAX_BYTES}")
    try:
        if in_json:
            return json.loads(text, object_pairs_hook=_object_of, parse_constant=_no_number)
        return yaml.load(text, Loader=_PlainLoader)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise ValueError(f"{name} is not valid JSON at {where}: {error.msg}") from error
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise ValueError(f"{name} is not valid YAML{where}: {error.problem or error.context}") from error
    except yaml.YAMLError as error:
        raise ValueError(f"{name} is not valid YAML: {' '.join(str(error).split())}") from error
    except RecursionError as error:
        raise ValueError(f"{name} is nested deeper than {MAX_DEPTH} levels") from error
    except ValueError as error:
        raise ValueError(f"{name} is not valid: {error}") from error


def _object_of(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    found: dict[str, Json] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"the key {key} stands twice in one object")
        found[key] = value
    return found


def _no_number(text: str) -> Json:
    raise ValueError(f"{text} is no JSON number")


_SCALARS = (
    ("null", "~|null|Null|NULL|", ("~", "n", "N", "")),
    ("bool", "true|True|TRUE|false|False|FALSE", tuple("tTfF")),
    ("int", "[-+]?(?:0|[1-9][0-9]*)", tuple("-+0123456789")),
    ("float", r"[-+]?(?:\d+\.\d*|\.\d+|\d+(?=[eE]))(?:[eE][-+]?\d+)?", tuple("-+.0123456789")),
)
"""Which plain YAML words are no texts, and the characters they begin with: the core schema of YAML 1.2."""


class _PlainLoader(yaml.SafeLoader):
    """YAML with the scalars of JSON: `yes`, dates and `1:30` stay texts, and no key may stand twice.

    In YAML 1.1 `autoPass: yes` would be the boolean true, against the article's parsing.
    """

    yaml_implicit_resolvers = {
        first: [
            (f"tag:yaml.org,2002:{tag}", re.compile(f"(?:{pattern})$", re.ASCII))
            for tag, pattern, begins in _SCALARS
            if first in begins
        ]
        for first in {first for _, _, begins in _SCALARS for first in begins}
    }

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """As the base class, after a look at the keys."""
        seen: set[str] = set()
        keys: list[yaml.Node] = [key for key, _ in node.value]
        for key in keys:
            problem = ""
            if not isinstance(key, yaml.ScalarNode) or not key.tag.endswith(":str"):
                problem = "a key is not a text; put it in quotes"
            elif key.value in seen:
                problem = f"the key {key.value} stands twice in one object"
            if problem:
                raise yaml.constructor.ConstructorError(None, None, problem, key.start_mark)
            seen.add(str(key.value))
        return super().construct_mapping(node, deep=deep)


def _not_json(document: Json) -> str:
    """Why the document is not plain JSON of a sane size, or nothing."""
    waiting: list[tuple[str, Json, int]] = [("", document, 0)]
    count = 0
    while waiting:
        where, value, depth = waiting.pop()
        count += 1
        if count > MAX_VALUES or depth > MAX_DEPTH:
            return f"the document has more than {MAX_VALUES} values or {MAX_DEPTH} levels"
        if is_object(value):
            for key, part in value.items():
                waiting.append((f"{where}.{key}".lstrip("."), part, depth + 1))
        elif is_list(value):
            waiting += [(f"{where}[{i}]", part, depth + 1) for i, part in enumerate(value)]
        elif isinstance(value, float) and not math.isfinite(value):
            return f"{where} is {value}, which is no JSON number"
        elif value is not None and not isinstance(value, str | int | float | bool):
            return f"{where} is of the type {type(value).__name__}, which JSON does not have"
    return ""
