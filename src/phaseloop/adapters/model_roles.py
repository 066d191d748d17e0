"""Planner, executor and critic on a language model, through the desk and in the form of the article."""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from pydantic_ai import (
    Agent,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    ModelSettings,
    UsageLimits,
    UserPromptPart,
)
from pydantic_ai.direct import model_request
from pydantic_ai.exceptions import AgentRunError, UserError
from pydantic_ai.messages import InstructionPart
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.output import OutputObjectDefinition

from phaseloop.adapters.model_door import Door
from phaseloop.adapters.model_failure import ModelStopped, sentence
from phaseloop.adapters.model_journal import ask, fingerprint, text_of
from phaseloop.adapters.model_prompts import (
    Prompt,
    earlier_steps,
    fitting,
    plan_prompt,
    recorded_prompt,
    step_prompt,
    verdict_prompt,
)
from phaseloop.adapters.model_provider import PatientModel, build_model, describe_model
from phaseloop.adapters.model_readings import Reader, output_reader, plan_reader, read_verdict
from phaseloop.adapters.model_tools import LoopGuard, SchemaTools, offer
from phaseloop.adapters.schema_shapes import VERDICT_SCHEMA, plan_schema
from phaseloop.core.answers import Verdict
from phaseloop.core.effects import JudgePlan, JudgeStep, MakePlan, RunStep
from phaseloop.core.limits import Limits
from phaseloop.core.plan import Plan
from phaseloop.core.values import Json, Object
from phaseloop.roles.protocols import Desk

ModelChoice: TypeAlias = Model | str
"""A pydantic-ai model, or its name as `provider:name`."""

STRICT_TEMPERATURE = 0.2  # a critic at 0.7 passes nearly everything: article 003 section 7.3
LOOSE_TEMPERATURE = 0.7
OTHER_SEED = 7
"""Asked again with the same seed and temperature, a model gives the same wrong answer again."""
LIMITS = Limits()
CUT = "the reply was cut at its token limit"


class ModelPlanner:
    """Plans the current phase with a model. One more reply is asked for when the first cannot be read."""

    def __init__(
        self,
        model: ModelChoice,
        *,
        settings: ModelSettings | None = None,
        profile: Mapping[str, bool] | None = None,
        limits: Limits = LIMITS,
    ) -> None:
        self.model = patient(model, limits)
        self.name = self.model.model_id
        self.profile = {**describe_model(self.name), **(profile or {})}
        self.settings = settings or ModelSettings()

    async def plan(self, request: MakePlan, desk: Desk) -> Plan:
        """The plan in the model's reply, as the core's normaliser reads it. Raises `ModelStopped`."""
        prompt = plan_prompt(request)
        read = plan_reader(earlier_steps(request))
        door = _door(desk, "planner", self.name, prompt, read)
        again = differently(self.settings, self.profile)
        first = self.settings if request.attempt == 1 else again
        schema = plan_schema(tuple(sorted(tool.name for tool in request.tools)), request.max_steps)
        parameters = _parameters(prompt, "plan", schema if self.profile["native_json"] else None)
        reply = await _structured(door, self.model, prompt, (read, parameters, (first, again)))
        assert isinstance(reply, Plan)
        return reply


class ModelExecutor:
    """Carries out an open step: rounds of model replies and tool calls until the model answers."""

    def __init__(
        self,
        model: ModelChoice,
        *,
        settings: ModelSettings | None = None,
        limits: Limits = LIMITS,
    ) -> None:
        self.model = patient(model, limits)
        self.name = self.model.model_id
        self.settings = settings or ModelSettings()
        self.agent = Agent(
            self.model,
            name="executor",
            deps_type=Door,
            output_type=str,
            capabilities=[LoopGuard(limits.equal_reads)],
        )

    async def run(self, request: RunStep, desk: Desk) -> Json:
        """The model's answer: a text, or JSON when the step has an output schema. Raises `ModelStopped`.

        An attempt that began before is entered with the prompt it began with (`request.prompt`).
        """
        started = request.prompt is not None
        prompt = recorded_prompt(request.prompt) if started else step_prompt(request)
        read = output_reader(request.step.output_schema)
        door = _door(desk, "executor", self.name, prompt, read)
        door.rounds, door.offered, door.show = max(1, request.rounds), offer(desk.tools), fitting
        text = await self._answer(door, prompt)
        reading = read(text)
        return text if reading.problem else reading.value

    async def _answer(self, door: Door, prompt: Prompt) -> str:
        try:
            result = await self.agent.run(
                prompt.user,
                deps=door,
                instructions=prompt.instructions,
                model_settings=self.settings,
                toolsets=[SchemaTools(dict(door.offered), door.rounds)],
                retries=door.rounds,
                usage_limits=UsageLimits(request_limit=None),
                infer_name=False,
            )
        except (AgentRunError, UserError) as error:
            raise ModelStopped(f"model {door.model}: {sentence(str(error))}") from error
        if result.response.finish_reason == "length":
            raise ModelStopped(f"model {door.model}: {CUT}")
        return result.output.strip()


class ModelCritic:
    """Judges with a model as a strict verifier (article 003 section 5.2), always shown the evidence."""

    def __init__(
        self,
        model: ModelChoice,
        *,
        settings: ModelSettings | None = None,
        profile: Mapping[str, bool] | None = None,
        limits: Limits = LIMITS,
    ) -> None:
        self.model = patient(model, limits)
        self.name = self.model.model_id
        self.profile = {**describe_model(self.name), **(profile or {})}
        self.settings: ModelSettings = {"temperature": STRICT_TEMPERATURE, **(settings or {})}

    async def judge(self, request: JudgeStep | JudgePlan, desk: Desk) -> Verdict:
        """The verdict in the model's reply; missing and contradicting fields as behaviours C21 has it."""
        prompt = verdict_prompt(request)
        door = _door(desk, "critic", self.name, prompt, read_verdict)
        parameters = _parameters(prompt, "verdict", VERDICT_SCHEMA if self.profile["native_json"] else None)
        tries = (self.settings, differently(self.settings, self.profile))
        reply = await _structured(door, self.model, prompt, (read_verdict, parameters, tries))
        assert isinstance(reply, Verdict)
        return reply


def patient(model: ModelChoice, limits: Limits = LIMITS) -> PatientModel:
    """The model of a name, or the given one, with time limit, retries and the process-wide cap on calls."""
    if isinstance(model, str):
        return build_model(model, limits)
    return model if isinstance(model, PatientModel) else PatientModel(model, limits)


def differently(settings: ModelSettings, profile: Mapping[str, bool]) -> ModelSettings:
    """Settings for asking again: another temperature, and another seed where the provider has seeds."""
    before: Mapping[str, Json] = dict(settings)
    low = before.get("temperature", LOOSE_TEMPERATURE) > STRICT_TEMPERATURE
    again: ModelSettings = {**settings, "temperature": STRICT_TEMPERATURE if low else LOOSE_TEMPERATURE}
    if profile.get("seed"):
        again["seed"] = before.get("seed", 0) + OTHER_SEED
    return again


Structure: TypeAlias = tuple[Reader, ModelRequestParameters, Sequence[ModelSettings]]
"""How a structured reply is read, what the provider is told of it, and the settings of each try."""


async def _structured(door: Door, model: Model, prompt: Prompt, structure: Structure) -> object:
    """The first readable reply; what was wrong with one stands in the question for the next."""
    read, parameters, tries = structure
    messages: list[ModelMessage] = [_question(prompt.user, prompt)]
    problem = ""
    for settings in tries:
        response = await _reply(door, model, messages, parameters, settings)
        text = text_of(response)
        reading = read(text)
        problem = CUT if response.finish_reason == "length" else reading.problem
        if not problem:
            return reading.value
        if text:
            messages.append(response)
        messages.append(_question(f"{problem}\nReply again with the JSON object only.", prompt))
    raise ModelStopped(f"model {door.model} gave no usable {door.role} reply in {len(tries)} tries: {problem}")


async def _reply(
    door: Door,
    model: Model,
    messages: list[ModelMessage],
    parameters: ModelRequestParameters,
    settings: ModelSettings,
) -> ModelResponse:
    asked = fingerprint(messages, parameters)
    return await ask(
        door,
        asked,
        lambda: model_request(
            model, messages, model_settings=settings, model_request_parameters=parameters, instrument=False
        ),
    )


def _question(text: str, prompt: Prompt) -> ModelRequest:
    return ModelRequest([UserPromptPart(text)], instructions=prompt.instructions)


def _parameters(prompt: Prompt, name: str, schema: Object | None) -> ModelRequestParameters:
    told = [InstructionPart(prompt.instructions)]
    if schema is None:
        return ModelRequestParameters(instruction_parts=told)
    form = OutputObjectDefinition(json_schema=dict(schema), name=name, strict=False)
    return ModelRequestParameters(instruction_parts=told, output_mode="native", output_object=form)


def _door(desk: Desk, role: str, model: str, prompt: Prompt, read: Reader) -> Door:
    return Door(desk, role, model, prompt.as_record(), inspect=lambda text: read(text).differences)
