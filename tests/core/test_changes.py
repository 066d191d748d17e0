"""`replace`: what `dataclasses.replace` gives, and a refusal of what it cannot copy."""

import dataclasses

import pytest

from phaseloop.core.changes import replace
from phaseloop.core.state import CallState, RunState, StepState
from phaseloop.core.statuses import CallStatus
from tests.core.player import Player, World, plan, read, write


def states():
    player = Player(World(plan=lambda request: plan(read("a"), write("b", "a", room="1"))))
    player.run()
    state = player.state
    return [state, state.phase, *state.steps.values(), RunState()]


@pytest.mark.parametrize("value", states(), ids=lambda value: type(value).__name__)
def test_it_gives_what_the_standard_library_gives(value):
    for field in dataclasses.fields(value):
        changes = {field.name: "other"}
        assert replace(value, **changes) == dataclasses.replace(value, **changes)
    assert replace(value) == value
    assert replace(value) is not value


def test_the_value_itself_stays_and_the_copy_is_frozen_too():
    call = CallState("c1", "k", "s1", 1, 0, 0, "look", {}, CallStatus.READY)
    changed = replace(call, status=CallStatus.STARTED, tries=1)
    assert (call.status, call.tries) == (CallStatus.READY, 0)
    assert hash(replace(changed, args=None)) == hash(dataclasses.replace(changed, args=None))
    with pytest.raises(dataclasses.FrozenInstanceError):
        changed.tries = 2


def test_a_field_that_is_not_there_is_refused_by_name():
    with pytest.raises(TypeError, match="StepState has no field 'stat'"):
        replace(StepState(read("a"), "p1"), stat="x")


@dataclasses.dataclass(frozen=True)
class Unslotted:
    a: int = 0


@dataclasses.dataclass(frozen=True, slots=True)
class Computing:
    a: int = 0

    def __post_init__(self):
        raise AssertionError("not on a copy")


@pytest.mark.parametrize("cls", [Unslotted, Computing])
def test_a_class_that_cannot_be_copied_slot_by_slot_is_refused(cls):
    value = object.__new__(cls)
    with pytest.raises(TypeError, match=f"{cls.__name__} is no slotted dataclass with plain fields"):
        replace(value, a=1)
