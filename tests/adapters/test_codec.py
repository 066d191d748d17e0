"""Events survive the wire; what cannot be read says so."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from types import MappingProxyType
from typing import get_type_hints

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from phaseloop.adapters.codec import CLASSES, UPCASTERS, VERSIONS, Codec, timestamp
from phaseloop.adapters.wire import shape_of
from phaseloop.core.call_events import ModelCallFinished, ToolCallFinished, ToolCallStarted, Usage
from phaseloop.core.errors import RecordUnreadable, WrongUse
from phaseloop.core.events import EVENT_TYPES, INLINE_BYTES
from phaseloop.core.gate_events import GateOpened
from phaseloop.core.limits import Band, Limits
from phaseloop.core.plan import ActivityType, Call, Step
from phaseloop.core.plan_events import PlanUpdated
from phaseloop.core.process import Activity, Definition, GateConfig, GateKind, GateMode, Option, Phase
from phaseloop.core.run_events import (
    CatalogueChanged,
    LimitReached,
    NoteAdded,
    RunFailed,
    SnapshotTaken,
    Who,
)
from phaseloop.core.tools import EffectClass, ToolSpec
from phaseloop.engine.ports import Recorded
from tests.adapters.event_values import instances_of


def there_and_back(event, codec=None):
    codec = codec or Codec()
    row = codec.encode(event)
    return Codec().decode(row.name, row.version, row.body, dict(row.blobs).__getitem__)


def refuse(sha256):
    raise RecordUnreadable(f"blob {sha256}", "nobody may ask for it")


@pytest.mark.parametrize("cls", EVENT_TYPES, ids=lambda cls: cls.__name__)
@settings(max_examples=15, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_every_event_comes_back_equal(cls, data):
    event = data.draw(instances_of(cls))
    back = there_and_back(event)
    assert back == event
    assert repr(back) == repr(event) or _has_number_for_number(event)


def _has_number_for_number(event):
    """A float field that was given a whole number: 4 and 4.0 are equal and print apart."""
    return any(hint in (float, float | None) for hint in get_type_hints(type(event)).values()) or bool(
        shape_of(type(event)).shared
    )


@pytest.mark.parametrize("cls", EVENT_TYPES, ids=lambda cls: cls.__name__)
@settings(max_examples=5, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_every_line_of_json_is_read_back_equal(cls, data):
    recorded = Recorded("01RUN", 7, 1_764_547_200_123, data.draw(instances_of(cls)))
    line = json.dumps(Codec().envelope(recorded))
    blobs = dict(Codec().encode(recorded.event).blobs)
    assert Codec().parse(json.loads(line), blobs.__getitem__) == recorded


@pytest.mark.parametrize("at", [0, 1, 999, 1_764_547_200_001, 4_102_444_799_999])
def test_a_time_stamp_is_exact_to_the_millisecond(at):
    text = timestamp(at)
    assert text.endswith("Z")
    assert datetime.fromisoformat(text) == datetime.fromtimestamp(at // 1000, UTC).replace(microsecond=at % 1000 * 1000)


def test_a_body_of_just_the_limit_stays_inline_and_one_byte_more_moves():
    fits = "x" * (INLINE_BYTES - 2)  # two quotes are part of its JSON
    inline = Codec().encode(ToolCallFinished("c1", result=fits))
    assert inline.blobs == ()
    moved = Codec().encode(ToolCallFinished("c1", result=fits + "x", error="why"))
    [(sha256, text)] = moved.blobs
    assert json.loads(moved.body) == {"callId": "c1", "error": "why", "result_ref": sha256}
    assert json.loads(text) == fits + "x"


def test_only_the_large_one_of_two_bodies_moves():
    event = RunFailed("internal", "r", best_result={"x": "y" * INLINE_BYTES}, explanation="z" * INLINE_BYTES)
    row = Codec().encode(event)
    body = json.loads(row.body)
    assert "best_result_ref" in body
    assert "bestResult" not in body
    assert body["explanation"] == event.explanation
    assert there_and_back(event) == event


def test_a_large_text_body_moves_too():
    event = GateOpened("g1", 1, GateKind.EXIT, "a1", GateMode.CONFIRM, prompt="long " * 3000, payload={"a": "b" * 9000})
    assert len(Codec().encode(event).blobs) == 2
    assert there_and_back(event) == event


def test_a_field_of_a_nested_value_never_moves():
    event = PlanUpdated("p", 1, "g", (Step("s1", "a", call=Call("t", {"x": "y" * 9000})),))
    assert Codec().encode(event).blobs == ()
    assert there_and_back(event) == event


BIG = Definition(
    "five",
    phases=(Phase("p1", {"en": "Design", "zh": "设计"}, produced_outputs=("plan",)), Phase("p2", order=2)),
    activities=(
        Activity("a1", ActivityType.HUMAN, "p1", gate=GateConfig(GateMode.SELECT, options=(Option("o", "One"),))),
    ),
    artifacts={"plan": {"type": "object"}},
)
SNAPSHOT = SnapshotTaken(
    BIG,
    Limits(normal=Band(2, 9), backoff_seconds=(0.5,)),
    (ToolSpec("pay", effect=EffectClass.WRITE, identity=("to",), output_schema={"type": "null"}),),
    {"planner": "Plan."},
)


def test_a_snapshot_is_four_blobs_and_its_row_has_only_hashes():
    row = Codec().encode(SNAPSHOT)
    body = json.loads(row.body)
    assert list(body) == ["definition", "limits", "tools", "prompts"]
    assert [sha256 for sha256, _ in row.blobs] == list(body.values())
    assert there_and_back(SNAPSHOT) == SNAPSHOT


def test_a_changed_catalogue_is_named_by_hash():
    event = CatalogueChanged(SNAPSHOT.tools)
    assert list(json.loads(Codec().encode(event).body)) == ["hash"]
    assert there_and_back(event) == event
    assert there_and_back(CatalogueChanged()) == CatalogueChanged()


def test_equal_snapshots_share_their_blobs_and_are_decoded_once():
    codec = Codec()
    one, two = codec.encode(SNAPSHOT), codec.encode(replace(SNAPSHOT, definition=replace(BIG)))
    assert one == two
    asked = []

    def blob(sha256):
        asked.append(sha256)
        return dict(one.blobs)[sha256]

    first = codec.decode(one.name, one.version, one.body, blob)
    again = codec.decode(one.name, one.version, one.body, blob)
    assert len(asked) == 4
    assert again.definition is first.definition


def test_caches_of_snapshots_forget_the_oldest():
    codec = Codec()
    for n in range(300):
        row = codec.encode(CatalogueChanged((ToolSpec(f"t{n}"),)))
        assert codec.decode(row.name, 1, row.body, dict(row.blobs).__getitem__).tools[0].name == f"t{n}"
    assert len(codec._written) <= 128
    assert len(codec._read) <= 128


def test_unknown_fields_are_ignored():
    assert Codec().decode("note_added", 1, b'{"text":"x","by":{"id":"me","new":1},"later":[]}', refuse) == NoteAdded(
        "x", Who("me")
    )


def test_a_whole_number_is_taken_where_a_fraction_may_stand():
    assert Codec().decode("limit_reached", 1, b'{"kind":"rounds","limit":5,"value":5}', refuse) == LimitReached(
        "rounds", 5.0, 5.0
    )


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"callId":1}', b"{}", b'{"callId":"\xff"}', b"[" * 100_000])
def test_a_spoiled_row_is_unreadable_and_not_a_crash(body):
    with pytest.raises(RecordUnreadable, match="event tool_call_finished"):
        Codec().decode("tool_call_finished", 1, body, refuse)


def test_an_unknown_event_says_what_to_do():
    with pytest.raises(RecordUnreadable, match="event moon_landed cannot be read.*upgrade phaseloop"):
        Codec().decode("moon_landed", 1, b"{}", refuse)


def test_a_newer_version_says_what_to_do():
    with pytest.raises(RecordUnreadable, match="note_added version 2.*knows versions up to 1; upgrade phaseloop"):
        Codec().decode("note_added", 2, b'{"text":"x"}', refuse)


@pytest.mark.parametrize(
    "line",
    [
        {},
        {"event": "note_added"},
        {"event": "timer_fired", "timerId": "t", "ts": "now", "runId": "r", "seq": 1},
    ],
)
def test_a_line_without_a_whole_envelope_is_unreadable(line):
    with pytest.raises(RecordUnreadable):
        Codec().parse(line, refuse)


def test_old_versions_are_lifted_step_by_step():
    lifts = {
        ("note_added", 1): lambda wire: {"note": wire["remark"], "who": wire["who"]},
        ("note_added", 2): lambda wire: {"text": wire["note"], "by": {"id": wire["who"]}},
    }
    codec = Codec({"note_added": 3}, lifts)
    expected = NoteAdded("x", Who("me"))
    assert codec.decode("note_added", 1, b'{"remark":"x","who":"me"}', refuse) == expected
    assert codec.decode("note_added", 2, b'{"note":"x","who":"me"}', refuse) == expected
    assert codec.encode(expected).version == 3
    assert codec.envelope(Recorded("r", 1, 0, expected))["v"] == 3


def test_a_missing_upcaster_is_told():
    with pytest.raises(RecordUnreadable, match="no upcaster to version 2"):
        Codec({"note_added": 2}, {}).decode("note_added", 1, b"{}", refuse)


def test_every_version_has_its_upcasters():
    expected = {(name, v) for name, newest in VERSIONS.items() for v in range(1, newest)}
    assert set(UPCASTERS) == expected
    assert VERSIONS.keys() <= CLASSES.keys()


@pytest.mark.parametrize("value", [object(), "\ud800", {"a": lambda: 0}])
def test_what_is_not_json_is_refused_with_the_event_that_holds_it(value):
    with pytest.raises(WrongUse, match="tool_call_finished cannot be recorded"):
        Codec().encode(ToolCallFinished("c1", result=value))


def test_a_read_only_mapping_is_an_object():
    event = ToolCallStarted("c1", "t", "k", MappingProxyType({"a": 1}))
    assert there_and_back(event).args == {"a": 1}


def test_numbers_beyond_64_bits_survive():
    assert there_and_back(ToolCallFinished("c1", result=2**100)).result == 2**100


def test_values_inside_json_stay_lists_and_typed_fields_are_tuples():
    back = there_and_back(
        ModelCallFinished("c1", "s", 1, {"parts": [1, [2]]}, ("d",), usage=Usage(1), drift=("x", "y"))
    )
    assert back.reply == {"parts": [1, [2]]}
    assert back.calls == ("d",)
    assert back.drift == ("x", "y")
    assert back.usage == Usage(1)
    assert isinstance(there_and_back(PlanUpdated("p", 1, "g", ())).steps, tuple)
