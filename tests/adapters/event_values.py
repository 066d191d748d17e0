"""Any value of an event class, made from its type hints."""

from dataclasses import MISSING, fields
from enum import StrEnum
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from hypothesis import strategies as st

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
NUMBER = st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | NUMBER | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
OBJECT = st.dictionaries(TEXT, JSON, max_size=3)
SCALARS = {
    str: TEXT,
    int: st.integers(-(2**62), 2**62),
    float: NUMBER,
    bool: st.booleans(),
    NoneType: st.none(),
    Any: JSON,
}


def values_of(hint):
    if hint in SCALARS:
        return SCALARS[hint]
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return st.sampled_from(list(hint))
    if get_origin(hint) is tuple:
        return st.lists(values_of(get_args(hint)[0]), max_size=2).map(tuple)
    if get_origin(hint) in (Union, UnionType):
        return st.one_of([values_of(part) for part in get_args(hint)])
    if get_args(hint)[:1] == (str,):
        return st.dictionaries(TEXT, values_of(get_args(hint)[1]), max_size=2)
    return instances_of(hint)


def instances_of(cls):
    hints = get_type_hints(cls)
    required = {f.name: values_of(hints[f.name]) for f in fields(cls) if _is_required(f)}
    optional = {f.name: values_of(hints[f.name]) for f in fields(cls) if not _is_required(f)}
    return st.fixed_dictionaries(required, optional=optional).map(lambda given: cls(**given))


def _is_required(field):
    return field.default is MISSING and field.default_factory is MISSING
