"""Reads an `LlmRequest` as a conversation: who said what, and which call got which answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from google.adk.models.llm_request import LlmRequest
from google.genai import types

from simulator.agents.demo_answer import Answer
from simulator.session.adk_event_fields import is_of_other_agent, quoted_step


@dataclass(frozen=True)
class DemoCall:
    """A tool call: what the model wants to know or to do, and what it says along with it."""

    tool: str
    arguments: Mapping[str, Any]
    spoken: str = field(default="", compare=False)

    def part(self) -> types.Part:
        """Return the part of google-genai's `Content` that makes this call."""
        return types.Part(function_call=types.FunctionCall(name=self.tool, args=dict(self.arguments)))


def call(tool: str, **arguments: Any) -> DemoCall:
    """Write a call as it reads in Python: `call("find_order", order_id="A-1001")`."""
    return DemoCall(tool, arguments)


@dataclass(frozen=True)
class AnsweredDemoCall:
    """A call of this agent, and its answer."""

    call: DemoCall
    answer: Answer


@dataclass
class DemoTurn:
    """One message of the user, and what came after it.

    Attributes:
        said: The user's words.
        answered: This agent's calls that have their answers, in order.
        replied: This agent's own texts.
        others_called: The tools that other agents called, by name.
        steps: How often this agent has spoken or called.
    """

    said: str
    answered: list[AnsweredDemoCall] = field(default_factory=list)
    replied: list[str] = field(default_factory=list)
    others_called: list[str] = field(default_factory=list)
    steps: int = 0


@dataclass(frozen=True)
class Talk:
    """The conversation so far, as one agent sees it; the last turn is the one to go on with."""

    turns: tuple[DemoTurn, ...]
    tools: frozenset[str]

    @classmethod
    def read(cls, request: LlmRequest) -> Talk:
        """Read what ADK put into a request; a request with no words of a user is one empty turn."""
        turns = _read_turns(request.contents)
        return cls(turns=tuple(turns) or (DemoTurn(said=""),), tools=frozenset(request.tools_dict))

    @property
    def turn(self) -> DemoTurn:
        """The turn in progress."""
        return self.turns[-1]

    @property
    def said(self) -> str:
        """The user's latest words."""
        return self.turn.said

    @cached_property
    def said_before(self) -> tuple[str, ...]:
        """The user's words of the turns before, latest first."""
        return tuple(turn.said for turn in reversed(self.turns[:-1]))

    @property
    def last_reply(self) -> str:
        """What this agent said last, in a turn before this one."""
        return next((turn.replied[-1] for turn in reversed(self.turns[:-1]) if turn.replied), "")


def _read_turns(contents: Iterable[types.Content]) -> list[DemoTurn]:
    turns: list[DemoTurn] = []
    waiting: list[types.FunctionCall] = []
    for content in contents:
        parts = content.parts or []
        if content.role == "user" and (words := _words_of_user(parts)):
            turns.append(DemoTurn(said=words))
        if not turns:
            turns.append(DemoTurn(said=""))
        turn = turns[-1]
        turn.others_called.extend(_called_by_others(parts))
        turn.steps += content.role == "model"
        for part in parts:
            if content.role == "model" and part.text and not part.thought:
                turn.replied.append(part.text)
            if part.function_call:
                waiting.append(part.function_call)
            if part.function_response:
                turn.answered.append(_answered(part.function_response, waiting))
    return turns


def _words_of_user(parts: list[types.Part]) -> str:
    texts = [part.text for part in parts if part.text and not part.thought]
    if is_of_other_agent(texts):
        return ""
    return "\n".join(texts).strip()


def _called_by_others(parts: list[types.Part]) -> Iterator[str]:
    texts = [part.text for part in parts if part.text]
    found = (quoted_step(text) for text in texts) if is_of_other_agent(texts) else ()
    yield from (step.tool for step in found if step is not None and step.is_call)


def _answered(response: types.FunctionResponse, waiting: list[types.FunctionCall]) -> AnsweredDemoCall:
    """Pair a response with its call: by id where ADK left the ids in, else the oldest of the same name."""
    fitting = [one for one in waiting if one.id == response.id and one.name == response.name]
    origin = fitting[0] if fitting else types.FunctionCall(name=response.name)
    if fitting:
        waiting.remove(origin)
    return AnsweredDemoCall(DemoCall(origin.name or "", origin.args or {}), Answer(response.response or {}))
