"""Contracts in JSON Schema 2020-12: every violation a finding, nothing is ever fetched."""

from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock

from jsonschema_rs import Draft202012Validator, ValidationError

from phaseloop.core.plan import Finding
from phaseloop.core.values import Json, Object, canonical

SHOWN = 200  # characters of a value in a message
MAX_FINDINGS = 50  # beyond this a list of violations helps nobody
CACHED = 256


def _refuse(uri: str) -> Json:
    raise ValueError(f"{uri} is outside the schema; references may only point into it")


class JsonSchemaContracts:
    """The `Contracts` port. A validator is compiled once for each schema; the last used 256 are kept."""

    def __init__(self) -> None:
        self._validators: OrderedDict[str, Draft202012Validator] = OrderedDict()
        self._lock = Lock()

    def check(self, schema: Object, value: Json, where: str = "") -> tuple[Finding, ...]:
        """What in `value` breaks `schema`; each place is `where` and a JSON Pointer (RFC 6901).

        A schema that cannot be used gives one finding with the code `schema_unusable`.
        """
        try:
            errors = list(self._validator(schema).iter_errors(value))
        except (ValueError, TypeError) as error:
            what = _reason(error)
            return (Finding("schema_unusable", f"the value cannot be checked: {what}", where, "mend the schema"),)
        findings = sorted((_finding(error, where) for error in errors), key=lambda found: found.where)
        return tuple(findings[:MAX_FINDINGS])

    def schema_error(self, schema: Json) -> str:
        """Why `schema` is no JSON Schema 2020-12 that stands by itself, or nothing."""
        try:
            self._validator(schema)
        except (ValueError, TypeError) as error:
            return _reason(error)
        return ""

    def _validator(self, schema: Json) -> Draft202012Validator:
        """Raises `ValueError`, of which the library's `ValidationError` is one."""
        key = canonical(schema)
        with self._lock:
            if key in self._validators:
                self._validators.move_to_end(key)
                return self._validators[key]
        made = Draft202012Validator(schema, validate_formats=True, retriever=_refuse)
        with self._lock:
            self._validators[key] = made
            if len(self._validators) > CACHED:
                self._validators.popitem(last=False)
        return made


def pointer(path: Sequence[str | int]) -> str:
    """A JSON Pointer (RFC 6901): empty for the whole value."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)


def _finding(error: ValidationError, where: str) -> Finding:
    value, text = canonical(error.instance), error.message
    if len(value) > SHOWN:
        text = text.replace(value, value[: SHOWN - 1] + "…")
    place = where + pointer(error.instance_path)
    keyword = error.schema_path[-1] if error.schema_path else "schema"
    return Finding("schema", _cut(text), place, f"see {keyword} in the schema at {pointer(error.schema_path) or '/'}")


def _cut(text: str) -> str:
    return text if len(text) <= 2 * SHOWN else text[: 2 * SHOWN - 1] + "…"


def _reason(error: Exception) -> str:
    """One line; a schema's own violations name their place in it."""
    if isinstance(error, ValidationError):
        place = pointer(error.instance_path)
        return _cut(error.message) + (f" at {place}" if place else "")
    return _cut(str(error).splitlines()[0] if str(error) else type(error).__name__)
