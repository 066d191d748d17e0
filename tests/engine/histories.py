"""Recorded histories: a file of wire events each, shared blobs beside, and what each folds to.

`python -m tests.engine.histories NAME...` records stories of `run_stories` anew; say why in the changelog.
"""

import hashlib
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from typing import Any

from phaseloop.adapters.codec import Codec
from phaseloop.core.events import Event
from phaseloop.core.state import RunState
from phaseloop.engine.ports import Recorded

FOLDER = Path(__file__).parents[1] / "histories"
STATES = FOLDER / "states.json"
CODEC = Codec()


def names() -> list[str]:
    """All recorded histories."""
    return sorted(path.stem for path in FOLDER.glob("*.jsonl"))


def blob(sha256: str) -> bytes:
    return (FOLDER / "blobs" / f"{sha256[:16]}.json").read_bytes()


def load(name: str) -> list[Recorded]:
    """A recorded history, through the codec of today."""
    lines = (FOLDER / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [CODEC.parse(json.loads(line), blob) for line in lines]


def save(name: str, history: Sequence[Recorded], state: RunState) -> None:
    """Write a history, its blobs, and what it folds to."""
    (FOLDER / "blobs").mkdir(parents=True, exist_ok=True)
    lines = [json.dumps(CODEC.envelope(recorded), ensure_ascii=False) for recorded in history]
    (FOLDER / f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for recorded in history:
        for sha256, text in CODEC.encode(recorded.event).blobs:
            (FOLDER / "blobs" / f"{sha256[:16]}.json").write_bytes(text)
    known = states()
    known[name] = {"events": len(history), "status": state.status.value, "state": digest_of(state)}
    STATES.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def states() -> dict[str, Any]:
    """What each history folds to, by name."""
    return json.loads(STATES.read_text(encoding="utf-8")) if STATES.exists() else {}


def digest_of(state: RunState) -> str:
    """A digest that a new field with its default does not change."""
    return hashlib.sha256(json.dumps(_said(state), sort_keys=True).encode()).hexdigest()[:32]


def _said(value: Any) -> Any:
    """A value as JSON; fields that have their default are left out."""
    if is_dataclass(value):
        told = {f.name: getattr(value, f.name) for f in fields(value) if not _is_default(f, getattr(value, f.name))}
        return {name: _said(item) for name, item in told.items()}
    if isinstance(value, dict):
        return {str(key): _said(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_said(item) for item in value]
    return sorted(value) if isinstance(value, frozenset) else value


def _is_default(field: Any, value: Any) -> bool:
    made: Callable[[], Any] | Any = field.default_factory
    return value == (field.default if made is MISSING else made())


def renumbered(events: Sequence[Event], like: Sequence[Recorded]) -> list[Recorded]:
    """Events as a history without gaps, with the times of `like` by place."""
    last = like[-1]
    return [Recorded(last.run_id, seq, like[min(seq, len(like)) - 1].at, event) for seq, event in enumerate(events, 1)]


def main(wanted: Sequence[str]) -> None:
    """Record the named stories, or all of them."""
    from tests.engine.run_rig import run
    from tests.engine.run_stories import STORIES

    for name in wanted or STORIES:

        async def record(name: str = name) -> None:
            rig = await STORIES[name]()
            save(name, await rig.history(), await rig.state())
            await rig.close()

        run(record)
        print(name)


if __name__ == "__main__":
    main(sys.argv[1:])
