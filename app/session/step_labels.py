"""Says in a few words what a step was that somebody can take back or bring back, and where another way begins. Pure."""

from __future__ import annotations

from collections import Counter
from itertools import takewhile

from app.forms.safe_labels import safe_label
from app.live.player_names import PLAYERS
from app.session.user_form import text_and_files
from simulator.base.json_values import JsonObject
from simulator.facts import (
    EVERY,
    CodeAnswered,
    ConversationEnded,
    Fact,
    ModelAnswered,
    RulesChanged,
    SeatChanged,
    ToolAnswered,
    TurnEnded,
    TurnStarted,
    UserSeated,
)
from simulator.journal import Journal
from simulator.seats.requests import Request, ToolRequest
from simulator.session.history import HistoryEntry

_LONGEST = 32
_COUNTED: dict[str, str] = {
    "turn_started": "user message",
    "model_answered": "agent turn",
    "tool_answered": "tool response",
    "code_answered": "code output",
    "rules_changed": "rule change",
    "seat_changed": "player change",
    "user_seated": "player change",
    "environment_changed": "environment change",
    "world_edited": "world edit",
}
"""What a way back takes away, as people count it."""
_OTHERS = {
    "environment_changed": "the change of environment settings",
    "environment_data_given": "the loaded environment data",
    "world_edited": "the world edit",
    "state_cleared": "the reset of a tool's memory",
    "recording_given": "the recording",
    "connections_analysed": "the tool connections",
    "tools_declared": "the declared tools",
    "draft_drawn": "the new draft",
}


def step_words(fact: Fact) -> str:  # noqa: PLR0911 - one arm for each kind of step
    """Name a step, to stand after a verb; safe in a label."""
    match fact:
        case TurnStarted():
            return "the user message" if fact.purpose == "query" else "the reply"
        case ToolAnswered():
            return f"the answer to {safe_label(fact.tool_name, _LONGEST)}"
        case ModelAnswered():
            return f"the turn of {safe_label(fact.agent, _LONGEST)}"
        case CodeAnswered():
            return "the code output"
        case SeatChanged():
            who = f"all other {fact.seat}s" if fact.target == EVERY else safe_label(fact.target, _LONGEST)
            return f"the seat change for {who}"
        case UserSeated():
            return "the seat change for the user"
        case ConversationEnded():
            return "the end of the conversation" if fact.over else "the reopening of the conversation"
        case RulesChanged():
            return "the rule change"
        case TurnEnded():
            return "the stop" if fact.stopped else "the end of the turn"
        case _:
            return _OTHERS.get(fact.kind, "the step")


def query_said(fact: Fact | None) -> tuple[str, tuple[JsonObject, ...]]:
    """Return the text and the files of a query that was taken back, to begin the next one with; nothing for anything else."""
    if not isinstance(fact, TurnStarted) or fact.purpose != "query":
        return "", ()
    return text_and_files(fact.message) or ("", ())


def would_answer(request: Request) -> str:
    """Return who would answer what a person came back to; empty where nobody would. A rule's id may come from outside."""
    who = request.would_answer
    if not who:
        return ""
    named = next((words.name for player, words in PLAYERS.items() if player == who), None)
    if isinstance(request, ToolRequest):
        return named or f"Rule {who}"
    return {"model": "The agent's model", "held": "The agent's model"}.get(who, named or who)


def another_way_from(entry: HistoryEntry, journal: Journal) -> int:
    """Return the number of the fact after which another way begins at an entry: for a call with the call waiting, else before it."""
    if entry.type == "tool_call":
        return entry.fact
    # What ended a turn by itself was said before, by the answer that led there.
    said = (number for number, fact in journal.backwards(entry.fact) if not _follows_by_itself(fact))
    return journal.parent(next(said, entry.fact))


def taken_back(fact: int, journal: Journal) -> str:
    """Say what a way back to a fact of this branch takes back, also settings; empty where that is nothing."""
    after = takewhile(lambda each: each[0] != fact, journal.backwards())
    counts = Counter(_COUNTED[each.kind] for _, each in after if each.kind in _COUNTED)
    return ", ".join(f"{counts[name]} {name}{'' if counts[name] == 1 else 's'}" for name in counts)


def _follows_by_itself(fact: Fact) -> bool:
    return isinstance(fact, TurnEnded) and not fact.stopped
