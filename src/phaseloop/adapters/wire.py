"""How the core's dataclasses look on the wire: names, omitted defaults, nested shapes; compiled per class."""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from enum import StrEnum
from functools import cache
from types import NoneType, UnionType
from typing import Any, Union, cast, get_args, get_origin, get_type_hints

import msgspec

from phaseloop.core.errors import WrongUse
from phaseloop.core.events import BODIES, EVENT_TYPES
from phaseloop.core.run_events import CatalogueChanged, SnapshotTaken

PLAIN = frozenset(
    {
        "tool_hint",
        "depends_on",
        "only_if",
        "output_schema",
        "tokens_in",
        "tokens_out",
        "tokens_cached",
        "cost_usd",
    }
)
"""Fields that keep their underscores: article 003 section 3.1 spells the plan so, the contract the rest."""
SHARED: Mapping[type, Mapping[str, str]] = {
    SnapshotTaken: {name: name for name in ("definition", "limits", "tools", "prompts")},
    CatalogueChanged: {"tools": "hash"},
}
"""Fields that are always blobs, with the wire name that holds the hash: contract sections 2 and 3."""
Convert = Callable[[Any], Any]


def event_name(cls: type) -> str:
    """The wire name of an event class: `PhaseAdvanced` is `phase_advanced`."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()


def field_name(name: str) -> str:
    """The wire name of a field: camel case, but for `PLAIN` and every `*_ref`."""
    if name in PLAIN or name.endswith("_ref"):
        return name
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


@dataclass(frozen=True, slots=True)
class Field:
    """One field. `default` is what an absent field means; `kept` marks those that are never omitted."""

    name: str
    wire: str
    hint: Any
    default: Any
    kept: bool
    body: bool
    shared: bool


@dataclass(frozen=True, slots=True)
class Shape:
    """A class, compiled: `to_wire` makes its JSON object, `decode` a twin from bytes, `make` its instance.

    `refs` are the bodies that may be blobs, which `make` leaves at their default; `shared` are the fields
    that always are; an event has all of its fields shared or none.
    """

    cls: type[Any]
    fields: tuple[Field, ...]
    refs: tuple[Field, ...]
    shared: tuple[Field, ...]
    twin: Any
    to_wire: Callable[[Any], dict[str, Any]]
    decode: Callable[[bytes], Any]
    make: Callable[[Any], Any]


@cache
def shape_of(cls: type[Any]) -> Shape:
    """Compile `cls`, once; lazily, since a command that shows one run needs few of them."""
    known = tuple(_fields(cls))
    twin = _twin(cls, known)
    return Shape(
        cls=cls,
        fields=known,
        refs=tuple(f for f in known if f.body),
        shared=tuple(f for f in known if f.shared),
        twin=twin,
        to_wire=_compiled(known),
        decode=msgspec.json.Decoder(twin).decode,
        make=_maker(cls, known),
    )


def _fields(cls: type) -> list[Field]:
    hints = get_type_hints(cls)
    shared = SHARED.get(cls, {})
    found: list[Field] = []
    for f in fields(cls):
        default = f.default_factory() if f.default_factory is not MISSING else f.default
        required = default is MISSING
        hint = hints[f.name]
        found.append(
            Field(
                name=f.name,
                wire=shared.get(f.name) or field_name(f.name),
                hint=hint,
                default=None if required else default,
                kept=required or f.name in shared,
                body=cls in EVENT_TYPES and f.name in BODIES and not required and f.name not in shared,
                shared=f.name in shared,
            )
        )
    return found


def _twin(cls: type, known: tuple[Field, ...]) -> Any:
    """A msgspec structure with the wire names of `cls`; checks and converts types while it decodes."""
    columns: list[Any] = []
    for f in known:
        hint = str if f.shared else twin_type(f.hint)
        if f.kept:
            columns.append((f.name, hint))
        elif isinstance(f.default, dict):
            columns.append((f.name, hint, msgspec.field(default_factory=dict)))
        else:
            columns.append((f.name, hint, msgspec.convert(f.default, hint, from_attributes=True)))
    columns += [(f.name + "_ref", str, "") for f in known if f.body]
    return msgspec.defstruct(
        cls.__name__,
        columns,
        rename={f.name: f.wire for f in known},
        namespace={"__doc__": _said(cls)},
        frozen=True,
        kw_only=True,
    )


def _said(cls: type) -> str | None:
    """The docstring of `cls`, unless it is the signature that dataclasses put there."""
    return None if (cls.__doc__ or "").startswith(cls.__name__ + "(") else cls.__doc__


def _compiled(known: tuple[Field, ...]) -> Callable[[Any], dict[str, Any]]:
    """A function with one line a field, as dataclasses make theirs; half the time of a loop over a table."""
    names: dict[str, Any] = {}
    lines = ["def to_wire(value):", "    wire = {}"]
    for at, f in enumerate(known):
        convert = None if f.shared else writer(f.hint)
        names |= {f"convert_{at}": convert, f"default_{at}": f.default}
        item = "item" if convert is None else f"convert_{at}(item)"
        lines.append(f"    item = value.{f.name}")
        absent = "" if f.kept else f"if item is not default_{at} and item != default_{at}: "
        lines.append(f"    {absent}wire[{f.wire!r}] = {item}")
    exec("\n".join([*lines, "    return wire"]), names)  # the text comes from field names of the core only
    return cast(Callable[[Any], dict[str, Any]], names["to_wire"])


def _maker(cls: type[Any], known: tuple[Field, ...]) -> Callable[[Any], Any]:
    """A function that makes an instance of a twin, slot by slot; only classes of ours in it need converting."""
    names: dict[str, Any] = {"cls": cls, "new": object.__new__, "convert": msgspec.convert}
    lines = ["def make(twin):", "    made = new(cls)"]
    for at, f in enumerate(known):
        names |= {f"set_{at}": vars(cls)[f.name].__set__, f"hint_{at}": f.hint}
        ours = twin_type(f.hint) is not f.hint and twin_type(f.hint) != f.hint
        value = f"convert(twin.{f.name}, hint_{at}, from_attributes=True)" if ours else f"twin.{f.name}"
        lines.append(f"    set_{at}(made, {value})")
    exec("\n".join([*lines, "    return made"]), names)  # the text comes from field names of the core only
    return cast(Callable[[Any], Any], names["make"])


def twin_type(hint: Any) -> Any:
    """`hint` with every dataclass in it replaced by its twin."""
    if is_dataclass(hint):
        return shape_of(hint).twin  # type: ignore[arg-type]  # a class here, never an instance
    if get_origin(hint) is tuple:
        return tuple[twin_type(get_args(hint)[0]), ...]  # type: ignore[misc]  # built at run time
    if get_origin(hint) in (Union, UnionType):
        return Union[tuple(twin_type(part) for part in get_args(hint))]  # noqa: UP007  # built at run time
    return hint


def writer(hint: Any) -> Convert | None:
    """What turns a field's value into plain JSON, or `None` where it is so already."""
    if is_dataclass(hint):
        return shape_of(hint).to_wire  # type: ignore[arg-type]  # a class here, never an instance
    if get_origin(hint) is tuple:
        return _each(writer(get_args(hint)[0]))
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return str
    if hint is float:
        return _finite
    return _optional(hint)


def _each(convert: Convert | None) -> Convert:
    return list if convert is None else lambda items: [convert(item) for item in items]


def _optional(hint: Any) -> Convert | None:
    if get_origin(hint) not in (Union, UnionType):
        return None
    converts = [writer(part) for part in get_args(hint) if part is not NoneType]
    if len(converts) != 1 or converts[0] is None:
        return None
    convert = converts[0]
    return lambda value: None if value is None else convert(value)


def _finite(value: float) -> float:
    """JSON has no word for the others, and `null` could not be read back."""
    if not math.isfinite(value):
        raise WrongUse(f"{value} cannot be recorded: a number in an event must be finite")
    return value
