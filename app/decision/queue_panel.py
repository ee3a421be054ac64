"""Draws the line of all that waits for a person, and says which of it is on the screen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias, assert_never

import streamlit as st

from app.forms.common_panel import badge
from app.forms.safe_labels import literal, safe_label
from app.forms.widget_store import DraftStore, KeptInputs
from app.session.timeline_view import provenance_badge
from simulator.base.frozen_value import Value
from simulator.seats.requests import CodeRequest, ModelRequest, Request, ToolRequest
from simulator.session.history import ToolCall, ToolError, ToolOutput, is_question
from simulator.session.model import OpenCall

if TYPE_CHECKING:
    from simulator.runtime import SimulationView

MOST_PILLS = 6
"""More than these stand in a list to choose from."""

_TO_TOP = """
export default function ({ data }) {
  const pane = document.querySelector(".st-key-pane_decision");
  if (!pane || pane.dataset.decision === data.decision) return;
  pane.dataset.decision = data.decision;
  pane.scrollTop = pane.parentElement.scrollTop = 0;
}
"""
_top = st.components.v2.component("studio_decision_top", html="<span></span>", js=_TO_TOP)

_WHICH = "Waiting decisions"
_NAME = 24
_LONGEST = 40

Thing: TypeAlias = Request | OpenCall | None
"""What waits; None stands for the next query, which the user may ask in place of an answer."""


class QueueEntry(Value):
    """One entry of the queue of waiting requests. `words` tell calls of one tool apart, and may come from outside."""

    key: str
    words: str
    thing: Thing = None


def waiting(view: SimulationView) -> tuple[QueueEntry, ...]:
    """Return all that waits, oldest first.

    What a turn left open waits once the turn has ended, and the next query with it; a call that was answered once
    may be answered again, and comes last.
    """
    if view.pending or view.session.is_running or view.busy:
        return tuple(
            QueueEntry(key=request.key, words=_words(request), thing=request) for request in view.pending
        )
    calls = [
        QueueEntry(key=f"open {call.call_id}", words=_open_words(call), thing=call)
        for call in sorted(view.session.open_calls, key=lambda call: call.answered)
    ]
    unanswered = sum(not call.answered for call in view.session.open_calls)
    query = (
        [QueueEntry(key=next_query(view), words="Send another message" if unanswered else "Next message")]
        if calls
        else []
    )
    return (*calls[:unanswered], *query, *calls[unanswered:])


def next_query(view: SimulationView) -> str:
    """Name the next query: another one in each turn, so that who chose it once sees first what the next turn leaves open."""
    return f"query {len(view.session.turns)}"


def open_at_top(chosen: QueueEntry) -> None:
    """Let the pane begin at its top with each other decision: it keeps how far somebody has scrolled in the one before."""
    with st.container(key="decision_top_unseen"):
        _top(key="decision_top", data={"decision": chosen.key})


class Queue:
    """The line, and the place in it that is on the screen; a choice survives until the chosen thing is gone."""

    def __init__(self, drafts: DraftStore, line: Sequence[QueueEntry]) -> None:
        self._kept = KeptInputs(drafts, "queue")
        self._line = {each.key: each for each in line}
        self._numbers = numbers(line)

    @property
    def chosen(self) -> QueueEntry:
        """What is on the screen."""
        return self._line.get(self._kept.value("waiting"), next(iter(self._line.values())))

    def draw(self) -> None:
        """Draw the line where there is more than one thing in it."""
        if not self.is_line:
            return
        self._kept.put("waiting", self.chosen.key)
        key = self._kept.widget("waiting", self.chosen.key)
        if len(self._line) <= MOST_PILLS:
            st.pills(
                _WHICH,
                list(self._line),
                format_func=self._name,
                required=True,
                key=key,
                label_visibility="collapsed",
            )
        else:
            st.selectbox(
                _WHICH, list(self._line), format_func=self._numbered, key=key, label_visibility="collapsed"
            )

    @property
    def is_line(self) -> bool:
        """Whether more than one thing waits."""
        return len(self._line) > 1

    def _name(self, key: str) -> str:
        number = self._numbers.get(key)
        return safe_label(self._line[key].words, _LONGEST) + (f" \\#{number}" if number else "")

    def _numbered(self, key: str) -> str:
        """A list of options reads no Markdown, so the words stand there as they are."""
        words = " ".join(self._line[key].words.split())
        number = self._numbers.get(key)
        same = f" #{number}" if number else ""
        return f"{list(self._line).index(key) + 1}. {literal(words[:_LONGEST])}{same}"


def numbers(line: Iterable[QueueEntry]) -> Mapping[str, int]:
    """Count through the things that a reader could not tell apart, each kind from 1, by key; all others go without."""
    shown = {each.key: safe_label(each.words, _LONGEST) for each in line}
    how_often = Counter(shown.values())
    so_far: Counter[str] = Counter()
    given: dict[str, int] = {}
    for key, words in shown.items():
        if how_often[words] > 1:
            so_far[words] += 1
            given[key] = so_far[words]
    return given


def answered_beside(view: SimulationView, request: ToolRequest) -> None:
    """Show which calls of the same turn of the agent are answered already, and by whom."""
    calls = [entry for entry in view.session.history if isinstance(entry, ToolCall)]
    asked = next((call.fact for call in reversed(calls) if call.call_id == request.call_id), None)
    beside = {call.call_id: call.tool_name for call in calls if call.fact == asked}
    for entry in view.session.history:
        if isinstance(entry, (ToolOutput, ToolError)) and entry.call_id in beside:
            with st.container(horizontal=True, gap="xsmall", vertical_alignment="center"):
                st.badge(safe_label(beside[entry.call_id]), icon=":material/check:", color="gray")
                if (by := provenance_badge(entry)) is not None:
                    badge(by)


def _words(request: Request) -> str:
    match request:
        case ToolRequest():
            plain = (value for value in request.arguments.values() if isinstance(value, (str, int, float)))
            hint = str(next(plain, ""))
            return f"{request.tool_name[:_NAME]} \u00b7 {hint[:_NAME]}" if hint else request.tool_name
        case ModelRequest():
            return f"Turn of {request.agent}"
        case CodeRequest():
            return f"Code of {request.agent}"
        case _:
            assert_never(request)


def _open_words(call: OpenCall) -> str:
    if call.is_confirmation:
        original = call.arguments.get("originalFunctionCall")
        return f"Confirm {original.get('name')}" if isinstance(original, dict) else "Confirm a call"
    return "Question from the agent" if is_question(call.tool_name) else f"Late result of {call.tool_name}"
