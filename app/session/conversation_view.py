"""Turns a session into a conversation to read: who said what, with the values of arguments and responses. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple, assert_never

from app.forms.safe_labels import DetailBlock, safe_label
from app.session.timeline_view import blocks, step_badges, tool_names
from simulator.base.frozen_value import Value
from simulator.session.history import (
    AgentMessage,
    CodeRun,
    FinalResponse,
    HistoryEntry,
    ModelError,
    SessionNote,
    ToolCall,
    ToolError,
    ToolOutput,
    TurnFailed,
    UserQuery,
    UserReply,
)

_AROUND = 40
"""How many characters of a text are shown on either side of what was searched for."""


class ConversationEntry(Value):
    """One entry of the conversation.

    `label` is Markdown made of safe parts; so is `found`, the place of the text that was searched for, empty where that is in
    the label. `parts` are the values.
    """

    index: int
    icon: str
    label: str
    found: str = ""
    parts: tuple[DetailBlock, ...]


class Conversation(Value):
    """The newest entries that a search lets through, oldest first; `total` counts all that it lets through."""

    said: tuple[ConversationEntry, ...]
    total: int


def conversation(history: tuple[HistoryEntry, ...], search: str, count: int) -> Conversation:
    """Return the last `count` entries whose line or values contain `search`, in upper or lower case.

    Only these are worded. Without a search no value of an entry is looked at that is not returned.
    """
    names = tool_names(history)
    spoken = [index for index, entry in enumerate(history) if not isinstance(entry, SessionNote)]
    words = re.compile(re.escape(search.strip()), re.IGNORECASE)
    if search.strip():
        spoken = [index for index in spoken if _contains(history[index], names, words)]
    last = spoken[-count:] if count else []
    said = tuple(_said(index, history[index], names, words if search.strip() else None) for index in last)
    return Conversation(said=said, total=len(spoken))


def _contains(entry: HistoryEntry, names: Mapping[str, str], words: re.Pattern[str]) -> bool:
    _, who, does, what = _line(entry, names)
    texts = (f"{who} {does} {what}", *(part.text for part in _parts(entry)))
    return any(words.search(text) for text in texts)


def _said(
    index: int, entry: HistoryEntry, names: Mapping[str, str], words: re.Pattern[str] | None
) -> ConversationEntry:
    icon, who, does, what = _line(entry, names)
    parts = tuple(_parts(entry))
    named = f" {does}" if does else ""
    named += f" **{safe_label(what, 32)}**" if what else ""
    badges = "".join(f" {badge.markdown()}" for badge in step_badges(entry))
    nested = "\u21b3 " if getattr(entry, "scope", "") else ""
    return ConversationEntry(
        index=index,
        icon=f":material/{icon}:",
        label=f"{nested}**{safe_label(who, 32)}**{named}{badges}",
        found=next(filter(None, (_found(part.text, words) for part in parts)), "") if words else "",
        parts=parts,
    )


class _Line(NamedTuple):
    """Who speaks, what they do in our own words, and with which tool; the two names are any text."""

    icon: str
    who: str
    does: str = ""
    what: str = ""


def _line(entry: HistoryEntry, names: Mapping[str, str]) -> _Line:
    match entry:
        case UserQuery():
            return _Line("person", "User")
        case UserReply():
            late = _Line("check_circle", entry.tool_name, "responds late")
            return late if entry.is_late else _Line("reply", "User", "answers", entry.tool_name)
        case AgentMessage() | FinalResponse() | CodeRun() | ModelError():
            return _of_agent(entry)
        case ToolCall():
            return _Line("build", entry.agent, "calls", entry.tool_name)
        case ToolOutput() | ToolError():
            failed = isinstance(entry, ToolError)
            who = names.get(entry.call_id, entry.call_id)
            return _Line("error", who, "fails") if failed else _Line("check_circle", who, "responds")
        case _:
            return _of_turn(entry)


def _of_agent(entry: AgentMessage | FinalResponse | CodeRun | ModelError) -> _Line:
    match entry:
        case AgentMessage():
            return (
                _Line("psychology", entry.agent, "thinks")
                if entry.thought
                else _Line("smart_toy", entry.agent)
            )
        case FinalResponse():
            return _Line("flag", entry.agent)
        case CodeRun():
            return _Line("terminal", entry.agent, "runs code")
        case ModelError():
            return _Line("error", entry.agent, "gets no turn: its model failed")
        case never:
            assert_never(never)


def _of_turn(entry: TurnFailed | SessionNote) -> _Line:
    if isinstance(entry, SessionNote):
        return _Line("tune", "Changed")
    return _Line("stop_circle", "Stopped", "by you") if entry.stopped else _Line("error", "Turn failed")


def _parts(entry: HistoryEntry) -> Iterator[DetailBlock]:
    """Yield the values of an entry; the first one needs no title, because the line says what it is."""
    found = blocks(entry)
    if isinstance(entry, (ToolCall, ToolError)):
        found = found[:1]
    elif isinstance(entry, ToolOutput):
        found = found[: 2 if entry.state_delta else 1]
    for place, part in enumerate(found):
        yield part if place else part.model_copy(update={"title": ""})


def _found(text: str, words: re.Pattern[str]) -> str:
    """Return the place in a text, with the words marked; empty where they are not in it."""
    hit = words.search(text)
    if hit is None:
        return ""
    before, after = text[max(hit.start() - _AROUND, 0) : hit.start()], text[hit.end() : hit.end() + _AROUND]
    sides = [safe_label(side, 2 * _AROUND) if side.strip() else "" for side in (before, after)]
    return f"{sides[0]} :orange-background[**{safe_label(hit[0], 60)}**] {sides[1]}".strip()
