"""Adds up what happens in the user's seat: who sits there, how much was said, and what waits to be said."""

from __future__ import annotations

import json

from pydantic import Field

from simulator.base.frozen_value import Value
from simulator.base.json_values import JsonObject, digest
from simulator.facts import ConversationEnded, TurnStarted, UserPlayer, UserProposed, UserSeated

_ADK_LIMIT = 20


ADKS_SIMULATOR = "llm_backed"
"""What ADK calls the configuration of its own user simulator."""

ADKS_SPEAKER = "llm_audio"
"""What ADK calls the configuration of its user simulator that sends audio."""

NO_AUDIO = (
    f"ADK's user simulator {ADKS_SPEAKER!r} sends audio, and a session is played in text. Use the type {ADKS_SIMULATOR!r} here. `golden-trace eval` "
    f"plays {ADKS_SPEAKER!r}"
)
"""Why that one plays no user in a session."""


class UserSeat(Value):
    """The user's seat at one moment.

    `said` is how many messages the conversation of who sits there holds: of a script, those that were sent while it sat
    there; of a scenario, all since it first sat down, as a person who takes over goes on with the same conversation.
    `proposed` is what was said that no turn has begun with yet; with `is_over`, the player has said that there is no more.
    `hold` as for `UserSeated`; `changes` counts how often somebody sat down. With `ended`, a person has said that the
    conversation is over: nobody speaks until it goes on.
    """

    player: UserPlayer = "person"
    script: tuple[JsonObject, ...] = ()
    scenario: JsonObject | None = None
    config: JsonObject = Field(default_factory=dict)
    hold: bool = True
    changes: int = 0
    said: int = 0
    proposed: UserProposed | None = None
    is_over: bool = False
    ended: bool = False
    over: tuple[str, ...] = ()
    conversations: dict[str, int] = Field(default_factory=dict)

    @property
    def limit(self) -> int | None:
        """How many messages there may be in all; None where nothing limits them."""
        if self.player in {"script", "recording"}:
            return len(self.script)
        if self.player == "person":
            return None
        most = self.config.get("max_allowed_invocations", None if self.own_simulator else _ADK_LIMIT)
        return most if isinstance(most, int) and most >= 0 else None

    @property
    def own_simulator(self) -> str:
        """The dotted path of a user simulator that is not ADK's own; empty where it is ADK's."""
        kind = self.config.get("type")
        return kind if isinstance(kind, str) and kind != ADKS_SIMULATOR else ""

    @property
    def is_by_hand(self) -> bool:
        """Whether a person writes the next message of a scenario: it has begun, and no model is set for it."""
        begun = self.player == "scenario" and self.said > 0 and self.left != 0 and not self.is_over
        return begun and not self.own_simulator and not self.config.get("model", True)

    @property
    def left(self) -> int | None:
        """How many messages are left; None where nothing limits them."""
        return None if self.limit is None else max(0, self.limit - self.said)

    def seated(self, fact: UserSeated) -> UserSeat:
        """Return the seat with somebody else in it.

        Who comes back goes on where they were; a script that was said to its end begins anew. What waits stays where only
        `hold` has changed.
        """
        key = _key(fact.player, fact.script, fact.scenario)
        is_said = bool(fact.script) and self.conversations.get(key, 0) >= len(fact.script)
        conversations = {key: 0} if fact.player != "person" else {}
        conversations |= self.conversations | ({key: 0} if is_said else {})
        over = tuple(each for each in self.over if not (is_said and each == key))
        is_same = (self.player, self.script, self.scenario, self.config) == (
            fact.player,
            fact.script,
            fact.scenario,
            fact.config,
        )
        return UserSeat(
            player=fact.player,
            script=fact.script,
            scenario=fact.scenario,
            config=fact.config,
            hold=fact.hold,
            changes=self.changes + 1,
            ended=self.ended,
            said=conversations.get(key, 0),
            proposed=self.proposed if is_same and not is_said else None,
            is_over=key in over,
            over=over,
            conversations=conversations,
        )

    def proposing(self, fact: UserProposed) -> UserSeat:
        """Return the seat with what was said there."""
        return self.model_copy(update={"proposed": fact})

    def speaking(self, fact: TurnStarted) -> UserSeat:
        """Return the seat when a turn has begun: what waited is over."""
        if self.ended:
            return self.model_copy(update={"ended": False}).speaking(fact)
        if not self.conversations:
            return self
        if fact.purpose != "query":
            return self.model_copy(update={"proposed": None})
        own = _key(self.player, self.script, self.scenario)
        counted = {
            key: count + (key == own or key.startswith("scenario "))
            for key, count in self.conversations.items()
        }
        ended = self.proposed is not None and self.proposed.status == "stop_signal_detected"
        return self.model_copy(
            update={
                "proposed": None,
                "conversations": counted,
                "said": counted.get(own, self.said),
                "is_over": ended or self.is_over,
                "over": (*self.over, own) if ended and not self.is_over else self.over,
            }
        )

    def ending(self, fact: ConversationEnded) -> UserSeat:
        """Return the seat with the conversation over, or open again."""
        return self.model_copy(update={"ended": fact.over})


def _key(player: str, script: tuple[JsonObject, ...], scenario: JsonObject | None) -> str:
    return f"{player} {digest(json.dumps([list(script), scenario], sort_keys=True))}"
