import json
import math
from collections import namedtuple
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum, IntEnum
from pathlib import PurePosixPath
from uuid import UUID

import pytest
from pydantic import BaseModel, Field, RootModel

from phaseloop.adapters.tool_values import NotJson, plain


class Colour(Enum):
    RED = "red"


class Level(IntEnum):
    LOW = 1


@dataclass
class Room:
    number: int
    booked: set[str]


class Guest(BaseModel):
    full_name: str = Field(serialization_alias="fullName")
    since: date


Point = namedtuple("Point", "x y")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (True, True),
        (Level.LOW, 1),
        (Colour.RED, "red"),
        (2**70, 2**70),
        (math.nan, None),
        (-math.inf, None),
        (Room(1, {"b", "a"}), {"number": 1, "booked": ["a", "b"]}),
        (Guest(full_name="Ann", since=date(2025, 1, 2)), {"fullName": "Ann", "since": "2025-01-02"}),
        (RootModel[list[int]]([1]), [1]),
        ([Guest(full_name="Bo", since=date(2025, 1, 2))], [{"fullName": "Bo", "since": "2025-01-02"}]),
        (datetime(2025, 1, 2, 3, 4, tzinfo=UTC), "2025-01-02T03:04:00+00:00"),
        (timedelta(minutes=90), "PT5400S"),
        (timedelta(milliseconds=-1500), "-PT1.5S"),
        (timedelta(0), "PT0S"),
        (Decimal("1.10"), "1.10"),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (PurePosixPath("a/b"), "a/b"),
        (Point(1, 2), [1, 2]),
        ({1: "a", Colour.RED: (1,), date(2025, 1, 2): None}, {"1": "a", "red": [1], "2025-01-02": None}),
        (b"abc", {"bytes": 3, "base64": "YWJj"}),
        (b"a" * 9_000, {"bytes": 9_000}),
        ("half \ud800 and 日本 😀", "half \ufffd and 日本 😀"),
    ],
)
def test_a_value_becomes_plain_json(value, expected):
    made = plain(value)
    assert made == expected
    assert json.loads(json.dumps(made).encode("utf-8")) == made


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (object(), "its result is of type object, which has no JSON form"),
        ({"a": [1, open]}, "its result at a[1] is of type builtin_function_or_method"),
        ((n for n in "ab"), "of type generator"),
        ({1: "a", "1": "b"}, "two keys that both read '1'"),
        ({(1, 2): "a"}, "a key of type tuple; keys must be text"),
        (Guest, "of type ModelMetaclass"),
    ],
)
def test_what_has_no_json_form_is_named_with_its_place(value, said):
    with pytest.raises(NotJson) as caught:
        plain(value)
    assert said in str(caught.value)


def test_a_value_that_contains_itself_ends_in_a_sentence():
    loop: list[object] = []
    loop.append(loop)
    with pytest.raises(NotJson, match="contains itself"):
        plain(loop)
