"""Asks the user's player for the next message on its turn, next to the commands of a person."""

from __future__ import annotations

import asyncio
import contextvars
import importlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from google.adk.events.event import Event
from google.adk.models.base_llm import BaseLlm
from pydantic import ValidationError

from simulator.base.json_values import JsonObject, copied, same
from simulator.base.model_settings import GivenSettings
from simulator.base.secret_masking import error_words, redacted, secrets_of
from simulator.facts import (
    ConversationEnded,
    Provenance,
    TurnStarted,
    UserProposed,
    UserSeated,
    UserStatus,
)
from simulator.runtime.adk.cancellation import TimeIsUpError, apart, cancelled
from simulator.runtime.adk.codec import whole, whole_text
from simulator.runtime.errors import SimulationError, ends_the_work
from simulator.runtime.models.json_client import Timeouts
from simulator.runtime.models.model_requests import ModelFailure, ModelUnavailableError, failure_of, own_model
from simulator.session import IllegalFactError
from simulator.session.model import UserSeat

if TYPE_CHECKING:
    from simulator.runtime.session_engine import Engine


_AGAIN = frozenset({"failed", "stopped"})


class UserAtWork:
    """What the user's player is at; everything that lasts is in the journal.

    `models` are objects that were given under their names, `given` the configurations that code of this process gave, `own` holds the user simulator of one's own that speaks, `progress` says what goes on, `since` is when it began.
    """

    def __init__(self) -> None:
        self.models: dict[str, BaseLlm] = {}
        self.given = GivenSettings()
        self.own: dict[str, Any] = {}
        self.progress = ""
        self.since = 0.0
        self.is_open = False
        self.came_back_to: tuple[int, int] | None = None
        self.is_let = False
        self.task: asyncio.Task[None] | None = None
        self.sends = False

    @property
    def speaks(self) -> bool:
        """Whether a message is being made or sent."""
        return self.task is not None

    async def close(self) -> None:
        """End what goes on, but for the one who closes."""
        if self.task is not asyncio.current_task():
            self.is_open = False
            if self.task is not None and self.sends:
                await asyncio.wait({self.task})  # a turn that has half begun would have to be repaired
            task, self.task = self.task, None
            await cancelled(task)


def look(engine: Engine) -> None:
    """Let the user's player speak if it is their turn and nobody has to agree first; called where no turn runs."""
    work = engine.user
    if work.is_open and work.task is None and _is_due(engine):
        work.is_let, work.came_back_to = False, None
        work.since, work.progress = engine.now(), ""
        work.task = asyncio.get_running_loop().create_task(_speak(engine), context=contextvars.Context())


async def sit(engine: Engine, player: str, **fields: Any) -> None:
    """Let somebody else speak for the user; what the one before was at is over.

    Raises:
        SimulationError: There is no such player.
    """
    try:
        fact = UserSeated.model_validate({**fields, "at": engine.now(), "player": player})
    except ValidationError as error:
        raise SimulationError(f"{player!r} cannot play the user") from error
    await engine.user.close()
    engine.user.is_open = True
    engine.append(fact)
    let_speak(engine)
    engine.changed()


async def end(engine: Engine, *, over: bool) -> None:
    """End the conversation, and what the user's player is at; or let it go on.

    Raises:
        IllegalFactError: There is no final response, or it has been said before.
    """
    fact = ConversationEnded(at=engine.now(), over=over)
    engine.journal.fold.forked().take(len(engine.journal), fact)  # what cannot follow stops nobody
    await engine.user.close()
    engine.user.is_open = True
    engine.append(fact)
    engine.changed()


def let_speak(engine: Engine) -> None:
    """Let the player speak here, once, whatever held it back: a failure, a stop, that a person came back."""
    engine.user.is_let, engine.user.came_back_to = True, None


def _is_due(engine: Engine) -> bool:
    fold, work = engine.journal.fold, engine.user
    user = fold.user
    if (
        user.player == "person"
        or user.ended
        or user.is_by_hand
        or fold.is_running
        or fold.asks_the_user
        or engine.divergence is not None
    ):
        return False
    if not work.is_let and holds_back(engine):
        return False
    proposed = user.proposed
    if proposed is None or (work.is_let and proposed.status in _AGAIN):
        return True
    return not user.hold and is_sent(proposed)


def is_sent(proposed: UserProposed) -> bool:
    """Return whether a message goes out by itself: one beside the stop signal ADK drops, unless a person keeps it."""
    return proposed.message is not None and proposed.status == "success"


def holds_back(engine: Engine) -> str:
    """Return why the player does not speak by themselves here; empty where nothing holds them back."""
    fold = engine.journal.fold
    if engine.user.came_back_to == (fold.turns_so_far, fold.answers_in_turn):
        return "You went back to this step, so the next message waits for you."
    last = fold.last_turn
    if last is not None and last.stopped:
        return "You stopped the previous turn."
    if last is not None and last.error is not None:
        return f"The previous turn ended with an error: {last.error.short_type}: {last.error.message}"
    return ""


async def _speak(engine: Engine) -> None:
    """Make the next message, and send it where it need not wait for a person."""
    work = engine.user
    try:
        proposed = engine.journal.fold.user.proposed
        if proposed is None or proposed.status in _AGAIN:
            proposed = await _made(engine)
            engine.append(proposed)
        user = engine.journal.fold.user
        if is_sent(proposed) and proposed.message is not None and not user.hold:
            work.sends = True
            await engine.start_turn(_turn(engine, user, proposed.message))
    except (IllegalFactError, SimulationError) as error:
        engine.problems.append(f"the user's next message was not sent: {error}")
    finally:
        work.sends = False
        if work.task is asyncio.current_task():  # else somebody has closed it
            work.task, work.progress = None, ""
            engine.changed()


async def _made(engine: Engine) -> UserProposed:
    fold, work = engine.journal.fold, engine.user

    def told(text: str) -> None:
        work.progress = text
        engine.noticed()

    turn = fold.turns_so_far
    try:
        made = await next_message(_conversation(engine), told, engine.now)
    except BaseException as error:
        if ends_the_work(error):
            raise
        reason = whole_text(error_words(error))
        return UserProposed(at=engine.now(), turn=turn, status="failed", by=fold.user.player, reason=reason)
    return UserProposed(
        at=engine.now(),
        turn=turn,
        message=whole(made.message),
        status=made.status,
        by=made.by,
        reason=whole_text(made.reason),
    )


def _conversation(engine: Engine) -> UserMessageContext:
    path = engine.journal.path()
    events = [
        event
        for number, fact in path
        if fact.kind == "turn_ended"
        for event in engine.events_of(number, fact)
    ]
    seat, work = engine.journal.fold.user, engine.user
    asked = seat.model_copy(update={"config": work.given.whole(seat.config)})
    return UserMessageContext(seat=asked, events=tuple(events), models=work.models, own=work.own)


def _turn(engine: Engine, user: UserSeat, message: JsonObject) -> TurnStarted:
    return TurnStarted(
        at=engine.now(),
        turn=engine.journal.fold.turns_so_far,
        message=message,
        provenance=provenance_of(user),
    )


def provenance_of(user: UserSeat) -> Provenance:
    """Say who made the message that waits."""
    if user.player == "recording":
        return Provenance(source="recorded", by="recording")
    by = user.proposed.by if user.proposed is not None else user.player
    return Provenance(source="generated" if by not in {"script", "scenario"} else "written", by=by)


def author_of(engine: Engine, message: JsonObject) -> Provenance | None:
    """Say who made a message that a person sends: who proposed it, the person, or None where nobody else could have."""
    user = engine.journal.fold.user
    if user.player == "person":
        return None
    is_held = user.proposed is not None and user.proposed.message is not None
    if is_held and user.proposed is not None and same(message, user.proposed.message):
        return provenance_of(user)
    return Provenance(source="written")


def said_by(name: str) -> dict[str, Provenance]:
    """Return the field of a turn that names who said it; none where nobody is named."""
    return {"provenance": Provenance(source="written", by=name)} if name else {}


async def still(engine: Engine) -> bool:
    """Stop what the user's player is at; False where it is at nothing that can be stopped, or has just let a turn begin."""
    work, user = engine.user, engine.journal.fold.user
    if work.task is None:
        return False
    if work.sends:
        await asyncio.wait({work.task})
        return False
    await work.close()
    work.is_open, work.progress = True, ""
    engine.append(
        UserProposed(
            at=engine.now(),
            turn=engine.journal.fold.turns_so_far,
            status="stopped",
            by=user.player,
            reason="Generation was stopped.",
        )
    )
    engine.changed()
    return True


# Makes the user's next message: the next one of a script, or what ADK's user simulator says, with visible retries.


PATIENCE = Timeouts()
"""How long a model in the user's seat is waited for, and how often it is asked again."""

_DEFAULT_MODEL = "gemini-2.5-flash"


_DONE = "The plan is complete: the model sent its stop signal."
_DROPPED = "ADK discards the text sent with the signal. Send it to keep it."


class UserMessageContext(NamedTuple):
    """The context of the user's next message: who sits there, what ADK recorded so far, and models by their names; `own` holds a simulator of one's own."""

    seat: UserSeat
    events: tuple[Event, ...]
    models: Mapping[str, BaseLlm]
    own: dict[str, Any] | None = None


class UserMessageResult(NamedTuple):
    """The outcome of making the user's next message. `by` names who made it: a model, or `script`, `recording` or `scenario`.

    With another status than `success` the message is what was said beside the end, if anything.
    """

    status: UserStatus
    by: str
    message: JsonObject | None = None
    reason: str = ""


async def next_message(
    conversation: UserMessageContext,
    told: Callable[[str], None],
    clock: Callable[[], float],
    patience: Timeouts | None = None,
) -> UserMessageResult:
    """Make the next message, or say why there is none; raises nothing of its own but a cancellation.

    Args:
        conversation: What it depends on.
        told: Is told in words what goes on.
        clock: Gives the time in seconds since the epoch.
        patience: How long a model is waited for; `PATIENCE` by default.
    """
    seat = conversation.seat
    if seat.is_over:
        return UserMessageResult(
            "stop_signal_detected", seat.player, reason="The previous message was the last one."
        )
    if seat.player != "scenario":
        return _of_script(seat)
    if seat.left == 0:
        return UserMessageResult(
            "turn_limit_reached", "scenario", reason=f"The message limit of {seat.limit} is reached."
        )
    if seat.own_simulator:
        return await _of_own_simulator(conversation, told, patience or PATIENCE)
    if seat.said == 0:
        prompt = str((seat.scenario or {}).get("starting_prompt") or "")
        return UserMessageResult("success", "scenario", {"role": "user", "parts": [{"text": prompt}]})
    return await _Asking(conversation, told, clock, patience or PATIENCE).whole()


def _of_script(seat: UserSeat) -> UserMessageResult:
    if seat.said >= len(seat.script):
        return UserMessageResult(
            "stop_signal_detected",
            seat.player,
            reason=f"All messages were sent ({len(seat.script)} of {len(seat.script)}).",
        )
    return UserMessageResult("success", seat.player, copied(seat.script[seat.said]))


async def _of_own_simulator(
    conversation: UserMessageContext, told: Callable[[str], None], patience: Timeouts
) -> UserMessageResult:
    """Ask a user simulator of one's own; an error is told in words."""
    seat = conversation.seat
    name = seat.own_simulator.replace(":", ".").rpartition(".")[2]
    told(f"asking {name}")
    adk: Any = await asyncio.to_thread(importlib.import_module, ".adk.user_simulator", __package__)
    kept = {} if conversation.own is None else conversation.own
    own = kept.setdefault("simulator", adk.OwnSimulator())
    try:
        said = await apart(
            own.ask(seat.scenario, seat.config, seat.said, list(conversation.events)),
            seconds=patience.timeout_seconds,
            context=contextvars.Context(),
        )
    except Exception as error:  # noqa: BLE001 - somebody's simulator may raise anything; what it was is told
        return UserMessageResult("failed", name, reason=error_words(error))
    if said.user_message is None:
        return UserMessageResult(
            said.status.value, name, reason=f"{name} sent no message: {said.status.value}."
        )
    content: JsonObject = said.user_message.model_dump(mode="json", exclude_none=True)
    return UserMessageResult("success", name, {"role": "user", **content})


class _Asking:
    """One message of a scenario on its way."""

    def __init__(
        self,
        conversation: UserMessageContext,
        told: Callable[[str], None],
        clock: Callable[[], float],
        patience: Timeouts,
    ) -> None:
        self._conversation, self._told, self._clock, self._patience = conversation, told, clock, patience
        named = conversation.seat.config.get("model", _DEFAULT_MODEL)
        self._name = str(named or "")
        self._secrets: tuple[str, ...] = secrets_of()

    async def whole(self) -> UserMessageResult:
        self._told(f"asking {self._name}")
        try:
            model = await own_model(self._conversation.models.get(self._name, self._name))
        except ModelUnavailableError as error:
            return self._failed(redacted(str(error), self._secrets))
        self._secrets = secrets_of(
            getattr(model, "client_kwargs", None), getattr(model, "_additional_args", None)
        )
        # ADK's evaluation takes more than a second to import: other sessions go on meanwhile.
        adk: Any = await asyncio.to_thread(importlib.import_module, ".adk.user_simulator", __package__)
        words = ""
        for number in range(self._patience.retries + 1):
            said = await self._try(adk, model)
            if isinstance(said, UserMessageResult):
                return said
            words = said.words
            if not said.again:
                return self._failed(words)
            waits = self._patience.retry_delay * 2**number if said.wait is None else said.wait
            if waits > self._patience.longest_wait:
                return self._failed(
                    f"{said.words}; the provider asks to wait {waits:,.0f} s, but the limit is {self._patience.longest_wait:g} s"
                )
            if number < self._patience.retries:
                again = f"({number + 1} of {self._patience.retries})"
                self._told(f"{said.words}, trying again in {waits:g} s {again}")
                await asyncio.sleep(waits)
        attempts = self._patience.retries + 1
        return self._failed(f"{words} ({attempts} attempt{'s' if attempts > 1 else ''})")

    async def _try(self, adk: Any, model: BaseLlm) -> UserMessageResult | ModelFailure:
        seat, events = self._conversation.seat, list(self._conversation.events)
        try:
            said = await apart(
                adk.ask(seat.scenario, seat.config, model, seat.said, events),
                seconds=self._patience.timeout_seconds,
                context=contextvars.Context(),
            )
        except TimeIsUpError as error:
            return ModelFailure(str(error), again=True)
        except Exception as error:  # noqa: BLE001 - a client may raise anything; what it was is told
            failure = failure_of(error, now=self._clock(), secrets=self._secrets)
            return failure._replace(again=failure.again or adk.is_empty(error))
        text = said.beside
        content: JsonObject | None = {"role": "user", "parts": [{"text": text}]} if text else None
        reason = "" if said.status == "success" else _DONE if content is None else f"{_DONE} {_DROPPED}"
        return UserMessageResult(said.status, self._name, content, reason)

    def _failed(self, reason: str) -> UserMessageResult:
        return UserMessageResult("failed", self._name, reason=reason)
