"""The published schemas say what the code does."""

import json

import jsonschema_rs
import pytest

from phaseloop.adapters.codec import CLASSES, Codec
from phaseloop.adapters.wire import shape_of
from phaseloop.core.call_events import ToolCallFinished
from phaseloop.core.limits import Limits
from phaseloop.core.process import FLAT
from phaseloop.core.run_events import SnapshotTaken
from phaseloop.engine.ports import Recorded
from tools import schemas

EVENTS = json.loads((schemas.FOLDER / "events.schema.json").read_text())


@pytest.mark.parametrize("name", schemas.FILES)
def test_the_schema_files_are_fresh(name):
    assert (schemas.FOLDER / name).read_text() == schemas.text_of(name)


def test_a_stale_or_missing_schema_is_told(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(schemas, "FOLDER", schemas.FOLDER.parent / "no-such-folder")
    assert schemas.main(["--check"]) == 1
    assert "run: python -m tools.schemas" in capsys.readouterr().err


def test_every_event_and_every_field_is_described():
    for name, cls in CLASSES.items():
        part = EVENTS["$defs"][name]
        assert {f.wire for f in shape_of(cls).fields} <= part["properties"].keys()
        assert {f.wire for f in shape_of(cls).fields if f.kept} <= set(part["required"])
        assert part["properties"]["event"] == {"const": name}


@pytest.mark.parametrize(
    "event",
    [
        ToolCallFinished("c1", result={"a": 1}),
        ToolCallFinished("c1", result="x" * 9000),
        SnapshotTaken(FLAT, Limits()),
    ],
)
def test_an_envelope_is_valid_by_the_schema_and_a_wrong_one_is_not(event):
    schema = jsonschema_rs.validator_for(EVENTS)
    wire = json.loads(json.dumps(Codec().envelope(Recorded("r", 1, 0, event))))
    assert schema.is_valid(wire)
    assert not schema.is_valid(wire | {"seq": 0})
    assert not schema.is_valid(wire | {"event": "no_such_event"})
