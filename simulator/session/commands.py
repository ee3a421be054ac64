"""What can be asked of a session: commands, which change it, and questions, which do not.

All are values, so that a page can hand one over, a kernel be sent one, and somebody who only looks be refused all of them in one place.
`simulator.runtime.performing` says what each does, `simulator.runtime.commanding` gives each a method.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from pydantic import Field

from simulator.base.frozen_value import Value
from simulator.base.json_values import JsonObject
from simulator.environment.injection.rules import InjectionRule
from simulator.environment.recordings import NO_EFFECTS, ObservedCall, ToolEffects
from simulator.environment.world.entities import EntityChange
from simulator.environment.world.tool_settings import DeclaredTool, EnvironmentSettings
from simulator.facts import EVERY, Outcome
from simulator.seats.answers import CodeAnswer, ModelAnswer, ToolAnswer

Loose: TypeAlias = Any
"""JSON that somebody gives; whoever carries the command out checks it, and says what is wrong with it."""


class Command(Value):
    """Something that is asked of a session. What does not fit changes nothing.

    `settles` says that the agent goes on by it, so that its next pause can be waited for.
    """

    settles: ClassVar[bool] = True


class Setting(Command):
    """A command that is done at once, and lets nobody go on."""

    settles: ClassVar[bool] = False


# ---------------------------------------------------------------- the user


class Query(Command):
    """Say something as the user: a text, or google-genai's `Content` in JSON.

    `by` names who says it, where that is neither a person nor who sits in the user's seat: a script.
    """

    message: Loose
    state_delta: Loose = None
    streaming: bool = False
    max_llm_calls: int = 500
    by: str = ""


class Accept(Command):
    """Say the user's message that is held (None), or what a person has made of it."""

    message: Loose = None


class Reply(Command):
    """Answer a call that was left open; anything but a dict becomes `{"result": response}`. `by` as for a `Query`."""

    call_id: str
    response: Loose
    by: str = ""


class Confirm(Command):
    """Say whether a tool may run that ADK asks about; `payload` where the tool asks for more than yes or no."""

    call_id: str
    confirmed: bool
    payload: Loose = None
    by: str = ""


class SetUser(Command):
    """Let somebody else speak for the user, from the next message on; the fields are those of `Simulation.set_user`."""

    player: str
    script: tuple[Loose, ...] = ()
    scenario: Loose = None
    config: Loose = None
    hold: bool = True


class Complete(Command):
    """Say that the conversation is over, or that it goes on after all."""

    over: bool = True


# ---------------------------------------------------------------- what waits


class PlainAnswer(Value):
    """A value as it is: what a tool returns, what the agent says, or what code prints. Apart, as a tool may return what looks like an answer."""

    kind: Literal["plain"] = "plain"
    value: Loose


class AnswerRequest(Command):
    """Answer a request that waits."""

    key: str
    answer: Annotated[ToolAnswer | ModelAnswer | CodeAnswer | PlainAnswer, Field(discriminator="kind")]


class RunReal(Command):
    """Let the real tool, the real code or the agent's own model answer this one request."""

    key: str


class FailCall(Command):
    """Let one fault answer a call that waits, or change or delay its `outcome`: this call alone, whatever rules there are.

    `effects` are what the call does besides, where the fault leaves it its `outcome`.
    """

    key: str
    rule: InjectionRule
    outcome: Outcome | None = None
    effects: ToolEffects = NO_EFFECTS


class AskForDraft(Setting):
    """Ask the environment's model for a draft of a call that waits; the call can be answered meanwhile."""

    key: str


class StopDrafting(Setting):
    """End what a model is at that makes a draft."""

    key: str


class DrawAgain(Setting):
    """Draw another offline draft of a call that waits; an undo brings the one before back."""

    key: str


# ---------------------------------------------------------------- who plays, and where


class SetPlayer(Command):
    """Let somebody else sit down, for one agent or tool by name or for all others; open requests move along."""

    seat: str
    player: str
    target: str = EVERY


class GoOn(Command):
    """Let those who sit there answer what a person came back to."""


class MoveHead(Command):
    """Go to a fact of the journal, on this branch or another one; nothing is deleted."""

    fact: int


class Undo(Command):
    """Take back the last step that a person took."""


class Redo(Command):
    """Bring back the step that was taken back last."""


class StopTurn(Setting):
    """End the turn that is running; what has happened so far stays."""


# ---------------------------------------------------------------- rules and environment


class SetRules(Setting):
    """Put these injection rules in force, in this order, from the next call on."""

    rules: tuple[InjectionRule, ...]


class SwitchRule(Setting):
    """Switch one injection rule on or off, from the next call on."""

    rule_id: str
    enabled: bool


class ChangeSettings(Setting):
    """Set the environment's settings, or some of their fields by name."""

    settings: EnvironmentSettings | None = None
    fields: dict[str, Any] = Field(default_factory=dict)


class GiveData(Setting):
    """Give the environment's data, JSON of tables or words; an empty text takes it away."""

    text: str


class EditWorld(Setting):
    """Change things of the world by hand."""

    changes: tuple[EntityChange | Loose, ...]


class RenameThing(Setting):
    """Give a thing of the world another id, in it and wherever it is referred to."""

    kind: str
    old: str
    new: str


class ClearState(Setting):
    """Forget the calls that are remembered under a state key."""

    state_key: str


class GiveRecording(Setting):
    """Give recorded calls to answer from; none take the recording of that name away."""

    name: str
    calls: tuple[ObservedCall, ...]


class DeclareTools(Setting):
    """Let these tools join the agent from the next turn on, and no others that are only declared."""

    tools: tuple[DeclaredTool, ...]


class UseModel(Setting):
    """Set the environment's model by its name; an empty one sets none."""

    model: str


class AnalyseConnections(Setting):
    """Ask the environment's model how the agent's tools hang together; it goes on meanwhile."""


class StopAnalysing(Setting):
    """End what the environment's model is at that looks at the connections."""


# ---------------------------------------------------------------- questions


class Question(Value):
    """Something that is to be known of a session; it changes nothing."""


class SeenByModel(Question):
    """What the model was last shown."""


class KnownWorld(Question):
    """What the environment knows."""


class SourcesForModel(Question):
    """What is sent of each tool's source where that is allowed."""


class JudgeInvariant(Question):
    """How an invariant stands in the world as it is now."""

    line: str


class TryRules(Question):
    """Whether each rule would have fired for a call: the key of one that waits, or the number of the fact that answered one."""

    rules: tuple[InjectionRule, ...]
    call: str | int


class FindContradictions(Question):
    """What an answer to a call that waits would contradict."""

    key: str
    outcome: Outcome


class DraftLateResult(Question):
    """What the late result of a call that was left open may be."""

    call_id: str


def _by_name(base: type[Value]) -> dict[str, type[Any]]:
    return {each.__name__: each for kind in base.__subclasses__() for each in (kind, *kind.__subclasses__())}


_KINDS = {**_by_name(Command), **_by_name(Question)}


def written(asked: Command | Question) -> JsonObject:
    """Write a command or a question as JSON, with the name of its kind."""
    return {"kind": type(asked).__name__, "fields": asked.model_dump(mode="json")}


def read(given: JsonObject) -> Command | Question:
    """Read what was written.

    Raises:
        ValueError: There is no such kind, or a field is wrong.
    """
    kind = _KINDS.get(str(given["kind"]))
    if kind is None:
        raise ValueError(f"unknown command of a session: {given['kind']!r}")
    made: Command | Question = kind.model_validate(given["fields"])
    return made
