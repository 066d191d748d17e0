"""Models by name, with one place for their time limit, their retries and the number of calls at a time."""

import asyncio
import os
import threading
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

from pydantic_ai import ModelMessage, ModelResponse, ModelSettings
from pydantic_ai.exceptions import AgentRunError, ModelAPIError, ModelHTTPError, UserError
from pydantic_ai.models import Model, ModelRequestParameters, infer_model
from pydantic_ai.models.wrapper import WrapperModel

from phaseloop.adapters.model_failure import ModelStopped, sentence
from phaseloop.core.errors import WrongUse
from phaseloop.core.limits import Limits
from phaseloop.core.paths import is_object

MAX_CALLS = 32  # live model calls of one process: contract section 8
TRANSIENT_STATUS = frozenset({408, 409, 425, 429})
NEVER_RETRIED = ("insufficient_quota", "billing_hard_limit", "credit_balance")
"""Codes of a 429 that waiting does not mend."""
TEXT_DEFAULTS: dict[str, bool] = {"native_tools": False, "native_json": False, "seed": False}


class Slots:
    """At most `count` holders at a time, over all loops and threads of the process, in order of arrival."""

    def __init__(self, count: int) -> None:
        self._free = count
        self._lock = threading.Lock()
        self._waiting: deque[tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = deque()

    @asynccontextmanager
    async def hold(self) -> AsyncGenerator[None]:
        """Wait for a slot and keep it inside the block."""
        await self._take()
        try:
            yield
        finally:
            self._give()

    async def _take(self) -> None:
        loop = asyncio.get_running_loop()
        with self._lock:
            if self._free > 0:
                self._free -= 1
                return
            turn: asyncio.Future[None] = loop.create_future()
            entry = (loop, turn)
            self._waiting.append(entry)
        try:
            await turn
        except asyncio.CancelledError:
            with self._lock:
                waiting = entry in self._waiting
                if waiting:
                    self._waiting.remove(entry)
            if not waiting:
                self._give()  # the slot was already on its way to this task
            raise

    def _give(self) -> None:
        with self._lock:
            while self._waiting:
                loop, turn = self._waiting.popleft()
                try:
                    loop.call_soon_threadsafe(_wake, turn)
                except RuntimeError:
                    continue  # that loop was closed while its task waited
                return
            self._free += 1


SLOTS = Slots(MAX_CALLS)
LIMITS = Limits()


class PatientModel(WrapperModel):
    """A model whose calls are limited in time and number, and tried again when the way to it was at fault.

    The only place where a model call is repeated: the provider's own retries are off. Four attempts,
    waits of 1, 2 and 4 s (contract section 7). Raises `ModelStopped`.
    """

    def __init__(
        self,
        wrapped: Model,
        limits: Limits = LIMITS,
        slots: Slots = SLOTS,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        super().__init__(wrapped)
        self._limits = limits
        self._slots = slots
        self._sleep = sleep

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """One reply, after at most `transport_attempts` requests."""
        settings: ModelSettings = {"max_retries": 0, **(model_settings or {})}
        attempt = 0
        while True:
            attempt += 1
            try:
                async with self._slots.hold():
                    return await self._once(messages, settings, model_request_parameters)
            except (AgentRunError, UserError) as error:
                if attempt >= self._limits.transport_attempts or not transient(error):
                    raise ModelStopped(explained(self.model_id, error, attempt)) from error
                waits = self._limits.backoff_seconds
                await self._sleep(waits[min(attempt, len(waits)) - 1])

    async def _once(
        self, messages: list[ModelMessage], settings: ModelSettings, parameters: ModelRequestParameters
    ) -> ModelResponse:
        seconds = self._limits.model_seconds
        deadline = asyncio.timeout(seconds)
        try:
            async with deadline:
                return await self.wrapped.request(messages, settings, parameters)
        except TimeoutError as error:
            if not deadline.expired():
                raise
            raise ModelStopped(f"model {self.model_id} gave no answer within {seconds:g} s", "timeout") from error


def build_model(name: str, limits: Limits = LIMITS) -> PatientModel:
    """The model that `provider:name` names, in pydantic-ai's form.

    `OPENAI_BASE_URL` is honoured; with it `openai:` speaks the chat completions API, which is what
    other servers understand. Raises `WrongUse` when there is no such provider, its package is missing
    or its key is not set.
    """
    provider, found, model_name = name.partition(":")
    if not (found and provider and model_name):
        raise WrongUse(f"model {name!r} has no provider: write provider:name, for example openai:gpt-5-mini")
    chat = provider == "openai" and os.environ.get("OPENAI_BASE_URL")
    try:
        return PatientModel(infer_model(f"openai-chat:{model_name}" if chat else name), limits)
    except ImportError as error:
        raise WrongUse(f"model {name!r} needs a package that is not installed: {sentence(str(error))}") from error
    except (UserError, ValueError) as error:
        raise WrongUse(f"model {name!r} cannot be used: {sentence(str(error))}") from error


def describe_model(name: str) -> dict[str, bool]:
    """What `name` is known to do: `native_tools`, `native_json` (a reply bound to a JSON schema), `seed`.

    Careful by default: a server behind `OPENAI_BASE_URL` and an unknown provider are asked in the prompt,
    and tool calls written as text are always understood.
    """
    provider = name.partition(":")[0]
    if provider in ("openai", "openai-chat", "openai-responses") and not os.environ.get("OPENAI_BASE_URL"):
        return {"native_tools": True, "native_json": True, "seed": provider == "openai-chat"}
    if provider in ("anthropic", "google", "google-cloud", "bedrock", "mistral", "groq"):
        return {**TEXT_DEFAULTS, "native_tools": True}
    return {**TEXT_DEFAULTS, "seed": provider in ("openai", "openai-chat", "ollama")}


def transient(error: Exception) -> bool:
    """Whether the same request may succeed a little later: no connection, 408, 409, 425, 429, 5xx."""
    if isinstance(error, ModelHTTPError):
        if any(code in str(error.body) for code in NEVER_RETRIED):
            return False
        return error.status_code in TRANSIENT_STATUS or error.status_code >= 500
    return isinstance(error, ModelAPIError)


def explained(model: str, error: Exception, attempts: int) -> str:
    """What went wrong with a model call, in one sentence."""
    tries = f" after {attempts} attempts" if attempts > 1 else ""
    if isinstance(error, ModelHTTPError):
        told = sentence(_message_of(error.body))
        return f"model {model} answered with HTTP {error.status_code}{tries}: {told}"
    return f"model {model} failed{tries}: {sentence(getattr(error, 'message', '') or str(error))}"


def _message_of(body: object) -> str:
    if is_object(body):
        inner = body.get("error", body)
        if is_object(inner):
            return str(inner.get("message") or inner)
        return str(inner)
    return str(body or "no reason given")


def _wake(turn: asyncio.Future[None]) -> None:
    if not turn.done():
        turn.set_result(None)
