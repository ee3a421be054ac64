"""Makes the facts that answers become, in the moment in which they do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from simulator.base.json_values import JsonObject, copied
from simulator.environment.drafts.blanks import SURE, Unsure
from simulator.facts import (
    AgentRan,
    Answered,
    CodeAnswered,
    ModelAnswered,
    Outcome,
    Provenance,
    RaisedError,
    RequestDigests,
    ToolAnswered,
    ToolEffects,
)
from simulator.runtime.adk.boundaries import CodeCall, ModelCall, ToolBoundaryCall
from simulator.runtime.adk.codec import give_own_ids
from simulator.runtime.turns.fired_rules import NOTHING_FIRED
from simulator.runtime.turns.turn import AnswerTiming, TurnRun
from simulator.runtime.turns.waiting_request import WaitingRequest
from simulator.session.fact_entries import calls_in

_REAL = Provenance(source="real")

Breach: TypeAlias = Callable[[WaitingRequest[ToolBoundaryCall], Outcome, str], str]
"""Says where a tool's answer that comes from somewhere breaks the tool's output schema; empty where it does not."""

FactAt: TypeAlias = Callable[[AnswerTiming], Answered]
"""Makes the fact, given when it becomes one."""


class AnswerFacts:
    """Makes facts of the answers in one turn; `now` gives the time, and `breach` says what is wrong with a tool's answer."""

    def __init__(self, now: Callable[[], float], run: TurnRun, breach: Breach) -> None:
        self._now, self._run, self._breach = now, run, breach
        self._digests = RequestDigests(parts={}, chain="")

    def of_tool(
        self,
        waiting: WaitingRequest[ToolBoundaryCall],
        outcome: Outcome,
        effects: ToolEffects,
        provenance: Provenance,
        beneath: Outcome | None = None,
    ) -> FactAt:
        """Return the maker of a tool's answer; `beneath` is what really happened, where that is something else."""
        call = waiting.call
        if broken := self._breach(waiting, beneath or outcome, provenance.source):
            provenance = provenance.model_copy(update={"notes": (*provenance.notes, broken)})
        return lambda moment: ToolAnswered.known(
            call_id=str(call.context.function_call_id or waiting.key),
            tool_name=waiting.name,
            arguments=waiting.arguments,
            scope=call.scope,
            outcome=outcome,
            effects=effects,
            beneath=beneath,
            traceback=waiting.traceback,
            declared=self._run.session.brought(waiting.name),
            **self._common(waiting, moment, provenance),
        )

    def of_agent(self, waiting: WaitingRequest[ToolBoundaryCall], provenance: Provenance) -> FactAt:
        """Return the maker of the word that the agent of a tool runs."""
        call = waiting.call
        return lambda moment: AgentRan.known(
            call_id=str(call.context.function_call_id or waiting.key),
            tool_name=waiting.name,
            arguments=waiting.arguments,
            scope=call.scope,
            **self._common(waiting, moment, provenance),
        )

    def of_model(
        self,
        waiting: WaitingRequest[ModelCall],
        responses: tuple[JsonObject, ...],
        error: RaisedError | None,
        provenance: Provenance,
        *,
        shared: bool = True,
    ) -> FactAt:
        """Return the maker of an agent's turn; where nobody shares the responses, they are not copied."""

        def made(moment: AnswerTiming) -> Answered:
            own = copied(responses) if shared and any(calls_in(responses)) else responses
            give_own_ids(own, self._run.used_ids, self._run.session.seed, waiting.key)
            return ModelAnswered.known(
                responses=tuple(own), error=error, **self._common(waiting, moment, provenance)
            )

        return made

    def of_code(
        self,
        waiting: WaitingRequest[CodeCall],
        result: JsonObject | None,
        error: RaisedError | None,
        provenance: Provenance,
    ) -> FactAt:
        """Return the maker of what code printed."""
        return lambda moment: CodeAnswered(
            code=waiting.call.code, result=result, error=error, **self._common(waiting, moment, provenance)
        )

    def _common(
        self, waiting: WaitingRequest[Any], moment: AnswerTiming, provenance: Provenance
    ) -> dict[str, Any]:
        elapsed = self._run.loop.time() - waiting.started
        return {
            "at": self._now(),
            "turn": self._run.number,
            "key": waiting.key,
            "agent": waiting.agent,
            "digests": self._digests_of(waiting, moment),
            "provenance": provenance,
            "elapsed_ms": int(elapsed * 1_000_000 + 0.5) / 1000,
            "at_once": moment.at_once,
        }

    def _digests_of(self, waiting: WaitingRequest[Any], moment: AnswerTiming) -> RequestDigests:
        """Return the fingerprints; calls that were made at once share them."""
        last = self._digests
        if waiting.parts or last.parts or last.chain != moment.chain:
            self._digests = RequestDigests.known(parts=waiting.parts, chain=moment.chain)
        return self._digests


def provenance_of(
    waiting: WaitingRequest[Any],
    source: Any,
    by: str | None = None,
    notes: tuple[str, ...] = (),
    unsure: Unsure = SURE,
) -> Provenance:
    """Say who authored an answer, what the rules had said before, and of which places nobody said what belongs there."""
    firing = waiting.firing
    if source == "real" and not notes and (firing is NOTHING_FIRED or firing.is_empty):
        return _REAL
    return firing.provenance(source, by, notes, unsure)
