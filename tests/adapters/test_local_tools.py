import asyncio
import functools
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, Field

from phaseloop.adapters.local_tools import LocalTool, tool
from phaseloop.adapters.tool_arguments import ArgumentsRefused
from phaseloop.core.errors import WrongUse
from phaseloop.core.tools import EffectClass, Risk, conflict_key


@tool(effect="read", timeout=5, category="travel")
async def search_flights(
    day: Annotated[date, Field(description="day of departure, YYYY-MM-DD", examples=["2025-06-01"])],
    city: str,
    seats: int = 1,
    cabin: Literal["economy", "business"] = "economy",
) -> list[dict[str, str]]:
    """Search flights.

    Only direct ones.

    Args:
        city: where to, as an IATA code
            of three letters
        seats (int): how many
        day: not used, the annotation wins

    Returns:
        A list.
    """
    return [{"city": city, "day": day.isoformat(), "seats": str(seats), "cabin": cabin}]


@tool
def send_mail(to: str, body: str, idempotency_key: str = "") -> None:
    """Send a mail."""


def test_a_tool_takes_its_schema_from_the_signature_and_the_docstring():
    assert search_flights.spec.name == "search_flights"
    assert search_flights.spec.description == "Search flights.\n\nOnly direct ones."
    assert search_flights.spec.input_schema == {
        "type": "object",
        "additionalProperties": False,
        "required": ["day", "city"],
        "properties": {
            "day": {
                "type": "string",
                "format": "date",
                "description": "day of departure, YYYY-MM-DD",
                "examples": ["2025-06-01"],
            },
            "city": {"type": "string", "description": "where to, as an IATA code of three letters"},
            "seats": {"type": "integer", "description": "how many", "default": 1},
            "cabin": {"type": "string", "enum": ["economy", "business"], "default": "economy"},
        },
    }
    assert search_flights.spec.output_schema == {
        "type": "array",
        "items": {"type": "object", "additionalProperties": {"type": "string"}},
    }


def test_a_tool_without_options_is_a_write_and_its_key_is_not_an_argument():
    assert send_mail.spec.effect is EffectClass.WRITE
    assert send_mail.spec.timeout_seconds == 30
    assert list(send_mail.spec.input_schema["properties"]) == ["to", "body"]
    assert send_mail.spec.output_schema is None
    assert send_mail.bind({"to": "a", "body": "b"}, "k1").keywords == {
        "to": "a",
        "body": "b",
        "idempotency_key": "k1",
    }


def test_a_tool_stays_callable_as_the_function_it_is():
    made = asyncio.run(search_flights(date(2025, 6, 1), "MUC"))
    assert made[0]["city"] == "MUC"
    assert search_flights.__name__ == "search_flights"
    assert search_flights.is_async
    assert not send_mail.is_async


def test_every_option_reaches_the_spec():
    @tool(
        name="book-room",
        effect="idempotent",
        conflict="calendar:{email}",
        fallback="book_desk",
        risk="high",
        repeatable=True,
        poll=True,
        untrusted=True,
        approval=True,
        exclusive_reads=True,
        identity=("email",),
        verify=lambda email: True,
    )
    def book(email: str, hour: int = 9) -> bool:
        return True

    spec = book.spec
    assert (spec.name, spec.effect, spec.risk) == ("book-room", EffectClass.IDEMPOTENT, Risk.HIGH)
    assert conflict_key(spec, {"email": "a@b.c"}) == "calendar:a@b.c"
    assert (spec.fallback, spec.identity, spec.verify) == ("book_desk", ("email",), True)
    assert all((spec.repeatable, spec.poll, spec.untrusted, spec.approval, spec.exclusive_reads))


def test_parameter_names_of_any_kind_are_allowed():
    @tool
    def awkward(json: str, schema: int, model_config: bool, copy: str = "", _private: int = 0) -> None: ...

    assert list(awkward.spec.input_schema["properties"]) == [*("json", "schema", "model_config", "copy", "_private")]
    assert awkward.bind({"json": "a", "schema": 1, "model_config": True}, "").keywords["schema"] == 1


class Guest(BaseModel):
    name: str
    age: int = Field(ge=0)


@dataclass
class Room:
    number: int


def test_models_and_dataclasses_become_schemas_and_arrive_as_objects():
    @tool(effect="read")
    def check_in(guest: Guest, room: Room) -> Room:
        return room

    assert check_in.spec.input_schema["$defs"]["Guest"]["properties"]["age"] == {
        "type": "integer",
        "minimum": 0,
    }
    assert check_in.spec.output_schema["properties"] == {"number": {"type": "integer"}}
    bound = check_in.bind({"guest": {"name": "Ann", "age": 3}, "room": {"number": 7}}, "")
    assert bound.keywords == {"guest": Guest(name="Ann", age=3), "room": Room(7)}


def refused(made: LocalTool, args: object) -> str:
    with pytest.raises(ArgumentsRefused) as caught:
        made.bind(args, "")
    return str(caught.value)


def test_a_wrong_value_is_answered_with_schema_actual_and_an_example():
    said = refused(search_flights, {"day": "tomorrow", "city": "MUC"})
    assert said.startswith("search_flights: argument 'day' is \"tomorrow\", expected {")
    assert '"format":"date"' in said
    assert "YYYY-MM-DD" in said
    assert said.endswith('call it like {"city":"text","day":"2025-06-01"}')


def test_missing_and_unknown_arguments_are_named():
    said = refused(search_flights, {"date": "2025-06-01", "city": "MUC"})
    assert "argument 'day' is missing" in said
    assert "there is no argument 'date', the arguments are day, city, seats, cabin" in said
    assert "takes a JSON object, not [1]" in refused(search_flights, [1])
    assert "room.number" in refused(tool(lambda_room), {"room": {"number": "x"}})


def lambda_room(room: Room) -> None: ...


def test_harmless_differences_of_type_are_accepted():
    assert search_flights.bind({"day": "2025-06-01", "city": "MUC", "seats": "2"}, "").keywords["seats"] == 2


def test_partials_bound_methods_and_callable_objects_are_tools():
    class Mailer:
        def send(self, to: str) -> str:
            """Send to someone."""
            return to

        async def __call__(self, text: str) -> str:
            """Speak."""
            return text

    bound = tool(Mailer().send)
    assert (bound.spec.name, bound.spec.description) == ("send", "Send to someone.")
    speaking = tool(Mailer(), name="speak")
    assert (speaking.spec.description, speaking.is_async) == ("Speak.", True)
    assert tool(functools.partial(lambda_room), name="partial").spec.input_schema["required"] == ["room"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"effect": "reads"}, "effect must be one of read, idempotent, write, not 'reads'"),
        ({"timeout": 0}, "timeout must be seconds above 0"),
        ({"timeout": True}, "timeout must be seconds above 0"),
        ({"risk": "big"}, "risk must be one of low, normal, high, not 'big'"),
        ({"conflict": "calendar:{mail}"}, "conflict names 'mail', which is not an argument"),
        ({"identity": ("mail",)}, "identity names 'mail', which is not an argument"),
        ({"identity": "email"}, "identity must be a list of argument names, not 'email'"),
        ({"poll": "yes"}, "poll must be true or false, not 'yes'"),
        ({"fallback": "invite"}, "fallback must name another tool"),
        ({"efect": "read"}, "unknown option 'efect'; did you mean 'effect'?"),
        ({"name": "in vite"}, "tool name 'in vite' must be 1 to 64 letters"),
        ({"verify": lambda other: True}, "verify needs 'other', which is not an argument of the tool"),
    ],
)
def test_an_option_that_cannot_be_is_refused_in_one_sentence(options, said):
    def invite(email: str) -> None: ...

    with pytest.raises(WrongUse, match="^tool") as caught:
        tool(**options)(invite)
    assert said in str(caught.value)


def test_a_signature_without_json_form_is_refused():
    class Opaque: ...

    def opaque(thing: Opaque) -> None: ...
    def many(*names: str) -> None: ...
    def method(self, name: str) -> None: ...
    def unknown(name: "Missing") -> None: ...  # noqa: F821
    def fielded(name: str = Field("a")) -> None: ...

    for function, said in (
        (opaque, "no JSON Schema"),
        (many, "must be an ordinary named parameter"),
        (method, "bound method"),
        (unknown, "signature cannot be read: name 'Missing' is not defined"),
        (fielded, "inside Annotated"),
    ):
        with pytest.raises(WrongUse, match=said):
            tool(function)
    with pytest.raises(WrongUse, match="takes a function, not 'search'"):
        tool("search")


def test_verify_gets_the_arguments_it_names_with_their_defaults():
    @tool(verify=lambda to, idempotency_key, copies: (to, idempotency_key, copies))
    def send(to: str, body: str, copies: int = 2) -> None: ...

    assert send.bind_verify({"to": "a", "body": "b"}, "k")() == ("a", "k", 2)
    assert send_mail.bind_verify({"to": "a", "body": "b"}, "k") is None
