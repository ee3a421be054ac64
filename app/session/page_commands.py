"""What a person can ask for on a session's page: commands of the session, pages of it to show, and which clicks fit a session that has gone on since."""

from __future__ import annotations

import json
from abc import abstractmethod
from typing import Any, ClassVar, TypeAlias

from pydantic import Field, JsonValue
from typing_extensions import override

from app.live.click_waits import AT_ONCE
from app.live.live_sessions import LiveSession
from app.live.shared_sessions import ReadOnly, refuse
from app.live.upload_quota import check_attached
from app.session import page_state
from app.session.page_state import View
from simulator.base.frozen_value import Value
from simulator.environment.world.tool_settings import EnvironmentSettings, ToolSettings
from simulator.kernel.kernel_agent import check_message
from simulator.runtime.commanding import Commanding
from simulator.runtime.errors import SimulationError
from simulator.seats.requests import ToolRequest
from simulator.session.commands import (
    Accept,
    AnswerRequest,
    Command,
    FailCall,
    MoveHead,
    Query,
    Redo,
    SetRules,
    Undo,
)

_WENT_ON = (
    "The session continued before your click arrived: in another tab, or by itself. You now see its "
    "current state. Click again if you still want this."
)


class WentOnError(ValueError):
    """What was asked for was meant for another step than the one at which the session is."""


def saw(live: LiveSession | None) -> None:
    """Note which step the page shows as the last one; call it when the page is drawn."""
    page_state.put("seen_step", None if live is None else _step(live))


def check_seen(live: LiveSession) -> None:
    """Check that the session is at the step that the page has shown.

    Raises:
        WentOnError: It is not.
    """
    seen = page_state.get("seen_step")
    if seen is not None and seen != _step(live):
        raise WentOnError(_WENT_ON)


def _step(live: LiveSession) -> JsonValue:
    from simulator.runtime.turns.undo_targets import last_step  # noqa: PLC0415 - takes a second, and is there where a session is live

    number = last_step(live.simulation.journal)
    return [live.session_id, -1 if number is None else number]


_OF_A_STEP = (Query, Accept, MoveHead, Undo, Redo, SetRules)
"""The commands that are meant for the step that the page shows as the last one, and no other."""
_REACHED_SECONDS = 20.0
"""How long the way back to an earlier call may take: what happened before it is re-executed."""

NEW_RULE = "\n"
"""Stands for the rule that is being written and has no id yet; no id has a line break."""


class PartlyAnsweredError(ValueError):
    """Of several answers some hold and others were refused; the text says which, and may come from outside."""


class OvertakenError(SimulationError):
    """A request was answered elsewhere meanwhile, so the page has no place for this answer any more; the text holds it."""


class PageWork(Value):
    """Something that a page asks for and no single command does.

    Attributes:
        is_of_step: Whether it is meant for the step that the page shows as the last one, and no other.
    """

    is_of_step: ClassVar[bool] = False

    def check(self, live: LiveSession) -> None:
        """Check what only the session's page knows.

        Raises:
            ValueError: It may not be carried out; the text says why.
        """

    @abstractmethod
    def carry_out(self, simulation: Commanding) -> None:
        """Do it; what follows from it is not waited for.

        Raises:
            simulator.runtime.SimulationError: It does not fit what the session is doing, for example because the request
                has been answered in another tab. What does not fit changes nothing.
        """


Steps: TypeAlias = tuple[Command, ...]
"""Commands that are carried out one after the other; what one refuses ends them."""
Asked: TypeAlias = Command | Steps | PageWork


def check(live: LiveSession, asked: Asked) -> None:
    """Check what only the page knows: that it is about the step that was shown, and that the agent expects such a message.

    Raises:
        ValueError: It may not be carried out; the text says why.
    """
    if isinstance(asked, _OF_A_STEP) or (isinstance(asked, PageWork) and asked.is_of_step):
        check_seen(live)
    if isinstance(asked, (Query, Accept)):
        check_attached(live.owner, asked.message)
        if asked.message is not None:
            check_message(live.config, asked.message)
    if isinstance(asked, PageWork):
        asked.check(live)


def hand(simulation: Commanding, asked: Asked) -> None:
    """Carry out what was asked for; what follows from it is not waited for.

    Raises:
        app.live.shared_sessions.ReadOnlyError: The session is only looked at.
        ValueError: It does not fit; a `SimulationError` where the session refuses it.
    """
    if isinstance(simulation, ReadOnly):  # also what writes to files beside the session
        refuse()
    match asked:
        case PageWork():
            asked.carry_out(simulation)
        case AnswerRequest():
            _answer(simulation, asked)
        case SetRules() if asked.rules == simulation.session.rules:
            return  # saved as they are, they are no step to undo
        case Command():
            simulation.send(asked, AT_ONCE)
        case _:
            for each in asked:
                simulation.send(each, AT_ONCE)


def _answer(simulation: Commanding, asked: AnswerRequest) -> None:
    try:
        simulation.send(asked, AT_ONCE)
    except SimulationError as error:
        if any(request.key == asked.key for request in simulation.view().pending):
            raise
        written = asked.answer.model_dump(mode="json", exclude_defaults=True)
        text = json.dumps(written, indent=2, ensure_ascii=False)
        raise OvertakenError(f"{error}\n{text}") from error


class Show(Value):
    """Show a page of the session, or the session itself where `view` is None; nothing in the session changes.

    `tab` is the tab of the environment to open, None for the one that was open last. `rule` is the id of a rule to edit
    there.
    """

    view: View | None
    tab: str | None = None
    rule: str | None = None


class AnswerTools(PageWork):
    """Answer several pending tool calls, in this order."""

    answers: tuple[AnswerRequest, ...] = Field(min_length=1)

    @override
    def carry_out(self, simulation: Commanding) -> None:
        """Give every answer that fits, whether or not those before it did.

        Raises:
            PartlyAnsweredError: Some answers hold and others do not.
            ValueError: None holds.
        """
        refused: list[str] = []
        for place, each in enumerate(self.answers, start=1):
            try:
                _answer(simulation, each)
            except ValueError as error:
                refused.append(f"Call {place} was not answered: {error}")
        if not refused:
            return
        text, all_of_them = "\n".join(refused), len(self.answers)
        if len(refused) == all_of_them:
            raise ValueError(text)
        raise PartlyAnsweredError(
            f"{all_of_them - len(refused)} of {all_of_them} calls were answered.\n{text}"
        )


class FailPastCall(PageWork):
    """Go back to before the answer of a call, and let one fault answer it; what followed stays as a branch.

    Attributes:
        before: The fact before that answer.
        call_id: The call.
        fail: What the fault does, with the answer that the call had; the call has another key then.
    """

    is_of_step = True
    before: int
    call_id: str
    fail: FailCall

    @override
    def carry_out(self, simulation: Commanding) -> None:
        simulation.move_head(self.before, wait=_REACHED_SECONDS)
        calls = (each for each in simulation.view().pending if isinstance(each, ToolRequest))
        key = next((each.key for each in calls if each.call_id == self.call_id), None)
        if key is None:
            raise ValueError(
                "The session went back, but this call is not waiting yet. Use Fail this call once it waits."
            )
        simulation.send(self.fail.model_copy(update={"key": key}), AT_ONCE)


def with_tool(settings: EnvironmentSettings, name: str, **changes: Any) -> dict[str, ToolSettings]:
    """Return the settings of all tools after some fields of one were set; a tool with nothing set is left out."""
    now = ToolSettings.model_validate({**dict(settings.tool(name)), **changes})
    others = {other: found for other, found in settings.tools.items() if other != name}
    return others if now == ToolSettings(name=name) else {**others, name: now}
