"""What `phaseloop show` prints: a run as it stands, or one step with its calls and verdicts."""

import json
import sys
from dataclasses import asdict
from typing import Any

from phaseloop.cli.frame import frame
from phaseloop.cli.frame_head import Picture
from phaseloop.cli.gate_words import answer_commands
from phaseloop.cli.result_card import result_card
from phaseloop.cli.screen import console_for, this_screen
from phaseloop.compose import now
from phaseloop.core.machine import fold
from phaseloop.core.values import Json
from phaseloop.core.view_run import open_gates
from phaseloop.core.views import view
from phaseloop.engine.ports import Recorded
from phaseloop.engine.results import run_result

# ruff: noqa: T201 - this is what they print


def show_run(history: list[Recorded], as_json: bool, ascii_only: bool) -> None:
    """The run's picture as the live view draws it, its open questions, and how it ended."""
    run_id = history[0].run_id
    if as_json:
        wire = asdict(run_result(run_id, fold(history)))
        print(json.dumps(wire, ensure_ascii=False, default=str))
        return
    screen = this_screen(ascii_only=ascii_only)
    console = console_for(screen, sys.stdout)
    drawn = view(history)
    at = drawn.at if drawn.ending is not None else now()
    for line in frame(Picture(run_id, drawn, at, {}, False), screen):
        console.print(line, soft_wrap=True)
    if drawn.ending is not None:
        for line in result_card(drawn, run_id, screen):
            console.print(line, soft_wrap=True)
    for gate in open_gates(drawn):
        for command in answer_commands(run_id, drawn, gate):
            print(command)


def show_step(wires: list[dict[str, Json]], as_json: bool) -> None:
    """Every fact of one step, in order."""
    for wire in wires:
        if as_json:
            print(json.dumps(wire, ensure_ascii=False))
            continue
        hidden = ("runId", "seq", "ts", "event", "v", "stepId", "activityId", "phaseId")
        body: dict[str, Any] = {name: value for name, value in wire.items() if name not in hidden}
        print(f"{wire['seq']:>5}  {wire['event']}")
        for name, value in body.items():
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            print(f"       {name}: {text[:2000]}")
