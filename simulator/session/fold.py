"""Adds facts up to a session: what is legal next, what was counted, and what everything so far amounts to.

`SessionFold.take` is given one fact after the other, in the order of the journal. When a fact may come, and what it then does to the session, stands in
one method for each kind (`_start`, `_sit`, `_answer_by_tool` and so on), and nowhere else: it requires first, and changes then. A fold never runs backwards: after an
undo or on another branch, the journal folds the facts of that branch anew, so that nothing can stay behind of what was taken back.

What is asked for at each step is kept as it goes: the seats, the rules, who waits, the counts. The timeline that people read costs more and is
looked at less, so it is added up when somebody looks (`timeline_fold`); what the user's seat has said and what shapes the
environment are values of `model`, which each fact replaces. `session` gives all of it as one frozen `SimulationSession`.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, TypeAlias, get_args

from simulator.base.json_values import JsonObject
from simulator.base.validation_words import InputError
from simulator.environment.world.tool_settings import DeclaredTool
from simulator.facts import (
    NOTHING_EARLIER,
    AgentPlayer,
    AgentRan,
    AgentSelected,
    Answered,
    CallStarted,
    CodeAnswered,
    ConversationEnded,
    DraftDrawn,
    EnvironmentFact,
    Fact,
    ModelAnswered,
    ModelProposed,
    RulesChanged,
    SeatChanged,
    SessionOpened,
    ToolAnswered,
    ToolPlayer,
    ToolProposed,
    TurnEnded,
    TurnStarted,
    UserProposed,
    UserSeated,
)
from simulator.session.adk_event_fields import (
    calls_in,
    final_event,
    final_output,
    message_responses,
    open_calls,
    state_after,
)
from simulator.session.model import (
    OpenCall,
    Seats,
    SessionEnvironment,
    SessionState,
    SimulationSession,
    Turn,
    UserSeat,
)
from simulator.session.timeline_fold import Timeline


class Counts:
    """How often each rule has drawn, counted and fired, and each tool was called, by rule id and by tool name."""

    __slots__ = ("calls", "counted", "drawn", "fired")

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self.drawn: Counter[str] = Counter()
        self.counted: Counter[str] = Counter()
        self.fired: Counter[str] = Counter()

    def forked(self) -> Counts:
        """Return counts of their own that stand where these stand."""
        twin = Counts()
        twin.calls, twin.drawn = self.calls.copy(), self.drawn.copy()
        twin.counted, twin.fired = self.counted.copy(), self.fired.copy()
        return twin

    def take(self, fact: ToolAnswered | AgentRan) -> None:
        """Count one more answered call."""
        self.calls[fact.tool_name] += 1
        by = fact.provenance
        if by.counted:
            self.counted.update(by.counted)
        if by.drawn:
            self.drawn.update(by.drawn)
        if by.fired:
            self.fired.update(by.fired)


_AGENT_PLAYERS = frozenset(get_args(AgentPlayer))
_TOOL_PLAYERS = frozenset(get_args(ToolPlayer))


_Way: TypeAlias = "Callable[[SessionFold, Any], None]"


class IllegalFactError(InputError):
    """A fact that cannot follow the facts before it; nothing was changed."""

    def __init__(self, fact: Fact, state: SessionState, reason: str) -> None:
        super().__init__(f"{fact.kind} is not possible while the session is {state.value}: {reason}")
        self.fact = fact


class SessionFold:
    """The sum of the facts on one path of a journal.

    `take` takes a fact in, or raises and changes nothing; `session` gives the frozen view. Who reads what stands in the fold changes none of it.

    Attributes:
        agent_name: The agent that was selected; empty before.
        initial_state: What ADK's session state held at first.
        earlier: The artifacts and the memory that the session began with.
        state: Where the session is in its life.
        seats: Who plays now.
        rules: The injection rules that are in force now.
        environment: What is set for the environment now.
        declared_tools: The tools that only are declared, as they were when the last turn started.
        counts: How often tools were called and rules were moved; to be read at once.
        tool_answers: How many answers tools have given.
        proposals: What a model proposed in the running turn, by the request's key.
        drafts: What a model drafted in it for tool calls, by their keys.
        draws: Which offline draft was drawn last in it for a tool call, by its key; the first is 0.
        user: What the user's seat has said.
    """

    def __init__(self) -> None:
        self._opened: SessionOpened | None = None
        self._selected: AgentSelected | None = None
        self.agent_name, self.earlier = "", NOTHING_EARLIER
        self.initial_state: JsonObject = {}
        self.seats = Seats()
        self.rules: tuple[Any, ...] = ()
        self._turns: list[Turn] = []
        self._timeline = Timeline()
        self.state = SessionState.SELECTING_AGENT
        self._open: tuple[OpenCall, ...] = ()
        self._keys: set[str] = set()
        self._started: set[str] = set()
        self.proposals: dict[str, ModelProposed] = {}
        self._calls: set[str] = set()
        self._agents_ran: set[str] = set()
        self.drafts: dict[str, ToolProposed] = {}
        self.draws: dict[str, int] = {}
        self.counts, self.tool_answers = Counts(), 0
        self.environment = SessionEnvironment()
        self.declared_tools: tuple[DeclaredTool, ...] = ()
        self.user = UserSeat()

    def forked(self) -> SessionFold:
        """Return a fold of its own that has taken the same facts; each goes on by itself."""
        twin = copy.copy(self)
        for name, held in vars(self).items():
            match held:
                case Timeline() | Counts():
                    setattr(twin, name, held.forked())
                case list() | set() | dict():
                    setattr(twin, name, held.copy())
        return twin

    def call_ids(self) -> set[str]:
        """Return the ids of all tool calls so far."""
        return set(self._calls)

    def place_in_adk(self) -> dict[str, str]:
        """Return the app name, user id and session id by which ADK's services know the session."""
        return {
            "app_name": self._selected.app_name if self._selected else "",
            "user_id": self._opened.user_id if self._opened else "user",
            "session_id": self._opened.session_id if self._opened else "",
        }

    @property
    def last_turn(self) -> Turn | None:
        """The turn that started last."""
        return self._turns[-1] if self._turns else None

    @property
    def asks_the_user(self) -> bool:
        """A call of a turn that has ended waits for the user's answer."""
        return any(not call.answered for call in self._open)

    @property
    def turns_so_far(self) -> int:
        """How many turns have started."""
        return len(self._turns)

    @property
    def answers_in_turn(self) -> int:
        """How many requests of the last turn have been answered."""
        return len(self._keys)

    @property
    def is_running(self) -> bool:
        """A turn has started and has not ended."""
        return bool(self._turns) and not self._turns[-1].ended

    def take(self, number: int, fact: Fact) -> None:
        """Take in a fact that can come next; `number` is its number in the journal.

        Raises:
            IllegalFactError: Naming the fact, the state of the session and the reason; nothing was changed.
        """
        self._ways[type(fact)](self, fact)
        self._timeline.unread.append((number, fact))

    def _require(self, fact: Fact, holds: bool, reason: str) -> None:
        if not holds:
            raise IllegalFactError(fact, self.state, reason)

    # ------------------------------------------------------------ how a session begins, and who plays by which rules

    def _open_session(self, fact: SessionOpened) -> None:
        self._require(fact, self._opened is None, "the session is already open")
        self._opened = fact

    def _select(self, fact: AgentSelected) -> None:
        self._require(fact, self._opened is not None, "the session is not open")
        self._require(fact, self._selected is None, "an agent is already selected")
        self._selected = fact
        self.agent_name, self.initial_state, self.earlier = fact.agent_name, fact.initial_state, fact.earlier
        self.environment = SessionEnvironment(
            data=fact.environment_data, is_data_brought=bool(fact.environment_data)
        )
        self.state = SessionState.AWAITING_QUERY

    def _sit(self, fact: SeatChanged) -> None:
        self._require(fact, self._selected is not None, "no agent is selected")
        players = _AGENT_PLAYERS if fact.seat == "agent" else _TOOL_PLAYERS
        self._require(fact, fact.player in players, f"{fact.player} cannot play the {fact.seat} seat")
        seat = "agents" if fact.seat == "agent" else "tools"
        now = {**getattr(self.seats, seat), fact.target: fact.player}
        self.seats = self.seats.model_copy(update={seat: now})

    def _rule(self, fact: RulesChanged) -> None:
        self._require(fact, self._selected is not None, "no agent is selected")
        ids = [rule.rule_id for rule in fact.rules]
        twice = sorted({rule_id for rule_id in ids if ids.count(rule_id) > 1})
        self._require(fact, not twice, f"two rules have the id {', '.join(twice)}")
        self.rules = fact.rules

    def _shape(self, fact: EnvironmentFact) -> None:
        self._require(fact, self._selected is not None, "no agent is selected")
        self.environment = self.environment.after(fact)

    # ------------------------------------------------------------ what the user says

    def _seat_user(self, fact: UserSeated) -> None:
        self._require(fact, self._selected is not None, "no agent is selected")
        self.user = self.user.seated(fact)

    def _propose_message(self, fact: UserProposed) -> None:
        self._require_next_turn(fact)
        self._require(fact, self.user.player != "person", "a person plays the user")
        self.user = self.user.proposing(fact)

    def _end_conversation(self, fact: ConversationEnded) -> None:
        self._require(fact, self.state is SessionState.COMPLETED, "the agent has given no final response")
        self._require(
            fact,
            fact.over != self.user.ended,
            "the conversation has already ended" if fact.over else "the conversation has not ended",
        )
        self.user = self.user.ending(fact)

    def _start(self, fact: TurnStarted) -> None:
        self._require_next_turn(fact)
        self._require_answering(fact)
        self.declared_tools = self.environment.declared
        self._turns.append(
            Turn(
                number=fact.turn,
                purpose=fact.purpose,
                message=fact.message,
                state_delta=fact.state_delta,
                started_at=fact.at,
            )
        )
        self._keys, self._started, self.proposals, self.drafts = set(), set(), {}, {}
        self.draws = {}
        self.user = self.user.speaking(fact)
        self.state = SessionState.ACTIVE

    def _require_next_turn(self, fact: TurnStarted | UserProposed) -> None:
        self._require(fact, self._selected is not None, "no agent is selected")
        self._require(fact, not self.is_running, f"turn {len(self._turns) - 1} has not ended")
        self._require(fact, fact.turn == len(self._turns), f"the next turn is {len(self._turns)}")

    def _require_answering(self, fact: TurnStarted) -> None:
        """Require a message, and of a reply that it answers calls that are open."""
        parts = fact.message.get("parts")
        self._require(fact, isinstance(parts, list) and bool(parts), "the message has no parts")
        if fact.purpose == "query":
            return
        known = {call.call_id for call in self._open}
        responses = message_responses(fact.message)
        self._require(fact, bool(responses), "a reply needs at least one function response")
        unknown = sorted(str(response.get("id")) for response in responses if response.get("id") not in known)
        self._require(fact, not unknown, f"no open call has the id {', '.join(unknown)}")

    # ------------------------------------------------------------ what is answered in a turn

    def _begin_call(self, fact: CallStarted) -> None:
        self._require_open(fact)
        self._started.add(fact.key)

    def _propose(self, fact: ModelProposed) -> None:
        self._require_open(fact)
        self.proposals[fact.key] = fact

    def _propose_draft(self, fact: ToolProposed) -> None:
        self._require_open(fact)
        self.drafts[fact.key] = fact

    def _draw_draft(self, fact: DraftDrawn) -> None:
        self._require_open(fact)
        self.draws[fact.key] = fact.draw

    def _answer_by_model(self, fact: ModelAnswered) -> None:
        self._require_open(fact)
        ids = [call.get("id") for call in calls_in(fact.responses)]
        if not all(ids):
            raise IllegalFactError(fact, self.state, "a function call has no id")
        new: set[Any] = set(ids)
        if len(new) < len(ids) or not self._calls.isdisjoint(new):
            doubled = sorted(
                str(call) for call, times in Counter(ids).items() if times > 1 or call in self._calls
            )
            raise IllegalFactError(
                fact, self.state, f"the call id {', '.join(doubled)} is not unique in the session"
            )
        self._keys.add(fact.key)
        self._calls |= new

    def _answer_by_tool(self, fact: ToolAnswered) -> None:
        self._require_open(fact)
        self.tool_answers += 1
        self._keys.add(fact.key)
        self._calls.add(fact.call_id)
        if fact.call_id not in self._agents_ran:  # else the call was counted when its agent began
            self.counts.take(fact)

    def _let_agent_run(self, fact: AgentRan) -> None:
        self._require_open(fact)
        self._keys.add(fact.key)
        self._calls.add(fact.call_id)
        self._agents_ran.add(fact.call_id)
        self.counts.take(fact)

    def _answer_by_code(self, fact: CodeAnswered) -> None:
        self._require_open(fact)
        self._keys.add(fact.key)

    def _require_open(
        self, fact: Answered | CallStarted | ModelProposed | ToolProposed | DraftDrawn | TurnEnded
    ) -> None:
        """Require that the turn runs and that the request still waits which a fact is about."""
        running = len(self._turns) - 1
        if running < 0 or self._turns[running].ended:
            raise IllegalFactError(fact, self.state, "no turn is running")
        if fact.turn != running:
            raise IllegalFactError(fact, self.state, f"turn {running} is running, not {fact.turn}")
        if not isinstance(fact, TurnEnded) and fact.key in self._keys:
            raise IllegalFactError(fact, self.state, f"{fact.key} is already answered")

    def _end(self, fact: TurnEnded) -> None:
        self._require_open(fact)
        self._open = open_calls(fact.events, self._open)
        ran_through = not fact.stopped and fact.error is None
        waits = ran_through and any(not call.answered for call in self._open)
        place = final_event(fact.events)
        final = ran_through and not waits and (place is not None or final_output(fact.events) is not None)
        self._turns[-1] = self._turns[-1].model_copy(
            update={
                "ended": True,
                "events": fact.events,
                "state": fact.state,
                "artifacts": fact.artifacts,
                "error": fact.error,
                "stopped": fact.stopped,
                "final_event": place if final or not ran_through else None,
            }
        )
        self.state = (
            SessionState.COMPLETED if final else SessionState.ACTIVE if waits else SessionState.AWAITING_QUERY
        )

    def session(self, live_events: Iterable[JsonObject] = ()) -> SimulationSession:
        """Return the session as it stands; `live_events` are those that ADK has appended in the running turn."""
        initial, events = self.initial_state, tuple(live_events)
        done = [turn for turn in self._turns if turn.ended]
        return SimulationSession(
            **self.place_in_adk(),
            agent_name=self.agent_name,
            state=self.state,
            history=self._timeline.entries(events),
            start_timestamp=self._opened.at if self._opened else 0.0,
            turns=tuple(self._turns),
            initial_state=initial,
            earlier=self.earlier,
            current_state=state_after(done[-1].state if done else initial, events),
            seats=self.seats,
            rules=self.rules,
            environment=self.environment,
            open_calls=() if self.is_running else self._open,
        )

    # By class, as a chain of tests for eleven classes is what a fast agent would wait for.
    _ways: ClassVar[dict[type[Any], _Way]] = {
        SessionOpened: _open_session,
        AgentSelected: _select,
        TurnStarted: _start,
        ModelAnswered: _answer_by_model,
        ToolAnswered: _answer_by_tool,
        AgentRan: _let_agent_run,
        CodeAnswered: _answer_by_code,
        CallStarted: _begin_call,
        ModelProposed: _propose,
        ToolProposed: _propose_draft,
        DraftDrawn: _draw_draft,
        SeatChanged: _sit,
        UserSeated: _seat_user,
        UserProposed: _propose_message,
        ConversationEnded: _end_conversation,
        RulesChanged: _rule,
        TurnEnded: _end,
        **dict.fromkeys(get_args(EnvironmentFact), _shape),
    }

    def may_have_run(self) -> frozenset[str]:
        """Return the keys of real calls that were started in the running turn and have no answer."""
        return frozenset(self._started - self._keys)
