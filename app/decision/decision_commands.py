"""What a person can decide in the decision pane."""

from __future__ import annotations

import json
from typing import Literal

from pydantic import Field, JsonValue
from typing_extensions import override

from app.live.kernel_sessions import check_message
from app.live.live_sessions import LiveSession
from app.live.pause_wait import AT_ONCE
from app.live.simulation_protocol import LiveSimulation
from app.live.upload_quota import check_attached
from app.session.commands import Command
from simulator.base.json_values import JsonObject
from simulator.runtime.errors import SimulationError
from simulator.seats.answers import Answer, CodeAnswer, ModelAnswer, ToolAnswer


class PartlyAnsweredError(ValueError):
    """Of several answers some hold and others were refused; the text says which, and may come from outside."""


class OvertakenError(SimulationError):
    """A request was answered elsewhere meanwhile, so the page has no place for this answer any more; the text holds it."""


class AnswerRequest(Command):
    """Answer a request that waits."""

    key: str
    answer: Answer

    @override
    def carry_out(self, simulation: LiveSimulation) -> None:
        try:
            simulation.answer(self.key, self.answer, wait=AT_ONCE)
        except SimulationError as error:
            if any(request.key == self.key for request in simulation.view().pending):
                raise
            written = self.answer.model_dump(mode="json", exclude_defaults=True)
            text = json.dumps(written, indent=2, ensure_ascii=False)
            raise OvertakenError(f"{error}\n{text}") from error


class AnswerTool(AnswerRequest):
    """Answer a pending tool call."""

    answer: ToolAnswer


class AnswerTools(Command):
    """Answer several pending tool calls, in this order."""

    answers: tuple[AnswerTool, ...] = Field(min_length=1)

    def carry_out(self, simulation: LiveSimulation) -> None:
        """Give every answer that fits, whether or not those before it did.

        Raises:
            PartlyAnsweredError: Some answers hold and others do not.
            ValueError: None holds.
        """
        refused: list[str] = []
        for place, each in enumerate(self.answers, start=1):
            try:
                each.carry_out(simulation)
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


class AnswerModel(AnswerRequest):
    """Make the agent's next turn."""

    answer: ModelAnswer


class AnswerCode(AnswerRequest):
    """Say what a block of code prints."""

    answer: CodeAnswer


class RunReal(Command):
    """Let the real tool, the real code or the agent's own model answer this one request."""

    key: str

    @override
    def carry_out(self, simulation: LiveSimulation) -> None:
        simulation.run_real(self.key, wait=AT_ONCE)


class GoOn(Command):
    """Let those who sit there answer what a person came back to."""

    @override
    def carry_out(self, simulation: LiveSimulation) -> None:
        simulation.go_on(wait=AT_ONCE)


class AskForDraft(Command):
    """Let the environment's model draft an answer to a call; it can be answered meanwhile."""

    key: str

    @override
    def carry_out(self, simulation: LiveSimulation) -> None:
        simulation.environment.ask_for_draft(self.key)


class StopDrafting(Command):
    """End what the environment's model is at that drafts an answer to a call."""

    key: str

    @override
    def carry_out(self, simulation: LiveSimulation) -> None:
        simulation.environment.stop_drafting(self.key)


class DrawAgain(Command):
    """Draw another offline draft of a call; an undo brings the one before back."""

    key: str

    @override
    def carry_out(self, simulation: LiveSimulation) -> None:
        simulation.environment.draw_again(self.key)


class Confirm(Command):
    """Say whether a tool may run; `payload` where the tool asks for more than yes or no."""

    call_id: str
    confirmed: bool
    payload: JsonValue = None

    @override
    def carry_out(self, simulation: LiveSimulation) -> None:
        simulation.confirm(self.call_id, self.confirmed, self.payload, wait=AT_ONCE)


class AnswerOpenCall(Command):
    """Answer another call that was left open."""

    call_id: str
    response: JsonValue

    @override
    def carry_out(self, simulation: LiveSimulation) -> None:
        simulation.reply(self.call_id, self.response, wait=AT_ONCE)


class AnswerYourself(Command):
    """Take back an answer that ended a turn with an error, and sit down in the place of who gave it.

    Attributes:
        before: The fact before that answer.
        seat: Whether an agent's model or a tool gave it.
        target: The agent's or the tool's name.
    """

    before: int
    seat: Literal["agent", "tool"]
    target: str

    def carry_out(self, simulation: LiveSimulation) -> None:
        """Go back and sit down: where somebody comes back to, they have everything first, also what a model would be asked."""
        simulation.move_head(self.before, wait=AT_ONCE)
        simulation.set_player(self.seat, "person", self.target, wait=AT_ONCE)


class SubmitQuery(Command):
    """Say something as the user: text, or google-genai's `Content` in JSON; `of_held` says that it is what was held, or made of it.

    `state_delta` is what it sets in the session's state, and `by` who says it, where that is no person: the golden, as if its script played on.
    """

    is_of_step = True
    message: str | JsonObject
    of_held: bool = False
    state_delta: JsonObject = Field(default_factory=dict)
    by: str = ""

    def check(self, live: LiveSession) -> None:
        """Check also that the agent expects such a message, and that its files are not too large."""
        super().check(live)
        check_attached(live.owner, self.message)
        check_message(live.config, self.message)

    @override
    def carry_out(self, simulation: LiveSimulation) -> None:
        if self.of_held:
            simulation.accept(self.message, wait=AT_ONCE)
        else:
            simulation.query(self.message, state_delta=self.state_delta or None, by=self.by, wait=AT_ONCE)


class Complete(Command):
    """Say that the conversation is over, or that it goes on after all."""

    over: bool

    @override
    def carry_out(self, simulation: LiveSimulation) -> None:
        simulation.complete(self.over, wait=AT_ONCE)
