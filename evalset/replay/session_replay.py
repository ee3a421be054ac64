"""The replay of one session: how far it has gone along its recording, and who answers what was not recorded. Threads may use both at once.

Where a policy says so, a call that was not recorded is answered all the same: by the case's rules first, then by an offline draft. Nothing real runs.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping

from evalset.recorded.recorded_turns import real_calls
from evalset.recorded.recording import Author, RecordedCall, RecordedCase
from evalset.replay.case_following import InputQuestion, InputReply, UnrecordedError
from evalset.replay.model_choice import Policy
from evalset.replay.session_following import SessionFollowed
from simulator.environment.injection.rule_effects import HangEffect
from simulator.environment.injection.rules import InjectionRule
from simulator.facts import Provenance
from simulator.runtime.plugin.call_claims import PluginAnswering
from simulator.runtime.plugin.session_play import SessionPlay
from simulator.runtime.turns.waiting_request import Call
from simulator.session.environment_state import SessionEnvironment

_AT_ONCE = 0.001


class SessionReplay:
    """The replay of one session, and how far it has gone. Threads may use it at once."""

    def __init__(self, environment_data: str = "") -> None:
        self.lock = threading.RLock()
        self.followed: SessionFollowed | None = None
        self.improvised = Improvised(environment_data)

    @property
    def case(self) -> SessionFollowed:
        """The cases that the session may be.

        Raises:
            UnrecordedError: Nobody has said anything in it yet.
        """
        if self.followed is None:
            raise UnrecordedError("this session has no user message yet")
        return self.followed

    def reply_to(self, question: InputQuestion) -> InputReply:
        """Return what a person answered to a question of the agent, and use it up.

        Raises:
            UnrecordedError: Nothing was recorded for it.
        """
        with self.lock:
            return self.case.input(question)

    def leaves_open(self, question: InputQuestion) -> bool:
        """Return whether nobody replied to a question: the recording ends there."""
        with self.lock:
            return self.case.leaves_open(question)

    def id_like(self, question: InputQuestion) -> str:
        """Return the id of the recorded question that comes nearest; empty where there is none."""
        with self.lock:
            case = self.followed.nearest if self.followed else None
            found = case.nearest_input(question) if case else None
        return found.id if found else ""


class Improvised:
    """Answers the calls of one session that were not recorded. Threads may use it at once.

    It knows what was answered before: the recorded answers count for the rules, and a draft does not contradict them.

    Args:
        environment_data: What there is in the agent's world when a session begins.
    """

    def __init__(self, environment_data: str = "") -> None:
        self._data = environment_data
        self._lock = threading.Lock()
        self._heard: list[tuple[Call, RecordedCall]] = []
        self._plays: dict[str, SessionPlay] = {}

    def hear(self, question: Call, call: RecordedCall) -> None:
        """Take in a call that was answered as recorded."""
        with self._lock:
            self._heard.append((question, call))
            for play in self._plays.values():
                _learn(play, question, call)

    async def answer(
        self,
        eval_id: str,
        known: Mapping[str, RecordedCase],
        question: Call,
        within: tuple[str, ...],
        policy: Policy,
    ) -> RecordedCall | None:
        """Answer a call of the session of a case, by its rules and with what is known; None where the policy lets nobody answer."""
        play = self._play(eval_id, known)
        answering = PluginAnswering(play, None, time.time)
        told, made = await answering.answer(question, "offline" if policy == "generate" else "refuse", None)
        if made.source == "refused":
            return None
        return RecordedCall(
            id=question.call_id,
            tool=question.name,
            agent=question.agent,
            within=within,
            arguments=question.arguments,
            outcome=told.outcome,
            beneath=told.beneath,
            effects=told.effects,
            author=Author.of(told.provenance),
        )

    def _play(self, eval_id: str, known: Mapping[str, RecordedCase]) -> SessionPlay:
        with self._lock:
            if eval_id not in self._plays:
                play = self._plays[eval_id] = _play_of(eval_id, known, self._data)
                for question, call in self._heard:
                    _learn(play, question, call)
            return self._plays[eval_id]


def words_of(author: Author) -> str:
    """Return who made an answer."""
    notes = f" ({'; '.join(author.notes)})" if author.notes else ""
    if author.source == "injected":
        return f"the rule {author.by!r}{notes}"
    return f"a generated draft{notes}"


def _play_of(eval_id: str, known: Mapping[str, RecordedCase], data: str) -> SessionPlay:
    recordings = {name: tuple(one for _, one in real_calls(name, case)) for name, case in known.items()}
    environment = SessionEnvironment(data=data, is_data_brought=bool(data), recordings=recordings)
    own = known.get(eval_id)
    rules = tuple(_without_waiting(rule) for rule in own.rules) if own else ()
    return SessionPlay(environment, rules, own.seed if own else "")


def _without_waiting(rule: InjectionRule) -> InjectionRule:
    """Return a rule that takes no time: nobody watches a replay."""
    effect = rule.effect
    if isinstance(effect, HangEffect):
        effect = effect.model_copy(update={"timeout_seconds": _AT_ONCE})
    return rule.model_copy(update={"effect": effect, "latency_seconds": 0.0, "latency": None})


def _learn(play: SessionPlay, question: Call, call: RecordedCall) -> None:
    play.judge(question)
    by = Provenance(source="recorded")
    play.take(question, call.outcome, by, at=0.0, beneath=call.beneath)
