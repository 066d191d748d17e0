"""The demo at a terminal: a new run or the one that was interrupted, its gates, and what to try next."""

import asyncio
import sys
from dataclasses import replace
from pathlib import Path

from phaseloop.adapters.sqlite_log import open_store
from phaseloop.cli.options import Means
from phaseloop.cli.policies import Answer, Policy, nobody, yes
from phaseloop.cli.screen import Screen, this_screen
from phaseloop.cli.session import Session
from phaseloop.cli.starting import until_it_rests
from phaseloop.compose import App, StartOptions, me
from phaseloop.core.language import language_of
from phaseloop.core.tables import RunRow
from phaseloop.demo.roles import demo_app, demo_folder
from phaseloop.demo.story import CHANGE, GOALS
from phaseloop.engine.results import WaitingFor
from phaseloop.engine.surroundings import store_url

# ruff: noqa: T201 - this is what the demo says

SAID = {
    "en": {
        "offline": "Scripted models, no network; real tools in {folder}.",
        "policy": "No terminal to ask: the demo's own policy answers. It confirms, asks for one change to the "
        "design ({change!r}), then approves.",
        "again": "Going on with run {run}, which was interrupted. For a new one: phaseloop demo --new",
        "next": "Try next:",
        "page": "The page:",
    },
    "zh": {
        "offline": "脚本模型，不联网；真实工具在 {folder} 中工作。",
        "policy": "没有可供询问的终端：由演示自带的策略答复。它会确认，对设计提出一次修改（{change!r}），然后批准。",
        "again": "继续被中断的运行 {run}。重新开始：phaseloop demo --new",
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
    screen = replace(this_screen(ascii_only=ascii_only), flags=Means(store).flags())
    return asyncio.run(_demo(store_url(store), use_policy, fresh, screen))


async def _interrupted(url: str) -> RunRow | None:
    """The newest run of the demo that is not over."""
    store = open_store(url)
    try:
        rows = await store.runs.list_runs(limit=1000)
        return next((row for row in rows if row.definition_id == "sales-page" and row.ended_at is None), None)
    finally:
        store.close()


async def _demo(url: str, use_policy: bool, fresh: bool, screen: Screen) -> int:
    known = None if fresh else await _interrupted(url)
    language = screen.language if known is None else language_of(known.title)
    said, folder = SAID[language], demo_folder(url)
    app = demo_app(url, folder, language)
    alone = use_policy or not (sys.stdin.isatty() and sys.stdout.isatty())
    print(said["offline"].format(folder=folder))
    if alone:
        print(said["policy"].format(change=CHANGE[language]))
    async with app:
        run_id = known.run_id if known is not None else await _begun(app, language)
        if known is not None:
            print(said["again"].format(run=run_id))
        session = Session(app, run_id, screen, policy=demo_policy(language) if alone else nobody, me=me("cli"))
        code = await until_it_rests(session)
    _say_next(said, run_id, folder / "production" / "q3-sales.html", screen.flags)
    return code


async def _begun(app: App, language: str) -> str:
    run_id = app.new_id()
    await app.host.begin(run_id, app.begin(GOALS[language], **StartOptions(process="sales-page", by=me("cli"))))
    return run_id


def _say_next(said: dict[str, str], run_id: str, page: Path, flags: str) -> None:
    if page.exists():
        print(f"{said['page']} {page}")
    print(f"{said['next']}\n  phaseloop show {run_id}{flags}\n  phaseloop replay {run_id}{flags}")
