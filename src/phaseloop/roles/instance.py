"""The smallest value that a JSON Schema allows: what an offline role returns where a form is asked for."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from operator import ge, gt, le, lt

from phaseloop.core.errors import PhaseloopError
from phaseloop.core.paths import is_list, is_object
from phaseloop.core.values import Json, Object, canonical

_FORMATS = {
    "date": "2000-01-01",
    "time": "00:00:00Z",
    "date-time": "2000-01-01T00:00:00Z",
    "duration": "PT0S",
    "email": "offline@example.com",
    "hostname": "example.com",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "uri": "https://example.com/",
    "url": "https://example.com/",
    "uuid": "00000000-0000-4000-8000-000000000000",
}
_GUESSES = ("a", "A", "0", "a1", "A1", "abc", "ABC", "00", "000", "0000", "1.0.0", "0" * 32, "0" * 64)
_DEPTH = 32


def minimal_instance(schema: Json, text: str, named: Mapping[str, str] | None = None) -> Json:
    """A value that satisfies `schema`: required properties only, the least numbers, the shortest lists.

    Strings are `text` where it fits, or what `named` has for the property. Understands the common part of
    JSON Schema with references inside the schema. Raises `PhaseloopError` where it cannot find a value.
    """
    return _Maker(schema, text, named or {}).make(schema, "$", "", 0)


@dataclass(frozen=True, slots=True)
class _Maker:
    root: Json
    text: str
    named: Mapping[str, str]

    def make(self, schema: Json, where: str, name: str, nth: int) -> Json:
        """The value at `where`; `nth` asks for another one where the items of a list must differ."""
        rules = self._flat(schema, where, _DEPTH)
        if "const" in rules:
            return rules["const"]
        if "enum" in rules:
            return _nth_of(rules["enum"], nth, where)
        kind = _kind(rules)
        if kind == "object":
            return self._object(rules, where)
        if kind == "array":
            return self._array(rules, where)
        if kind == "string":
            return self._string(rules, where, name, nth)
        if kind in ("integer", "number"):
            return _number(rules, kind, where, nth)
        return bool(nth) if kind == "boolean" else None

    def _flat(self, schema: Json, where: str, depth: int) -> dict[str, Json]:
        """`schema` with its references followed, `allOf` joined and the first alternative chosen."""
        if schema is True or schema is None:
            return {}
        if not is_object(schema) or depth == 0:
            raise PhaseloopError(f"no value at {where}: the schema there allows none or never ends")
        rules = {key: schema[key] for key in schema if key not in _JOINERS}
        parts: list[Json] = list(schema.get("allOf", ()))
        parts += [schema[key][0] for key in ("anyOf", "oneOf") if schema.get(key)]
        if "$ref" in schema:
            parts.append(self._referred(str(schema["$ref"]), where))
        for part in parts:
            rules = _joined(rules, self._flat(part, where, depth - 1))
        return rules

    def _referred(self, reference: str, where: str) -> Json:
        if not reference.startswith("#"):
            raise PhaseloopError(f"no value at {where}: {reference} lies outside the schema")
        found = self.root
        for raw in reference.removeprefix("#").split("/")[1:]:
            key = raw.replace("~1", "/").replace("~0", "~")
            if not is_object(found) or key not in found:
                raise PhaseloopError(f"no value at {where}: {reference} is not in the schema")
            found = found[key]
        return found

    def _object(self, rules: Object, where: str) -> dict[str, Json]:
        properties: Object = rules.get("properties", {})
        wanted = list(rules.get("required", ()))
        least = int(rules.get("minProperties", 0))
        for name in properties:
            if len(wanted) < least and name not in wanted:
                wanted.append(name)
        if where.count(".") > _DEPTH:
            raise PhaseloopError(f"no value at {where[:80]}…: the schema requires itself without end")
        extra = rules.get("additionalProperties", True)
        made = {name: self.make(properties.get(name, extra), f"{where}.{name}", name, 0) for name in wanted}
        for number in range(len(made), least):
            made[f"key{number}"] = self.make(extra, f"{where}.key{number}", "", 0)
        return made

    def _array(self, rules: Object, where: str) -> list[Json]:
        first: list[Json] = list(rules.get("prefixItems", ()))
        least = max(int(rules.get("minItems", 0)), int("contains" in rules))
        rest = rules.get("contains", rules.get("items", True))
        distinct, made = bool(rules.get("uniqueItems")), list[Json]()
        for number in range(least):
            schema = first[number] if number < len(first) else rest
            made.append(self.make(schema, f"{where}[{number}]", "", number if distinct else 0))
        if distinct and len({canonical(item) for item in made}) < len(made):
            raise PhaseloopError(f"no value at {where}: cannot make {least} different items")
        return made

    def _string(self, rules: Object, where: str, name: str, nth: int) -> str:
        if "format" in rules and rules["format"] in _FORMATS and not nth:
            return _FORMATS[rules["format"]]
        least, most = int(rules.get("minLength", 0)), rules.get("maxLength")
        text = self.named.get(name, self.text) + (f" {nth + 1}" if nth else "")
        pattern = rules.get("pattern")
        for guess in (text, *(_GUESSES[nth:] if pattern else ())):
            sized = _sized(guess, least, most, nth)
            if pattern is None or re.search(pattern, sized):
                return sized
        raise PhaseloopError(f"no value at {where}: no text is known for the pattern {pattern!r}")


_BOUNDS = {"minimum": ge, "maximum": le, "exclusiveMinimum": gt, "exclusiveMaximum": lt}
_JOINERS = frozenset({"$ref", "allOf", "anyOf", "oneOf"})


def _joined(left: dict[str, Json], right: Mapping[str, Json]) -> dict[str, Json]:
    """Both sets of rules at once, as far as a smallest value needs it."""
    joined = {**left, **right}
    if "properties" in left and "properties" in right:
        joined["properties"] = {**left["properties"], **right["properties"]}
    if "required" in left and "required" in right:
        joined["required"] = list(dict.fromkeys([*left["required"], *right["required"]]))
    return joined


def _kind(rules: Object) -> str:
    kind = rules.get("type")
    if is_list(kind):
        return str(kind[0])
    if kind:
        return str(kind)
    hints = {"properties": "object", "required": "object", "items": "array", "prefixItems": "array"}
    return next((named for key, named in hints.items() if key in rules), "string")


def _nth_of(choices: list[Json], nth: int, where: str) -> Json:
    if nth >= len(choices):
        raise PhaseloopError(f"no value at {where}: only {len(choices)} choices, {nth + 1} are needed")
    return choices[nth]


def _sized(text: str, least: int, most: int | None, nth: int) -> str:
    """`text` filled up or cut; what tells the items of a list apart stays at the end."""
    text = text.ljust(least, ".")
    if most is None or len(text) <= most:
        return text
    mark = str(nth + 1) if nth else ""
    return text[: max(0, most - len(mark))] + mark


def _number(rules: Object, kind: str, where: str, nth: int) -> int | float:
    """The number nearest to zero that is allowed, or the `nth` after it; whole ones come first."""
    whole = kind == "integer" or "multipleOf" in rules
    step = _exact(rules.get("multipleOf", 1))
    bounds = [_exact(rules[key]) for key in _BOUNDS if key in rules]
    tried = {(math.floor(near / step) + k) * step for near in (Fraction(0), *bounds) for k in range(-nth - 1, nth + 3)}
    found = sorted(value for value in tried if _allowed(value, rules, kind))
    if not found and not whole:
        between = sum(bounds, Fraction(0)) / max(1, len(bounds))
        found = [value for value in (*bounds, between) if _allowed(value, rules, kind)]
    found.sort(key=abs)
    if nth >= len(found):
        raise PhaseloopError(f"no value at {where}: no {kind} is known within {canonical(dict(rules))}")
    value = found[nth]
    return int(value) if value.denominator == 1 else float(value)


def _exact(number: Json) -> Fraction:
    return Fraction(str(number))


def _allowed(value: Fraction, rules: Object, kind: str) -> bool:
    fits = all(holds(value, _exact(rules[key])) for key, holds in _BOUNDS.items() if key in rules)
    return fits and (kind == "number" or value.denominator == 1)
