"""The demo at a terminal: a new run or the one that was interrupted, its gates, and what to try next."""

import asyncio
import os
import sys
from pathlib import Path

from phaseloop.cli.policies import Answer, Policy, nobody, yes
from phaseloop.cli.screen import Screen, this_screen
from phaseloop.cli.session import Session
from phaseloop.compose import DEFAULT_STORE, me
from phaseloop.demo.roles import demo_app
from phaseloop.demo.story import CHANGE, GOALS
from phaseloop.engine.results import WaitingFor

FOLDER = Path(".phaseloop/demo")
# ruff: noqa: T201 - this is what the demo says

SAID = {
    "en": {
        "offline": "Scripted models, no network; real tools in {folder}.",
        "policy": "No terminal to ask: the demo's own policy answers. It confirms, asks for one change to the "
        "design ({change!r}), then approves.",
        "again": "Going on with run {run}, which was interrupted.",
        "next": "Try next:",
        "page": "The page:",
    },
    "zh": {
        "offline": "脚本模型，不联网；真实工具在 {folder} 中工作。",
        "policy": "没有可供询问的终端：由演示自带的策略答复。它会确认，对设计提出一次修改（{change!r}），然后批准。",
        "again": "继续被中断的运行 {run}。",
        "next": "接下来可以试试：",
        "page": "页面：",
    },
}


def demo_policy(language: str) -> Policy:
    """Confirms and approves, but asks once for a change of the design, so that a revision can be seen."""

    def answer(gate: WaitingFor) -> Answer | None:
        if gate.activity_id == "human_design_approval" and gate.version == 1:
            return ("reject", None, CHANGE[language])
        return yes(gate)

    return answer


def run_demo(store: str | None, use_policy: bool, ascii_only: bool, fresh: bool) -> int:
    """Run the demo and return the exit code of the run."""
    screen = this_screen(ascii_only=ascii_only)
    return asyncio.run(_demo(store, use_policy, fresh, screen))


async def _demo(store: str | None, use_policy: bool, fresh: bool, screen: Screen) -> int:
    language = screen.language
    said = SAID[language]
    app = demo_app(store, FOLDER, language)
    alone = use_policy or not (sys.stdin.isatty() and sys.stdout.isatty())
    print(said["offline"].format(folder=FOLDER))
    if alone:
        print(said["policy"].format(change=CHANGE[language]))
    async with app:
        rows = await app.store.runs.list_runs(limit=1000)
        open_runs = [r for r in rows if r.definition_id == "sales-page" and r.ended_at is None and not fresh]
        if open_runs:
            run_id = open_runs[0].run_id
            print(said["again"].format(run=run_id))
        else:
            run_id = app.new_id()
            begin = app.begin(GOALS[language], process="sales-page", by=me("cli"))
            await app.host.begin(run_id, begin)
        session = Session(app, run_id, screen, policy=demo_policy(language) if alone else nobody, me=me("cli"))
        try:
            code = await session.go()
        except asyncio.CancelledError:
            print(f"\nphaseloop demo  # {said['again'].format(run=run_id)}", file=sys.stderr)
            raise
    page = FOLDER / "production" / "q3-sales.html"
    if page.exists():
        print(f"{said['page']} {page}")
    where = store or os.environ.get("PHASELOOP_STORE")
    option = f" --store {where}" if where and where != DEFAULT_STORE else ""
    print(f"{said['next']}\n  phaseloop show {run_id}{option}\n  phaseloop replay {run_id}{option}")
    return code
