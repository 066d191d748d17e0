"""The demo's application: scripted models at a pace that can be watched, real tools, its own gate policy."""

import asyncio
from importlib.resources import files
from pathlib import Path
from typing import Any

from pydantic_ai import ModelMessage, ModelResponse, ModelSettings
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.wrapper import WrapperModel

from phaseloop.adapters.definitions import load_definition
from phaseloop.adapters.model_roles import ModelCritic, ModelExecutor, ModelPlanner
from phaseloop.adapters.scripted_model import Rule, ScriptedModel
from phaseloop.compose import DEFAULT_STORE, App
from phaseloop.core.process import Definition
from phaseloop.demo.story import critic_rules, executor_rules, planner_rules
from phaseloop.demo.tools import Workshop, prepare

PACE = 0.35


class PacedModel(WrapperModel):
    """A scripted model that takes its time, so that a person can watch it."""

    def __init__(self, rules: list[Rule], role: str, pace: float) -> None:
        super().__init__(ScriptedModel(rules, role))
        self._pace = pace

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """Wait, then answer from the script."""
        await asyncio.sleep(self._pace)
        return await super().request(messages, model_settings, model_request_parameters)


def demo_definition() -> Definition:
    """The demo's five phases."""
    return load_definition((files("phaseloop.demo") / "sales-page.json").read_text(encoding="utf-8"))


def demo_folder(store: str) -> Path:
    """Where the demo's tools work: beside the store, so that a run goes on from any folder."""
    path = store.partition("://")[2].removeprefix("/") if "://" in store else store
    beside = Path(path).expanduser().parent if "memory:" not in store else Path(DEFAULT_STORE).parent
    return beside / "demo"


def demo_app(store: str | None, folder: Path, language: str, pace: float | None = None) -> App:
    """An application whose models follow the demo's script and whose tools work in `folder`.

    `pace` is how many seconds a model takes; by default long enough to watch.
    """
    pace = PACE if pace is None else pace
    prepare(folder)
    models: dict[str, Any] = {
        "planner": PacedModel(planner_rules(language), "planner", pace),
        "executor": PacedModel(executor_rules(language), "executor", pace),
        "critic": PacedModel(critic_rules(language), "critic", pace),
    }
    return App(
        store=store,
        tools=Workshop(folder, pace).tools(),
        planner=ModelPlanner(models["planner"]),
        executor=ModelExecutor(models["executor"]),
        critic=ModelCritic(models["critic"]),
        processes=[demo_definition()],
    )
