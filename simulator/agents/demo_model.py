"""A small model that decides by code from its `LlmRequest`: no network, no key, no chance.

A demo agent's thought is a generator. It yields the calls that it wants answered, gets their answers back, and
returns what the agent says. The model starts the thought anew at each request and feeds it the answers that the
request already holds, so all that it knows is what a real model would see.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import AsyncGenerator, Generator, Iterable, Iterator, Sequence
from typing import Any, TypeAlias, TypeVar

from google.adk.models import BaseLlm, LlmCapabilities
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types

from simulator.agents.demo_answer import Answer
from simulator.agents.demo_request import AnsweredDemoCall, DemoCall, Talk

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
        talk = Talk.read(llm_request)
        said = self.give_up(talk) if talk.turn.steps >= MAX_STEPS else next_step(self.think(talk), talk)
        parts = [types.Part(text=said)] if isinstance(said, str) else list(_parts(said))
        yield LlmResponse(
            content=types.Content(role="model", parts=parts),
            finish_reason=types.FinishReason.STOP,
            usage_metadata=_NO_TOKENS,
            partial=False,
        )


def _parts(calls: Sequence[DemoCall]) -> Iterator[types.Part]:
    spoken = " ".join(filter(None, (call.spoken for call in calls)))
    if spoken:
        yield types.Part(text=spoken)
    yield from (call.part() for call in calls)


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


def asked(call: DemoCall) -> Steps[Answer]:
    """Make one call, and once more where the first answer says that the service is busy."""
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
            answers = dict(_shared_out(batch, [(place, len(wanted[place])) for place in running]))
    return [outcomes[place] for place in sorted(outcomes)]


def _shared_out(
    batch: Sequence[Answer], counts: Iterable[tuple[int, int]]
) -> Iterable[tuple[int, Sequence[Answer]]]:
    start = 0
    for place, count in counts:
        yield place, batch[start : start + count]
        start += count


def _take(wanted: Sequence[DemoCall], known: list[AnsweredDemoCall]) -> list[Answer | None]:
    """Take the answers to these calls out of what is known, exact ones first.

    The agent's player may change a call before it is made. Where that was done twice, the answer
    to the changed call is taken, or else the model would ask the same again for ever.
    """
    answers: list[Answer | None] = [
        _take_one(known, lambda done, call=call: done.call == call) for call in wanted
    ]
    for place, call in enumerate(wanted):
        changed = [done for done in known if done.call.tool == call.tool]
        if answers[place] is None and len(changed) >= _REFUSALS:
            known.remove(changed[-1])
            answers[place] = changed[-1].answer
    return answers


def _take_one(known: list[AnsweredDemoCall], fits: Any) -> Answer | None:
    for place, done in enumerate(known):
        if fits(done):
            return known.pop(place).answer
    return None
