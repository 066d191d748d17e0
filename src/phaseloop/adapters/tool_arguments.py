"""A tool's arguments: JSON Schema from a signature, validation, and findings a caller can act on."""

import inspect
from collections.abc import Callable, Mapping
from typing import Annotated, Any, NotRequired, TypeAlias, get_args, get_origin

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError, with_config
from pydantic.errors import PydanticUserError
from pydantic.fields import FieldInfo
from typing_extensions import TypedDict

from phaseloop.adapters.docstrings import Docstring
from phaseloop.adapters.tool_values import NotJson, is_array, is_object, plain
from phaseloop.core.errors import WrongUse
from phaseloop.core.values import Json, Object, canonical

KEY_PARAMETER = "idempotency_key"
_LONGEST_SHOWN = 300
_Parameters: TypeAlias = Mapping[str, inspect.Parameter]
_FORMATS = {
    "date": "2025-01-31",
    "date-time": "2025-01-31T09:30:00Z",
    "time": "09:30:00",
    "duration": "PT30M",
    "email": "ann@example.com",
    "uri": "https://example.com/",
    "uuid": "123e4567-e89b-12d3-a456-426614174000",
}
_SAMPLES: dict[str, Json] = {"integer": 1, "number": 1.5, "boolean": True, "null": None, "string": "text"}


class ArgumentsRefused(ValueError):
    """The arguments do not fit the schema; the text shows both and an example."""


class Arguments:
    """The accepted arguments of one function."""

    def __init__(self, name: str, function: Callable[..., Any], docs: Docstring) -> None:
        """Raises `WrongUse` when the signature has no JSON form."""
        self._name = name
        parameters = _parameters(name, function)
        self.takes_key = KEY_PARAMETER in parameters
        shown = {key: one for key, one in parameters.items() if key != KEY_PARAMETER}
        self.defaults = {key: one.default for key, one in shown.items() if one.default is not one.empty}
        fields = {key: _field(name, key, one, docs.parameters.get(key, "")) for key, one in shown.items()}
        make: Any = TypedDict  # its members are known at run time only
        accepted: Any = with_config(ConfigDict(extra="forbid"))(make(name, fields))
        try:
            self._adapter: TypeAdapter[Any] = TypeAdapter(accepted)
            schema = self._adapter.json_schema()
        except (PydanticUserError, NameError, TypeError) as error:
            raise WrongUse(f"tool {name}: its parameters have no JSON Schema: {_first_line(error)}") from error
        self.schema: Object = _with_defaults(_without_titles(schema), shown)

    def accept(self, args: Json) -> dict[str, Any]:
        """`args` as the values the function takes. Raises `ArgumentsRefused`."""
        if not isinstance(args, dict):
            raise ArgumentsRefused(
                f"{self._name} takes a JSON object, not {_shown(args)}; call it like {self._example()}"
            )
        try:
            return dict(self._adapter.validate_python(args))
        except ValidationError as error:
            faults = error.errors(include_url=False, include_context=False)
            said = "; ".join(dict.fromkeys(self._finding(dict(fault)) for fault in faults))
            raise ArgumentsRefused(f"{self._name}: {said}; call it like {self._example()}") from error

    def _finding(self, fault: dict[str, Any]) -> str:
        """One mismatch as schema against actual (article 003 section 7.2)."""
        place = [str(part) for part in fault["loc"]]
        top = place[0] if place else ""
        known = self.schema.get("properties", {})
        if fault["type"] == "extra_forbidden" and len(place) == 1:
            return f"there is no argument {top!r}, the arguments are {', '.join(known) or 'none'}"
        if fault["type"] == "missing" and len(place) == 1:
            return f"argument {top!r} is missing, expected {_shown(known.get(top))}"
        message = str(fault["msg"])
        return (
            f"argument {'.'.join(place)!r} is {_shown(fault['input'])}, expected {_shown(known.get(top))}"
            f" ({message[:1].lower()}{message[1:]})"
        )

    def _example(self) -> str:
        required = self.schema.get("required", ())
        properties: Object = self.schema.get("properties", {})
        given = {key: one for key, one in properties.items() if key in required or one.get("examples")}
        return canonical({key: example_of(one, self.schema) for key, one in given.items()})


def output_schema_of(function: Callable[..., Any]) -> Object | None:
    """The JSON Schema of the return annotation; `None` when there is none or it says nothing."""
    annotation = _signature(function).return_annotation
    if annotation in (inspect.Signature.empty, Any, None):
        return None
    try:
        schema = TypeAdapter(annotation).json_schema(mode="serialization")
    except (PydanticUserError, NameError, TypeError):
        # A result may be any object that `plain` can convert; without a schema it is just not checked.
        return None
    return _without_titles(schema) or None


def example_of(schema: Object, root: Object) -> Json:
    """A value that fits `schema`, as a caller would write it; `root` holds the `$defs`."""
    if "$ref" in schema:
        return example_of(root.get("$defs", {}).get(str(schema["$ref"]).rsplit("/", 1)[-1], {}), {**root, "$defs": {}})
    for key in ("examples", "enum", "anyOf", "oneOf", "allOf", "prefixItems"):
        if schema.get(key):
            first = schema[key][0]
            return first if key in ("examples", "enum") else example_of(first, root)
    for key in ("const", "default"):
        if key in schema:
            return schema[key]
    if schema.get("type") == "object":
        properties: Object = schema.get("properties", {})
        return {key: example_of(properties.get(key, {}), root) for key in schema.get("required", ())}
    if schema.get("type") == "array":
        return [example_of(schema.get("items", {}), root)]
    if schema.get("type") == "string" and schema.get("format") in _FORMATS:
        return _FORMATS[schema["format"]]
    return schema.get("minimum", _SAMPLES.get(str(schema.get("type")), "text"))


def _signature(function: Callable[..., Any]) -> inspect.Signature:
    return inspect.signature(function, eval_str=True)


def _parameters(name: str, function: Callable[..., Any]) -> _Parameters:
    try:
        parameters = _signature(function).parameters
    except (NameError, TypeError, ValueError) as error:
        raise WrongUse(f"tool {name}: its signature cannot be read: {_first_line(error)}") from error
    for key, one in parameters.items():
        if key in ("self", "cls"):
            raise WrongUse(f"tool {name}: it is a method; make a tool of the bound method, tool(instance.{name})")
        if one.kind not in (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY):
            raise WrongUse(f"tool {name}: parameter {str(one)!r} must be an ordinary named parameter")
        if isinstance(one.default, FieldInfo):
            raise WrongUse(f"tool {name}: write Field(...) of parameter {key!r} inside Annotated[..., Field(...)]")
    return parameters


def _field(tool: str, key: str, parameter: inspect.Parameter, described: str) -> Any:
    annotation = Any if parameter.annotation is inspect.Parameter.empty else parameter.annotation
    if described and not _has_description(annotation):
        annotation = Annotated[annotation, Field(description=described)]
    if parameter.default is inspect.Parameter.empty:
        return annotation
    try:
        plain(parameter.default)
    except NotJson as error:
        raise WrongUse(f"tool {tool}: the default of {key!r} has no JSON form; use None and fill it inside") from error
    return NotRequired[annotation]


def _has_description(annotation: Any) -> bool:
    given = get_args(annotation)[1:] if get_origin(annotation) is Annotated else ()
    return any(isinstance(one, FieldInfo) and one.description for one in given)


def _with_defaults(schema: Object, parameters: _Parameters) -> Object:
    properties = dict(schema.get("properties", {}))
    for key, one in parameters.items():
        if one.default is not inspect.Parameter.empty:
            properties[key] = {**properties[key], "default": plain(one.default)}
    return {**schema, "properties": properties}


def _without_titles(schema: Object, names: bool = False) -> dict[str, Any]:
    """The schema without generated titles: they cost tokens and say nothing. `names`: keys are names."""
    kept: dict[str, Any] = {}
    for key, one in schema.items():
        if key == "title" and not names and isinstance(one, str):
            continue
        if is_object(one) and key not in ("default", "const"):
            kept[key] = _without_titles(one, not names and key in ("properties", "$defs"))
        elif is_array(one) and key in ("anyOf", "oneOf", "allOf", "prefixItems"):
            kept[key] = [_without_titles(member) for member in one]
        else:
            kept[key] = one
    return kept


def _shown(value: Any) -> str:
    try:
        text = canonical(plain(value))
    except NotJson:
        text = repr(value)
    return text if len(text) <= _LONGEST_SHOWN else text[:_LONGEST_SHOWN] + " …"


def _first_line(error: BaseException) -> str:
    return str(error).strip().split("\n")[0]
