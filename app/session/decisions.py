"""What a person decided in the decision pane, as values; and how each is handed to a simulation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal, TypeAlias, assert_never

from pydantic import Field, JsonValue

from app.environment.environment_commands import shape
from app.live.simulation_protocol import LiveSimulation
from app.session.page_commands import ChangeSeat, SeatUser, ShapeEnvironment, StopTurn
from app.session.user_seating import seat_user
from simulator.base.json_values import JsonObject
from simulator.facts import Value
from simulator.seats.answers import CodeAnswer, ModelAnswer, ToolAnswer


class PartlyAnsweredError(ValueError):
    """Of several answers some hold and others were refused; the text says which, and may come from outside."""


class AnswerTool(Value):
    """Answer a pending tool call."""

    kind: Literal["answer_tool"] = "answer_tool"
    key: str
    answer: ToolAnswer


class AnswerTools(Value):
    """Answer several pending tool calls, in this order."""

    kind: Literal["answer_tools"] = "answer_tools"
    answers: tuple[AnswerTool, ...] = Field(min_length=1)


class AnswerModel(Value):
    """Make the agent's next turn."""

    kind: Literal["answer_model"] = "answer_model"
    key: str
    answer: ModelAnswer


class AnswerCode(Value):
    """Say what a block of code prints."""

    kind: Literal["answer_code"] = "answer_code"
    key: str
    answer: CodeAnswer


class RunReal(Value):
    """Let the real tool, the real code or the agent's own model answer this one request."""

    kind: Literal["run_real"] = "run_real"
    key: str


class GoOn(Value):
    """Let those who sit there answer what a person came back to."""

    kind: Literal["go_on"] = "go_on"


class AskForDraft(Value):
    """Let the environment's model draft an answer to a call; it can be answered meanwhile."""

    kind: Literal["ask_for_draft"] = "ask_for_draft"
    key: str


class StopDrafting(Value):
    """End what the environment's model is at that drafts an answer to a call."""

    kind: Literal["stop_drafting"] = "stop_drafting"
    key: str


class DrawAgain(Value):
    """Draw another offline draft of a call; an undo brings the one before back."""

    kind: Literal["draw_again"] = "draw_again"
    key: str


class Confirm(Value):
    """Say whether a tool may run; `payload` where the tool asks for more than yes or no."""

    kind: Literal["confirm"] = "confirm"
    call_id: str
    confirmed: bool
    payload: JsonValue = None


class Reply(Value):
    """Answer another call that was left open."""

    kind: Literal["reply"] = "reply"
    call_id: str
    response: JsonValue


class AnswerYourself(Value):
    """Take back an answer that ended a turn with an error, and sit down in the place of who gave it.

    Attributes:
        before: The fact before that answer.
        seat: Whether an agent's model or a tool gave it.
        target: The agent's or the tool's name.
    """

    kind: Literal["answer_yourself"] = "answer_yourself"
    before: int
    seat: Literal["agent", "tool"]
    target: str


class SubmitQuery(Value):
    """Say something as the user: text, or google-genai's `Content` in JSON; `of_held` says that it is what was held, or made of it."""

    kind: Literal["submit_query"] = "submit_query"
    message: str | JsonObject
    of_held: bool = False


class Complete(Value):
    """Say that the conversation is over, or that it goes on after all."""

    kind: Literal["complete"] = "complete"
    over: bool


Decision: TypeAlias = Annotated[
    AnswerTool
    | AnswerTools
    | AnswerModel
    | AnswerCode
    | RunReal
    | GoOn
    | AskForDraft
    | StopDrafting
    | DrawAgain
    | ShapeEnvironment
    | ChangeSeat
    | SeatUser
    | Confirm
    | Reply
    | AnswerYourself
    | SubmitQuery
    | Complete
    | StopTurn,
    Field(discriminator="kind"),
]


def apply(  # noqa: C901, PLR0912 # long: one arm for each kind of decision
    decision: Decision, simulation: LiveSimulation, wait: float | None
) -> None:
    """Hand a decision to the simulation, and wait at most `wait` seconds for its next pause.

    Raises:
        simulator.runtime.SimulationError: The decision does not fit any more, for example because the request has
            been answered in another tab. What does not fit changes nothing.
        PartlyAnsweredError: Of several answers some hold and others do not.
        ValueError: Of several answers none holds.
    """
    match decision:
        case AnswerTool() | AnswerModel() | AnswerCode():
            simulation.answer(decision.key, decision.answer, wait=wait)
        case AnswerTools():
            _answer_all(decision.answers, simulation, wait)
        case RunReal():
            simulation.run_real(decision.key, wait=wait)
        case GoOn():
            simulation.go_on(wait=wait)
        case AskForDraft():
            simulation.environment.ask_for_draft(decision.key)
        case StopDrafting():
            simulation.environment.stop_drafting(decision.key)
        case DrawAgain():
            simulation.environment.draw_again(decision.key)
        case ShapeEnvironment():
            shape(simulation.environment, decision.what)
        case ChangeSeat():
            simulation.set_player(decision.seat, decision.player, decision.target, wait=wait)
        case SeatUser():
            seat_user(simulation, decision)
        case Confirm():
            simulation.confirm(decision.call_id, decision.confirmed, decision.payload, wait=wait)
        case Reply():
            simulation.reply(decision.call_id, decision.response, wait=wait)
        case AnswerYourself():
            _answer_yourself(decision, simulation, wait)
        case SubmitQuery():
            (simulation.accept if decision.of_held else simulation.query)(decision.message, wait=wait)
        case Complete():
            simulation.complete(decision.over, wait=wait)
        case StopTurn():
            simulation.stop()
        case _:
            assert_never(decision)


def _answer_yourself(asked: AnswerYourself, simulation: LiveSimulation, wait: float | None) -> None:
    """Go back and sit down: where somebody comes back to, they have everything first, also what a model would be asked."""
    simulation.move_head(asked.before, wait=wait)
    simulation.set_player(asked.seat, "person", asked.target, wait=wait)


def _answer_all(answers: Sequence[AnswerTool], simulation: LiveSimulation, wait: float | None) -> None:
    """Give every answer that fits, whether or not those before it did."""
    refused: list[str] = []
    for place, each in enumerate(answers, start=1):
        try:
            simulation.answer(each.key, each.answer, wait=wait if place == len(answers) else 0)
        except ValueError as error:
            refused.append(f"Call {place} was not answered: {error}")
    if not refused:
        return
    text = "\n".join(refused)
    if len(refused) == len(answers):
        raise ValueError(text)
    raise PartlyAnsweredError(f"{len(answers) - len(refused)} of {len(answers)} calls were answered.\n{text}")
