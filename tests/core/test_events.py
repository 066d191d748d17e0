import dataclasses

from phaseloop.core.events import BODIES, EVENT_TYPES, INLINE_BYTES


def test_every_event_is_frozen_and_named_once():
    names = [event.__name__ for event in EVENT_TYPES]
    assert len(names) == len(set(names))
    assert all(event.__dataclass_params__.frozen for event in EVENT_TYPES)


def test_every_body_is_a_field_of_some_event():
    fields = {field.name for event in EVENT_TYPES for field in dataclasses.fields(event)}
    assert fields >= BODIES


def test_bodies_stay_inline_up_to_eight_kilobytes():
    assert INLINE_BYTES == 8192
