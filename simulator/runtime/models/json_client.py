"""Asks a model for JSON outside of any turn: with time limits, visible retries, one repair, and a reason if all fails."""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections.abc import Awaitable, Callable
from typing import Literal, NamedTuple, TypeAlias

from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.genai import types
from pydantic import Field

from simulator.base.frozen_value import Value
from simulator.base.json_values import Json
from simulator.base.secret_masking import redacted, secrets_of
from simulator.environment.prompts.json_answers import AnswerSchema, ReadAnswer, read_answer
from simulator.environment.prompts.model_prompts import repair_prompt
from simulator.runtime.adk.cancellation import TimeIsUpError, apart
from simulator.runtime.models.model_requests import (
    CUT_OFF,
    Heard,
    ModelFailure,
    ModelUnavailableError,
    RequestFeatures,
    Tokens,
    asking,
    failure_of,
    heard_from,
    own_model,
    with_less,
)

What: TypeAlias = Literal["asked", "repair", "retry"]
"""Why a model was asked: for the answer, for a better one, or again, as it could not be heard."""

_MOST_TOLD = 3


_LOG = logging.getLogger(__name__)


class RequestAttempt(Value):
    """One request to a model. `started` is in seconds since the epoch; `sent` says how it asked for JSON."""

    what: What
    sent: str
    started: float
    seconds: float
    outcome: str
    tokens: Tokens = Field(default_factory=Tokens)


class RequestProgress(Value):
    """The progress of a request, in words; `waits` is how long nothing will happen, in seconds."""

    text: str
    at: float
    waits: float | None = None


class JsonAnswer(Value):
    """A model's answer in JSON, or the reason why there is none. `reason` is empty if `value` stands; `problems` are those of the last answer."""

    value: Json = None
    problems: tuple[str, ...] = ()
    reason: str = ""
    model: str = ""
    attempts: tuple[RequestAttempt, ...] = ()
    seconds: float = 0.0
    tokens: Tokens = Field(default_factory=Tokens)


class Timeouts(Value):
    """The limits of waiting for a model: seconds for one request, and for a provider that asks to come again later."""

    timeout_seconds: float = Field(default=60.0, gt=0, le=3_600)
    retries: int = Field(default=2, ge=0, le=10)
    retry_delay: float = Field(default=1.0, ge=0, le=60)
    longest_wait: float = Field(default=30.0, ge=0, le=600)


class ClientHooks(NamedTuple):
    """The hooks of a request into its surroundings: the time in seconds since the epoch, who is told, and how to wait."""

    clock: Callable[[], float]
    on_progress: Callable[[RequestProgress], None]
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep


class JsonQuestion(NamedTuple):
    """A question to a model that is answered in JSON: `prompt` is made in a worker thread, as it can take a while."""

    prompt: Callable[[], str]
    schema: AnswerSchema
    model: str | BaseLlm
    configuration: types.GenerateContentConfig | None = None


async def ask_for_json(question: JsonQuestion, patience: Timeouts, ways: ClientHooks) -> JsonAnswer:
    """Ask; return the answer, or the reason why there is none.

    Everything happens in a context of its own: no seat, no plugin and no provider of ids and times of a turn in
    progress has a part in it.

    Raises:
        asyncio.CancelledError: The caller was cancelled; the request is given up at once.
    """
    return await apart(_Asking(question, patience, ways).whole(), context=contextvars.Context())


class _GivenUpError(Exception):
    """There is no answer to be had; the text says why."""


class _Asking:
    """One question on its way."""

    def __init__(self, question: JsonQuestion, patience: Timeouts, ways: ClientHooks) -> None:
        self._question = question
        self._patience = patience
        self._ways = ways
        self._wish = RequestFeatures()
        self._retries_left = patience.retries
        self._attempts: list[RequestAttempt] = []
        self._problems: tuple[str, ...] = ()
        model = question.model
        self._name = model if isinstance(model, str) else model.model
        self._secrets: tuple[str, ...] = ()

    async def whole(self) -> JsonAnswer:
        """Return what becomes of the question; never raises, but for its cancellation."""
        started = self._ways.clock()
        value: Json = None
        reason = ""
        try:
            value = await self._answer()
        except (ModelUnavailableError, _GivenUpError) as error:
            reason = redacted(str(error), self._secrets)
        except Exception as error:  # noqa: BLE001 - whatever a model's class does, the run goes on with the offline draft
            reason = self._failure(error).words
        tokens = Tokens()
        for attempt in self._attempts:
            tokens = tokens.plus(attempt.tokens)
        seconds = self._ways.clock() - started
        self._tell(
            f"no response from {self._name}: {reason}" if reason else f"response after {seconds:.1f} s"
        )
        return JsonAnswer(
            value=None if reason else value,
            problems=self._problems,
            reason=reason,
            model=self._name,
            attempts=tuple(self._attempts),
            seconds=seconds,
            tokens=tokens,
        )

    async def _answer(self) -> Json:
        model = await own_model(self._question.model)
        settings = self._question.configuration and self._question.configuration.http_options
        self._secrets = secrets_of(
            getattr(model, "client_kwargs", None),
            getattr(model, "_additional_args", None),
            settings.headers if settings else None,
        )
        prompt = await asyncio.to_thread(self._question.prompt)
        heard = await self._ask(model, prompt, "asked")
        read = await self._read(heard)
        if read.problems and heard.stopped not in {"", CUT_OFF}:
            raise _GivenUpError(f"the model stopped early: {heard.stopped}")
        if read.problems:
            self._tell(f"the response cannot be used ({_in_short(read.problems)}), asking once more")
            heard = await self._ask(model, repair_prompt(prompt, heard.text, read.problems), "repair")
            read = await self._read(heard)
        if read.problems:
            raise _GivenUpError(
                f"the model's second response cannot be used either: {_in_short(read.problems)}"
            )
        return read.value

    async def _read(self, heard: Heard) -> ReadAnswer:
        read = await asyncio.to_thread(read_answer, heard.text, self._question.schema)
        self._problems = read.problems
        if read.problems:
            if heard.stopped == CUT_OFF:
                cut = (
                    "the answer reached the model's limit of tokens and was cut off; a shorter one is needed"
                )
                self._problems = (cut, *read.problems)
            self._note(f"cannot be used: {_in_short(self._problems)}")
        return read.model_copy(update={"problems": self._problems})

    async def _ask(self, model: BaseLlm, prompt: str, what: Literal["asked", "repair"]) -> Heard:
        """Ask until there is an answer, be it of use or not."""
        kind: What = what
        self._tell(f"asking {self._name}" + (" to fix its response" if what == "repair" else ""))
        while True:
            question = self._question
            request, sent = asking(model, prompt, question.schema, question.configuration, self._wish)
            heard = await self._try(model, request, kind, sent)
            if isinstance(heard, Heard):
                return heard
            kind = "retry"
            await self._before_another(heard)

    async def _try(self, model: BaseLlm, request: LlmRequest, what: What, sent: str) -> Heard | ModelFailure:
        started = self._ways.clock()
        heard: Heard | None = None
        failure: ModelFailure | None = None
        try:
            heard = await apart(heard_from(model, request), seconds=self._patience.timeout_seconds)
        except Exception as error:  # noqa: BLE001 - a client may raise anything; what it was is told
            failure = self._failure(error)
        refused = heard.stopped if heard and not heard.text and heard.stopped != CUT_OFF else ""
        self._attempts.append(
            RequestAttempt(
                what=what,
                sent=sent,
                started=started,
                seconds=self._ways.clock() - started,
                outcome=failure.words if failure else f"refused: {refused}" if refused else "answered",
                tokens=heard.tokens if heard else Tokens(),
            )
        )
        if refused:
            raise _GivenUpError(f"the model refused to answer: {refused}")
        return heard or failure or ModelFailure("no response")

    async def _before_another(self, failure: ModelFailure) -> None:
        """Wait as long as is right before the next try, or give up."""
        if failure.again:
            await self._wait(failure)
            return
        less = with_less(self._wish, failure.status, failure.words)
        if less is None:
            raise _GivenUpError(failure.words)
        gone = next(name for name in less._fields if getattr(less, name) != getattr(self._wish, name))
        self._wish = less
        self._tell(f"{failure.words}; asking without {gone.replace('_', ' ')}")

    async def _wait(self, failure: ModelFailure) -> None:
        patience = self._patience
        if not self._retries_left:
            tried = f" ({patience.retries + 1} attempts)" if patience.retries else ""
            raise _GivenUpError(f"{failure.words}{tried}")
        number = patience.retries - self._retries_left
        seconds = patience.retry_delay * 2**number if failure.wait is None else failure.wait
        if seconds > patience.longest_wait:
            raise _GivenUpError(
                f"{failure.words}; the provider asks to wait {seconds:,.0f} s, but the limit is {patience.longest_wait:g} s"
            )
        self._retries_left -= 1
        told = f"{failure.words}, trying again in {seconds:g} s ({number + 1} of {patience.retries})"
        self._tell(told, waits=seconds)
        await self._ways.sleep(seconds)

    def _failure(self, error: Exception) -> ModelFailure:
        failure = failure_of(error, now=self._ways.clock(), secrets=self._secrets or secrets_of())
        return failure._replace(words=str(error)) if isinstance(error, TimeIsUpError) else failure

    def _note(self, outcome: str) -> None:
        self._attempts[-1] = self._attempts[-1].model_copy(update={"outcome": outcome})

    def _tell(self, text: str, *, waits: float | None = None) -> None:
        try:
            self._ways.on_progress(RequestProgress(text=text, at=self._ways.clock(), waits=waits))
        except Exception:  # noqa: BLE001 - a listener's mistake is no reason to lose an answer
            _LOG.exception("A progress listener failed")


def _in_short(problems: tuple[str, ...]) -> str:
    more = len(problems) - _MOST_TOLD
    return "; ".join((*problems[:_MOST_TOLD], *([f"and {more} more"] if more > 0 else [])))
