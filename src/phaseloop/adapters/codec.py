"""Events to wire JSON and back: large bodies as blobs, snapshots by hash, old shapes lifted to new ones."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple, cast

import msgspec

from phaseloop.adapters.wire import Field, Shape, event_name, shape_of, twin_type, writer
from phaseloop.core.errors import RecordUnreadable, WrongUse
from phaseloop.core.events import EVENT_TYPES, INLINE_BYTES, Event
from phaseloop.core.values import Json
from phaseloop.engine.ports import Recorded

Upcaster = Callable[[dict[str, Json]], dict[str, Json]]
"""A pure function from the wire object of version v to that of v + 1."""
BlobGetter = Callable[[str], bytes]
"""The bytes of a blob by SHA-256 in hexadecimal; raises `RecordUnreadable` when it is missing."""

VERSIONS: Mapping[str, int] = {}
"""Schema version by event name; an event that is not listed has version 1 (contract section 2)."""
UPCASTERS: Mapping[tuple[str, int], Upcaster] = {}
"""How version v of an event becomes v + 1, by `(event name, v)`; each has a recorded history in the tests."""
CLASSES: Mapping[str, type] = {event_name(cls): cls for cls in EVENT_TYPES}
SHARED_KEPT = 128  # decoded snapshots kept by hash; a process rarely meets more definitions at once
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
ENVELOPE = frozenset({"runId", "seq", "ts", "event", "v"})


class Encoded(NamedTuple):
    """An event as the log keeps it; `blobs` are (hash, bytes) pairs that `body` names."""

    name: str
    version: int
    body: bytes
    blobs: tuple[tuple[str, bytes], ...] = ()


class Codec:
    """Encodes and decodes events. Holds only caches of shared snapshots; one instance may serve many logs."""

    def __init__(
        self,
        versions: Mapping[str, int] = VERSIONS,
        upcasters: Mapping[tuple[str, int], Upcaster] = UPCASTERS,
    ) -> None:
        self._versions = versions
        self._upcasters = upcasters
        self._written: dict[int, tuple[Any, tuple[str, bytes]]] = {}
        self._read: dict[tuple[str, str], Any] = {}

    def encode(self, event: Event) -> Encoded:
        """The row of `event`. Raises `WrongUse` when it holds something that is not JSON."""
        name = _NAMES[type(event)]
        wire, body, blobs = self._wire(event)
        if body is None:
            body = _bytes(wire, name)
        return Encoded(name, self._versions.get(name, 1), body, blobs)

    def decode(self, name: str, version: int, body: bytes, blob: BlobGetter) -> Event:
        """The event of a row, equal to the one that was encoded. Raises `RecordUnreadable`."""
        shape = self._shape(name, version)
        try:
            if version == self._versions.get(name, 1):
                twin = shape.decode(body)
            else:
                twin = msgspec.convert(self._lift(name, version, msgspec.json.decode(body)), shape.twin)
            return self._made(shape, twin, blob)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise RecordUnreadable(f"event {name}", str(error)) from error

    def envelope(self, recorded: Recorded) -> dict[str, Json]:
        """The wire object for SSE and `--json`; large bodies stay references, `ts` is ISO 8601 in UTC."""
        name = _NAMES[type(recorded.event)]
        wire, _, _ = self._wire(recorded.event)
        head = {
            "runId": recorded.run_id,
            "seq": recorded.seq,
            "ts": timestamp(recorded.at),
            "event": name,
            "v": self._versions.get(name, 1),
        }
        return head | wire

    def parse(self, wire: Mapping[str, Json], blob: BlobGetter) -> Recorded:
        """The recorded event of an envelope, as a line of `--json` has it. Raises `RecordUnreadable`."""
        try:
            body = _bytes({key: value for key, value in wire.items() if key not in ENVELOPE}, "line")
            event = self.decode(wire["event"], wire.get("v", 1), body, blob)
            at = (datetime.fromisoformat(wire["ts"]) - EPOCH) // timedelta(milliseconds=1)
            return Recorded(wire["runId"], wire["seq"], at, event)
        except (KeyError, TypeError, ValueError) as error:
            raise RecordUnreadable("a line of the history", f"{error!r} in its envelope") from error

    def _wire(self, event: Event) -> tuple[dict[str, Any], bytes | None, tuple[tuple[str, bytes], ...]]:
        """The wire object, its bytes where they are known already, and the blobs."""
        kind: type = type(event)
        name = _NAMES[kind]
        shape = shape_of(kind)
        wire = shape.to_wire(event)
        blobs: list[tuple[str, bytes]] = []
        for field in shape.shared:
            blob = self._shared_blob(field, getattr(event, field.name), name)
            wire[field.wire] = blob[0]
            blobs.append(blob)
        if not shape.refs:
            return wire, None, tuple(blobs)
        whole = _bytes(wire, name)
        if len(whole) <= INLINE_BYTES:
            return wire, whole, tuple(blobs)
        for field in shape.refs:
            text = _bytes(wire[field.wire], name) if field.wire in wire else b""
            if len(text) > INLINE_BYTES:
                del wire[field.wire]
                digest = wire[field.name + "_ref"] = _sha256(text)
                blobs.append((digest, text))
        return wire, None, tuple(blobs)

    def _shared_blob(self, field: Field, value: Any, name: str) -> tuple[str, bytes]:
        known = self._written.get(id(value))
        if known is not None and known[0] is value:
            return known[1]
        write = writer(field.hint)
        text = _bytes(value if write is None else write(value), name)
        blob = _sha256(text), text
        _trim(self._written)
        self._written[id(value)] = (value, blob)  # keeps the value alive, so that its id stays its own
        return blob

    def _made(self, shape: Shape, twin: Any, blob: BlobGetter) -> Event:
        if shape.shared:
            values = [self._shared_value(f, getattr(twin, f.name), blob) for f in shape.shared]
            return cast(Event, shape.cls(*values))
        event = cast(Event, shape.make(twin))
        for field in shape.refs:
            if digest := getattr(twin, field.name + "_ref"):
                event = replace(event, **{field.name: msgspec.json.decode(blob(digest), type=field.hint)})
        return event

    def _shared_value(self, field: Field, digest: str, blob: BlobGetter) -> Any:
        key = field.name, digest
        if key not in self._read:
            twin = msgspec.json.decode(blob(digest), type=twin_type(field.hint))
            _trim(self._read)
            self._read[key] = msgspec.convert(twin, field.hint, from_attributes=True)
        return self._read[key]

    def _shape(self, name: str, version: int) -> Shape:
        cls = CLASSES.get(name)
        if cls is None:
            raise RecordUnreadable(
                f"event {name}",
                "this release does not know it; upgrade phaseloop to the release that wrote it",
            )
        known = self._versions.get(name, 1)
        if version > known:
            raise RecordUnreadable(
                f"event {name} version {version}",
                f"this release knows versions up to {known}; upgrade phaseloop to the release that wrote it",
            )
        return shape_of(cls)

    def _lift(self, name: str, version: int, wire: dict[str, Json]) -> dict[str, Json]:
        for v in range(version, self._versions.get(name, 1)):
            upcaster = self._upcasters.get((name, v))
            if upcaster is None:
                raise RecordUnreadable(f"event {name} version {v}", f"no upcaster to version {v + 1} is known")
            wire = upcaster(wire)
        return wire


def timestamp(at: int) -> str:
    """`at`, in milliseconds since 1970 UTC, as ISO 8601 with milliseconds and `Z`."""
    moment = EPOCH + timedelta(milliseconds=at)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _bytes(value: Any, name: str) -> bytes:
    try:
        return _ENCODER.encode(value)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise WrongUse(f"{name} cannot be recorded, it holds something that is not JSON: {error}") from error


def _open_mapping(value: Any) -> Any:
    """What msgspec asks for a type it does not know: read-only mappings are objects, all else is refused."""
    if isinstance(value, Mapping):
        return dict(value)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    raise TypeError(f"{type(value).__name__} {value!r:.60}")


def _sha256(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()


def _trim(cache: dict[Any, Any]) -> None:
    """Make room for one more by forgetting the oldest."""
    if len(cache) >= SHARED_KEPT:
        cache.pop(list(cache)[0], None)


_ENCODER = msgspec.json.Encoder(enc_hook=_open_mapping)
_NAMES: Mapping[type, str] = {cls: name for name, cls in CLASSES.items()}
