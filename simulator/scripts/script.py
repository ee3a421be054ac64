"""Describes a script: a whole session as a file, so that it can be played again, and changed line by line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Annotated, Any, Final, Literal, Self, TypeAlias

from pydantic import Field, Tag, field_serializer, field_validator, model_validator

from simulator.base.frozen_value import Value
from simulator.base.json_values import Json, JsonObject
from simulator.environment.injection.injection import InjectionRule
from simulator.facts import NOTHING_EARLIER, EarlierData, ToolPlayer
from simulator.scripts.script_lines import (
    AgentMove,
    Change,
    Entry,
    Reply,
    ScriptedAgent,
    by_shape,
    read_rules,
    written_rules,
)

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
