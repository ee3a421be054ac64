"""A small model that decides by code: it reads an `LlmRequest` as a conversation and a tool's answer in whatever shape; no network, no key, no chance.

A demo agent's thought is a generator. It yields the calls that it wants answered, gets their answers back, and
returns what the agent says. The model starts the thought anew at each request and feeds it the answers that the
request already holds, so all that it knows is what a real model would see.
"""

from __future__ import annotations

import json
import math
import re
from abc import abstractmethod
from collections.abc import AsyncGenerator, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

from google.adk.models import BaseLlm, LlmCapabilities
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types

from simulator.session.adk_event_fields import is_of_other_agent, quoted_step

NOT_FOUND = 404
TOO_MANY_REQUESTS = 429
SERVER_ERRORS = range(500, 600)

_BUSY_WORDS = ("unavailable", "timeout", "timed out", "try again", "overloaded", "temporar", "deadline")
_MISSING_WORDS = ("not found", "no such", "does not exist", "unknown ", "no order", "no record")
_ERROR_STATUSES = ("error", "failed", "failure")
_QUOTE_LENGTH = 160


@dataclass(frozen=True)
class ToolFailure:
    """The failure of a tool: a code where there is one, and its words."""

    code: int | str | None
    words: str

    @property
    def is_busy(self) -> bool:
        """Whether the same call may work a moment later."""
        if isinstance(self.code, int):
            return self.code == TOO_MANY_REQUESTS or self.code in SERVER_ERRORS
        return any(word in self._text for word in _BUSY_WORDS)

    @property
    def is_missing(self) -> bool:
        """Whether the thing that was asked for does not exist."""
        if isinstance(self.code, int):
            return self.code == NOT_FOUND
        return any(word in self._text for word in _MISSING_WORDS)

    @property
    def _text(self) -> str:
        return f"{self.code or ''} {self.words}".lower()

    def __str__(self) -> str:
        code = "" if self.code is None else f"{self.code}: "
        return f"{code}{self.words}" if self.words else code.rstrip(": ") or "no reason given"


@dataclass(frozen=True)
class Answer:
    """What a tool answered; `response` is the dict of ADK's `FunctionResponse`."""

    response: Mapping[str, Any]

    @property
    def value(self) -> Any:
        """What the tool returned: ADK wraps everything but a dict as `{"result": value}`."""
        return self.response["result"] if self.response.keys() == {"result"} else dict(self.response)

    @property
    def failure(self) -> ToolFailure | None:
        """The error that the answer reports, in one of the forms that tools use."""
        value = self.value
        if not isinstance(value, dict):
            return None
        error = value.get("error")
        if isinstance(error, dict):
            code = error.get("code", error.get("status"))
            return ToolFailure(_code(code), pick_text(error, "message", "details", default=quoted(error)))
        words = pick_text(value, "error_message", "error", "message", "detail")
        if value.get("error_code") is not None or value.get("error_message") or error:
            return ToolFailure(_code(value.get("error_code")), words or quoted(value))
        if str(value.get("status")).lower() in _ERROR_STATUSES:
            return ToolFailure(_code(value.get("code")), words or quoted(value))
        return None

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing in the answer."""
        return self.value in (None, "", {}, [])

    def record(self, *wrappers: str, **wanted: str) -> dict[str, Any]:
        """Find the one record that the answer is about, or an empty dict.

        Args:
            *wrappers: Keys under which a tool may have put the record.
            **wanted: A field and the value that picks the record out of a list; with none that fits, the first.
        """
        return _record(self.value, wrappers, wanted)

    def records(self, *wrappers: str) -> list[dict[str, Any]]:
        """Find the records of the answer: a list of dicts, or one under one of the keys `wrappers`."""
        value = self.value
        if isinstance(value, dict):
            value = next((value[key] for key in wrappers if isinstance(value.get(key), list)), [])
        return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []

    def __str__(self) -> str:
        return quoted(self.value)


def number(value: object) -> float | None:
    """Read a number, also out of a text such as "49.90 EUR"; None where there is none."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    if isinstance(value, str):
        match = re.search(r"-?\d{1,15}(?:\.\d{1,6})?", value.replace(",", ""))
        if match is None:
            return None
        value = match.group()
    try:
        result = round(float(value), 2)
    except OverflowError:
        return None
    return result if math.isfinite(result) else None


def pick_number(record: Mapping[str, Any], *names: str) -> float | None:
    """Return the first of the fields that holds a number."""
    return next((found for name in names if (found := number(record.get(name))) is not None), None)


def pick_text(record: Mapping[str, Any], *names: str, default: str = "") -> str:
    """Return the first of the fields that holds a text, or a whole number written out; cut at a length to quote."""
    for name in names:
        value = record.get(name)
        if isinstance(value, str) and value.strip():
            return shortened(value)
        if isinstance(value, int) and not isinstance(value, bool):
            return shortened(str(value)) if abs(value) < 10**18 else default
    return default


def money(amount: float, currency: str) -> str:
    """Write an amount with its currency, as in "49.90 EUR"."""
    return f"{amount:.2f} {currency}".strip()


def shortened(text: str) -> str:
    """Put a text on one line, cut where it is too long to quote."""
    line = " ".join(text.split())
    return line if len(line) <= _QUOTE_LENGTH else f"{line[:_QUOTE_LENGTH]}..."


def quoted(value: object) -> str:
    """Write any JSON value so that it can stand in a sentence."""
    return shortened(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str))


def listed(items: Iterable[str]) -> str:
    """Join words as a person does: "a, b and c"."""
    words = list(items)
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1]))) if words else ""


def _code(value: object) -> int | str | None:
    if isinstance(value, str) and re.fullmatch(r"\d{1,4}", value.strip(), re.ASCII):
        return int(value)
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        return None
    return shortened(value) if isinstance(value, str) else value


def _record(value: object, wrappers: tuple[str, ...], wanted: Mapping[str, str]) -> dict[str, Any]:
    if isinstance(value, list):
        records = [item for item in value if isinstance(item, dict)]
        fitting = (item for item in records if any(item.get(key) == wanted[key] for key in wanted))
        return next(fitting, records[0] if records else {})
    if not isinstance(value, dict):
        return {}
    for key in wrappers:
        if isinstance(value.get(key), (dict, list)):
            return _record(value[key], wrappers, wanted)
    return value


@dataclass(frozen=True)
class DemoCall:
    """A tool call: what the model wants to know or to do, what it says along with it, and its answer once that is there."""

    tool: str
    arguments: Mapping[str, Any]
    spoken: str = field(default="", compare=False)
    answer: Answer = field(default=Answer({}), compare=False)


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
    answered: list[DemoCall] = field(default_factory=list)
    replied: list[str] = field(default_factory=list)
    others_called: list[str] = field(default_factory=list)
    steps: int = 0


class Talk:
    """The conversation so far, as one agent sees it; a request with no words of a user is one empty turn.

    Attributes:
        tools: The tools that the agent has, by name.
        turns: All turns; the last one, `turn`, is the one to go on with.
        said: The user's latest words.
        said_before: The user's words of the turns before, latest first.
        last_reply: What this agent said last, in a turn before this one.
    """

    def __init__(self, request: LlmRequest) -> None:
        self.tools = frozenset(request.tools_dict)
        self.turns = _read_turns(request.contents) or [DemoTurn(said="")]
        *before, self.turn = self.turns
        self.said, self.last_reply = self.turn.said, ""
        self.said_before: list[str] = []
        for turn in reversed(before):
            self.said_before.append(turn.said)
            self.last_reply = self.last_reply or "".join(turn.replied[-1:])


def _read_turns(contents: Iterable[types.Content]) -> list[DemoTurn]:
    turns: list[DemoTurn] = []
    waiting: list[types.FunctionCall] = []
    for content in contents:
        parts = content.parts or []
        texts = [part.text for part in parts if part.text and not part.thought]
        of_others = is_of_other_agent(texts)
        words = "" if of_others or content.role != "user" else "\n".join(texts).strip()
        if words or not turns:
            turns.append(DemoTurn(said=words))
        turn = turns[-1]
        steps = [quoted_step(text) for text in texts] if of_others else []
        turn.others_called += [step.tool for step in steps if step is not None and step.is_call]
        if content.role == "model":
            turn.steps += 1
            turn.replied += texts
        for part in parts:
            if part.function_call:
                waiting.append(part.function_call)
            if part.function_response:
                turn.answered.append(_answered(part.function_response, waiting))
    return turns


def _answered(response: types.FunctionResponse, waiting: list[types.FunctionCall]) -> DemoCall:
    """Pair a response with its call: by id where ADK left the ids in, else the oldest of the same name."""
    fitting = [one for one in waiting if one.id == response.id and one.name == response.name]
    origin = fitting[0] if fitting else types.FunctionCall(name=response.name)
    if fitting:
        waiting.remove(origin)
    return DemoCall(origin.name or "", origin.args or {}, answer=Answer(response.response or {}))


MAX_STEPS = 12
"""A turn with more steps than this ends with an apology, whatever the answers were."""

_REFUSALS = 2

# Code spends no tokens. ADK logs a warning for each answer that does not say how many it took.
_NO_TOKENS = types.GenerateContentResponseUsageMetadata(
    prompt_token_count=0, candidates_token_count=0, total_token_count=0
)

Outcome = TypeVar("Outcome")
Steps: TypeAlias = Generator[Sequence[DemoCall], Sequence[Answer], Outcome]
"""A thought, or a part of one: yields calls to be made at once, is sent their answers in the same order."""


class DemoModel(BaseLlm):
    """A model whose thought is Python; a subclass says in `think` how it decides."""

    model: str = "demo-model"

    @property
    def capabilities(self) -> LlmCapabilities:
        """Say that a final answer with a schema goes through ADK's `set_model_response` tool."""
        return LlmCapabilities(output_schema_and_tools=False)

    @abstractmethod
    def think(self, talk: Talk) -> Steps[str]:
        """Decide what to do about the user's latest words; the value returned is what the agent says."""

    def give_up(self, talk: Talk) -> str:  # noqa: ARG002 - a subclass with an output schema reads the talk
        """Word the answer of a turn that took too many steps."""
        return f"I stopped after {MAX_STEPS} steps without getting this done. Please tell me how to go on."

    async def generate_content_async(
        self,
        llm_request: LlmRequest,
        stream: bool = False,  # noqa: ARG002 - a text made at once is one chunk
    ) -> AsyncGenerator[LlmResponse, None]:
        """Answer with the calls that the thought waits for, or with its text."""
        talk = Talk(llm_request)
        said = self.give_up(talk) if talk.turn.steps >= MAX_STEPS else next_step(self.think(talk), talk)
        words = said if isinstance(said, str) else " ".join(call.spoken for call in said if call.spoken)
        parts = [types.Part(text=words)] if words or isinstance(said, str) else []
        for call in () if isinstance(said, str) else said:
            made = types.FunctionCall(name=call.tool, args=dict(call.arguments))
            parts.append(types.Part(function_call=made))
        yield LlmResponse(
            content=types.Content(role="model", parts=parts),
            finish_reason=types.FinishReason.STOP,
            usage_metadata=_NO_TOKENS,
            partial=False,
        )


def next_step(thought: Steps[str], talk: Talk) -> Sequence[DemoCall] | str:
    """Run a thought as far as the answers of this turn reach: to the calls it waits for, or to its end."""
    known = list(talk.turn.answered)
    try:
        wanted = next(thought)
        while True:
            answers = _take(wanted, known)
            missing = [call for call, answer in zip(wanted, answers, strict=True) if answer is None]
            if missing:
                return missing
            wanted = thought.send([answer for answer in answers if answer is not None])
    except StopIteration as end:
        return str(end.value)


def asked(tool: str, /, **arguments: Any) -> Steps[Answer]:
    """Make one call, as `asked("find_order", order_id="A-1001")`, and once more where the first answer says that the service is busy."""
    call = DemoCall(tool, arguments)
    (answer,) = yield [call]
    if answer.failure and answer.failure.is_busy:
        (answer,) = yield [call]
    return answer


def together(thoughts: Iterable[Steps[Outcome]]) -> Steps[list[Outcome]]:
    """Run thoughts side by side, so that the calls they wait for at the same time are made at once."""
    running = dict(enumerate(thoughts))
    outcomes: dict[int, Outcome] = {}
    wanted: dict[int, Sequence[DemoCall]] = {}
    answers: dict[int, Sequence[Answer]] = {}
    while running:
        for place in list(running):
            try:
                thought = running[place]
                wanted[place] = thought.send(answers[place]) if place in answers else next(thought)
            except StopIteration as end:
                outcomes[place] = end.value
                del running[place]
        if running:
            batch = yield [call for place in running for call in wanted[place]]
            for place in running:
                count = len(wanted[place])
                answers[place], batch = batch[:count], batch[count:]
    return [outcomes[place] for place in sorted(outcomes)]


def _take(wanted: Sequence[DemoCall], known: list[DemoCall]) -> list[Answer | None]:
    """Take the answers to these calls out of what is known, exact ones first.

    The agent's player may change a call before it is made. Where that was done twice, the answer
    to the changed call is taken, or else the model would ask the same again for ever.
    """
    answers = [known.pop(known.index(call)).answer if call in known else None for call in wanted]
    for place, call in enumerate(wanted):
        changed = [done for done in known if done.tool == call.tool]
        if answers[place] is None and len(changed) >= _REFUSALS:
            known.remove(changed[-1])
            answers[place] = changed[-1].answer
    return answers
