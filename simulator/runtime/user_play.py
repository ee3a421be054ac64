"""Lets whoever sits in the user's seat speak when it is their turn, beside the commands of a person."""

from __future__ import annotations

import asyncio
import contextvars
from typing import TYPE_CHECKING, Any

from google.adk.models.base_llm import BaseLlm
from pydantic import ValidationError

from simulator.facts import ConversationEnded, Provenance, TurnStarted, UserPlayer, UserProposed, UserSeated
from simulator.jsonvalue import JsonObject, same
from simulator.runtime.encoding import whole, whole_text
from simulator.runtime.ending import cancelled
from simulator.runtime.errors import SimulationError, ends_the_work
from simulator.runtime.user_messages import Conversation, next_message
from simulator.session import IllegalFactError
from simulator.session.user import UserSeat

if TYPE_CHECKING:
    from simulator.runtime.engine import Engine

_AGAIN = frozenset({"failed", "stopped"})


class UserAtWork:
    """What the user's player is at; everything that lasts is in the journal.

    `models` are objects that were given under their names, `own` holds the user simulator of one's own that speaks, `progress` says what goes on, `since` is when it began.
    """

    def __init__(self) -> None:
        self.models: dict[str, BaseLlm] = {}
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
                await asyncio.wait({self.task})  # a turn that has half begun would have to be mended
            task, self.task = self.task, None
            await cancelled(task)


def look(engine: Engine) -> None:
    """Let the user's player speak if it is their turn and nobody has to agree first."""
    work = engine.user
    if work.is_open and work.task is None and engine.run is None and _is_due(engine):
        work.is_let, work.came_back_to = False, None
        work.since, work.progress = engine.now(), ""
        work.task = asyncio.get_running_loop().create_task(_speak(engine), context=contextvars.Context())


async def sit(engine: Engine, player: UserPlayer, **fields: Any) -> None:
    """Let somebody else speak for the user; what the one before was at is over.

    Raises:
        SimulationError: There is no such player.
    """
    try:
        fact = UserSeated(at=engine.now(), player=player, **fields)
    except ValidationError as error:
        raise SimulationError(f"{player!r} cannot speak for the user") from error
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
    engine.journal.fold.check(fact)
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
    """Tell a message that goes out by itself: one beside the stop signal ADK drops, unless a person keeps it."""
    return proposed.message is not None and proposed.status == "success"


def holds_back(engine: Engine) -> str:
    """Say why the player does not speak by themselves here; empty where nothing holds them back."""
    fold = engine.journal.fold
    if engine.user.came_back_to == (fold.turns_so_far, fold.answers_in_turn):
        return "You came back here, so nothing is said before you let it."
    last = fold.last_turn
    if last is not None and last.stopped:
        return "You stopped the turn before."
    if last is not None and last.error is not None:
        return f"The turn before ended with an error: {last.error.short_type}: {last.error.message}"
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
        reason = whole_text(f"{type(error).__name__}: {error}")
        return UserProposed(at=engine.now(), turn=turn, status="failed", by=fold.user.player, reason=reason)
    return UserProposed(
        at=engine.now(),
        turn=turn,
        message=whole(made.message),
        status=made.status,
        by=made.by,
        reason=whole_text(made.reason),
    )


def _conversation(engine: Engine) -> Conversation:
    path = engine.journal.path()
    events = [
        event
        for number, fact in path
        if fact.kind == "turn_ended"
        for event in engine.events_of(number, fact)
    ]
    return Conversation(
        seat=engine.journal.fold.user, events=tuple(events), models=engine.user.models, own=engine.user.own
    )


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
    """Give the field of a turn that names who said it; none where nobody is named."""
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
            reason="You stopped it.",
        )
    )
    engine.changed()
    return True
