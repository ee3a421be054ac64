"""Makes the user's next message: the next one of a script, or what ADK's user simulator says, with visible retries."""

from __future__ import annotations

import asyncio
import contextvars
import importlib
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from google.adk.events.event import Event
from google.adk.models.base_llm import BaseLlm

from simulator.facts import UserStatus
from simulator.jsonvalue import JsonObject, copied
from simulator.masking import redacted, secrets_of
from simulator.runtime.apart import TimeIsUpError, apart
from simulator.runtime.model_asking import Patience
from simulator.runtime.model_failures import Failure, failure_of
from simulator.runtime.model_requests import ModelUnavailableError, own_model
from simulator.session.user import UserSeat

PATIENCE = Patience()
"""How long a model in the user's seat is waited for, and how often it is asked again."""

_DEFAULT_MODEL = "gemini-2.5-flash"


_DONE = "The plan is done: the model gave its stop signal."
_DROPPED = "ADK drops what it said beside the signal; send it to keep it."


class Conversation(NamedTuple):
    """What the next message depends on: who sits there, what ADK recorded so far, and models by their names; `own` holds a simulator of one's own."""

    seat: UserSeat
    events: tuple[Event, ...]
    models: Mapping[str, BaseLlm]
    own: dict[str, Any] | None = None


class Made(NamedTuple):
    """What became of the next message. `by` names who made it: a model, or `script`, `recording` or `scenario`.

    With another status than `success` the message is what was said beside the end, if anything.
    """

    status: UserStatus
    by: str
    message: JsonObject | None = None
    reason: str = ""


async def next_message(
    conversation: Conversation,
    told: Callable[[str], None],
    clock: Callable[[], float],
    patience: Patience | None = None,
) -> Made:
    """Make the next message, or say why there is none; raises nothing of its own but a cancellation.

    Args:
        conversation: What it depends on.
        told: Is told in words what goes on.
        clock: Gives the time in seconds since the epoch.
        patience: How long a model is waited for; `PATIENCE` by default.
    """
    seat = conversation.seat
    if seat.is_over:
        return Made("stop_signal_detected", seat.player, reason="The message before was the last one.")
    if seat.player != "scenario":
        return _of_script(seat)
    if seat.left == 0:
        return Made(
            "turn_limit_reached", "scenario", reason=f"All {seat.limit} messages of the limit were said."
        )
    if seat.own_simulator:
        return await _of_own_simulator(conversation, told, patience or PATIENCE)
    if seat.said == 0:
        prompt = str((seat.scenario or {}).get("starting_prompt") or "")
        return Made("success", "scenario", {"role": "user", "parts": [{"text": prompt}]})
    return await _Asking(conversation, told, clock, patience or PATIENCE).whole()


def _of_script(seat: UserSeat) -> Made:
    if seat.said >= len(seat.script):
        return Made("stop_signal_detected", seat.player, reason=f"All {len(seat.script)} messages were said.")
    return Made("success", seat.player, copied(seat.script[seat.said]))


async def _of_own_simulator(
    conversation: Conversation, told: Callable[[str], None], patience: Patience
) -> Made:
    """Ask a user simulator of one's own; an error is told in words."""
    seat = conversation.seat
    name = seat.own_simulator.replace(":", ".").rpartition(".")[2]
    told(f"asking {name}")
    adk: Any = await asyncio.to_thread(importlib.import_module, "simulator.runtime.adk_user")
    kept = {} if conversation.own is None else conversation.own
    own = kept.setdefault("simulator", adk.OwnSimulator())
    try:
        said = await apart(
            own.ask(seat.scenario, seat.config, seat.said, list(conversation.events)),
            seconds=patience.timeout_seconds,
            context=contextvars.Context(),
        )
    except Exception as error:  # noqa: BLE001 - somebody's simulator may raise anything; what it was is told
        return Made("failed", name, reason=redacted(f"{type(error).__name__}: {error}", secrets_of()))
    if said.user_message is None:
        return Made(said.status.value, name, reason=f"{name} says no more: {said.status.value}.")
    content: JsonObject = said.user_message.model_dump(mode="json", exclude_none=True)
    return Made("success", name, {"role": "user", **content})


class _Asking:
    """One message of a scenario on its way."""

    def __init__(
        self,
        conversation: Conversation,
        told: Callable[[str], None],
        clock: Callable[[], float],
        patience: Patience,
    ) -> None:
        self._conversation, self._told, self._clock, self._patience = conversation, told, clock, patience
        named = conversation.seat.config.get("model", _DEFAULT_MODEL)
        self._name = str(named or "")
        self._secrets: tuple[str, ...] = secrets_of()

    async def whole(self) -> Made:
        if not self._name:
            return self._failed("No model is set for the scenario, so a person says what comes next.")
        self._told(f"asking {self._name}")
        try:
            model = await own_model(self._conversation.models.get(self._name, self._name))
        except ModelUnavailableError as error:
            return self._failed(redacted(str(error), self._secrets))
        self._secrets = secrets_of(
            getattr(model, "client_kwargs", None), getattr(model, "_additional_args", None)
        )
        # ADK's evaluation takes more than a second to import: other sessions go on meanwhile.
        adk: Any = await asyncio.to_thread(importlib.import_module, "simulator.runtime.adk_user")
        words = ""
        for number in range(self._patience.retries + 1):
            said = await self._try(adk, model)
            if isinstance(said, Made):
                return said
            words = said.words
            if not said.again:
                return self._failed(words)
            waits = self._patience.retry_delay * 2**number if said.wait is None else said.wait
            if waits > self._patience.longest_wait:
                return self._failed(
                    f"{said.words}; it asks to wait {waits:,.0f} s, longer than {self._patience.longest_wait:g} s"
                )
            if number < self._patience.retries:
                again = f"({number + 1} of {self._patience.retries})"
                self._told(f"{said.words}, trying again in {waits:g} s {again}")
                await asyncio.sleep(waits)
        return self._failed(f"{words}, {self._patience.retries + 1} times")

    async def _try(self, adk: Any, model: BaseLlm) -> Made | Failure:
        seat, events = self._conversation.seat, list(self._conversation.events)
        try:
            said = await apart(
                adk.ask(seat.scenario, seat.config, model, seat.said, events),
                seconds=self._patience.timeout_seconds,
                context=contextvars.Context(),
            )
        except TimeIsUpError as error:
            return Failure(str(error), again=True)
        except Exception as error:  # noqa: BLE001 - a client may raise anything; what it was is told
            failure = failure_of(error, now=self._clock(), secrets=self._secrets)
            return failure._replace(again=failure.again or adk.is_empty(error))
        text = said.beside
        content: JsonObject | None = {"role": "user", "parts": [{"text": text}]} if text else None
        reason = "" if said.status == "success" else _DONE if content is None else f"{_DONE} {_DROPPED}"
        return Made(said.status, self._name, content, reason)

    def _failed(self, reason: str) -> Made:
        return Made("failed", self._name or "scenario", reason=reason)
