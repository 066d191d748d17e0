"""What `show` and `gates` print: a run as it stands, its history, one step, its open questions."""

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from phaseloop.adapters.codec import Codec
from phaseloop.cli.figures import printable
from phaseloop.cli.frame import frame
from phaseloop.cli.frame_head import Picture
from phaseloop.cli.gate_words import answer_commands, gate_title
from phaseloop.cli.options import Means
from phaseloop.cli.plain import PlainTeller
from phaseloop.cli.result_card import result_card
from phaseloop.cli.screen import Kind, Screen, console_for, shown, this_screen
from phaseloop.compose import now
from phaseloop.core.events import Event
from phaseloop.core.machine import fold
from phaseloop.core.plan_events import PlanUpdated
from phaseloop.core.state import open_gates as gates_of_state
from phaseloop.core.values import Json
from phaseloop.core.view_run import open_gates
from phaseloop.core.views import view
from phaseloop.engine.ports import Recorded
from phaseloop.engine.results import run_result, waiting_for

# ruff: noqa: T201 - this is what they print
ENVELOPE = ("runId", "seq", "ts", "event", "v", "stepId", "activityId", "phaseId")


def _screen(ascii_only: bool, store: str | None) -> Screen:
    return replace(this_screen(ascii_only=ascii_only), flags=Means(store).flags())


def show_run(history: list[Recorded], as_json: bool, ascii_only: bool, store: str | None) -> None:
    """The run's picture as the live view draws it, and how it ended or what it asks."""
    run_id = history[0].run_id
    if as_json:
        print(json.dumps(asdict(run_result(run_id, fold(history))), ensure_ascii=False))
        return
    screen = _screen(ascii_only, store)
    console = console_for(screen, sys.stdout)
    drawn = view(history)
    at = drawn.at if drawn.ending is not None else now()
    whole = replace(screen, height=10_000)  # nothing folds: this is no live view
    for line in [*frame(Picture(run_id, drawn, at, {}, False), whole), "", *result_card(drawn, run_id, screen)]:
        console.print(line, soft_wrap=True)


def show_events(history: Sequence[Recorded], codec: Codec, as_json: bool, ascii_only: bool) -> None:
    """The history as one line per turning point, or all of it as JSON."""
    if as_json:
        for recorded in history:
            print(json.dumps(codec.envelope(recorded), ensure_ascii=False))
        return
    teller = PlainTeller(history[0].run_id, replace(this_screen(ascii_only=ascii_only), kind=Kind.PLAIN))
    for recorded in history:
        for line in teller.tell(recorded):
            print(line)
    for line in teller.rest():
        print(line)


def show_gates(history: Sequence[Recorded], as_json: bool, ascii_only: bool, store: str | None) -> None:
    """The open questions of one run, each with the commands that answer it."""
    run_id = history[0].run_id
    if as_json:
        for gate_id, asked in gates_of_state(fold(history)):
            print(json.dumps(asdict(waiting_for(gate_id, asked, run_id)), ensure_ascii=False))
        return
    screen = _screen(ascii_only, store)
    drawn = view(history)
    for gate in open_gates(drawn):
        head = f"{run_id}  {gate.id}  {printable(gate.activity_id)}  {gate_title(gate, screen.language)}"
        print(shown(head, screen))
        for command in answer_commands(run_id, drawn, gate):
            print(shown(f"  {command}{screen.flags}", screen))


def _only(wire: dict[str, Json], step_id: str) -> dict[str, Json]:
    if wire["event"] != "plan_updated":
        return wire
    steps = [step for step in wire["steps"] if step["id"] == step_id]
    kept = ("runId", "seq", "ts", "event", "v", "phaseId", "planVersion", "reason")
    return {**{name: wire[name] for name in kept if name in wire}, "steps": steps}


def steps_of(event: Event) -> tuple[str, ...]:
    """The steps that an event is about."""
    if isinstance(event, PlanUpdated):
        return event.added
    step_id = getattr(event, "step_id", "")
    scope = str(getattr(event, "scope", "")).split("/")
    return (step_id, scope[1] if len(scope) > 1 and scope[0] in ("step", "judge") else step_id)


def show_step(wires: list[dict[str, Json]], step_id: str, as_json: bool) -> None:
    """Every fact of one step, in order; of a plan only the step itself."""
    for whole in wires:
        wire = _only(whole, step_id)
        if as_json:
            print(json.dumps(wire, ensure_ascii=False))
            continue
        body: dict[str, Any] = {name: value for name, value in wire.items() if name not in ENVELOPE}
        print(f"{wire['seq']:>5}  {wire['event']}")
        for name, value in body.items():
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            print(f"       {name}: {printable(text[:2000])}")
