"""Describes a script: a whole session as a file, line by line, so that it can be played again, and changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Annotated, Any, Final, Literal, Self, TypeAlias, get_args

from pydantic import (
    Discriminator,
    Field,
    SerializerFunctionWrapHandler,
    Tag,
    TypeAdapter,
    field_serializer,
    field_validator,
    model_serializer,
    model_validator,
)

from simulator.base.documents import read_document, write_json
from simulator.base.frozen_value import Value
from simulator.base.json_values import Json, JsonObject
from simulator.environment.injection.rule_sets import FORMAT as RULES_FORMAT
from simulator.environment.injection.rule_sets import VERSION as RULES_VERSION
from simulator.environment.injection.rule_sets import RuleSet, read_rule_set, write_rule_set
from simulator.environment.injection.rules import EVERY_TOOL, InjectionRule
from simulator.facts import (
    EVERY,
    NOTHING_EARLIER,
    EarlierData,
    EnvironmentChanged,
    EnvironmentDataGiven,
    Failed,
    Raised,
    RaisedError,
    RecordingGiven,
    Returned,
    StateCleared,
    ToolPlayer,
    ToolsDeclared,
    WorldEdited,
)
from simulator.seats.answers import ModelAnswer, ToolAnswer, called, raised, said

ScriptedAgent: TypeAlias = Literal["model", "person"]
"""Who plays an agent: its own model, or the script in a person's place."""

WAYS = ("returns", "fails", "raises", "later", "draft", "real")
"""The fields of which each answer to a tool has one."""


def by_shape(**kinds: Any) -> Discriminator:
    """Return a reader that picks the form of a value by its type in JSON, so that an error is about the form that was meant."""

    def shape(value: Any) -> str | None:
        for name, kind in kinds.items():
            if isinstance(value, kind):
                return name
        return None

    words = " or ".join(name.replace("_", " ") for name in kinds)
    return Discriminator(shape, custom_error_type="shape", custom_error_message=f"Input should be {words}")


class ScriptCall(Value):
    """One tool that the agent calls; without an `id` it gets one."""

    name: str = Field(min_length=1)
    args: JsonObject = Field(default_factory=dict)
    id: str = ""


class AgentMove(Value):
    """What the agent does when it is its turn: say a text, call tools (all at once), or hand over to another agent.

    `agent` says whose turn it has to be; empty for the next one. `parts` are google-genai parts in JSON, for what
    the other fields cannot say. `model` lets the agent's own model make this turn.
    """

    agent: str = ""
    text: str = ""
    calls: tuple[ScriptCall, ...] = ()
    transfer: str = ""
    parts: tuple[JsonObject, ...] = ()
    model: Literal[True] | None = None

    @model_validator(mode="after")
    def _does_one_thing(self) -> Self:
        ways = {
            "text or calls": bool(self.text or self.calls),
            "transfer": bool(self.transfer),
            "parts": bool(self.parts),
            "model": self.model is not None,
        }
        done = [name for name, given in ways.items() if given]
        if len(done) != 1:
            raise ValueError(
                f"a move of the agent needs exactly one of text, calls (or both), transfer, parts, model; this one has {_and(done)}"
            )
        return self

    def answer(self) -> ModelAnswer:
        """Return the turn as the answer to a request; it is to be one that the script says itself."""
        if self.parts:
            return ModelAnswer(parts=self.parts)
        if self.transfer:
            return called(("transfer_to_agent", {"agent_name": self.transfer}))
        if not self.calls:
            return said(self.text)
        text: tuple[JsonObject, ...] = ({"text": self.text},) if self.text else ()
        return ModelAnswer(parts=(*text, *(_call_part(call) for call in self.calls)))


def _call_part(call: ScriptCall) -> JsonObject:
    own: JsonObject = {"id": call.id} if call.id else {}
    return {"function_call": {**own, "name": call.name, "args": call.args}}


class Fails(Value):
    """The error dict that a tool answers with, in ADK's form."""

    error_code: int | str
    error_message: str
    details: JsonObject = Field(default_factory=dict)


_Raises: TypeAlias = Annotated[
    Annotated[str, Tag("a_text")] | Annotated[RaisedError, Tag("an_object")],
    by_shape(a_text=str, an_object=(dict, RaisedError)),
]
_Times: TypeAlias = Annotated[
    Annotated[int, Field(strict=True, ge=1), Tag("a_number")] | Annotated[Literal["any"], Tag("any")],
    by_shape(a_number=int, any=str),
]


class ToolMove(Value):
    """The answer to a call of a tool (`*` for any), whose arguments hold `args`; lists and plain values have to be equal.

    With `exactly`, the call has these arguments and no others.

    `state_delta` and `actions` are what the call does besides: to the session's state, and to ADK's `EventActions`. `blanks` and `uncertain` are
    the places of the answer that had no source when it was first given, as `$.rows[0].total`.

    One of: what it `returns`; the error dict that it `fails` with; what it `raises`, as `TimeoutError: too slow` or in
    full; `later`, for a long-running tool; `draft`, the studio's own draft; `real`, what the real tool gives. It
    answers `times` calls, or `any` number.
    """

    tool: str = Field(min_length=1)
    args: JsonObject = Field(default_factory=dict)
    exactly: Literal[True] | None = None
    agent: str = ""
    call_id: str = ""
    times: _Times = 1
    returns: Json = None
    fails: Fails | None = None
    raises: _Raises | None = None
    later: Literal[True] | None = None
    draft: Literal[True] | None = None
    real: Literal[True] | None = None
    state_delta: JsonObject = Field(default_factory=dict)
    actions: JsonObject = Field(default_factory=dict)
    blanks: tuple[str, ...] = ()
    uncertain: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _answers_once(self) -> Self:
        given = [name for name in WAYS if name in self.model_fields_set]
        given = [name for name in given if name == "returns" or getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(f"an answer needs exactly one of {', '.join(WAYS)}; this one has {_and(given)}")
        own = [name for name in ("state_delta", "actions") if getattr(self, name)]
        if own and given[0] in {"draft", "real"}:
            raise ValueError(f"{own[0]} cannot be combined with {given[0]}")
        return self

    @model_serializer(mode="wrap")
    def _with_its_answer(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        written: dict[str, Any] = handler(self)
        return written if self._way == "returns" else {k: v for k, v in written.items() if k != "returns"}

    @property
    def _way(self) -> str:
        return next((name for name in WAYS[1:] if getattr(self, name) is not None), "returns")

    def answer(self) -> ToolAnswer | None:
        """Return the answer to a request; None where the draft or the real tool answers.

        It stands against whatever the world says, as the script's author has the last word.
        """
        if self.draft or self.real:
            return None
        more: Any = {"state_delta": self.state_delta, "actions": self.actions, "despite_contradictions": True}
        more |= {"blanks": self.blanks, "uncertain": self.uncertain}
        if self.later:
            return ToolAnswer.model_validate({"outcome": {"kind": "deferred"}, **more})
        if self.fails is not None:
            return ToolAnswer(outcome=Failed(**self.fails.model_dump()), **more)
        if isinstance(self.raises, RaisedError):
            return ToolAnswer(outcome=Raised(error=self.raises), **more)
        if self.raises is not None:
            kind, _, words = self.raises.partition(":")
            return ToolAnswer(outcome=raised(kind.strip(), words.strip()).outcome, **more)
        return ToolAnswer(outcome=Returned(value=self.returns), **more)

    @field_validator("raises")
    @classmethod
    def _names_an_exception(cls, raises: str | RaisedError | None) -> str | RaisedError | None:
        if isinstance(raises, str) and not raises.partition(":")[0].strip().isidentifier():
            raise ValueError("must start with the name of an exception, as in 'TimeoutError: too slow'")
        return raises


class CodeMove(Value):
    """What a block of the agent's code prints, and what it writes to standard error."""

    prints: str
    errors: str = ""
    agent: str = ""


def read_rules(value: Any) -> Any:
    """Take rules as a list, as a set of rules, or as ADK's configuration.

    Raises:
        ValueError: They cannot be read; the text names the rule and the field.
    """
    if isinstance(value, dict):
        return read_rule_set(write_json(value)).rule_set.rules
    if isinstance(value, list) and all(isinstance(rule, dict) for rule in value):
        head: JsonObject = {"format": RULES_FORMAT, "version": RULES_VERSION, "rules": value}
        return read_rule_set(write_json(head)).rule_set.rules
    return value


def written_rules(rules: tuple[InjectionRule, ...]) -> Any:
    """Return rules as JSON without what is by default."""
    document: Any = read_document(write_rule_set(RuleSet(rules=rules)))
    return document["rules"]


class RulesChange(Value):
    """The injection rules are these from here on."""

    rules: tuple[InjectionRule, ...]

    _read = field_validator("rules", mode="before")(read_rules)
    _write = field_serializer("rules")(written_rules)


class PlayerChange(Value):
    """Somebody else plays an agent or answers a tool from here on; `target` is `*` for all that have no player of their own."""

    seat: Literal["agent", "tool"]
    target: str = Field(default=EVERY, min_length=1)
    player: ScriptedAgent | ToolPlayer

    @model_validator(mode="after")
    def _fits_the_seat(self) -> Self:
        if self.seat == "agent" and self.player not in {"model", "person"}:
            raise ValueError(f"an agent is played by its model or by a person, not by {self.player!r}")
        return self


Shaping: TypeAlias = Annotated[
    EnvironmentChanged | EnvironmentDataGiven | WorldEdited | StateCleared | RecordingGiven | ToolsDeclared,
    Field(discriminator="kind"),
]
"""The changes of an environment that a script can make."""

SHAPING: tuple[type[Any], ...] = get_args(get_args(Shaping)[0])
"""The classes of `Shaping`, for `isinstance`."""

_SHAPING: TypeAdapter[Shaping] = TypeAdapter(Shaping)


class EnvironmentChange(Value):
    """The environment is changed: its settings, its data, a thing in it, a recording, the tools that only are declared."""

    environment: Shaping

    @field_validator("environment", mode="before")
    @classmethod
    def _has_no_time_of_its_own(cls, value: Any) -> Any:
        return {"at": 0.0, **value} if isinstance(value, dict) else value

    @field_serializer("environment")
    @classmethod
    def _written(cls, value: Shaping) -> dict[str, Any]:
        written: dict[str, Any] = _SHAPING.dump_python(value, mode="json", exclude={"at"})
        return written


_MARKS = ("rules", "seat", "environment", "prints", "tool")


def _kind(value: Any) -> str:
    """Return the kind of a script's line by the one field that each kind has; their names here are no fields."""
    has = (
        value.__contains__
        if isinstance(value, dict)
        else getattr(type(value), "model_fields", {}).__contains__
    )
    return next((f"<{mark}>" for mark in _MARKS if has(mark)), "<agent>")


_RULES = Annotated[RulesChange, Tag("<rules>")]
_SEAT = Annotated[PlayerChange, Tag("<seat>")]
_SHAPED = Annotated[EnvironmentChange, Tag("<environment>")]

Change: TypeAlias = Annotated[
    _RULES | _SEAT | _SHAPED,
    Discriminator(
        _kind,
        custom_error_type="no_change",
        custom_error_message="Input should be a change: one of rules, seat (with target and player), environment",
    ),
]
"""What is changed before the user speaks, or in the middle of a turn."""

Entry: TypeAlias = Annotated[
    Annotated[AgentMove, Tag("<agent>")]
    | Annotated[ToolMove, Tag("<tool>")]
    | Annotated[CodeMove, Tag("<prints>")]
    | _RULES
    | _SEAT
    | _SHAPED,
    Discriminator(_kind),
]
"""A line of a turn."""

Reply: TypeAlias = Annotated[
    Annotated[ToolMove, Tag("<tool>")] | Annotated[CodeMove, Tag("<prints>")],
    Discriminator(
        _kind,
        custom_error_type="no_reply",
        custom_error_message="Input should be an answer to a tool (with tool) or to code (with prints)",
    ),
]
"""What the environment answers, whenever it is asked."""

CHANGES = (RulesChange, PlayerChange, EnvironmentChange)
"""The classes of `Change`, for `isinstance`."""


def answers_any_tool(entry: object) -> bool:
    """Return whether a line answers the calls of every tool."""
    return isinstance(entry, ToolMove) and entry.tool == EVERY_TOOL


def _and(names: list[str]) -> str:
    return " and ".join(names) or "none"


FORMAT: Final = "golden-trace-studio/script"
VERSION: Final = 1

Otherwise: TypeAlias = Literal["ask", "generate", "fail"]
"""What happens where the script has no answer: a person is asked; the draft, or the agent's own model, answers; or it fails."""

Place: TypeAlias = tuple[str | int, ...]
"""Where something stands in a script: `("turns", 0, "moves", 2)`."""

_Said: TypeAlias = Annotated[
    Annotated[str, Tag("a_text")] | Annotated[JsonObject, Tag("a_content")],
    by_shape(a_text=str, a_content=dict),
]
_Agent: TypeAlias = Annotated[
    Annotated[ScriptedAgent, Tag("a_player")] | Annotated[tuple[AgentMove, ...], Tag("a_list_of_moves")],
    by_shape(a_player=str, a_list_of_moves=(list, tuple)),
]
_Agents: TypeAlias = Annotated[
    Annotated[ScriptedAgent, Tag("a_player")]
    | Annotated[tuple[AgentMove, ...], Tag("a_list_of_moves")]
    | Annotated[dict[str, _Agent], Tag("one_of_these_by_agent")],
    by_shape(a_player=str, a_list_of_moves=(list, tuple), one_of_these_by_agent=dict),
]

_SPEAKS = ("say", "confirm", "reply")


class ScriptTurn(Value):
    """One turn: what the user says, and what then happens, in order.

    The user says something (`say`: text, or google-genai's `Content` in JSON), confirms or rejects a call of `tool`
    that waits (`confirm`, with a `payload`), or answers such a call (`reply`). `tool` and `call_id` may be left out
    where only one waits. Of several questions of a graph, `question` names the one that is answered by its message,
    and `node` by the path of the node that asks.

    Attributes:
        before: What is changed before the user speaks.
        moves: What the agent and its environment do. Of several lines that fit a request the first is taken; a change
            is made when the lines before it are used.
        state_delta: What the query changes in the session's state.
        at: When the user spoke, in seconds since the epoch; the present time by default.
        ends: How the turn is meant to end; `stopped` stops it when its lines are used.
    """

    say: _Said | None = None
    confirm: bool | None = None
    payload: Json = None
    reply: Json = None
    tool: str = ""
    call_id: str = ""
    question: str = ""
    node: str = ""
    before: tuple[Change, ...] = ()
    moves: tuple[Entry, ...] = ()
    state_delta: JsonObject = Field(default_factory=dict)
    streaming: bool = False
    max_llm_calls: Annotated[int, Field(strict=True)] = 500
    at: float | None = None
    ends: Literal["well", "failed", "stopped"] = "well"

    @model_validator(mode="after")
    def _says_one_thing(self) -> Self:
        said = [name for name in _SPEAKS if name in self.model_fields_set]
        said = [name for name in said if name == "reply" or getattr(self, name) is not None]
        if len(said) != 1:
            raise ValueError(
                f"a turn needs exactly one of {', '.join(_SPEAKS)}; this one has {' and '.join(said) or 'none'}"
            )
        if said == ["say"]:
            self._check_absent(("payload", "tool", "call_id", "question", "node"), "say")
        else:
            self._check_absent(("state_delta", "streaming"), said[0])
        if said == ["confirm"]:
            self._check_absent(("question", "node"), "confirm")
        if said == ["reply"]:
            self._check_absent(("payload",), "reply")
        return self

    def _check_absent(self, names: tuple[str, ...], beside: str) -> None:
        for name in names:
            if getattr(self, name) != type(self).model_fields[name].get_default(call_default_factory=True):
                raise ValueError(f"{name} cannot be combined with {beside}")

    @property
    def speaks(self) -> Literal["say", "confirm", "reply"]:
        """How the user speaks."""
        if self.say is not None:
            return "say"
        return "reply" if self.confirm is None else "confirm"


class Script(Value):
    """A session as a file.

    Attributes:
        name: What the script is about, in words.
        agent: Who plays the agents: its own model, the script (`person`), a list of moves for the next one, or one
            of these for each agent by name (`*` for all others). By default the script where it has moves, and else
            the agent's own model where it can be asked.
        players: Who answers a tool, by its name (`*` for all others). Where the script has answers for the tool, they
            come first: for a call that none of them fits, `offline` gives the draft and `real` runs the tool; any other
            player takes the tool over from there on.
        rules: The injection rules, which speak before anybody: a list, a set of rules, or ADK's configuration.
        environment: Answers of tools and code, for whichever turn needs them; those of the turn come first.
        turns: The user's turns, in order.
        otherwise: What to do where the script has no answer.
        seed: Where ids and chance come from; a random one by default.
        session_id: The session's id; a random one by default.
        earlier: The artifacts and the memory that the session begins with.
        began: When the session began, in seconds since the epoch; the present time by default.
    """

    format: Literal["golden-trace-studio/script"] = FORMAT
    version: Literal[1] = VERSION
    name: str = ""
    seed: str = ""
    session_id: str = ""
    user_id: str = Field(default="user", min_length=1)
    began: float | None = None
    initial_state: JsonObject = Field(default_factory=dict)
    earlier: EarlierData = NOTHING_EARLIER
    otherwise: Otherwise = "ask"
    agent: _Agents | None = None
    players: dict[str, ToolPlayer] = Field(default_factory=dict)
    rules: tuple[InjectionRule, ...] = ()
    environment: tuple[Reply, ...] = ()
    turns: tuple[ScriptTurn, ...]

    _read = field_validator("rules", mode="before")(read_rules)
    _write = field_serializer("rules")(written_rules)

    @field_validator("turns")
    @classmethod
    def _has_a_turn(cls, turns: tuple[ScriptTurn, ...]) -> tuple[ScriptTurn, ...]:
        if not turns:
            raise ValueError("a script needs at least one turn")
        return turns

    @field_validator("rules")
    @classmethod
    def _names_each_rule_once(cls, rules: tuple[InjectionRule, ...]) -> tuple[InjectionRule, ...]:
        names = [rule.rule_id for rule in rules]
        if twice := sorted(name for name, number in Counter(names).items() if number > 1):
            raise ValueError(f"two rules have the rule_id {', '.join(map(repr, twice))}")
        return rules

    def moves_of_agents(self) -> Iterator[tuple[Place, AgentMove, str]]:
        """Yield the moves that stand under `agent`: the place, the move, and the agent that it is for (empty for any)."""
        agent: Any = self.agent
        lists = agent.items() if isinstance(agent, dict) else [("", agent)]
        for name, moves in lists:
            if isinstance(moves, tuple):
                for number, move in enumerate(moves):
                    place = ("agent", name, number) if name else ("agent", number)
                    yield place, move, move.agent or name.strip("*")

    def entries_of_turns(self) -> Iterator[tuple[Place, Entry]]:
        """Yield the lines of all turns with their places."""
        for turn, each in enumerate(self.turns):
            for number, entry in enumerate(each.moves):
                yield ("turns", turn, "moves", number), entry
